"""Small experiments, and runs made up without a brain."""

from functools import cache
from pathlib import Path

import numpy as np

from bciigl.brain.region import Region
from bciigl.learn import ActionInclusiveIGL
from bciigl.protocol import Protocol, load
from bciigl.protocol.schedule import frames_per_run, session_trials, trials_per_run
from bciigl.recording.bids import RecordedTruth, write_description, write_run, write_truth
from bciigl.recording.trial import Trial

VOXELS = 64
LEARNERS = ["ai_igl", "cb", "ceiling"]
# Not a box, not at the origin, and turned and sheared in the head.
REGION = Region(
    np.array([[3, 5, 7], [3, 5, 8], [3, 6, 7], [4, 6, 9], [5, 5, 7]]),
    np.array([[0.5, 2.9, 0, -40], [-2.8, 0.6, 0.1, 70], [0, -0.2, 3.1, -60], [0, 0, 0, 1.0]]),
)


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


def places(protocol: Protocol) -> dict[tuple[str, int], int]:
    """Return how many trials each run of each session has."""
    return {
        (session, run): count
        for session, trials in session_trials(protocol).items()
        for run, count in enumerate(trials_per_run(protocol, trials))
    }


def made_up_frames(protocol: Protocol, trials: int, rng: np.random.Generator):
    """Return noise in the form of a run's recording."""
    shape = (frames_per_run(protocol, trials), len(REGION))
    if protocol.recording == "separate":
        return {kind: rng.standard_normal(shape) for kind in protocol.task.events}
    return rng.standard_normal(shape)


def made_up_trials(protocol: Protocol, trials: int, rng: np.random.Generator) -> list[Trial]:
    """Return trials that differ in everything."""
    options = len(protocol.task.options)
    return [
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


def made_up_truth(protocol: Protocol, trials: int, rng: np.random.Generator) -> RecordedTruth:
    """Return what might have been meant."""
    options = len(protocol.task.options)
    match, judged = rng.random((2, trials)) < 0.5
    return RecordedTruth(*rng.integers(options, size=(2, trials)), match, judged)


def write_made_up(folder: Path, protocol: Protocol, seed: int = 0) -> dict:
    """Write a dataset that no brain made; return frames, trials, feedback and truth of each run."""
    folder.mkdir(parents=True, exist_ok=True)
    write_description(folder, protocol, REGION)
    rng, written = np.random.default_rng(seed), {}
    for place, trials in places(protocol).items():
        frames = made_up_frames(protocol, trials, rng)
        done = made_up_trials(protocol, trials, rng)
        feedback = rng.standard_normal((trials, len(REGION)))
        truth = made_up_truth(protocol, trials, rng)
        write_run(folder, protocol, REGION, place, frames, done, feedback)
        write_truth(folder, protocol, place, truth)
        written[place] = frames, done, feedback, truth
    return written


@cache
def some_policy(n_actions: int = 3, features: int = VOXELS) -> ActionInclusiveIGL:
    """Return a policy that was learned from pure noise: it chooses now this, now that."""
    rng = np.random.default_rng(0)
    context, feedback = rng.standard_normal((2, 60, features))
    return ActionInclusiveIGL(n_actions).fit(context, rng.integers(n_actions, size=60), feedback)


@cache
def reported_protocol() -> Protocol:
    """Return an experiment of three runs, about which there is something to report."""
    changes = {"task.trials": 60, "task.trials_per_run": 20, "evaluation.test_trials": 40}
    return load("number_guessing", changes={**changes, "brain.noise": 0.5, "learners": LEARNERS})
