"""Small experiments, runs made up without a brain, and sources that lose frames."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from bciigl.base.registry import SOURCES, Specification
from bciigl.brain.region import Region
from bciigl.learn import ActionInclusiveIGL
from bciigl.loop import record
from bciigl.protocol import Protocol, load
from bciigl.protocol.schedule import session_trials, trials_per_run
from bciigl.protocol.timetable import timetable
from bciigl.recording.bids import write_description, write_estimates, write_run
from bciigl.recording.layout import JOURNAL
from bciigl.recording.trial import RecordedRun, RunId, Trial
from bciigl.recording.truth import Truth
from bciigl.source import Frame, SimulatedSource, Source

VOXELS = 64
LEARNERS = ["ai_igl", "cb", "ceiling"]
# Not a box, not at the origin, and turned and sheared in the head.
REGION = Region(
    np.array([[3, 5, 7], [3, 5, 8], [3, 6, 7], [4, 6, 9], [5, 5, 7]]),
    np.array([[0.5, 2.9, 0, -40], [-2.8, 0.6, 0.1, 70], [0, -0.2, 3.1, -60], [0, 0, 0, 1.0]]),
)


def frames_per_run(protocol: Protocol, trials: int) -> int:
    """Return how many frames a run of trials has, where all runs are alike."""
    return timetable(protocol, trials, "train").frames(protocol.timing.tr)


def small(**sections) -> Protocol:
    """Return an experiment of two runs to learn from and one to be tested on."""
    task = {
        "options": ["a", "b", "c"],
        "trials": 7,
        "trials_per_run": 4,
        **sections.pop("task", {}),
    }
    evaluation = {"test_trials": 3, **sections.pop("evaluation", {})}
    return Protocol.model_validate(
        {"name": "small", "task": task, "evaluation": evaluation, **sections}
    )


# What is learned from 75 trials of eight voxels can be trusted, with this seed at once.
LEARNS = {
    "agent": {"policy": "epsilon-greedy", "uniform_runs": 1, "epsilon": 0.5},
    "task": {"trials": 100, "trials_per_run": 75},
    "evaluation": {"test_trials": 1},
    "brain": {"region": {"size": 2}, "noise": 0.01},
    "seed": 4,
}


def places(protocol: Protocol) -> dict[RunId, int]:
    """Return how many trials each run of each session has."""
    return {
        RunId(session, run): count
        for session, trials in session_trials(protocol).items()
        for run, count in enumerate(trials_per_run(protocol, trials), start=1)
    }


def made_up_run(protocol: Protocol, trials: int, rng: np.random.Generator) -> RecordedRun:
    """Return a run of noise, whose trials differ in everything."""
    options, shape = len(protocol.task.options), (frames_per_run(protocol, trials), len(REGION))
    separate = protocol.recording == "separate"
    frames = {kind: rng.standard_normal(shape) for kind in protocol.task.events}
    done = [
        Trial(
            rng.standard_normal(len(REGION)),
            int(rng.integers(options)),
            float(rng.random()),
            bool(rng.random() < 0.5),
            bool(rng.random() < 0.5),
            rng.standard_normal(len(REGION)),
        )
        for _ in range(trials)
    ]
    meant, imagined = rng.integers(options, size=(2, trials))
    match, judged = rng.random((2, trials)) < 0.5
    return RecordedRun(
        frames if separate else frames["imagination"],
        done,
        Truth(meant, match, imagined, judged),
    )


def made_up_estimates(run: RecordedRun) -> tuple[np.ndarray, np.ndarray]:
    """Return contexts and feedback in other units than those that the agent saw."""
    return tuple(
        2 * np.array([getattr(each, name) for each in run.trials])
        for name in ("context", "feedback")
    )


def write_made_up(folder: Path, protocol: Protocol, seed: int = 0) -> dict[RunId, RecordedRun]:
    """Write a dataset that no brain made, and return its runs."""
    folder.mkdir(parents=True, exist_ok=True)
    write_description(folder, protocol, REGION)
    rng = np.random.default_rng(seed)
    runs = {place: made_up_run(protocol, count, rng) for place, count in places(protocol).items()}
    for place, run in runs.items():
        write_run(folder, protocol, REGION, place, run)
        write_estimates(folder, protocol, place, *made_up_estimates(run))
    return runs


@cache
def some_policy(n_actions: int = 3, features: int = VOXELS) -> ActionInclusiveIGL:
    """Return a policy that was learned from pure noise: it chooses now this, now that."""
    rng = np.random.default_rng(0)
    context, feedback = rng.standard_normal((2, 60, features))
    return ActionInclusiveIGL(n_actions).fit(context, rng.integers(n_actions, size=60), feedback)


def policy_of(mine: Protocol) -> ActionInclusiveIGL | None:
    """Return the policy of an agent that needs one."""
    return some_policy(len(mine.task.options)) if mine.agent.policy == "fixed" else None


def whole(mine: Protocol, out: Path) -> Path:
    """Record without a stop."""
    record(mine, out, policy=policy_of(mine))
    return out


class Stopped(Exception):
    """Stops a recording."""


def stop_after(calls: int) -> Callable[[int, int], None]:
    """Return a callback that stops a recording when it has reported progress that often."""
    left = iter(range(calls - 1, -1, -1))

    def progress(trials: int, total: int) -> None:
        if not next(left):
            raise Stopped

    return progress


def stopped(mine: Protocol, out: Path, calls: int = 3) -> Path:
    """Record, and stop when progress was reported that often."""
    with pytest.raises(Stopped):
        record(mine, out, policy=policy_of(mine), progress=stop_after(calls))
    assert (out / JOURNAL).exists()
    return out


class Losing(SimulatedSource):
    """A simulated scanner that loses frames.

    Parameters
    ----------
    lost : dict
        The status of frames that are lost or late, by session, run and index.
    """

    def __init__(self, protocol, folder=None, *, lost: Mapping[tuple[str, int, int], str]) -> None:
        super().__init__(protocol, folder)
        self._lost = lost

    def begin_run(self, session, run, frames, *, elapsed=0.0) -> None:
        """Begin a run."""
        super().begin_run(session, run, frames, elapsed=elapsed)
        self._place = session, run

    def read(self, stop) -> list[Frame]:
        """Return frames; those lost have a status and no values."""
        return [self._damaged(frame) for frame in super().read(stop)]

    def _damaged(self, frame: Frame) -> Frame:
        status = self._lost.get((*self._place, frame.index), frame.status)
        there = status not in ("missing", "corrupt")
        return frame._replace(status=status, values=frame.values if there else None)


def use_source(patch: pytest.MonkeyPatch, make: Callable[..., Source]) -> None:
    """Have ``source.name: simulated`` mean another source, as if its package were installed."""
    other = Specification("simulated", make, "for a test")
    patch.setattr(SOURCES, "get", lambda name: other)


@cache
def reported_protocol() -> Protocol:
    """Return an experiment of three runs, about which there is something to report."""
    changes = {"task.trials": 60, "task.trials_per_run": 20, "evaluation.test_trials": 40}
    return load("number_guessing", changes={**changes, "brain.noise": 0.5, "learners": LEARNERS})
