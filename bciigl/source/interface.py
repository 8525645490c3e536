"""What every source of frames offers, whatever is behind it, and every participant."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bciigl.base.registry import SOURCES
from bciigl.brain.events import Event, trial_event
from bciigl.brain.region import Region
from bciigl.protocol import Protocol
from bciigl.protocol.timetable import timetable
from bciigl.recording.trial import KeyPress, RunReport, Shown
from bciigl.recording.truth import Truth

OK, LATE, MISSING, CORRUPT, DUPLICATE = "ok", "late", "missing", "corrupt", "duplicate"
STATUSES = (OK, LATE, MISSING, CORRUPT, DUPLICATE)


class Frame(NamedTuple):
    """One frame of a run.

    Attributes
    ----------
    index : int
        Which frame of the run, from 0.
    values : array, (voxels,), or None
        The region's signal; None if the frame is missing or corrupt.
    acquired, arrived : float
        Seconds from the beginning of the run until the frame was complete, and until it was here.
    status : str
        One of `STATUSES`.
    movement : array, (6,), or None
        Of the head from the reference, if the volume was realigned: translations in mm, rotations
        in radians.
    """

    index: int  # type: ignore[assignment]  # in place of the method that tuples have
    values: np.ndarray | None
    acquired: float
    arrived: float
    status: str = OK
    movement: np.ndarray | None = None


class Participant:
    """The person during one run, and what other participants build on: nobody knows the thoughts.

    `bciigl.testing.check_participant` checks an implementation.

    Parameters
    ----------
    protocol : Protocol
        The experiment.
    trials : int
        How many trials the run has.
    session, run
        Which run it is, from 1; needed where times differ from run to run (`timing.jitter`).
    """

    def __init__(
        self, protocol: Protocol, trials: int, session: str | None = None, run: int = 1
    ) -> None:
        self._protocol = protocol
        self.trials = trials
        self.when = timetable(protocol, trials, session, run)

    def imagine(self, trial: int) -> Event:
        """Return how a trial, counted from 0, begins."""
        return trial_event(self.when, trial, "imagination", None)

    def shown(self, trial: int) -> Shown | None:
        """Return what is shown in place of the agent's guess; None where the agent guesses."""
        return None

    def answer(self, trial: int, guess: int, judged: bool | None = None) -> list[Event]:
        """Return what a guess evokes: the person sees it, then judges it a match or a mismatch."""
        contents = {"perception": self._protocol.task.options[guess], "judgment": judged}
        return [
            trial_event(self.when, trial, kind, contents[kind])
            for kind in self._protocol.task.events[1:]
        ]

    def key(self, trial: int, guess: int) -> KeyPress | None:
        """Return the key that a guess was judged by, if any; no agent is ever told."""
        return None

    def truth(self, actions: Sequence[int]) -> Truth | None:
        """Return what was true of the trials, given the guesses shown; None if nobody knows."""
        return None


class Source(ABC):
    """Gives the frames of a session, run by run. Custom sources derive from this class.

    A run begins with `begin_run`. The session loop then announces events and reads frames in turn.
    `bciigl.testing.check_source` checks a source.

    Attributes
    ----------
    tr : float
        Seconds from one frame to the next.
    region : Region
        The voxels of a frame and their place in the head.
    fingerprint : str
        A digest of what frames depend on besides the protocol. A session is resumed only with a
        source of the same fingerprint.
    group : str
        What kind of participant the recording is of, as in ``participants.tsv``.
    sidecar : dict
        What the recording's JSON sidecar says about the scanner besides the TR.
    repeatable : bool
        Whether a run that was stopped can happen again from its beginning, as a simulated one can.
        If not, a run that is resumed goes on where it is now.
    left_out : dict
        Trials of the present run, from 0, that should not be learned from, and why.
    """

    tr: float
    region: Region
    fingerprint: str = ""
    group: str = "participant"
    sidecar: Mapping[str, Any] = {}
    repeatable: bool = True
    left_out: Mapping[int, str] = {}

    @property
    def n_voxels(self) -> int:
        """How many voxels a frame has."""
        return len(self.region)

    @property
    def affine(self) -> np.ndarray:
        """From voxel indices to millimetres, (4, 4)."""
        return self.region.affine

    @abstractmethod
    def begin_run(self, session: str, run: int, frames: int, *, elapsed: float = 0.0) -> None:
        """Begin a run of the session ``"train"`` or ``"test"``.

        Parameters
        ----------
        session, run
            Which run it is, from 1.
        frames : int
            How many frames it has.
        elapsed : float
            Seconds of the run that were recorded before, where it is resumed.
        """

    @abstractmethod
    def read(self, stop: int) -> list[Frame]:
        """Return the frames before `stop` that have not been read yet, in order.

        Waits until all of them are here or are known to be missing. Every index is given once, but
        a frame that was given as missing may be given again, as late, by a later call.
        """

    def skip_run(  # noqa: B027 (not every source needs it)
        self, session: str, run: int, frames: int, events: Iterable[Event]
    ) -> None:
        """Learn of a run that was recorded before the session was resumed, and its events."""

    def announce(self, event: Event) -> None:  # noqa: B027 (not every source needs it)
        """Learn that something happens to the person. Only a simulated brain answers."""

    def onset(self, event: Event) -> float | None:
        """Return when an event that was announced began; None if the person never saw it."""
        return event.onset

    def elapsed(self) -> float:
        """Return the seconds since the run began, by the clock of the scanner."""
        return 0.0

    def report(self) -> RunReport:
        """Return what else is to be recorded of the run, when it is over."""
        return RunReport()

    def participant(self, session: str, run: int, trials: int) -> Participant | None:
        """Return the participant of a run, if the source knows who that was.

        By default None: the person is then simulated as the protocol describes.
        """
        return None


def make_source(protocol: Protocol, folder: str | os.PathLike | None = None) -> Source:
    """Return the source that a protocol names; its paths are relative to a folder."""
    return SOURCES.get(protocol.source.name).make(protocol, folder)
