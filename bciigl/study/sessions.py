"""Recorded sessions of a brain, as interactions for learners."""

from collections.abc import Mapping

import numpy as np

from bciigl.base.progress import Notify, silent
from bciigl.learn import InputError
from bciigl.protocol import Protocol
from bciigl.protocol.design_checks import known_match_rate
from bciigl.recording import Dataset, DatasetError
from bciigl.recording.bids import RecordedTruth
from bciigl.study.arrays import Recorded, Result, check_recorded, learn_with, learners_for

FIFTHS = 5


def load_session(dataset: Dataset) -> Recorded:
    """Return what can be learned from a dataset, and what it can be tested on.

    Where the dataset has no truth, there are no labels, rewards and test labels.
    """
    sessions = {
        name: (dataset.interactions(name), dataset.truth(name))
        for name in ("train", "test")
        if name == "train" or dataset.has(name)
    }
    try:
        return recorded_sessions(dataset.protocol, sessions)
    except InputError as error:
        raise DatasetError(f"{dataset.folder}: {error}") from error


def recorded_sessions(
    protocol: Protocol,
    sessions: Mapping[str, tuple[dict[str, np.ndarray], RecordedTruth | None]],
) -> Recorded:
    """Return what can be learned from sessions, and what it can be tested on.

    Parameters
    ----------
    protocol : Protocol
        The experiment.
    sessions : dict
        Interactions and truth of ``"train"`` and, if there is one, of ``"test"``.
    """
    interactions, truth = sessions["train"]
    arrays = dict(interactions)
    if arrays["catch"].any():
        known = known_match_rate(protocol)
        if known is None:
            raise InputError("has catch trials, but its protocol has none")
        arrays["match_rate"] = np.array(known)
    else:
        del arrays["catch"]
    if truth is not None:
        arrays |= {"reward": truth.match, "label": truth.meant}
    if "test" in sessions:
        test, truth = sessions["test"]
        arrays |= {"test_context": test["context"], "test_run": test["run"]}
        if truth is not None:
            arrays["test_label"] = truth.meant
    return check_recorded(arrays, n_actions=len(protocol.task.options))


def session_learners(dataset: Dataset, recorded: Recorded) -> tuple[str, ...]:
    """Return the protocol's learners for which there is what they need."""
    possible = learners_for(recorded)
    wanted = tuple(each for each in dataset.protocol.learners if each in possible)
    if not wanted:
        raise DatasetError(
            f"without its truth, none of {', '.join(dataset.protocol.learners)} learn from it"
        )
    return wanted


def learn_session(dataset: Dataset, recorded: Recorded, *, report: Notify = silent) -> list[Result]:
    """Return what the protocol's learners make of a recorded session, with its own seed.

    Parameters
    ----------
    dataset : Dataset
    recorded : Recorded
        What `load_session` gives.
    report : function, optional
        Told what begins.
    """
    learners = session_learners(dataset, recorded)
    return learn_with(recorded, learners, seed=dataset.protocol.seed, report=report)


def matches_by_fifths(dataset: Dataset) -> list[float | None] | None:
    """Return how many percent of an agent's guesses matched in each fifth of the training session.

    Catch trials are left out; None where the truth is not known.
    """
    truth = dataset.truth("train")
    if truth is None:
        return None
    matches = truth.match[~dataset.interactions("train")["catch"].astype(bool)]
    parts = np.array_split(matches, FIFTHS)
    return [100 * float(part.mean()) if len(part) else None for part in parts]
