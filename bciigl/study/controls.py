"""Controls: the same analysis where it should find nothing, or the same with less."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bciigl.recording.truth import Session
from bciigl.study.learning import Sessions

SILENCED = "judgment silenced"
PERMUTED = "rewards permuted"
MEAN_REMOVED = "region mean removed"


def permute_rewards(sessions: Sessions, rng: np.random.Generator) -> Sessions:
    """Return sessions in which guesses, with their answers, belong to other contexts.

    They are dealt out anew within each run, so all laws stay but that of contexts and answers
    together. Some stay where they are by chance; centring by run, which all learners do, makes up
    for exactly that: on average contexts and answers are then uncorrelated.
    """
    train, truth = sessions["train"]
    run = np.zeros(train.trials, int) if train.run is None else train.run
    order = np.arange(len(run))
    for each in np.unique(run):
        rows = np.flatnonzero(run == each)
        order[rows] = rng.permutation(rows)
    train = replace(train.rows(order), context=train.context, run=train.run)
    if truth is not None and truth.match is not None:
        truth = replace(truth, match=truth.match[order])
    return {**sessions, "train": Session(train, truth)}


def remove_region_mean(sessions: Sessions, rng: np.random.Generator) -> Sessions:
    """Return sessions in which contexts and feedback have a mean of 0 over the voxels."""
    found = dict(sessions)
    for name, (given, truth) in sessions.items():
        for view in ("context", "feedback"):
            if (values := getattr(given, view)) is not None:
                changes: dict[str, Any] = {view: _without_mean(values, given.whitening)}
                given = replace(given, **changes)
        found[name] = Session(given, truth)
    return found


def _without_mean(values: np.ndarray, whitening: np.ndarray | None) -> np.ndarray:
    """Return values without the mean over voxels, of which they may be normalised mixtures."""
    matrix = np.eye(values.shape[1]) if whitening is None else whitening
    matrix = np.diag(matrix) if matrix.ndim == 1 else matrix
    voxels = np.linalg.solve(matrix.T, values.T).T
    return (voxels - voxels.mean(axis=1, keepdims=True)) @ matrix


@dataclass(frozen=True)
class Control:
    """What a control should show; what it changes of the protocol, or of what is learned from."""

    expected: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    apply: Callable[[Sessions, np.random.Generator], Sessions] = lambda sessions, rng: sessions


CONTROLS = {
    # Regression lets events of one series leak into each other. So it is not enough that judgments
    # have no weight; and what was imagined must be kept out of the answers, too. Where imagining
    # resembles seeing, nobody needs a judgment.
    SILENCED: Control(
        "at chance on average: nobody judges, answers are recorded apart from imagination, and"
        " imagining does not resemble seeing",
        changes={
            "task.events": ["imagination", "perception"],
            "feedback.perception": 1.0,
            "recording": "separate",
            "brain.similarity": 0.0,
        },
    ),
    PERMUTED: Control(
        "no better than perception transfer: guesses, with their answers, are dealt out anew among"
        " the trials of a run, so that no judgment can be read",
        apply=permute_rewards,
    ),
    MEAN_REMOVED: Control(
        "as without: what is learned is in the pattern, not in the region's mean signal",
        apply=remove_region_mean,
    ),
}
