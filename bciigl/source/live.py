"""The source of live sessions: frames as they arrive, with deadlines."""

import base64
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bciigl.base.progress import silent
from bciigl.base.seeds import run_seed
from bciigl.brain.events import Event, trial_event
from bciigl.brain.region import Region
from bciigl.protocol import Protocol
from bciigl.recording.dataset import MOST_LATE
from bciigl.recording.trial import Fault, KeyPress, RunReport, Shown
from bciigl.source.display import Display, Keep, Line
from bciigl.source.drift import DriftWatch
from bciigl.source.interface import LATE, MISSING, OK, Frame, Participant, Source

MISSED = "missing when it was needed"
SHORTEST_WAIT = 0.5
"""Seconds that a volume is waited for at least, where a rehearsal is faster than a scanner."""


class Arrival(NamedTuple):
    """A volume of the present run that has arrived, its region's values read.

    `number` counts from 0 and includes dummy volumes. `about` goes to the journal with it. `again`
    says that it is from a file that was read before: perhaps that was not whole then.
    """

    number: int
    values: np.ndarray
    movement: np.ndarray | None = None
    acquired: float | None = None
    about: Mapping[str, Any] = {}
    again: bool = False


class Feed(ABC):
    """Where volumes come from; calls `take` for each, from a thread of its own."""

    take: Callable[[Arrival], None] = staticmethod(silent)
    fault: Callable[[str, int | None], None] = staticmethod(silent)

    @abstractmethod
    def begin_run(self, session: str, run: int, past: Sequence[Line]) -> None:
        """Look for a new series of volumes; or, if there are `past` lines, for the rest of one."""

    def expect(self, seconds: float) -> None:  # noqa: B027 (not every feed needs it)
        """Learn that volumes are waited for which should have come by a time of the run."""

    def end_run(self) -> None:  # noqa: B027 (not every feed needs it)
        """Look for no more volumes until the next run begins."""

    @abstractmethod
    def close(self) -> None:
        """Look for no more volumes."""


class LiveSource(Source):
    """Frames that arrive while a person is scanned.

    A frame that is late is missing at first: a decision does not wait for it beyond the deadline
    (`live.deadline`). If it comes before the run is over it is given then, as late.

    Parameters
    ----------
    protocol : Protocol
        The experiment.
    region : Region
        The voxels that the feed reads.
    feed : Feed
        Where volumes come from.
    display : function
        Makes the display, given `keep` and a function that returns the seconds since the run began.
    keep : function
        Called with the session, the run and each line for the journal, before anything else is
        done with what it says.
    group, sidecar
        As in `Source`.
    speed : float or None
        How many times as fast as a scanner a rehearsal is, which then has no clock but its volumes;
        None at a scanner.
    """

    repeatable = False

    def __init__(
        self,
        protocol: Protocol,
        region: Region,
        feed: Feed,
        display: Callable[[Keep, Callable[[], float]], Display],
        *,
        keep: Callable[[str, int, Line], None] = silent,
        group: str = "participant",
        sidecar: Mapping[str, Any] | None = None,
        speed: float | None = None,
    ) -> None:
        self.tr, self.region, self.group = protocol.timing.tr, region, group
        self.sidecar = sidecar or {}
        self.past: Sequence[Line] = ()
        """What the journal has of the next run, where it is resumed."""
        self.protocol, self.rehearsed, self._speed = protocol, speed is not None, speed or 1.0
        self._patience = max(
            protocol.live.deadline * self.tr / self._speed,
            SHORTEST_WAIT if self._speed > 1 else 0.0,
        )
        self._dummies = protocol.live.dummies
        self._keep_line, self._place = keep, ("", 0)
        self._changed, self._keeping = threading.Condition(), threading.Lock()
        self._zero: float | None = None
        self._reset(0)
        self.feed, feed.take, feed.fault = feed, self._take, self._fault
        self.display = display(self._keep, self.elapsed)

    def _reset(self, frames: int) -> None:
        self._length, self._over = frames, not frames
        self._frames: dict[int, Frame] = {}
        self._faults: list[Fault] = []
        self._given = 0  # frames before this were read
        self._late: list[int] = []  # of these, those that have come since
        self._newest, self._newest_at = -1, 0.0
        self._expected: dict[int, float] = {}  # when volumes should have come that have not
        self._drift = DriftWatch(self.tr, self._fault, own_clock=self._speed == 1)

    def begin_run(self, session: str, run: int, frames: int, *, elapsed: float = 0.0) -> None:
        """Begin a run, or join it where it is now."""
        with self._changed:
            self._place, self._zero = (session, run), None
            self._reset(frames)
            for line in self.past:
                self._restore(line)
        past, self.past = self.past, ()
        self.display.begin_run(session, run, past)
        self.feed.begin_run(session, run, past)

    def _restore(self, line: Line) -> None:
        """Take notice of what the journal has."""
        if "zero" in line:
            self._zero = time.monotonic() - (time.time() - line["zero"])
        elif "volume" in line:
            values = np.frombuffer(base64.b64decode(line["values"]), "<f4").astype(float)
            moved = line.get("movement")
            self._put(
                line["volume"], values, None if moved is None else np.array(moved), line["arrived"]
            )
        elif "fault" in line:
            self._faults.append(Fault(line["seconds"], line["number"], line["fault"]))

    def trigger(self) -> None:
        """Begin to count the seconds of the run: the scanner has just begun, dummies first."""
        with self._changed:
            if self._zero is None and self._place[1]:
                self._set_zero(time.monotonic() + self._dummies * self.tr / self._speed)

    def _set_zero(self, zero: float) -> None:
        self._zero = zero
        self._keep({"zero": time.time() - (time.monotonic() - zero)})
        self.display.wake()

    def elapsed(self) -> float:
        """Return the seconds since the run began; before that is known, a negative number."""
        if self._zero is None:
            return -1.0
        return (time.monotonic() - self._zero) * self._speed

    def announce(self, event: Event) -> None:
        """Show an event when its time comes."""
        # Less a millisecond, to which it is rounded: a dataset has no events that are later.
        self.display.show(event, event.onset + MOST_LATE * self.tr - 0.001)

    def onset(self, event: Event) -> float | None:
        """Return when an event was seen; None if it was not."""
        return self.display.onset((event.kind, event.onset))

    def participant(self, session: str, run: int, trials: int) -> "LivePerson":
        """Return the person in the scanner."""
        return LivePerson(self.protocol, trials, session, run, self.display)

    def read(self, stop: int) -> list[Frame]:
        """Return the frames before `stop`, and those that have come late; see `Source.read`."""
        stop = min(stop, self._length)
        self.feed.expect((stop + self.protocol.live.deadline) * self.tr)
        began = time.monotonic()
        with self._changed:
            while (left := self._left(stop, began)) > 0:
                self._changed.wait(left)
            late = [self._frames[index]._replace(status=LATE) for index in sorted(self._late)]
            self._late.clear()
            frames = [self._frame(index) for index in range(self._given, stop)]
            self._given = max(self._given, stop)
            return late + frames

    def _left(self, stop: int, began: float) -> float:
        """Return how many seconds to wait until all frames are there or lost; 0 if they are."""
        missing = [index for index in range(self._given, stop) if index not in self._frames]
        if not missing:
            return 0.0
        if self._newest < 0:
            return 60.0  # the run has not begun
        now, newest, newest_at = time.monotonic(), self._newest, self._newest_at
        if self._speed > 1:  # the scanner has waited for us, and goes on where we are
            newest, newest_at = max(newest, self._given - 1), max(newest_at, began)
        due = []
        for index in missing:
            ahead = max(index - newest, 0) * self.tr / self._speed
            since = self._expected.get(index, newest_at) + ahead
            if not self.rehearsed and self._zero is not None:
                # One volume with a wrong number must not make those lost that are to come.
                since = max(since, self._zero + (index + 1) * self.tr)
            due.append(since + self._patience - now)
        return max(*due, 0.0)

    def _frame(self, index: int) -> Frame:
        if index in self._frames:
            return self._frames[index]
        seconds, number = (index + 1) * self.tr, index + self._dummies + 1
        if (number, MISSED) not in (each[1:] for each in self._faults):  # before it was resumed
            self._fault(MISSED, number)
        return Frame(index, None, seconds, max(self.elapsed(), seconds), MISSING)

    def _take(self, arrival: Arrival) -> None:
        """Keep a volume that has arrived; called from the feed's thread."""
        number = arrival.number + 1  # as people count
        with self._changed:
            if self._over:
                return
            index = arrival.number - self._dummies
            if index >= self._length:
                self._fault("came after the end of the run", number)
                return
            self._anchor(index)
            if index < 0:
                return
            values = np.asarray(arrival.values, "<f4")
            if index in self._frames:
                if not arrival.again or np.array_equal(values, self._frames[index].values):
                    self._fault("is a duplicate", number)
                    return
                self._fault("has changed since it was read", number)
            elif index < self._given:
                self._fault("came late", number)
            elif index < self._newest:
                self._fault("came after a later one", number)
            arrived = self.elapsed()
            line = {"volume": index, "arrived": round(arrived, 3), **arrival.about}
            line["values"] = base64.b64encode(values.tobytes()).decode()
            movement = arrival.movement
            if movement is not None:
                movement = np.round(movement, 6)  # as the recording keeps it
                line["movement"] = movement.tolist()
            self._keep(line)
            self._put(index, values.astype(float), movement, arrived)
            self._drift.take(arrival.number, arrival.acquired, time.monotonic())
            self._changed.notify_all()

    def _anchor(self, index: int) -> None:
        """Set the clock by a volume, which is complete now, unless a trigger has."""
        zero = time.monotonic() - (index + 1) * self.tr / self._speed
        if self.rehearsed:
            if index > self._newest:
                self._zero = zero
        elif self._zero is None:
            if self.protocol.live.trigger != "volume":
                self._fault("volumes arrive, but no trigger has: using the first volume")
            self._set_zero(zero)
        elif self.protocol.live.trigger == "volume" and zero < self._zero:
            # Volumes are late, never early: the fastest tells the time, unless its number is wrong.
            if index == self._newest + 1:
                self._set_zero(zero)

    def _put(
        self, index: int, values: np.ndarray, movement: np.ndarray | None, arrived: float
    ) -> None:
        seconds, now = (index + 1) * self.tr, time.monotonic()
        self._frames[index] = Frame(index, values, seconds, max(arrived, seconds), OK, movement)
        if index < self._given:
            self._late.append(index)
        for gap in range(self._newest + 1, index):
            # A volume that is not there should have come when its turn was, at the latest now.
            turn = self._newest_at + (gap - self._newest) * self.tr / self._speed
            self._expected[gap] = now if self._speed > 1 else min(turn, now)
        if index > self._newest:
            self._newest, self._newest_at = index, now

    def _fault(self, what: str, number: int | None = None) -> None:
        """Log what went wrong, with a volume by number from 1, as its file counts: with dummies."""
        fault = Fault(round(max(self.elapsed(), 0.0), 3), number, what)
        with self._changed:
            self._faults.append(fault)
        self._keep({"fault": what, "number": number, "seconds": fault.seconds})
        volume = "" if number is None else f"volume {number} "
        logging.getLogger("bciigl").warning("run %d: %s%s", self._place[1], volume, what)

    def _keep(self, line: Line) -> None:
        with self._keeping:  # not by `_changed`: displays hold their own lock when they call this
            if not self._over:
                self._keep_line(*self._place, line)

    def report(self) -> RunReport:
        """Return when frames arrived, how the head moved, and what went wrong."""
        self.feed.end_run()
        with self._changed:
            with self._keeping:
                self._over = True
            arrived = {index: frame.arrived for index, frame in sorted(self._frames.items())}
            movement = np.full((self._length, 6), np.nan)
            for index, frame in self._frames.items():
                if frame.movement is not None:
                    movement[index] = frame.movement
            moved = np.isfinite(movement).any()
            return RunReport(arrived, movement if moved else None, tuple(self._faults))

    def close(self) -> None:
        """Take no more volumes, and show nothing any more."""
        self.feed.close()
        self.display.close()


class LivePerson(Participant):
    """The person in the scanner, whose thoughts nobody knows, and who is cued in catch trials."""

    def __init__(
        self, protocol: Protocol, trials: int, session: str, run: int, display: Display
    ) -> None:
        super().__init__(protocol, trials, session, run)
        self._display = display
        rng = run_seed(protocol.seed, session, run).rng("experimenter")
        options, plan = len(protocol.task.options), protocol.task.catch
        self._cues, others = rng.integers(options, size=trials), rng.integers(1, options, trials)
        chance = rng.random((2, trials))
        self._catch = (chance[0] < plan.share) & (session == "train")
        wrong = (self._cues + others) % options
        self._guesses = np.where(chance[1] < plan.match_rate, self._cues, wrong)

    def imagine(self, trial: int) -> Event:
        """Return how a trial begins; in a catch trial with the option to imagine."""
        cue = self._protocol.task.options[self._cues[trial]] if self._catch[trial] else None
        return trial_event(self.when, trial, "imagination", cue)

    def shown(self, trial: int) -> Shown | None:
        """Return what the experimenter shows in a catch trial; None in all others."""
        if not self._catch[trial]:
            return None
        chance = 1 / len(self._protocol.task.options)
        return Shown(int(self._guesses[trial]), chance, explored=False, catch=True)

    def key(self, trial: int, guess: int) -> KeyPress | None:
        """Return the key that was pressed."""
        if "judgment" not in self.when.onsets:
            return None
        return self._display.keys.get(float(self.when.onsets["judgment"][trial]))
