"""Sessions of the simulated brain as arrays, for the benchmarks."""

from typing import NamedTuple

import numpy as np

from bciigl.brain import Brain
from bciigl.brain.events import trial_events
from bciigl.estimate import contexts, feedback
from bciigl.protocol import Protocol
from bciigl.protocol.schedule import trials_per_run


class Session(NamedTuple):
    """Trials as arrays, and the truth about them."""

    context: np.ndarray
    action: np.ndarray
    feedback: np.ndarray
    run: np.ndarray
    baseline: np.ndarray
    label: np.ndarray

    def first(self, trials: int) -> "Session":
        """Return the first trials."""
        return Session(*(each[:trials] for each in self))


def simulate(brain: Brain, name: str, trials: int, rng: np.random.Generator) -> Session:
    """Return a session with uniform guesses, catch trials and lapses as the protocol has them.

    Contexts are causal, feedback is estimated from whole runs.
    """
    protocol = brain.protocol
    runs = [
        _run(brain, name, run, count, rng)
        for run, count in enumerate(trials_per_run(protocol, trials))
    ]
    return Session(*(np.concatenate(each) for each in zip(*runs, strict=True)))


def _run(brain: Brain, name: str, run: int, trials: int, rng: np.random.Generator) -> Session:
    protocol = brain.protocol
    options, human, catch = protocol.task.options, protocol.human, protocol.task.catch
    label, action = rng.integers(len(options), size=(2, trials))
    baseline = rng.random(trials) < catch.share
    matching = rng.random(trials) < catch.match_rate
    action = np.where(baseline, np.where(matching, label, _other(label, options, rng)), action)
    lapsed = rng.random(trials) < human.imagination_lapse
    imagined = np.where(lapsed, _other(label, options, rng), label)
    judged = (label == action) != (rng.random(trials) < human.judgment_lapse)
    events = [
        event
        for trial in range(trials)
        for event in trial_events(
            protocol, trial, options[imagined[trial]], options[action[trial]], bool(judged[trial])
        )
    ]
    frames = brain.scan(name, run, trials=trials).play(events)
    return Session(
        contexts(frames, protocol),
        action,
        feedback(frames, protocol),
        np.full(trials, run),
        baseline,
        label,
    )


def _other(label: np.ndarray, options: tuple, rng: np.random.Generator) -> np.ndarray:
    """Return another option for each trial."""
    return (label + rng.integers(1, len(options), len(label))) % len(options)


def number_guessing(noise: float, seed: int, **further: object) -> Protocol:
    """Return the paper's task at a noise level."""
    return Protocol(
        name="benchmark", task={"options": [7, 8, 9]}, brain={"noise": noise}, seed=seed, **further
    )
