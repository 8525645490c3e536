"""Sessions of the simulated brain, for the benchmarks: recorded first, then estimated.

Estimates are calibrated by the frames of the training session alone, and by no more of them than
are learned from: so a recording is estimated anew for each number of trials. Training and test are
then in the same units. Contexts are causal, feedback is estimated from whole runs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bciigl.brain import Brain
from bciigl.brain.events import Event
from bciigl.estimate import UNCALIBRATED, Calibration, Calibrator, contexts, feedback
from bciigl.loop import SimulatedPerson
from bciigl.protocol import Protocol
from bciigl.protocol.hrf import (
    DELAY_SD,
    DISPERSION_SD,
    UNDERSHOOT_SD,
    Weights,
    basis,
    event_response,
    shape_of,
)
from bciigl.protocol.schedule import trials_per_run
from bciigl.protocol.timetable import timetable

RESPONSES = INDIVIDUAL, CANONICAL, RIGHT = "individual", "canonical", "right"
"""What response estimates assume: fitted to the person, fmrisim's, or the simulated person's."""


class Session(NamedTuple):
    """Trials as arrays, and the truth about them."""

    context: np.ndarray
    action: np.ndarray
    feedback: np.ndarray
    run: np.ndarray
    catch: np.ndarray
    label: np.ndarray
    propensity: np.ndarray

    def first(self, trials: int) -> "Session":
        """Return the first trials, in the same units; `Recording.first` calibrates by them."""
        return Session(*(each[:trials] for each in self))


@dataclass(frozen=True, eq=False)
class Recording:
    """The frames of a session, run by run, and what happened in each of its trials."""

    protocol: Protocol
    frames: list[np.ndarray]
    action: np.ndarray
    run: np.ndarray  # from 1
    catch: np.ndarray
    label: np.ndarray
    propensity: np.ndarray

    def first(self, trials: int) -> "Recording":
        """Return the recording that ended after some trials."""
        counts = np.bincount(self.run[:trials])[1:]
        frames = [
            each[: timetable(self.protocol, count).frames(self.protocol.timing.tr)]
            for each, count in zip(self.frames, counts.tolist(), strict=False)
        ]
        names = ("action", "run", "catch", "label", "propensity")
        return replace(
            self, frames=frames, **{name: getattr(self, name)[:trials] for name in names}
        )

    def calibration(self, response: str = INDIVIDUAL, *, normalise: bool = True) -> Calibration:
        """Return what the frames of all runs tell; with the right response, which none tells."""
        assumed = CANONICAL if response == CANONICAL else INDIVIDUAL
        calibrator = Calibrator(_estimated_by(self.protocol, assumed, normalise))
        for each in self.frames:
            calibrator.add(each)
        found = calibrator.calibration
        return (
            found._replace(response=right_response(self.protocol)) if response == RIGHT else found
        )

    def estimated(self, calibration: Calibration = UNCALIBRATED) -> Session:
        """Return contexts and feedback, with all else that is known of the trials."""
        given = [(each, self.protocol, calibration) for each in self.frames]
        return Session(
            np.concatenate([contexts(*each) for each in given]),
            self.action,
            np.concatenate([feedback(*each) for each in given]),
            self.run,
            self.catch,
            self.label,
            self.propensity,
        )


Guess = Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]]
"""Returns the guesses of a number of trials, and the probability of each."""
Scan = Callable[[Brain, str, int, int, list[Event]], np.ndarray]
"""Returns the frames of a run, given session, number from 1, trials and events."""


def plain_scan(brain: Brain, name: str, run: int, trials: int, events: list[Event]) -> np.ndarray:
    """Return the frames of a run in which nothing unforeseen happens."""
    return brain.scan(name, run, trials=trials).play(events)


def record(
    brain: Brain,
    name: str,
    trials: int,
    rng: np.random.Generator,
    *,
    catch: bool = True,
    person: Callable[..., SimulatedPerson] = SimulatedPerson,
    guess: Guess | None = None,
    scan: Scan = plain_scan,
) -> Recording:
    """Return a session with catch trials and lapses as the protocol has them.

    Guesses are uniform, unless `guess` makes them; `catch=False` leaves catch trials out; `person`
    makes the participant of each run, `scan` its frames.
    """
    protocol = brain.protocol
    options = len(protocol.task.options)

    def uniform(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return rng.integers(options, size=count), np.full(count, 1 / options)

    frames, arrays = [], []
    for run, count in enumerate(trials_per_run(protocol, trials), start=1):
        who = person(protocol, count, rng, catch=catch)
        action, propensity = (guess or uniform)(count, rng)
        for trial in np.flatnonzero(who.catch):
            action[trial], propensity[trial] = who.shown(trial)[:2]
        events = [
            event
            for trial in range(count)
            for event in (who.imagine(trial), *who.answer(trial, int(action[trial])))
        ]
        frames.append(scan(brain, name, run, count, events))
        arrays.append((action, np.full(count, run), who.catch, who.meant, propensity))
    return Recording(protocol, frames, *map(np.concatenate, zip(*arrays, strict=True)))


def estimate(
    train: Recording, test: Recording, response: str = INDIVIDUAL, *, normalise: bool = True
) -> tuple[Session, Session]:
    """Return both sessions, calibrated by the training session's frames."""
    known = train.calibration(response, normalise=normalise)
    return train.estimated(known), test.estimated(known)


def simulate(
    brain: Brain,
    name: str,
    trials: int,
    rng: np.random.Generator,
    calibration: Calibration = UNCALIBRATED,
) -> Session:
    """Record a session and estimate it, by a calibration that is known."""
    return record(brain, name, trials, rng).estimated(calibration)


def number_guessing(
    noise: float,
    seed: int,
    *,
    options: int = 3,
    population: bool = False,
    brain: Mapping[str, Any] | None = None,
    task: Mapping[str, Any] | None = None,
    **further: Any,
) -> Protocol:
    """Return the paper's task at a noise level; in a `population`, people's responses differ."""
    own = own_response(seed) if population else {}
    # Without catch trials two options are refused; record without them.
    catch = {"catch": {"share": 0.01}} if options == 2 else {}
    return Protocol(
        name="benchmark",
        task={
            "options": [7, 8, 9] if options == 3 else list(range(options)),
            **catch,
            **(task or {}),
        },
        brain={"noise": noise, **own, **(brain or {})},
        seed=seed,
        **further,
    )


def own_response(seed: int) -> dict[str, float]:
    """Return the response of a person drawn from the population, as settings of a brain."""
    delay, dispersion, undershoot = np.random.default_rng([seed, 9]).normal(size=3).tolist()
    return {
        "hrf_delay": float(np.clip(DELAY_SD * delay, -2, 4)),
        "hrf_dispersion": float(np.clip(np.exp(DISPERSION_SD * dispersion), 0.5, 2)),
        "hrf_undershoot": float(np.clip(1 + UNDERSHOOT_SD * undershoot, 0, 10)),
    }


def right_response(protocol: Protocol) -> Weights:
    """Return the simulated person's response as weights of the basis, by least squares."""
    duration = protocol.timing.event
    times, curves = basis(duration)
    differs = event_response(times, duration, shape_of(protocol.brain))
    differs -= event_response(times, duration)
    return tuple(np.linalg.lstsq(curves.T, differs, rcond=None)[0].tolist())


def _estimated_by(protocol: Protocol, hrf: str, normalise: bool) -> Protocol:
    settings = {"hrf": hrf, "normalise": normalise}
    how = protocol.estimate.model_copy(update=settings)
    return protocol.model_copy(update={"estimate": how})
