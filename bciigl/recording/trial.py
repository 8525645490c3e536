"""What is recorded of a trial and of a run: what the agent saw, did and got back."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bciigl.estimate import UNCALIBRATED, Calibration
from bciigl.estimate.frames import Frames
from bciigl.protocol.timetable import Timetable
from bciigl.recording.truth import Truth


class RunId(NamedTuple):
    """Which run it is: the session, ``"train"`` or ``"test"``, and the run's number, from 1."""

    session: str
    run: int


class Shown(NamedTuple):
    """The guess that is shown: an option from 0, how probable it was, whether drawn uniformly."""

    action: int
    propensity: float
    explored: bool
    catch: bool = False


class KeyPress(NamedTuple):
    """A judgment given by a key, seconds after judgment began; for scorers alone."""

    match: bool
    seconds: float


NOT_ESTIMATED = np.empty(0)
"""A context or feedback that nobody looks at before the run is over."""
NO_GUESS = -1
"""The action of a trial in which no guess was shown."""


class Trial(NamedTuple):
    """One trial, as the agent knows it.

    The context is estimated at the time of the decision, the feedback at the trial's end,
    (voxels,); not numbers where too many frames were missing. In a trial that was missed, because
    its cue or its guess was not shown, both are not numbers and the action is `NO_GUESS`.
    """

    context: np.ndarray
    action: int
    propensity: float
    explored: bool
    catch: bool
    feedback: np.ndarray

    @classmethod
    def missed(cls, voxels: int) -> "Trial":
        """Return a trial in which no guess was shown, or not seen."""
        nothing = np.full(voxels, np.nan)
        return cls(nothing, NO_GUESS, 0.0, explored=False, catch=False, feedback=nothing)

    @property
    def shown(self) -> Shown:
        """The guess that was shown."""
        return Shown(self.action, self.propensity, self.explored, self.catch)

    @property
    def usable(self) -> bool:
        """Whether there were frames enough for context and feedback."""
        return bool(np.isfinite(self.context).all() and np.isfinite(self.feedback).all())

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, without loss; None stands for a value that is not a number."""
        plain = self._asdict()
        for name in ("context", "feedback"):
            plain[name] = [each if each == each else None for each in plain[name].tolist()]
        return plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Trial":
        """Return the trial that `as_dict` made plain data of."""
        values = {name: data[name] for name in cls._fields}
        arrays = {name: np.array(values[name], float) for name in ("context", "feedback")}
        return cls(**{**values, **arrays})

    def same_as(self, other: "Trial") -> bool:
        """Tell whether two trials are equal to the last bit."""
        return self.as_dict() == other.as_dict()


class Fault(NamedTuple):
    """Something that went wrong with a volume, by number if that is known, or with a session."""

    seconds: float
    volume: int | None
    what: str


class RunReport(NamedTuple):
    """What a source tells of a run besides its frames.

    Attributes
    ----------
    arrived : dict
        Seconds of the run at which each frame arrived, by index.
    movement : array, (frames, 6), or None
        Of the head from the reference: translations in mm, rotations in radians.
    faults : sequence of Fault
        In order.
    """

    arrived: Mapping[int, float] = {}
    movement: np.ndarray | None = None
    faults: Sequence[Fault] = ()


class RecordedRun(NamedTuple):
    """A run that is over, with the calibration that its trials were estimated with.

    Frames are not numbers where missing or corrupt; `status` has that of each frame not ok, by
    index. `keys` has the key pressed in each trial, None for none. `when` has the times at which
    events happened, not a number where one did not; None: as planned.
    """

    frames: Frames
    trials: list[Trial]
    truth: Truth | None = None
    status: Mapping[int, str] = {}
    calibration: Calibration = UNCALIBRATED
    keys: Sequence[KeyPress | None] = ()
    when: Timetable | None = None
    report: RunReport = RunReport()


def run_arrays(
    trials: Sequence[Trial], context: np.ndarray, feedback: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the trials of a run as arrays, with contexts and feedback estimated anew."""
    names = ("action", "propensity", "catch")
    arrays = {name: np.array([getattr(each, name) for each in trials]) for name in names}
    return {"context": context, **arrays, "feedback": feedback}
