"""The whole experiment without a recording: what is learned from it, and the truth about it."""

import os
from typing import NamedTuple

import numpy as np

from bciigl.base.progress import Progress, silent
from bciigl.brain import Brain
from bciigl.estimate import feedback
from bciigl.loop.agent import Agent
from bciigl.loop.runs import agent_of, hold
from bciigl.protocol import Protocol
from bciigl.protocol.schedule import session_trials, trials_per_run
from bciigl.recording.bids import RecordedTruth
from bciigl.recording.trial import Trial, interactions


class Session(NamedTuple):
    """A session that happened.

    Attributes
    ----------
    interactions : dict of arrays
        As `Dataset.interactions` has them.
    truth : RecordedTruth
        As `Dataset.truth` has it.
    """

    interactions: dict[str, np.ndarray]
    truth: RecordedTruth


def simulate(
    protocol: Protocol,
    *,
    folder: str | os.PathLike | None = None,
    progress: Progress = silent,
) -> dict[str, Session]:
    """Simulate an experiment in a closed loop, and keep what `record` would write in memory.

    Parameters
    ----------
    protocol : Protocol
        The experiment. Its agent cannot be a fixed one.
    folder : path-like, optional
        What paths in the protocol are relative to.
    progress : function, optional
        Called after each run with how many trials are done, and how many there are.

    Returns
    -------
    dict
        The sessions ``"train"`` and ``"test"``.
    """
    brain = Brain(protocol, folder)
    agent = agent_of(brain)
    # As in a recording: uniform guesses in the test session favour no learner.
    agents = {"train": agent, "test": Agent(agent.n_actions)}
    done, total = 0, sum(session_trials(protocol).values())
    sessions = {}
    for session, trials in session_trials(protocol).items():
        runs = []
        for run, count in enumerate(trials_per_run(protocol, trials)):
            frames, held, truth = hold(brain, agents[session], (session, run), count)
            agents[session].end_run()
            runs.append((held, feedback(frames, protocol), truth))
            done += count
            progress(done, total)
        sessions[session] = _session(runs)
    return sessions


def _session(runs: list[tuple[list[Trial], np.ndarray, RecordedTruth]]) -> Session:
    arrays = [interactions(trials, answer) for trials, answer, _ in runs]
    joined = {name: np.concatenate([each[name] for each in arrays]) for name in arrays[0]}
    joined["run"] = np.repeat(np.arange(1, len(runs) + 1), [len(trials) for trials, *_ in runs])
    truth = zip(*((t.meant, t.imagined, t.match, t.judged) for *_, t in runs), strict=True)
    return Session(joined, RecordedTruth(*map(np.concatenate, truth)))
