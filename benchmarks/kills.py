"""Whether a recording that is killed at any moment, and gone on with, ends up the same.

One session is recorded without interruption. Then the same command is killed (SIGKILL) at random
moments, once or several times in a row, and gone on with by `--resume`. Nothing that was in the
journal may be lost, and every file must come out the same, byte by byte.

Usage: python benchmarks/kills.py [KILLS]
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

BCIIGL = [sys.executable, "-m", "bciigl", "simulate"]
# The agent learns between runs, so that what it has learned must come out the same, too.
SESSION = (
    "number_guessing --trials 160 --agent epsilon-greedy --set agent.uniform_runs=1 "
    "--set task.trials_per_run=40 --set evaluation.test_trials=40 --set learners=[cb]"
).split()
JOURNAL = "journal.txt"
IN_A_ROW = (1, 1, 2, 4)
SEED = 0


@dataclass(frozen=True)
class Reference:
    """What an uninterrupted recording came to.

    Attributes
    ----------
    digests : dict
        SHA-256 of each file.
    startup, recording : float
        Seconds until the journal is there, and from then on until it is gone.
    lines : int
        How many the journal had in the end.
    """

    digests: dict[str, str]
    startup: float
    recording: float
    lines: int


@dataclass
class Tally:
    """What happened.

    Attributes
    ----------
    trials : list of int
        How many trials were in the journal after each kill; None where it came too late.
    problems : list of str
        What was lost or came out otherwise.
    """

    trials: list[int | None] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file in a folder, by its path there."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def whole_lines(folder: Path) -> list[bytes] | None:
    """Return the journal's lines but for a half-written last one; None if there is no journal."""
    try:
        lines = (folder / JOURNAL).read_bytes().split(b"\n")
    except FileNotFoundError:
        return None
    return lines[:-1]


def reference(folder: Path, session: list[str]) -> Reference:
    """Record a session, given as the command's arguments, without interruption."""
    start = time.perf_counter()
    process = _start([*session, "--out", folder])
    _wait_until(lambda: whole_lines(folder), process)
    begun = time.perf_counter()
    lines = 0
    while process.poll() is None and (known := whole_lines(folder)) is not None:
        lines = len(known)
    ended = time.perf_counter()
    _finish(process)
    return Reference(digests(folder), begun - start, ended - begun, lines)


def interrupt(
    folder: Path,
    session: list[str],
    expected: Reference,
    moments: list[float],
    tally: Tally,
    delay: float = 0.0,
) -> None:
    """Record a session that is killed several times, go on with it, and compare.

    Parameters
    ----------
    folder : Path
        Where; absent before and after.
    session : list of str
        The command's arguments.
    expected : Reference
        What it should come to.
    moments : list of float
        When to kill: the first as a share of the trials recorded, so that no part of a session is
        left out, the others as shares of the time that recording takes.
    tally : Tally
        Gets what happened.
    delay : float
        Seconds by which the first kill is later.
    """
    kept: list[bytes] = []
    for number, moment in enumerate(moments):
        if number == 0:
            process = _start([*session, "--out", folder])
            wanted = 1 + moment * expected.lines
            _wait_until(partial(_has_lines, folder, wanted), process)
            time.sleep(delay)
        else:  # reading the journal is a good moment, too
            process = _start(["--resume", folder])
            time.sleep(moment * (expected.startup + expected.recording))
        before = whole_lines(folder)
        process.kill()
        process.communicate()
        after = whole_lines(folder)
        tally.trials.append(None if after is None else _trials(after))
        if after is None:
            break  # the kill came too late: all was recorded
        for known in (kept, before or []):
            if after[: len(known)] != known:
                tally.problems.append(
                    f"{folder.name}: {_trials(known)} trials were in the journal, "
                    f"{_trials(after)} after kill {number + 1} at {moment:.4f}"
                )
        kept = after
    _finish(_start(["--resume", folder]))
    found = digests(folder)
    for name in sorted(found.keys() | expected.digests.keys()):
        if found.get(name) != expected.digests.get(name):
            what = "differs" if name in found and name in expected.digests else "is missing or new"
            tally.problems.append(f"{folder.name}: {name} {what} after kills at {moments}")
    shutil.rmtree(folder)


def run(folder: Path, kills: int, further: tuple[str, ...] = ()) -> tuple[Reference, Tally]:
    """Record a session, then kill it so many times, at random moments.

    `further` are options of the command that make the session another one.
    """
    session = [*SESSION, *further]
    expected, tally = reference(folder / "reference", session), Tally()
    rng = np.random.default_rng(SEED)
    while (stopped := len(tally.trials) - tally.trials.count(None)) < kills:
        moments = sorted(rng.random(min(int(rng.choice(IN_A_ROW)), kills - stopped)).tolist())
        # Files are written and policies learned between runs, within hundredths of a second.
        delay = rng.exponential(0.01)
        number = len(tally.trials)
        interrupt(folder / f"killed-{number}", session, expected, moments, tally, delay)
    return expected, tally


def _start(arguments: list) -> subprocess.Popen:
    return subprocess.Popen(
        [*BCIIGL, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def _finish(process: subprocess.Popen) -> None:
    """Wait for a command to end well."""
    errors = process.communicate()[1].decode()
    if process.returncode:
        raise RuntimeError(f"{' '.join(process.args)} failed:\n{errors}")


def _wait_until(condition, process: subprocess.Popen) -> None:
    """Wait until a condition holds or the process has ended."""
    while process.poll() is None and not condition():
        time.sleep(0.001)


def _has_lines(folder: Path, wanted: float) -> bool:
    return len(whole_lines(folder) or []) >= wanted


def _trials(lines: list[bytes]) -> int:
    return sum(b'"trial":' in line for line in lines)


def main() -> None:
    """Kill, go on, compare; exit with 1 if anything was lost or differs."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as folder:
        expected, tally = run(Path(folder), kills)
    stopped = [each for each in tally.trials if each is not None]
    print(f"recording took {expected.recording:.2f} s, {len(expected.digests)} files")
    print(f"{len(tally.trials)} kills, {len(stopped)} of them before the recording was finished,")
    if stopped:
        quarters = np.percentile(stopped, [0, 25, 50, 75, 100])
        print("with", " ".join(f"{each:.0f}" for each in quarters), "trials kept (quartiles)")
    print(f"{len(tally.problems)} differences from the uninterrupted recording")
    for problem in tally.problems:
        print(problem)
    sys.exit(1 if tally.problems else 0)


if __name__ == "__main__":
    main()
