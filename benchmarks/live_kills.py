"""Whether a live session that is killed at any moment loses anything that reached the disk.

A simulated scanner goes on scanning while the session is killed (SIGKILL) at random times and
resumed, once or several times in a row. In the end the dataset must be finished, have every volume
that the scanner wrote, every trial that was in the journal, the guesses that the person saw, and
every journal line as it was before each kill. The folder of a session with a problem is kept.

Usage: python benchmarks/live_kills.py [COUNT [SEED]]   (100 kills take about ten minutes)
"""

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

from kills import _forked, _whole_lines

CHANGES = {
    "task.trials": 8,
    "task.trials_per_run": 4,
    "brain.region.size": 2,
    "timing.isi": 4.0,
    "learners": ["ai_igl"],
}
IN_A_ROW = (1, 2, 3, 5)
SPEED = 60.0


@dataclass
class Tally:
    """What happened: kills, sessions and trials, those missed, and all that should not be."""

    kills: int = 0
    sessions: int = 0
    trials: int = 0
    missed: int = 0
    problems: list[str] = field(default_factory=list)


def run(count: int, root: Path, rng: random.Random) -> Tally:
    """Kill that many sessions, and return what came of it."""
    from bciigl.loop.live import record_live, resume_live  # noqa: F401 (imported before all forks)
    from bciigl.loop.scanner import SimulatedScanner  # noqa: F401
    from bciigl.loop.session import simulate
    from bciigl.protocol import load

    simulate(load("number_guessing", changes=CHANGES | {"evaluation.test_trials": 1}))
    tally = Tally()
    while tally.kills < count:
        kills = min(rng.choice(IN_A_ROW), count - tally.kills)
        interrupt(root / f"session-{tally.kills}", kills, rng, tally)
    return tally


def interrupt(root: Path, kills: int, rng: random.Random, tally: Tally) -> None:
    """Rehearse a session that is killed several times, and check what is left of it."""
    from bciigl.protocol import load

    seed, realign = rng.randrange(1000), rng.random() < 0.3
    protocol = load("number_guessing", changes=CHANGES | {"seed": seed, "live.realign": realign})
    volumes, out = root / "volumes", root / "out"
    root.mkdir()
    scanner = _begun(lambda: _scan(protocol, volumes), root / "scanner.log")
    while not (volumes / "scanner.json").exists():
        time.sleep(0.05)
    lines: list[bytes] = []
    for _ in range(kills):
        _forked(lambda: _session(protocol, volumes, out), root, rng.uniform(0.2, 5.0))
        tally.kills += 1
        lines = _same_lines(out, lines, tally)
        time.sleep(rng.choice([0.0, rng.uniform(0.0, 2.0)]))
    code, told = _forked(lambda: _session(protocol, volumes, out), root)
    _same_lines(out, lines, tally)
    _wait_for(scanner)
    tally.sessions += 1
    if code:
        tally.problems.append(f"{root.name}: ended with {code}: {told[-500:]}")
    elif found := _problems(out, volumes, tally):
        tally.problems += [f"{root.name}: {each}" for each in found]
    else:
        shutil.rmtree(root)


def _same_lines(out: Path, before: list[bytes], tally: Tally) -> list[bytes]:
    """Return the journal's lines after its first, which begin as they did before."""
    lines = (_whole_lines(out) or [])[1:] or _whole_lines(out / "derivatives" / "bciigl") or []
    if lines[: len(before)] != before:
        tally.problems.append(f"{out.parent.name}: journal lines have changed")
    return lines


def _problems(out: Path, volumes: Path, tally: Tally) -> list[str]:
    """Return what a finished dataset lacks."""
    import numpy as np

    from bciigl.base.json_files import parse_json
    from bciigl.recording import open_dataset
    from bciigl.recording.layout import TRUTH
    from bciigl.recording.trial import NO_GUESS

    found, dataset = [], open_dataset(out)
    shutil.copytree(volumes / TRUTH, out / TRUTH)
    lines = _whole_lines(out / "derivatives" / "bciigl")
    journal = [parse_json(line.partition(b" ")[2]) for line in lines]
    for run in (1, 2):
        lost = int(np.isnan(dataset.frames("train", run)).any(axis=1).sum())
        written = len(list(volumes.glob(f"*_run-{run:02}_*.nii")))
        if lost or len(dataset.frames("train", run)) != written:
            found.append(f"{lost} of {written} volumes of run {run} are missing")
        shown, truth = dataset.shown("train", run), dataset.run_truth("train", run)
        for trial, (guess, meant, match) in enumerate(
            zip(shown, truth.meant, truth.match, strict=True)
        ):
            if guess.action != NO_GUESS and (guess.action == meant) != match:
                found.append(f"trial {trial + 1} of run {run} has a guess that was not seen")
        mine = [each for each in journal if each["run"] == run]
        kept = {each["trial"]: each["action"] for each in mine if "trial" in each}
        if any(shown[trial].action != action for trial, action in kept.items()):
            found.append(f"a trial of run {run} is not as it was in the journal")
        tally.trials += len(shown)
        tally.missed += sum(each.action == NO_GUESS for each in shown)
    return found


def _scan(protocol: object, volumes: Path) -> None:
    from bciigl.loop.scanner import SimulatedScanner

    SimulatedScanner(protocol, volumes, speed=SPEED).serve()


def _session(protocol: object, volumes: Path, out: Path) -> None:
    from bciigl.loop.live import record_live, resume_live
    from bciigl.recording import is_dataset

    resume_live(out) if is_dataset(out) else record_live(protocol, volumes, out)


def _wait_for(child: int, seconds: float = 20.0) -> None:
    """Wait for a process to end, and end it if it does not."""
    until = time.monotonic() + seconds
    while not os.waitpid(child, os.WNOHANG)[0]:
        time.sleep(0.05)
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)


def _begun(work: Callable[[], None], log: Path) -> int:
    """Return the number of a child process that does some work."""
    child = os.fork()
    if child:
        return child
    with log.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        work()
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        os._exit(0)


def main() -> None:
    """Kill, resume, check; exit with 1 if anything was lost."""
    count, seed = (int(each) for each in (*sys.argv[1:], *("20", "0")[len(sys.argv) - 1 :]))
    start, folder = time.perf_counter(), Path(tempfile.mkdtemp())
    tally = run(count, folder, random.Random(seed))  # noqa: S311 (no secret)
    print(
        f"{tally.kills} kills of {tally.sessions} sessions in {time.perf_counter() - start:.0f} s: "
        f"{tally.missed} of {tally.trials} trials passed while no session was there"
    )
    print(f"{len(tally.problems)} problems")
    if tally.problems:
        print("\n".join((*tally.problems, f"see {folder}")))
    else:
        shutil.rmtree(folder)
    sys.exit(bool(tally.problems))


if __name__ == "__main__":
    main()
