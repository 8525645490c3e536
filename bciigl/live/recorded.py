"""Sessions that were recorded, watched again."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bciigl.base.arrays import read_arrays
from bciigl.base.json_files import parse_json
from bciigl.recording import Dataset
from bciigl.recording.layout import ESTIMATES, JOURNAL, beside, run_stem
from bciigl.recording.trial import NO_GUESS, RunId, Trial
from bciigl.source.live import MISSED

Timed = tuple[float | None, dict[str, Any]]
"""A line of a journal, and the time of its run, if it has one."""


def recorded_lines(dataset: Dataset) -> Iterator[Timed]:
    """Yield the lines of a session's journal; of one that kept none, what it would have had."""
    journal = dataset.folder / ESTIMATES / JOURNAL
    if journal.exists():
        with journal.open("rb") as lines:
            for written in lines:
                entry = parse_json(written.partition(b" ")[2])
                times = (entry[name] for name in ("arrived", "onset", "seconds") if name in entry)
                yield next(times, None), entry
        return
    for session in dataset.sessions:
        runs = np.unique(dataset.sessions[session].interactions.run).tolist()
        for run in range(1, 1 + max(runs)):
            place = RunId(session, run)
            for seconds, line in sorted(_lines(dataset, place), key=lambda each: each[0]):
                yield seconds, {**place._asdict(), **line}


def _lines(dataset: Dataset, place: RunId) -> Iterator[tuple[float, dict[str, Any]]]:
    """Yield what happened in a run; what happened at the same time, in order."""
    frames, when = dataset.frames(*place), dataset.timetable(*place)
    tr = dataset.protocol.timing.tr
    yield -1.0, {"begun": True}
    for index, values in enumerate(frames):
        seconds = (index + 1) * tr
        if np.isfinite(values).all():
            yield seconds, {"volume": index, "values": values, "arrived": seconds}
        else:
            number = index + 1 + dataset.protocol.live.dummies
            yield seconds, {"fault": MISSED, "number": number, "seconds": seconds}
    stem = run_stem(dataset.protocol, *place)
    arrays = read_arrays(beside(dataset.folder / ESTIMATES, stem, "interactions.npz"))
    answers = arrays["feedback_so_far" if "feedback_so_far" in arrays else "feedback"]
    for number, shown in enumerate(dataset.shown(*place)):
        trial = Trial(arrays["context"][number], *shown, answers[number])
        if shown.action != NO_GUESS:
            yield float(when.decisions[number]), {"decision": number, **trial.as_dict()}
        # Just after the frame that ends it.
        yield float(when.starts[number + 1]) + tr, {"trial": number, **trial.as_dict()}
    for kind, onsets in when.onsets.items():
        for onset in onsets[np.isfinite(onsets)].tolist():
            yield onset, {"shown": kind, "planned": onset, "onset": onset}
    yield float("inf"), {"written": {}}


class Player:
    """Plays the lines of a recorded session, as fast as wanted.

    Parameters
    ----------
    lines : iterable
        The lines, with times (`recorded_lines`).
    speed : float
        How many times as fast as it was recorded.
    paused : function
        Tells whether to wait.
    """

    def __init__(self, lines: Iterator[Timed], speed: float, paused: Callable[[], bool]) -> None:
        self._lines, self._speed, self._paused = lines, speed, paused
        self._zero = time.monotonic()

    def elapsed(self) -> float:
        """Return the seconds since the run began."""
        return (time.monotonic() - self._zero) * self._speed

    def play(self, take: Callable[[dict[str, Any]], None]) -> None:
        """Call a function with each line, when its time has come."""
        place = None
        for seconds, line in self._lines:
            if (line["session"], line["run"]) != place:
                place = line["session"], line["run"]
                self._zero = time.monotonic()
            if seconds is not None and np.isfinite(seconds):
                self._wait_until(seconds)
            take(line)

    def _wait_until(self, seconds: float) -> None:
        while self._paused() or self.elapsed() < seconds:
            before, left = time.monotonic(), (seconds - self.elapsed()) / self._speed
            if self._paused():
                time.sleep(0.05)
                self._zero += time.monotonic() - before
            else:
                time.sleep(min(max(left, 0.0), 0.05))
