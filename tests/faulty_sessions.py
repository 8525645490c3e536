"""Live sessions with faults, and the same sessions in one process without what is lost."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from faults import (
    LONGEST,
    Fault,
    FaultyWriter,
    Which,
    after_the_next,
    also,
    completed,
    copied,
    in_pieces,
    late,
    missing,
    never_completed,
    not_finite,
    other_series,
    other_shape,
    other_tr,
    packed,
    packed_and_truncated,
    truncated,
    twice,
)
from recordings import use_source

from bciigl.loop import record
from bciigl.loop.agent import Agent
from bciigl.loop.live import record_live
from bciigl.loop.scanner import SimulatedScanner
from bciigl.loop.timely import TimelyAgent
from bciigl.protocol import Protocol
from bciigl.protocol.schedule import frames_complete
from bciigl.protocol.timetable import timetable
from bciigl.recording import Dataset, open_dataset
from bciigl.recording.layout import ESTIMATES, beside, read_table, run_stem
from bciigl.source import Frame, SimulatedSource
from bciigl.source.channel import ADDRESS_FILE
from bciigl.source.interface import LATE, MISSING

SPEED = 200.0


def rehearse(
    protocol: Protocol,
    root: Path,
    plan: Mapping[Which, Fault],
    kind: str = "nifti",
    out: Path | None = None,
    **how: object,
) -> Dataset:
    """Return what a live session records while a simulated scanner writes with faults."""
    volumes, out = root / "volumes", out or root / "out"
    scanner = SimulatedScanner(protocol, volumes, kind, speed=SPEED, **how)
    scanner.write = FaultyWriter(kind, volumes, protocol, plan)
    scan, session = _Thread(scanner.serve), _Thread(lambda: record_live(protocol, volumes, out))
    scan.start()
    while scan.is_alive() and not (volumes / ADDRESS_FILE).exists():
        scan.join(0.005)
    session.start()
    for thread in (session, scan):
        thread.finish()
    return open_dataset(out)


class _Thread(threading.Thread):
    """A thread that must end, and whose error is raised where it is waited for."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._work, self._error = work, None

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # raised in `finish`
            self._error = error

    def finish(self) -> None:
        """Wait for the end."""
        self.join(LONGEST)
        if self._error is not None:
            raise self._error
        assert not self.is_alive(), "it does not end"


class Unreliable(SimulatedSource):
    """The session in one process that loses the same frames.

    Parameters
    ----------
    lost : dict
        Frames that are not there when they are due, by run and number of the volume; with the
        number of the one before which they come, or None if they never do.
    """

    def __init__(self, protocol, folder=None, *, lost: Mapping[Which, int | None]) -> None:
        super().__init__(protocol, folder)
        self._lost, self._held = lost, []

    def begin_run(self, session, run, frames, *, elapsed=0.0) -> None:
        """Begin a run."""
        super().begin_run(session, run, frames, elapsed=elapsed)
        self._run, self._held = run if session == "train" else 0, []

    def read(self, stop) -> list[Frame]:
        """Return frames; first those that have come late."""
        come = [frame._replace(status=LATE) for until, frame in self._held if until <= stop]
        self._held = [each for each in self._held if each[0] > stop]
        return come + [self._given(frame, stop) for frame in super().read(stop)]

    def _given(self, frame: Frame, stop: int) -> Frame:
        which = self._run, frame.index + 1
        if which not in self._lost:
            return frame
        until = self._lost[which]
        if until is not None:
            assert until > stop, "it is in time"
            self._held.append((until, frame))
        return frame._replace(values=None, status=MISSING)


def without(protocol: Protocol, out: Path, lost: Mapping[Which, int | None]) -> Dataset:
    """Return the same session in one process, without frames."""
    with pytest.MonkeyPatch.context() as patch:
        use_source(patch, lambda mine, folder: Unreliable(mine, folder, lost=lost))
        # It has random numbers of its own for guesses that need no context.
        agent = TimelyAgent(Agent(len(protocol.task.options)), LONGEST)
        record(protocol, out, agent=agent)
    return open_dataset(out)


def assert_same(live: Dataset, expected: Dataset, runs: int) -> None:
    """Check that frames, guesses, contexts and feedback are the same to the last bit."""
    for run in range(1, runs + 1):
        given = ("train", run)
        assert np.array_equal(live.frames(*given), expected.frames(*given), equal_nan=True)
        assert live.events(*given) == expected.events(*given)
        assert statuses(live, run) == statuses(expected, run)
        for ending in ("interactions.npz", "estimates.npz"):
            ours, theirs = (np.load(_file(each, run, ending)) for each in (live, expected))
            assert set(ours) == set(theirs)
            for name in ours:
                assert np.array_equal(ours[name], theirs[name], equal_nan=True), (run, name)


def statuses(dataset: Dataset, run: int) -> dict[int, str]:
    """Return the status of each volume that is not ok, by number from 1."""
    path = _file(dataset, run, "frames.tsv")
    table = read_table(path, ("frame", "status")) if path.exists() else {"frame": [], "status": []}
    found = zip(*table.values(), strict=True)
    return {int(frame): status for frame, status in found if status != "ok"}


def log(dataset: Dataset, run: int = 1) -> list[tuple[str, str]]:
    """Return the log of a run: each volume's number, and what is wrong with it; sorted."""
    path = _file(dataset, run, "log.tsv")
    if not path.exists():
        return []
    return sorted(zip(*read_table(path, ("volume", "what")).values(), strict=True))


def _file(dataset: Dataset, run: int, ending: str) -> Path:
    return beside(dataset.folder / ESTIMATES, run_stem(dataset.protocol, "train", run), ending)


def holds(protocol: Protocol, trials: int) -> list[int]:
    """Return the volumes, by number, at which the simulated scanner waits for a guess.

    When the writer is asked for one of them, the session has decided: it has read all volumes
    before it, or knows that they are missing.
    """
    when, tr = timetable(protocol, trials, "train"), protocol.timing.tr
    guesses = when.onsets["perception"]
    found = [int(np.floor(each / tr - 0.5)) + 2 for each in guesses]
    assert found == [frames_complete(each, tr) + 1 for each in when.decisions]
    return found


def random_plan(
    protocol: Protocol, trials: int, share: float, rng: np.random.Generator
) -> tuple[dict[Which, Fault], dict[Which, int | None]]:
    """Return faults of any kind for a share of a run's volumes, and what is lost by them."""
    stops, plan, lost = holds(protocol, trials), {}, {}
    frames = timetable(protocol, trials, "train").frames(protocol.timing.tr)
    numbers = rng.choice(np.arange(2, stops[-1]), round(share * frames), replace=False)
    for number in map(int, numbers):
        until = next(each for each in stops if each > number)
        gone = [missing, truncated, packed_and_truncated, never_completed, other_shape]
        gone += [not_finite, other_tr, other_series]
        odd = [copied, packed, in_pieces(0.05), in_pieces(0.05, allocated=True), twice(until)]
        odd += [also(other_series), also(other_shape), also(other_tr)]
        odd += [after_the_next] if number + 1 < until else []
        kind = rng.integers(3)
        choices = [gone, [late(until), completed(until)], odd][kind]
        plan[1, number] = choices[rng.integers(len(choices))]
        if kind < 2:
            lost[1, number] = [None, until][kind]
    return plan, lost
