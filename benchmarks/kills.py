"""Whether a recording that is killed at any moment, and resumed, ends up the same.

Sessions of several kinds are recorded without interruption: with an agent that learns, with a saved
policy, with catch trials, with separate recordings, with jitter. Then the same commands are killed
(SIGKILL), once or several times in a row: one half just before a random file event (a file is
opened, renamed or deleted, a folder made), the other half at a random time. Whatever is left is
resumed with `--resume` or, where nothing was recorded yet, begun again by the same command. Nothing
that was in the journal may be lost, and every file must come out the same, byte by byte.

Usage: python benchmarks/kills.py [COUNT]   (200 kills take a few minutes)
"""

import hashlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

SMALL = "--set brain.region.size=2 --set learners=[cb] --set task.trials_per_run="
SHORT = f"--trials 24 {SMALL}8 --set evaluation.test_trials=4"
KINDS = {
    # What is learned from 75 trials of eight voxels can be trusted, with this seed at once.
    "learning": f"--trials 90 {SMALL}75 --agent epsilon-greedy --set agent.uniform_runs=1 "
    "--set evaluation.test_trials=2 --noise 0.01 --seed 3",
    "saved policy": f"{SHORT} --agent POLICY",
    "catch": f"{SHORT} --set task.catch.share=0.3",
    "separate": f"{SHORT} --set recording=separate",
    "jitter": f"{SHORT} --set timing.jitter=3 --set timing.null_trials=0.2",
}
IN_A_ROW = (1, 1, 2, 3)
JOURNAL, DESCRIPTION = "journal.txt", "dataset_description.json"
COUNTED = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}


@dataclass(frozen=True)
class Reference:
    """A recording that was not interrupted.

    Attributes
    ----------
    folder : Path
    events : int
        How many file events there were.
    seconds : float
        How long it took.
    """

    folder: Path
    events: int
    seconds: float


@dataclass
class Tally:
    """What happened.

    Attributes
    ----------
    kills, begun, late : int
        How many commands were killed; how many of them left nothing to resume, or all recorded.
    bytes : int
        How many bytes differ from the uninterrupted recordings.
    stuck : list of str
        Folders that could be neither resumed nor begun again, and why.
    lost : list of str
        Where lines of a journal were lost.
    """

    kills: int = 0
    begun: int = 0
    late: int = 0
    bytes: int = 0
    stuck: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """All that should not be."""
        differ = [f"{self.bytes} bytes differ"] if self.bytes else []
        return differ + self.stuck + self.lost


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file in a folder, by its path there."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def differing_bytes(one: Path, other: Path) -> int:
    """Return how many bytes differ between the files of two folders."""
    names = {
        path.relative_to(root)
        for root in (one, other)
        for path in root.rglob("*")
        if path.is_file()
    }
    total = 0
    for name in names:
        a, b = (
            (root / name).read_bytes() if (root / name).exists() else b"" for root in (one, other)
        )
        total += sum(x != y for x, y in zip(a, b, strict=False)) + abs(len(a) - len(b))
    return total


def run(count: int, root: Path, rng: random.Random, kinds: tuple[str, ...] = tuple(KINDS)) -> Tally:
    """Kill that many commands, and return what came of it."""
    import bciigl.cli.simulate  # noqa: F401 (imported once, before all forks)
    import bciigl.study.session_results  # noqa: F401
    from bciigl.loop import record  # noqa: F401

    _forked(lambda: _save_policy(root / "policy"), root)
    references = {kind: _reference(kind, root) for kind in kinds}
    tally = Tally()
    while tally.kills < count:
        kind = rng.choice(kinds)
        in_a_row = min(rng.choice(IN_A_ROW), count - tally.kills)
        interrupt(kind, root, references[kind], in_a_row, tally, rng)
    return tally


def interrupt(
    kind: str, root: Path, expected: Reference, kills: int, tally: Tally, rng: random.Random
) -> None:
    """Record a session that is killed several times, finish it, and compare."""
    folder = root / f"killed-{tally.kills}"
    kept: list[bytes] = []
    for _ in range(kills):
        at_event = rng.randint(1, expected.events) if rng.random() < 0.5 else 0
        after = 0.0 if at_event else rng.uniform(0, expected.seconds)
        _forked(lambda at=at_event: _command(kind, folder, root, at), root, after or None)
        tally.kills += 1
        lines = _whole_lines(folder)
        if lines is not None and lines[: len(kept)] != kept:
            tally.lost.append(f"{folder.name} ({kind}): {len(kept)} journal lines, then others")
        tally.begun += not _is_begun(folder)
        kept = lines or []
        if lines is None and _is_begun(folder):
            tally.late += 1
            break
    if kept and (lines := _whole_lines(folder)) is not None and lines[: len(kept)] != kept:
        tally.lost.append(f"{folder.name} ({kind}): journal lines are lost")
    code, errors = _forked(lambda: _command(kind, folder, root), root)
    if code:
        tally.stuck.append(f"{folder.name} ({kind}): {errors.strip()[-300:]}")
    else:
        tally.bytes += differing_bytes(folder, expected.folder)
    shutil.rmtree(folder, ignore_errors=True)


def _is_begun(folder: Path) -> bool:
    return (folder / JOURNAL).exists() or (folder / DESCRIPTION).exists()


def _whole_lines(folder: Path) -> list[bytes] | None:
    """Return the journal's lines but for a half-written last one; None if there is no journal."""
    try:
        return (folder / JOURNAL).read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return None


def _reference(kind: str, root: Path) -> Reference:
    folder = root / f"reference {kind}"
    start = time.perf_counter()
    code, told = _forked(lambda: _command(kind, folder, root, sys.maxsize), root)
    if code:
        raise RuntimeError(f"{kind} failed:\n{told}")
    return Reference(folder, int(told.rpartition("events: ")[2]), time.perf_counter() - start)


def _command(kind: str, folder: Path, root: Path, at_event: int = 0) -> None:
    """Record, or resume what was recorded; kill this process at a file event, if one is given."""
    from bciigl.cli.main import cli

    options = KINDS[kind].replace("POLICY", str(root / "policy")).split()
    begin = ["number_guessing", *options, "--out", str(folder)]
    arguments = ["simulate", *(["--resume", str(folder)] if _is_begun(folder) else begin)]
    events = _count_events(folder, at_event) if at_event else [0]
    try:
        cli(arguments, standalone_mode=True)
    finally:
        print(f"events: {events[0]}", file=sys.stderr)


def _count_events(folder: Path, kill_at: int) -> list[int]:
    """Count file events in a folder from now on, and kill this process before one of them."""
    count, within = [0], str(folder)

    def hook(event: str, arguments: tuple) -> None:
        if event in COUNTED and isinstance(arguments[0], (str, os.PathLike)):
            if os.fspath(arguments[0]).startswith(within):
                count[0] += 1
                if count[0] == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    return count


def _save_policy(folder: Path) -> None:
    """Save a policy learned from noise, of eight voxels."""
    import numpy as np

    from bciigl.learn import ActionInclusiveIGL, save_learner

    rng = np.random.default_rng(0)
    context, feedback = rng.standard_normal((2, 60, 8))
    save_learner(ActionInclusiveIGL(3).fit(context, rng.integers(3, size=60), feedback), folder)


def _forked(
    work: Callable[[], None], root: Path, kill_after: float | None = None
) -> tuple[int, str]:
    """Do some work in a child process, in which all is imported; return its code and messages."""
    path = root / "messages"
    child = os.fork()
    if not child:
        code = 1
        try:
            with path.open("wb") as file:
                os.dup2(file.fileno(), 2)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            work()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        finally:
            sys.stderr.flush()
            os._exit(code)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)  # it is not reaped yet: the number is its own
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), path.read_text()


def main() -> None:
    """Kill, resume, compare; exit with 1 if anything was lost or differs."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        tally = run(count, Path(folder), random.Random(0))  # noqa: S311 (no secret)
    print(
        f"{tally.kills} kills in {time.perf_counter() - start:.0f} s: {tally.begun} left nothing "
        f"to resume, {tally.late} came when all was recorded"
    )
    print(f"{tally.bytes} differing bytes")
    print(f"{len(tally.lost)} journals that lost lines")
    print(f"{len(tally.stuck)} folders that could be neither resumed nor begun again")
    for problem in tally.stuck + tally.lost:
        print(problem)
    sys.exit(1 if tally.problems else 0)


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"  # read when numpy is imported, in run
    main()
