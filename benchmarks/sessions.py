"""Sessions of the simulated brain as arrays, for the benchmarks."""

from typing import NamedTuple

import numpy as np

from bciigl.brain import Brain
from bciigl.estimate import contexts, feedback
from bciigl.loop import SimulatedPerson
from bciigl.protocol import Protocol
from bciigl.protocol.schedule import trials_per_run


class Session(NamedTuple):
    """Trials as arrays, and the truth about them."""

    context: np.ndarray
    action: np.ndarray
    feedback: np.ndarray
    run: np.ndarray
    catch: np.ndarray
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
        for run, count in enumerate(trials_per_run(protocol, trials), start=1)
    ]
    return Session(*(np.concatenate(each) for each in zip(*runs, strict=True)))


def _run(brain: Brain, name: str, run: int, trials: int, rng: np.random.Generator) -> Session:
    protocol = brain.protocol
    person = SimulatedPerson(protocol, trials, rng)
    guesses = rng.integers(len(protocol.task.options), size=trials)
    shown = [person.shown(trial) for trial in range(trials)]
    action = np.array(
        [guess if each is None else each.action for guess, each in zip(guesses, shown, strict=True)]
    )
    events = [
        event
        for trial in range(trials)
        for event in (person.imagine(trial), *person.answer(trial, action[trial]))
    ]
    frames = brain.scan(name, run, trials=trials).play(events)
    return Session(
        contexts(frames, protocol),
        action,
        feedback(frames, protocol),
        np.full(trials, run),
        person.catch,
        person.meant,
    )


def number_guessing(noise: float, seed: int, **further: object) -> Protocol:
    """Return the paper's task at a noise level."""
    return Protocol(
        name="benchmark", task={"options": [7, 8, 9]}, brain={"noise": noise}, seed=seed, **further
    )
