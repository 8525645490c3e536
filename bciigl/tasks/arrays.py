"""Recorded interactions: arrays in an NPZ file, or NPY files in a folder."""

import os
import zipfile
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from bciigl.base.errors import BciiglError, did_you_mean
from bciigl.learn.ids import make_learner
from bciigl.learn.interactions import (
    InputError,
    check_interactions,
    check_matrix,
    check_vector,
    check_whole,
)


class ArraysError(BciiglError):
    """What is wrong with a file of recorded interactions."""


@dataclass(frozen=True)
class Recorded:
    """Recorded interactions, one row a trial.

    Attributes
    ----------
    context : array, (trials, features)
    action : array of int, (trials,)
    feedback : array, (trials, features)
    run, propensity, baseline : array, (trials,), optional
        As in `ActionInclusiveIGL.fit`.
    match_rate : array, () or (actions,), optional
        Known match rate of the baseline trials.
    reward : array, (trials,), optional
        For the skyline alone.
    label : array of int, (trials,), optional
        The right action, for the ceiling alone.
    test_context : array, (test trials, features), optional
    test_label : array of int, (test trials,), optional
        The right actions of the test contexts.
    test_run : array, (test trials,), optional
        The runs of the test contexts.
    """

    context: np.ndarray
    action: np.ndarray
    feedback: np.ndarray
    run: np.ndarray | None = None
    propensity: np.ndarray | None = None
    baseline: np.ndarray | None = None
    match_rate: np.ndarray | None = None
    reward: np.ndarray | None = None
    label: np.ndarray | None = None
    test_context: np.ndarray | None = None
    test_label: np.ndarray | None = None
    test_run: np.ndarray | None = None

    @property
    def n_actions(self) -> int:
        """How many actions there are: one more than the largest."""
        known = (self.action, self.label, self.test_label)
        return max(2, *(int(each.max()) + 1 for each in known if each is not None))

    def select(
        self, train_runs: Collection[int] | None, test_runs: Collection[int] | None
    ) -> "Recorded":
        """Return the trials of some runs to learn from, and of some to be tested on.

        Where there is no `test_run` but as many test contexts as trials, they are of the same runs.
        """
        test_run = self.test_run
        if test_run is None and self.test_context is not None and self.run is not None:
            same = len(self.test_context) == len(self.run)
            test_run = self.run if same else None
        chosen = replace(self, test_run=test_run)
        if train_runs is not None:
            chosen = chosen._keep(_TRIALS, chosen.run, "run", train_runs)
        if test_runs is not None:
            chosen = chosen._keep(_TESTS, chosen.test_run, "test_run", test_runs)
        return chosen

    def _keep(
        self, names: tuple[str, ...], run: np.ndarray | None, name: str, wanted: Collection[int]
    ) -> "Recorded":
        if run is None:
            raise ArraysError(f"there is no array {name} to choose runs by")
        missing = sorted(set(wanted) - set(run.tolist()))
        if missing:
            raise ArraysError(f"{name}: there is no run {missing[0]}")
        rows = np.isin(run, list(wanted))
        arrays = {each: getattr(self, each) for each in names}
        return replace(
            self, **{each: array[rows] for each, array in arrays.items() if array is not None}
        )


_TRIALS = ("context", "action", "feedback", "run", "propensity", "baseline", "reward", "label")
_TESTS = ("test_context", "test_label", "test_run")
_REQUIRED = ("context", "action", "feedback")
_KNOWN = tuple(each.name for each in fields(Recorded))


def load_arrays(path: str | os.PathLike) -> Recorded:
    """Return the interactions in an NPZ file, or in a folder of NPY files such as context.npy.

    Raises
    ------
    ArraysError
        If an array is missing or unknown, of the wrong shape, or has missing or infinite values.
    """
    path = Path(path)
    arrays = _read(path)
    unknown = sorted(set(arrays) - set(_KNOWN))
    if unknown:
        near = did_you_mean(unknown[0], _KNOWN)
        raise ArraysError(f"{path}: unknown array {unknown[0]!r}{near}; known: {', '.join(_KNOWN)}")
    missing = [name for name in _REQUIRED if name not in arrays]
    if missing:
        raise ArraysError(f"{path}: array {missing[0]} is missing; there are {', '.join(arrays)}")
    try:
        return _checked(arrays)
    except InputError as error:
        raise ArraysError(f"{path}: {error}") from error


def _checked(arrays: dict[str, np.ndarray]) -> Recorded:
    given = arrays.get
    data = check_interactions(
        arrays["context"],
        arrays["action"],
        arrays["feedback"],
        propensity=given("propensity"),
        run=given("run"),
        baseline=given("baseline"),
    )
    checked: dict[str, Any] = {**arrays, "context": data.context, "feedback": data.feedback}
    checked["action"] = data.action
    for name in ("run", "label"):
        if name in arrays:
            checked[name] = check_whole(arrays[name], name, data.trials)
    if "reward" in arrays:
        checked["reward"] = check_vector(arrays["reward"], "reward", data.trials)
    if "test_context" in arrays:
        checked["test_context"] = test = check_matrix(arrays["test_context"], "test_context")
        if test.shape[1] != data.context.shape[1]:
            raise InputError(
                f"test_context must have {data.context.shape[1]} features, got {test.shape[1]}"
            )
        for name in ("test_label", "test_run"):
            if name in arrays:
                checked[name] = check_whole(arrays[name], name, len(test))
    elif "test_label" in arrays or "test_run" in arrays:
        raise InputError("test_context is missing")
    return Recorded(**checked)


def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        if path.is_dir():
            files = sorted(path.glob("*.npy"))
            return {file.stem: np.load(file, allow_pickle=False) for file in files}
        with np.load(path, allow_pickle=False) as file:
            if isinstance(file, np.ndarray):
                raise ArraysError(
                    f"{path}: is one array; give an NPZ file, or a folder of NPY files"
                )
            return {name: file[name] for name in file.files}
    except FileNotFoundError as error:
        raise ArraysError(f"{path}: no such file") from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ArraysError(f"{path}: is not readable as numbers in NPZ or NPY: {error}") from error


@dataclass(frozen=True)
class Result:
    """What a learner made of recorded interactions.

    Attributes
    ----------
    learner_id : str
    learner : estimator
        Fitted.
    accuracy : float or None
        Percent of the test contexts for which it chooses the right action.
    """

    learner_id: str
    learner: BaseEstimator
    accuracy: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as for JSON."""
        rates = getattr(self.learner, "match_rate_", None)
        diagnosis = getattr(self.learner, "diagnosis_", None)
        return {
            "accuracy": self.accuracy,
            "match_rates": None if rates is None else [float(each) for each in rates],
            "objective": getattr(self.learner, "objective_", None),
            "diagnosis": None if diagnosis is None else diagnosis.as_dict(),
        }


def possible_learners(recorded: Recorded) -> tuple[str, ...]:
    """Return the ids of the learners for which there is all they need."""
    known = {"cb": recorded.reward, "ceiling": recorded.label}
    return (
        "ai_igl",
        "ai_igl_paper",
        "igl_full_ci",
        *(each for each, truth in known.items() if truth is not None),
    )


def learn_from(
    recorded: Recorded,
    learner_id: str,
    *,
    one_right: bool = True,
    seed: int = 0,
) -> Result:
    """Fit one learner to recorded interactions, and test it where there is a test set.

    Test contexts are centred by the mean of their own run where runs are known, otherwise by the
    training mean.

    Parameters
    ----------
    recorded : Recorded
    learner_id : str
        One of `possible_learners`.
    one_right : bool
        Whether exactly one action is right for each context.
    seed : int
        Of learners that draw random numbers.
    """
    learner = _fitted(recorded, learner_id, one_right, seed)
    accuracy = None
    if recorded.test_context is not None and recorded.test_label is not None:
        chosen = learner.predict(recorded.test_context, run=recorded.test_run)
        accuracy = 100 * float(np.mean(chosen == recorded.test_label))
    return Result(learner_id, learner, accuracy)


def _fitted(recorded: Recorded, learner_id: str, one_right: bool, seed: int) -> BaseEstimator:
    if learner_id == "ceiling":
        if recorded.label is None:
            raise ArraysError("ceiling needs the array label")
        return make_learner("ceiling").fit(recorded.context, recorded.label, run=recorded.run)
    parameters: dict[str, Any] = {"n_actions": recorded.n_actions}
    if learner_id == "cb":
        if recorded.reward is None:
            raise ArraysError("cb needs the array reward")
        return make_learner("cb", **parameters).fit(
            recorded.context,
            recorded.action,
            recorded.reward,
            propensity=recorded.propensity,
            run=recorded.run,
        )
    parameters["random_state"] = seed
    if learner_id != "igl_full_ci":
        parameters |= {"match_rate": recorded.match_rate, "one_right": one_right}
    return make_learner(learner_id, **parameters).fit(
        recorded.context,
        recorded.action,
        recorded.feedback,
        propensity=recorded.propensity,
        run=recorded.run,
        baseline=recorded.baseline,
    )
