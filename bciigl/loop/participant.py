"""Who lies in the scanner: what happens to a person, and what only a scorer may know."""

from collections.abc import Sequence
from typing import Protocol as Interface

from bciigl.brain.events import Event, trial_event
from bciigl.protocol import Protocol
from bciigl.recording.trial import Shown
from bciigl.recording.truth import Truth


class Participant(Interface):
    """The person during one run. `bciigl.testing.check_participant` checks an implementation.

    Attributes
    ----------
    trials : int
        How many trials the run has.
    """

    trials: int

    def imagine(self, trial: int) -> Event:
        """Return how a trial, counted from 0, begins."""

    def shown(self, trial: int) -> Shown | None:
        """Return what is shown in place of the agent's guess; None where the agent guesses."""

    def answer(self, trial: int, guess: int) -> list[Event]:
        """Return what a guess evokes: the person sees it, then judges it."""

    def truth(self, actions: Sequence[int]) -> Truth | None:
        """Return what was true of the trials, given the guesses shown; None if nobody knows."""


class Volunteer:
    """A person whose thoughts nobody knows: the events have times, but no content and no truth.

    Parameters
    ----------
    protocol : Protocol
        The experiment.
    trials : int
        How many trials the run has.
    """

    def __init__(self, protocol: Protocol, trials: int) -> None:
        self._protocol = protocol
        self.trials = trials

    def imagine(self, trial: int) -> Event:
        """Return when imagination begins."""
        return trial_event(self._protocol, trial, "imagination", None)

    def shown(self, trial: int) -> Shown | None:
        """Leave every guess to the agent."""
        return None

    def answer(self, trial: int, guess: int) -> list[Event]:
        """Return when the guess is seen and judged."""
        contents = {"perception": self._protocol.task.options[guess], "judgment": None}
        return [
            trial_event(self._protocol, trial, kind, contents[kind])
            for kind in self._protocol.task.events[1:]
        ]

    def truth(self, actions: Sequence[int]) -> Truth | None:
        """Return None: only the person knows."""
        return None
