"""Recorded sessions of a brain, as interactions for learners."""

import numpy as np

from bciigl.learn import InputError
from bciigl.protocol.science import known_match_rate
from bciigl.recording import Dataset, DatasetError
from bciigl.tasks.arrays import Recorded, check_recorded, learners_for

FIFTHS = 5


def load_session(dataset: Dataset) -> Recorded:
    """Return what can be learned from a dataset, and what it can be tested on.

    Where the dataset has no truth, there are no labels, rewards and test labels.
    """
    arrays = dataset.interactions("train")
    if dataset.has("test"):
        test = dataset.interactions("test")
        arrays |= {"test_context": test["context"], "test_run": test["run"]}
    if arrays["baseline"].any():
        known = known_match_rate(dataset.protocol)
        if known is None:
            raise DatasetError(f"{dataset.folder}: has catch trials, but its protocol has none")
        arrays["match_rate"] = np.array(known)
    else:
        del arrays["baseline"]
    truth = dataset.truth("train")
    if truth is not None:
        arrays |= {"reward": truth.match, "label": truth.meant}
        if dataset.has("test"):
            arrays["test_label"] = dataset.truth("test").meant
    try:
        return check_recorded(arrays, n_actions=len(dataset.protocol.task.options))
    except InputError as error:
        raise DatasetError(f"{dataset.folder}: {error}") from error


def session_learners(dataset: Dataset, recorded: Recorded) -> tuple[str, ...]:
    """Return the protocol's learners for which there is what they need."""
    possible = learners_for(recorded)
    wanted = tuple(each for each in dataset.protocol.learners if each in possible)
    if not wanted:
        raise DatasetError(
            f"without its truth, none of {', '.join(dataset.protocol.learners)} learn from it"
        )
    return wanted


def matches_by_fifths(dataset: Dataset) -> list[float | None] | None:
    """Return how many percent of an agent's guesses matched in each fifth of the training session.

    Catch trials are left out; None where the truth is not known.
    """
    truth = dataset.truth("train")
    if truth is None:
        return None
    matches = truth.match[~dataset.interactions("train")["baseline"].astype(bool)]
    parts = np.array_split(matches, FIFTHS)
    return [100 * float(part.mean()) if len(part) else None for part in parts]
