"""What happens to the brain."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bciigl.protocol import Protocol
from bciigl.protocol.timetable import Timetable, timetable


class Event(NamedTuple):
    """Something that happens to the brain, `onset` seconds from the beginning of the run.

    Its content is the option imagined or perceived; for a judgment, whether it is a match. None
    where only the person knows.
    """

    kind: str
    onset: float
    content: int | str | bool | None


@dataclass(frozen=True)
class Trials:
    """The options that were imagined and guessed in the trials of a run."""

    imagined: tuple
    guessed: tuple

    @classmethod
    def random(cls, protocol: Protocol, trials: int, rng: np.random.Generator | int) -> "Trials":
        """Return trials of independent and uniform options and guesses; `rng` may be a seed."""
        options = protocol.task.options
        drawn = np.random.default_rng(rng).integers(len(options), size=(2, trials))
        return cls(*(tuple(options[i] for i in each) for each in drawn))

    @property
    def rewards(self) -> np.ndarray:
        """Whether each guess matches, (trials,)."""
        return np.array([a == b for a, b in zip(self.imagined, self.guessed, strict=True)], bool)

    def events(self, protocol: Protocol, session: str | None = None, run: int = 1) -> list[Event]:
        """Return what happens in a run, in order, if the person never lapses.

        The session and the run are needed where times differ from run to run.
        """
        when = timetable(protocol, len(self.imagined), session, run)
        return [
            event
            for trial, (imagined, guess) in enumerate(zip(self.imagined, self.guessed, strict=True))
            for event in trial_events(when, trial, imagined, guess, imagined == guess)
        ]


def trial_events(
    when: Timetable, trial: int, imagined: int | str, guess: int | str, match: bool
) -> list[Event]:
    """Return the events of one trial of a run, counted from 0, in order."""
    contents = {"imagination": imagined, "perception": guess, "judgment": match}
    return [trial_event(when, trial, kind, contents[kind]) for kind in when.onsets]


def trial_event(when: Timetable, trial: int, kind: str, content: int | str | bool | None) -> Event:
    """Return one event of a trial, at its time."""
    return Event(kind, float(when.onsets[kind][trial]), content)
