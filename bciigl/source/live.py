"""The source of live sessions: frames as they arrive, with deadlines."""

import base64
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bciigl.base.progress import Notify, silent
from bciigl.brain.events import Event
from bciigl.brain.region import Region
from bciigl.protocol import Protocol
from bciigl.protocol.schedule import decision_time
from bciigl.recording.dataset import MOST_LATE
from bciigl.recording.trial import Fault, RunReport
from bciigl.source.display import Display, Keep, Line
from bciigl.source.drift import DriftWatch
from bciigl.source.interface import LATE, MISSING, OK, Frame, Participant, Source
from bciigl.source.live_person import LivePerson

MISSED = "missing when it was needed"
MOST_ALIKE = 3
"""Faults of a kind in a row that are shown; all are in the log of the run."""
JOINING = 3.0
"""Seconds that a run which is joined has more to find the volumes that came meanwhile."""
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

    def drain(self) -> None:  # noqa: B027 (not every feed needs it)
        """Take all volumes that are there before this returns."""

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
        self.notify: Notify = silent
        self.gate: Callable[[int], None] = silent
        """Called with the number of each run before it begins; returns when it may."""
        self.left_out: dict[int, str] = {}
        self.past: Sequence[Line] = ()
        """What the journal has of the next run, where it is resumed."""
        self.protocol, self.rehearsed, self._speed = protocol, speed is not None, speed or 1.0
        self._patience = max(
            protocol.live.deadline * self.tr / self._speed,
            SHORTEST_WAIT if self._speed > 1 else 0.0,
        )
        self._dummies = protocol.live.dummies
        self._keep_line, self.place = keep, ("", 0)
        self._changed, self._keeping = threading.Condition(), threading.Lock()
        self._zero: float | None = None
        self._reset(0)
        self.feed, feed.take, feed.fault = feed, self._take, self.fault
        self.display = display(self._keep, self.elapsed)
        self.display.fault = self.fault

    def _reset(self, frames: int) -> None:
        self._length, self._over = frames, not frames
        self.left_out.clear()
        self._frames: dict[int, Frame] = {}
        self._faults: list[Fault] = []
        self._last_fault, self._same = "", 0
        self._given = 0  # frames before this were read
        self._late: list[int] = []  # of these, those that have come since
        self._newest, self._newest_at = -1, time.monotonic()
        self._catching_up = True  # until volumes come as they are scanned
        self._later_at: dict[int, float] = {}  # when the first volume came after one that is lost
        self._drift = DriftWatch(self.tr, self.fault, own_clock=self._speed == 1)

    def begin_run(self, session: str, run: int, frames: int, *, elapsed: float = 0.0) -> None:
        """Begin a run, or join it where it is now."""
        if not self.past:
            self.gate(run)
        with self._changed:
            self.place, self._zero = (session, run), None
            self._reset(frames)
            for line in self.past:
                self._restore(line)
            self._joining = bool(self.past)
        past, self.past = self.past, ()
        if not past:
            self._keep({"begun": True})  # before the scanner is asked: then it can be joined
        what = "volume" if self.rehearsed else self.protocol.live.trigger
        waits = "its first volume" if what == "volume" else f"its trigger ({what})"
        self.notify(f"run {run}: {'joining it' if past else f'waiting for {waits}'}")
        self.display.begin_run(session, run, past)
        self.feed.begin_run(session, run, past)

    def _restore(self, line: Line) -> None:
        """Take notice of what the journal has."""
        if "zero" in line:
            self._zero = time.monotonic() - (time.time() - line["zero"])
        elif "volume" in line:
            values = np.frombuffer(base64.b64decode(line["values"]), "<f4").astype(float)
            moved = line.get("movement")
            moved = None if moved is None else np.array(moved)
            self._put(
                line["volume"], values, moved, line["arrived"], LATE if line.get("late") else OK
            )
        elif "fault" in line:
            self._faults.append(Fault(line["seconds"], line["number"], line["fault"]))
        elif "left_out" in line:
            self._leave_out(line["left_out"], line["why"])

    def leave_out(self, why: str, trial: int | None = None) -> int | None:
        """Leave a trial of this run out of learning: by default the one that runs now.

        Without a reason `why`, it is learned from again. Returns the trial; None if there is none.
        """
        when, now = self._person.when, self.elapsed()
        if trial is None:
            trial = int(np.searchsorted(when.starts, now, side="right")) - 1
        if self._over or not 0 <= trial < when.trials or now < when.starts[trial]:
            return None
        if self.left_out.get(trial, "") != why:
            self._leave_out(trial, why)
            self._keep({"left_out": trial, "why": why})
            self.fault(f"trial {trial + 1} is {f'left out: {why}' if why else 'taken back in'}")
        return trial

    def _leave_out(self, trial: int, why: str) -> None:
        if why:
            self.left_out[trial] = why
        else:
            self.left_out.pop(trial, None)

    def trigger(self, at: float | None = None) -> None:
        """Begin to count the seconds of the run: the scanner has begun, dummies first.

        That was at a time by this computer's monotonic clock; by default it is now.
        """
        with self._changed:
            if self._zero is None and self.place[1]:
                at = time.monotonic() if at is None else at
                self._set_zero(at + self._dummies * self.tr / self._speed)

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
        """Show an event when its time comes, or a little later."""
        late = MOST_LATE * self.tr
        if event.kind == "imagination":  # of which the decision needs frames
            late = min(late, max(decision_time(self.protocol) - 2 * self.tr, self.tr / 2))
        # Less a millisecond, to which it is rounded: a dataset has no events that are later.
        self.display.show(event, event.onset + late - 0.001)

    def onset(self, event: Event) -> float | None:
        """Return when an event was seen; None if it was not."""
        return self.display.onset((event.kind, event.onset))

    def participant(self, session: str, run: int, trials: int) -> Participant:
        """Return the person in the scanner."""
        self._person = LivePerson(self.protocol, trials, session, run, self.display)
        return self._person

    def read(self, stop: int) -> list[Frame]:
        """Return the frames before `stop`, and those that have come late; see `Source.read`."""
        stop = min(stop, self._length)
        began = time.monotonic()
        with self._changed:
            while (left := self._left(stop, began)) > 0:
                self._changed.wait(left)
            lost = any(index not in self._frames for index in range(stop))
        if lost and stop == self._length:
            self.feed.drain()  # what is on the disk by the end of the run is not lost
        with self._changed:
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
        if self._zero is None or (self.rehearsed and self._newest < 0):
            return 60.0  # the run has not begun
        due = max(self._due(index, began) for index in missing)
        patience = self._patience + (JOINING if self._joining else 0.0)
        return max(due + patience - time.monotonic(), 0.0)

    def _due(self, index: int, began: float) -> float:
        """Return when a volume should be here, by this computer's clock."""
        if self._zero is not None and not self.rehearsed:
            due = self._zero + (index + 1) * self.tr
            return max(due, self._newest_at) if self._catching_up else due
        newest, since = self._newest, self._newest_at
        if self._speed > 1:  # the scanner has waited for us, and goes on where we are
            newest = max(newest, self._given - 1)
            since = max(since, began, self.display.stood_still())
        ahead = max(index - newest, 0) * self.tr / self._speed
        return self._later_at.get(index, since) + ahead

    def _frame(self, index: int) -> Frame:
        if index in self._frames:
            return self._frames[index]
        seconds, number = (index + 1) * self.tr, index + self._dummies + 1
        if (number, MISSED) not in (each[1:] for each in self._faults):  # before it was resumed
            self.fault(MISSED, number)
        return Frame(index, None, seconds, max(self.elapsed(), seconds), MISSING)

    def _take(self, arrival: Arrival) -> None:
        """Keep a volume that has arrived; called from the feed's thread."""
        number = arrival.number + 1  # as people count
        with self._changed:
            if self._over:
                return
            self._joining = False
            index = arrival.number - self._dummies
            if index >= self._length:
                self.fault("came after the end of the run", number)
                return
            if self._newest < 0 <= index:
                self.notify(f"run {self.place[1]}: volumes are coming")
            self._anchor(index)
            if index < 0:
                return
            values = np.asarray(arrival.values, "<f4")
            late = index < self._given
            if index in self._frames:
                known: Any = self._frames[index].values
                if not arrival.again or np.array_equal(values, known):
                    self.fault("is a duplicate", number)
                    return
                self.fault("has changed since it was read", number)
            elif late:
                self.fault("came late", number)
            elif index < self._newest:
                self.fault("came after a later one", number)
            arrived = self.elapsed()
            line = {"volume": index, "arrived": round(arrived, 3), "late": late, **arrival.about}
            line["values"] = base64.b64encode(values.tobytes()).decode()
            movement = arrival.movement
            if movement is not None:
                movement = np.round(movement, 6)  # as the recording keeps it
                line["movement"] = movement.tolist()
            self._keep(line)
            self._put(index, values.astype(float), movement, arrived)
            if not self._catching_up:
                self._drift.take(arrival.number, arrival.acquired, time.monotonic())
            self._changed.notify_all()

    def _anchor(self, index: int) -> None:
        """Set the clock by a volume, which is complete now, unless a trigger has."""
        zero = time.monotonic() - (index + 1) * self.tr / self._speed
        triggered = self.protocol.live.trigger != "volume"
        if self.rehearsed:
            if index > self._newest or self._zero is None:
                self._zero = zero
        elif self._zero is None:
            if triggered:
                self.fault("volumes arrive, but no trigger has: using the first volume")
            self._set_zero(zero)
        # Volumes are late, never early: the fastest tells the time, unless its number is wrong.
        elif index == self._newest + 1 and zero < self._zero - triggered * self.tr / 2:
            if triggered:
                self.fault("came before the trigger says it could: using its time", index + 1)
            self._set_zero(zero)
        if self._zero is not None and self._zero - zero > -self._patience:
            self._catching_up = False

    def _put(
        self,
        index: int,
        values: np.ndarray,
        movement: np.ndarray | None,
        arrived: float,
        status: str = OK,
    ) -> None:
        seconds, now = (index + 1) * self.tr, time.monotonic()
        self._frames[index] = Frame(index, values, seconds, max(arrived, seconds), status, movement)
        if index < self._given:
            self._late.append(index)
        for gap in range(self._newest + 1, index):
            self._later_at[gap] = now
        if index > self._newest:
            self._newest, self._newest_at = index, now

    def fault(self, what: str, number: int | None = None) -> None:
        """Log what went wrong, with a volume by number from 1, as its file counts: with dummies."""
        fault = Fault(round(max(self.elapsed(), 0.0), 3), number, what)
        with self._changed:
            self._faults.append(fault)
        self._keep({"fault": what, "number": number, "seconds": fault.seconds})
        self._same = self._same + 1 if what == self._last_fault else 1
        self._last_fault = what
        volume = "" if number is None else f"volume {number} "
        more = " (and perhaps more: see the log of the run)" if self._same == MOST_ALIKE else ""
        level = logging.WARNING if self._same <= MOST_ALIKE else logging.DEBUG
        message = f"run {self.place[1]}: {volume}{what}{more}"
        logging.getLogger("bciigl").log(level, "%s", message)

    def _keep(self, line: Line) -> None:
        with self._keeping:  # not by `_changed`: displays hold their own lock when they call this
            if not self._over:
                self._keep_line(*self.place, line)

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
