"""Whether damaged files are refused with a message: no traceback, no hang, no memory taken.

Small files of every kind that bciigl reads are made once. Then one file at a time is damaged and
given to the command that reads it. A command may accept the file (exit code 0) or refuse it (2).

Usage: python benchmarks/damaged_files.py [COUNT [SEED [NUMBER]]]

With NUMBER only that case is run, and its output is shown.
"""

import gzip
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

# Before numpy is imported: forked processes should have no threads to lose.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MPLBACKEND"] = "agg"

import numpy as np
from click.testing import CliRunner, Result

from bciigl.cli.main import cli

SECONDS = 20
MEMORY = 2_000_000_000
WORKERS = 2
OUTCOMES = ("refused", "accepted", "traceback", "hang", "memory", "killed")
PROTOCOL = """\
name: tiny
description: a session as short as can be
task: {options: [a, b, c], trials: 18, trials_per_run: 6}
brain: {noise: 0.05, region: {shape: cube, center: [14, 41, 30], size: 2}}
timing: {isi: 6.0, burn_in: 3.0}
evaluation: {test_trials: 6}
learners: [ai_igl, cb]
study: {noise: [0.05], repeats: 1}
"""


@dataclass(frozen=True)
class Kind:
    """Files to damage, and the command that reads them.

    Attributes
    ----------
    name : str
        What they are.
    folder : Path
        Where whole ones are; it is copied for each case.
    files : list of str
        Patterns of those to damage.
    command : str
        What to call; ``{}`` stands for the copied folder.
    share : int
        How often it has its turn; fewer for slow commands.
    """

    name: str
    folder: Path
    files: tuple[str, ...]
    command: str
    share: int = 4

    def arguments(self, folder: Path) -> list[str]:
        """Return the command for a copy of the folder."""
        return [word.format(folder) for word in self.command.split()]


@dataclass(frozen=True)
class Outcome:
    """What a command did with a damaged file."""

    number: int
    kind: str
    damage: str
    what: str
    detail: str = ""


# Whole files


def kinds(folder: Path) -> list[Kind]:
    """Make whole files of every kind in a folder, and return what to do with them."""
    rng = np.random.default_rng(0)
    for name in ("protocol", "study", "policy", "journal", "arrays", "npy", "subject", "released"):
        (folder / name).mkdir()
    for name in ("protocol", "study", "policy"):
        (folder / name / "tiny.yaml").write_text(PROTOCOL)
    _run("simulate {0}/protocol/tiny.yaml --out {0}/dataset/data", folder)
    _run("learn {0}/dataset/data --learner ai_igl --out {0}/policy/learned", folder)
    _run("sweep {0}/study/tiny.yaml --out {0}/study/swept --jobs 1", folder)
    _run("subject show --out {0}/subject/me", folder)
    _make_region(folder / "subject")
    _make_journal(folder / "journal")
    _make_arrays(folder, rng)
    _make_labelled(folder / "labelled", rng)
    table1 = "reproduce table1 --repeats 1 --jobs 1 --feedback action_reward --data {0}"
    _run(f"{table1}/labelled/a.csv --out {{0}}/study/table1", folder)

    def kind(name: str, place: str, files: str, command: str, share: int = 4) -> Kind:
        return Kind(name, folder / place, tuple(files.split()), command, share)

    read = "data/**/*.npz data/**/*.tsv data/**/protocol.yaml data/**/dataset_description.json"
    data = f"{read} data/**/*.nii.gz data/**/*.json"
    found = [
        kind("protocol", "protocol", "*.yaml", "protocol check {}/tiny.yaml", 12),
        kind("arrays, NPZ", "arrays", "*.npz", "learn {}/a.npz", 8),
        kind("arrays, NPY", "npy", "*.npy", "learn {}", 8),
        kind("dataset, learn", "dataset", read, "learn {}/data", 16),
        kind("dataset, report", "dataset", data, "report {}/data", 6),
        kind("journal", "journal", "data/journal.txt", "simulate --resume {}/data", 8),
        kind(
            "unfinished session", "journal", "data/**/*", "simulate --resume {}/data", 4
        ),
        kind(
            "policy", "policy", "learned/*",
            "simulate {0}/tiny.yaml --agent {0}/learned --out {0}/new", 8,
        ),
        kind(
            "study, sweep", "study", "swept/*.json swept/cells/*.json",
            "sweep {0}/tiny.yaml --out {0}/swept --jobs 1", 8,
        ),
        kind("study, report", "study", "swept/*.json swept/cells/*.json", "report {}/swept", 3),
        kind(
            "table 1, report", "study", "table1/*.json table1/cells/*.json", "report {}/table1", 3
        ),
        kind("subject", "subject", "me/*", "subject show {}/me", 8),
        kind("region mask", "subject", "region.nii.gz", "protocol check {}/own.yaml", 4),
        kind(
            "released arrays", "released", "*",
            "reproduce table2 --released {} --repeats 1", 3,
        ),
    ]  # fmt: skip
    for ending in ("csv", "tsv", "arff", "npz"):
        file = f"a.{ending}"
        whole = f"{table1}/{file} --out {{0}}/new"
        found.append(kind(f"labelled, {ending.upper()}", "labelled", file, whole))
    whole = f"{table1}/idx --out {{0}}/new"
    found.append(kind("labelled, IDX", "labelled", "idx/*", whole))
    return found


def _run(command: str, folder: Path) -> None:
    result = invoke([word.format(folder) for word in command.split()])
    if result.exit_code:
        raise RuntimeError(f"{command} fails with whole files:\n{result.output}")


def _make_region(folder: Path) -> None:
    import nibabel

    mask = nibabel.load(folder / "me" / "mask.nii.gz")
    data = np.zeros(mask.shape, np.uint8)
    data[14:16, 41:43, 30:32] = 1
    nibabel.save(nibabel.Nifti1Image(data, mask.affine), folder / "region.nii.gz")
    text = re.sub(
        "region: {.*}}", "subject: me, region: {shape: mask, file: region.nii.gz}}", PROTOCOL
    )
    (folder / "own.yaml").write_text(text)


def _make_journal(folder: Path) -> None:
    """Record a session that is killed after a few trials; six lines of its journal are kept."""
    (folder / "one.yaml").write_text(PROTOCOL.replace("trials_per_run: 6", "trials_per_run: 18"))
    data = folder / "data"
    while not (lines := _lines(data / "journal.txt")):
        shutil.rmtree(data, ignore_errors=True)
        command = [sys.executable, "-m", "bciigl", "simulate", "one.yaml", "--out", "data"]
        nowhere = subprocess.DEVNULL
        process = subprocess.Popen(command, cwd=folder, stdout=nowhere, stderr=nowhere)
        while process.poll() is None and len(_lines(data / "journal.txt")) < 6:
            time.sleep(0.001)
        process.kill()
        process.wait()
    (data / "journal.txt").write_bytes(b"".join(lines[:6]))


def _lines(journal: Path) -> list[bytes]:
    try:
        return [line for line in journal.read_bytes().splitlines(True) if line.endswith(b"\n")]
    except FileNotFoundError:
        return []


def _make_arrays(folder: Path, rng: np.random.Generator) -> None:
    trials, voxels, options = 60, 4, 3
    label, action = rng.integers(options, size=(2, trials))
    pattern = 3 * rng.standard_normal((options, voxels))
    reward = (label == action).astype(float)
    noise = rng.standard_normal((3, trials, voxels))
    arrays = {
        "context": pattern[label] + noise[0],
        "action": action,
        "feedback": pattern[action] + np.outer(reward, pattern[0]) + noise[1],
        "run": np.repeat(np.arange(6), 10),
        "propensity": np.full(trials, 1 / options),
        "reward": reward,
        "label": label,
        "test_context": pattern[label] + noise[2],
        "test_label": label,
    }
    np.savez(folder / "arrays" / "a.npz", **arrays)
    for name, array in arrays.items():
        np.save(folder / "npy" / f"{name}.npy", array)
    rows = np.arange(150) % trials
    names = ("context", "action", "feedback", "test_context", "test_label")
    released = {name: arrays[name][rows] for name in names}
    np.savez(folder / "released" / "noise_0.05.npz", **released, run=np.repeat(np.arange(50), 3))


def _make_labelled(folder: Path, rng: np.random.Generator) -> None:
    (folder / "idx").mkdir(parents=True)
    label = np.arange(60) % 3
    features = 4 * rng.standard_normal((3, 4))[label] + rng.standard_normal((60, 4))
    np.savez(folder / "a.npz", X=features, y=label)
    rows = [[f"{each:.3f}" for each in row] for row in features]
    words = ["red", "green", "blue"]
    for ending, mark in {"csv": ",", "tsv": "\t"}.items():
        lines = [mark.join([*row, words[each]]) for row, each in zip(rows, label, strict=True)]
        head = mark.join(["a", "b", "c", "d", "class"])
        (folder / f"a.{ending}").write_text("\n".join([head, *lines]) + "\n")
    attributes = "".join(f"@attribute {name} numeric\n" for name in "abcd")
    content = "\n".join(
        ",".join([*row, words[each]]) for row, each in zip(rows, label, strict=True)
    )
    (folder / "a.arff").write_text(
        f"@relation small\n{attributes}@attribute class {{red,green,blue}}\n@data\n{content}\n"
    )
    pixels = np.clip(128 + 10 * features, 0, 255).astype(np.uint8)
    for part in ("train", "t10k"):
        sizes = [60, 2, 2]
        header = bytes([0, 0, 8, 3]) + b"".join(each.to_bytes(4, "big") for each in sizes)
        (folder / "idx" / f"{part}-images-idx3-ubyte").write_bytes(header + pixels.tobytes())
        header = bytes([0, 0, 8, 1]) + (60).to_bytes(4, "big")
        path = folder / "idx" / f"{part}-labels-idx1-ubyte"
        path.write_bytes(header + label.astype(np.uint8).tobytes())


# Damage

ODD_WORDS = [
    "1000000000", "nan", "-inf", "1e999", "9" * 400, "-1", "0", "1e-320", "x", "", "1.5", "true",
    "[]",
]  # fmt: skip
ODD_VALUES = [
    None, True, -1, 0, 10**9, 10**30, 10**400, 1e308, 0.5, "", "x", "\ud800", "\x00", [], {},
    [None], {"a": 1}, float("nan"), float("inf"), "9" * 5000,
]  # fmt: skip


def damaged(content: bytes, name: str, rng: np.random.Generator) -> tuple[str, bytes]:
    """Return what was done to the content of a file, and what came out."""
    if rng.random() < 0.6:  # within what is packed or sealed by a checksum
        inner = _damaged_within(content, name, rng)
        if inner is not None:
            return inner
    return _damaged_plain(content, name, rng)


def _damaged_within(
    content: bytes, name: str, rng: np.random.Generator
) -> tuple[str, bytes] | None:
    if content[:2] == b"\x1f\x8b":
        what, inner = _damaged_plain(gzip.decompress(content), name, rng)
        return f"{what}, packed again", gzip.compress(inner)
    if content[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            members = {each: file.read(each) for each in file.namelist()}
        chosen = list(members)[rng.integers(len(members))]
        what, members[chosen] = _damaged_plain(members[chosen], chosen, rng)
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
            for each, inner in members.items():
                file.writestr(each, inner)
        return f"{chosen}: {what}, packed again", stream.getvalue()
    lines = content.splitlines()
    if lines and all(re.match(rb"[0-9a-f]{8} ", line) for line in lines):
        place = int(rng.integers(len(lines)))
        what, inner = _damaged_plain(lines[place][9:], "line.json", rng)
        lines[place] = b"%08x %s" % (zlib.crc32(inner), inner)
        return f"line {place + 1}: {what}, sealed again", b"\n".join(lines) + b"\n"
    return None


def _damaged_plain(content: bytes, name: str, rng: np.random.Generator) -> tuple[str, bytes]:
    ways: list[Callable[[bytes, np.random.Generator], bytes]] = [
        truncate, flip, swap, delete_block, repeat_block, empty, binary, long_line, replace_number,
        replace_number, replace_word, delete_line, repeat_line,
    ]  # fmt: skip
    if content[:6] == b"\x93NUMPY":
        ways += [flip_header, swap_header] * 3
    if name.endswith(".json"):
        ways += [replace_value, replace_value, replace_value, delete_key, nest, repeat_key] * 2
    way = ways[rng.integers(len(ways))]
    return way.__name__, way(content, rng)


def _block(content: bytes, rng: np.random.Generator) -> slice:
    start = int(rng.integers(len(content) + 1))
    return slice(start, start + int(rng.integers(1, max(len(content) // 4, 2))))


def truncate(content: bytes, rng: np.random.Generator) -> bytes:
    """Cut off the end."""
    return content[: int(rng.integers(len(content) + 1))]


def flip(content: bytes, rng: np.random.Generator) -> bytes:
    """Change up to eight bytes."""
    found = bytearray(content)
    for place in rng.integers(max(len(found), 1), size=rng.integers(1, 9)) if found else ():
        found[place] ^= int(rng.integers(1, 256))
    return bytes(found)


def swap(content: bytes, rng: np.random.Generator) -> bytes:
    """Swap two bytes."""
    found = bytearray(content)
    if found:
        one, other = rng.integers(len(found), size=2)
        found[one], found[other] = found[other], found[one]
    return bytes(found)


def flip_header(content: bytes, rng: np.random.Generator) -> bytes:
    """Change bytes of the header."""
    return flip(content[:80], rng) + content[80:]


def swap_header(content: bytes, rng: np.random.Generator) -> bytes:
    """Swap two bytes of the header."""
    return swap(content[:80], rng) + content[80:]


def delete_block(content: bytes, rng: np.random.Generator) -> bytes:
    """Leave a block out."""
    block = _block(content, rng)
    return content[: block.start] + content[block.stop :]


def repeat_block(content: bytes, rng: np.random.Generator) -> bytes:
    """Write a block twice."""
    block = _block(content, rng)
    return content[: block.stop] + content[block] + content[block.stop :]


def empty(content: bytes, rng: np.random.Generator) -> bytes:
    """Leave nothing."""
    return b""


def binary(content: bytes, rng: np.random.Generator) -> bytes:
    """Put random bytes in its place."""
    return rng.bytes(int(rng.integers(1, 2000)))


def long_line(content: bytes, rng: np.random.Generator) -> bytes:
    """Make a line three million characters long."""
    place = int(rng.integers(len(content) + 1))
    return content[:place] + b"1a\t, "[int(rng.integers(5)) :][:1] * 3_000_000 + content[place:]


def _replace(pattern: bytes, content: bytes, rng: np.random.Generator) -> bytes:
    found = list(re.finditer(pattern, content))
    if not found:
        return flip(content, rng)
    chosen = found[rng.integers(len(found))]
    word = ODD_WORDS[rng.integers(len(ODD_WORDS))].encode()
    return content[: chosen.start()] + word + content[chosen.end() :]


def replace_number(content: bytes, rng: np.random.Generator) -> bytes:
    """Put an odd word in the place of a number."""
    return _replace(rb"-?\d+(\.\d+)?", content, rng)


def replace_word(content: bytes, rng: np.random.Generator) -> bytes:
    """Put an odd word in the place of a word."""
    return _replace(rb"\w+", content, rng)


def delete_line(content: bytes, rng: np.random.Generator) -> bytes:
    """Leave a line out."""
    lines = content.splitlines(True)
    if lines:
        del lines[rng.integers(len(lines))]
    return b"".join(lines)


def repeat_line(content: bytes, rng: np.random.Generator) -> bytes:
    """Write a line twice."""
    lines = content.splitlines(True)
    if lines:
        lines.insert(rng.integers(len(lines)), lines[rng.integers(len(lines))])
    return b"".join(lines)


def _places(data: object) -> Iterator[tuple[dict | list, str | int]]:
    """Yield every place in plain data, as what holds it and its key there."""
    if isinstance(data, (dict, list)):
        for key in list(data) if isinstance(data, dict) else range(len(data)):
            yield data, key
            yield from _places(data[key])


def _change_json(
    content: bytes, rng: np.random.Generator, change: Callable[[dict | list, str | int], None]
) -> bytes:
    data = json.loads(content)
    places = list(_places(data))
    if places:
        change(*places[rng.integers(len(places))])
    return json.dumps(data).encode()


def replace_value(content: bytes, rng: np.random.Generator) -> bytes:
    """Put another type, or an extreme value, in the place of a JSON value."""

    def change(within: dict | list, key: str | int) -> None:
        within[key] = ODD_VALUES[rng.integers(len(ODD_VALUES))]

    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return _change_json(content, rng, change)
    finally:
        sys.set_int_max_str_digits(limit)


def delete_key(content: bytes, rng: np.random.Generator) -> bytes:
    """Leave a key or an item of JSON out."""
    return _change_json(content, rng, lambda within, key: within.pop(key))


def nest(content: bytes, rng: np.random.Generator) -> bytes:
    """Put deeply nested JSON in the place of a value."""

    def change(within: dict | list, key: str | int) -> None:
        within[key] = "DEEP"

    opening, closing = ((b"[", b"]"), (b'{"a":', b"}"))[rng.integers(2)]
    depth = int(rng.choice([60, 900, 5_000, 100_000]))
    deep = opening * depth + b"1" + closing * depth
    return _change_json(content, rng, change).replace(b'"DEEP"', deep)


def repeat_key(content: bytes, rng: np.random.Generator) -> bytes:
    """Write keys of JSON twice."""
    return re.sub(rb'("\w+"): ', rb"\1: 1, \1: ", content, count=int(rng.integers(1, 4)))


# Commands


def invoke(arguments: list[str]) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(cli, arguments)


def prepare(kinds: list[Kind], number: int, seed: int, folder: Path) -> tuple[Kind, str, list[str]]:
    """Copy whole files to a new folder and damage one; return kind, damage and command."""
    rng = np.random.default_rng([seed, number])
    turns = [kind for kind in kinds for _ in range(kind.share)]
    kind = turns[(number * 37) % len(turns)]  # neighbours differ, and all have their turn
    shutil.copytree(kind.folder, folder)
    files = [path for each in kind.files for path in sorted(folder.glob(each)) if path.is_file()]
    path = files[rng.integers(len(files))]
    way = rng.random()
    if way < 0.02:
        path.unlink()
        what = "missing"
    elif way < 0.03:
        path.unlink()
        path.mkdir()
        what = "a folder"
    else:
        what, content = damaged(path.read_bytes(), path.name, rng)
        path.write_bytes(content)
    return kind, f"{path.relative_to(folder)}: {what}", kind.arguments(folder)


def check(arguments: list[str]) -> tuple[str, str]:
    """Run a command within the limit of memory; return what came of it, and where it failed."""
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + MEMORY, resource.RLIM_INFINITY))
    result = invoke(arguments)
    if isinstance(result.exception, MemoryError):
        return "memory", _place(result)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return "traceback", _place(result)
    if result.exit_code == 0:
        return "accepted", ""
    if result.exit_code == 2 and "Traceback" not in result.output:
        return "refused", ""
    return "traceback", f"exit code {result.exit_code}: {result.output.strip()[-300:]}"


def _place(result: Result) -> str:
    frames = traceback.extract_tb(result.exc_info[2])
    own = [frame for frame in frames if "/bciigl/" in frame.filename] or frames
    last = own[-1]
    where = f"{last.filename.rpartition('/bciigl/')[2]}:{last.lineno}"
    return f"{type(result.exception).__name__} at {where}: {str(result.exception)[:120]}"


def run(folder: Path, count: int, seed: int) -> list[Outcome]:
    """Damage that many files, and return what commands made of them."""
    whole = folder / "whole"
    whole.mkdir()
    found = kinds(whole)
    for kind in found:  # once undamaged, so that all is imported before processes are forked
        copy = folder / "copy"
        shutil.copytree(kind.folder, copy)
        result = invoke(kind.arguments(copy))
        if result.exit_code:
            raise RuntimeError(f"{kind.name}: {result.output}") from result.exception
        shutil.rmtree(copy)
    outcomes: list[Outcome] = []
    running: dict[int, _Case] = {}
    number = 0
    while number < count or running:
        while number < count and len(running) < WORKERS:
            place = folder / str(number)
            kind, damage, arguments = prepare(found, number, seed, place)
            pid = os.fork()
            if not pid:
                _in_child(arguments, place.with_suffix(".txt"))
            running[pid] = _Case(number, kind.name, damage, place, time.monotonic())
            number += 1
        for pid, case in list(running.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            late = time.monotonic() - case.began > SECONDS
            if late and not ended:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            if ended or late:
                del running[pid]
                outcomes.append(case.outcome("hang" if not ended else "", status))
        time.sleep(0.002)
    return sorted(outcomes, key=lambda each: each.number)


@dataclass
class _Case:
    number: int
    kind: str
    damage: str
    folder: Path
    began: float

    def outcome(self, what: str, status: int) -> Outcome:
        """Return what came of it, and remove its files."""
        note, detail = self.folder.with_suffix(".txt"), ""
        if not what:
            what, detail = "killed", f"status {status}"
            if note.exists() and status == 0:
                what, _, detail = note.read_text().partition("\n")
        note.unlink(missing_ok=True)
        shutil.rmtree(self.folder)
        return Outcome(self.number, self.kind, self.damage, what, detail)


def _in_child(arguments: list[str], note: Path) -> None:
    """Run a command in a forked process, which ends here."""
    code = 1
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        note.write_text("\n".join(check(arguments)))
        code = 0
    finally:
        os._exit(code)


def show(outcomes: list[Outcome]) -> bool:
    """Print a table by kind and the first of each failure; tell whether there was none."""
    print(f"{'':20s}{'files':>7s}" + "".join(f"{each:>11s}" for each in OUTCOMES))
    for kind in [*dict.fromkeys(each.kind for each in outcomes), "all"]:
        mine = Counter(each.what for each in outcomes if kind in (each.kind, "all"))
        print(f"{kind:20s}{mine.total():7d}" + "".join(f"{mine[each]:11d}" for each in OUTCOMES))
    failures = [each for each in outcomes if each.what not in OUTCOMES[:2]]
    first: dict[tuple[str, str], Outcome] = {}
    for each in failures:
        first.setdefault((each.what, each.detail[:60]), each)
    for each in first.values():
        print(f"{each.number}: {each.kind}: {each.damage}: {each.what}: {each.detail}")
    return not failures


def main() -> None:
    """Damage files; exit with 1 if a command failed on any."""
    given = [int(each) for each in sys.argv[1:]]
    count, seed, *only = given + [2000, 0][len(given) :]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if only:
            (folder / "whole").mkdir()
            case = prepare(kinds(folder / "whole"), only[0], seed, folder / "case")
            print(case[0].name, case[1])
            cli(case[2])
        start = time.monotonic()
        outcomes = run(folder, count, seed)
    right = show(outcomes)
    print(f"{time.monotonic() - start:.0f} s")
    sys.exit(not right)


if __name__ == "__main__":
    main()
