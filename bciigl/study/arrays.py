"""Recorded interactions: arrays in an NPZ file, or NPY files in a folder."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy.stats import binomtest
from sklearn.base import BaseEstimator

from bciigl.base.arrays import read_arrays
from bciigl.base.errors import BciiglError, did_you_mean
from bciigl.base.progress import Notify, silent
from bciigl.learn.diagnose import Verdict
from bciigl.learn.ids import LEARNER_IDS, make_learner
from bciigl.learn.interactions import (
    MOST_ACTIONS,
    InputError,
    check_matrix,
    check_vector,
    check_whole,
    prepare,
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
    run, propensity, catch : array, (trials,), optional
        As in `ActionInclusiveIGL.fit`.
    match_rate : array, () or (actions,), optional
        Known match rate of the catch trials.
    reward : array, (trials,), optional
        For the skyline alone.
    label : array of int, (trials,), optional
        The right action, for the ceiling alone.
    test_context : array, (test trials, features), optional
    test_label : array of int, (test trials,), optional
        The right actions of the test contexts.
    test_run : array, (test trials,), optional
        The runs of the test contexts.
    known_actions : int, optional
        How many actions there are, where that is known.
    """

    context: np.ndarray
    action: np.ndarray
    feedback: np.ndarray
    run: np.ndarray | None = None
    propensity: np.ndarray | None = None
    catch: np.ndarray | None = None
    match_rate: np.ndarray | None = None
    reward: np.ndarray | None = None
    label: np.ndarray | None = None
    test_context: np.ndarray | None = None
    test_label: np.ndarray | None = None
    test_run: np.ndarray | None = None
    known_actions: int | None = None

    @property
    def n_actions(self) -> int:
        """How many actions there are: as known, or one more than the largest."""
        if self.known_actions is not None:
            return self.known_actions
        known = (self.action, self.label, self.test_label)
        return max(2, *(int(each.max()) + 1 for each in known if each is not None))

    def select(
        self, train_runs: Collection[int] | None, test_runs: Collection[int] | None
    ) -> "Recorded":
        """Return the trials of some runs to learn from, and of some to be tested on.

        If test runs are asked for and there is no `test_run`, but as many test contexts as trials,
        these are of the same runs as the trials.
        """
        chosen = self
        if test_runs is not None:
            if self.test_context is None:
                raise ArraysError("there is no array test_context to be tested on")
            if self.test_run is None and len(self.test_context) == len(self.action):
                chosen = replace(self, test_run=self.run)
            chosen = chosen._keep(_TESTS, chosen.test_run, "test_run", test_runs)
        if train_runs is not None:
            chosen = chosen._keep(_TRIALS, chosen.run, "run", train_runs)
        return chosen

    def _keep(
        self, names: tuple[str, ...], run: np.ndarray | None, name: str, wanted: Collection[int]
    ) -> "Recorded":
        if run is None:
            raise ArraysError(f"there is no array {name} to choose runs by")
        missing = sorted(set(wanted) - set(run.tolist()))
        if missing:
            there = f"there are {run.min()} to {run.max()}"
            raise ArraysError(f"{name}: there is no run {missing[0]}; {there}")
        rows = np.isin(run, list(wanted))
        arrays = {each: getattr(self, each) for each in names}
        return replace(
            self, **{each: array[rows] for each, array in arrays.items() if array is not None}
        )


_TRIALS = ("context", "action", "feedback", "run", "propensity", "catch", "reward", "label")
_TESTS = ("test_context", "test_label", "test_run")
_REQUIRED = ("context", "action", "feedback")
_KNOWN = tuple(each.name for each in fields(Recorded) if each.name != "known_actions")


def load_arrays(path: str | os.PathLike) -> Recorded:
    """Return the interactions in an NPZ file, or in a folder of NPY files such as context.npy.

    Raises
    ------
    ArraysError
        If an array is missing or unknown, of the wrong shape, or has missing or infinite values.
    """
    try:
        arrays = read_arrays(path)
        _known_names(arrays)
        return check_recorded(arrays)
    except InputError as error:
        raise ArraysError(f"{path}: {error}") from error


def _known_names(arrays: dict[str, np.ndarray]) -> None:
    unknown = sorted(set(arrays) - set(_KNOWN))
    if unknown:
        near = did_you_mean(unknown[0], _KNOWN)
        raise InputError(f"unknown array {unknown[0]!r}{near}; known are {', '.join(_KNOWN)}")
    missing = [name for name in _REQUIRED if name not in arrays]
    if missing:
        found = ", ".join(arrays) or "none"
        raise InputError(f"array {missing[0]} is missing; found {found}")


def check_recorded(arrays: dict[str, np.ndarray], n_actions: int | None = None) -> Recorded:
    """Return arrays as interactions.

    Parameters
    ----------
    arrays : dict
        By the names that `Recorded` has for them.
    n_actions : int, optional
        How many actions there are, where that is known.

    Raises
    ------
    InputError
        If an array is of the wrong shape, or has missing or infinite values.
    """
    given = arrays.get
    data = prepare(
        arrays["context"],
        arrays["action"],
        arrays["feedback"],
        propensity=given("propensity"),
        run=given("run"),
        catch=given("catch"),
        n_actions=n_actions,
    )
    checked: dict[str, Any] = {**arrays, "context": data.context, "feedback": data.feedback}
    checked["action"] = data.action
    if "run" in arrays:
        checked["run"] = check_whole(arrays["run"], "run", data.trials)
    if "label" in arrays:
        checked["label"] = _labels(arrays["label"], "label", data.trials)
    if "reward" in arrays:
        checked["reward"] = check_vector(arrays["reward"], "reward", data.trials)
    if "match_rate" in arrays:
        checked["match_rate"] = check_vector(np.atleast_1d(arrays["match_rate"]), "match_rate")
        if arrays["match_rate"].ndim == 0:
            checked["match_rate"] = checked["match_rate"][0]
    if "test_context" in arrays:
        checked["test_context"] = test = check_matrix(arrays["test_context"], "test_context")
        if test.shape[1] != data.context.shape[1]:
            raise InputError(
                f"test_context must have {data.context.shape[1]} features, got {test.shape[1]}"
            )
        if "test_label" in arrays:
            checked["test_label"] = _labels(arrays["test_label"], "test_label", len(test))
        if "test_run" in arrays:
            checked["test_run"] = check_whole(arrays["test_run"], "test_run", len(test))
    elif "test_label" in arrays or "test_run" in arrays:
        raise InputError("array test_context is missing")
    return Recorded(**checked, known_actions=n_actions)


def _labels(values: np.ndarray, name: str, rows: int) -> np.ndarray:
    values = check_whole(values, name, rows)
    if values.min() < 0 or values.max() >= MOST_ACTIONS:
        raise InputError(
            f"{name} must be actions from 0 to {MOST_ACTIONS - 1}, "
            f"got {values.min()} to {values.max()}"
        )
    return values


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
    interval : (float, float) or None
        Of the accuracy, 95 %, by Wilson's method.
    confusion : array of int, (actions, actions), or None
        For how many test contexts of each right action (rows) it chooses each action (columns).
    """

    learner_id: str
    learner: BaseEstimator
    accuracy: float | None = None
    interval: tuple[float, float] | None = None
    confusion: np.ndarray | None = None

    @property
    def match_rates(self) -> list[float] | None:
        """Decoded match rate of each action, if the learner decodes it."""
        rates = getattr(self.learner, "match_rate_", None)
        return None if rates is None else rates.tolist()

    @property
    def diagnosis(self) -> Verdict | None:
        """How far the learner can be trusted, if it knows."""
        return getattr(self.learner, "diagnosis_", None)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as for JSON."""
        return {
            "accuracy": self.accuracy,
            "interval": self.interval,
            "match_rates": self.match_rates,
            "objective": getattr(self.learner, "objective_", None),
            "diagnosis": None if self.diagnosis is None else self.diagnosis.as_dict(),
        }


def learners_for(recorded: Recorded, wanted: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the learners wanted, or all for which there is what they need.

    Raises
    ------
    BciiglError
        If a learner is unknown, or if what it must be told is not there.
    """
    told = {"cb": ("reward", recorded.reward), "ceiling": ("label", recorded.label)}
    if not wanted:
        return tuple(each for each in LEARNER_IDS if each not in told or told[each][1] is not None)
    for each in wanted:
        make_learner(each)
        if each in told and told[each][1] is None:
            raise ArraysError(f"{each} needs the array {told[each][0]}")
    return tuple(dict.fromkeys(wanted))


def learn_with(
    recorded: Recorded,
    learners: Sequence[str],
    *,
    one_right: bool = True,
    seed: int = 0,
    report: Notify = silent,
) -> list[Result]:
    """Fit learners to recorded interactions, one after the other.

    Parameters
    ----------
    recorded, one_right, seed
        As in `learn_from`.
    learners : sequence of str
        What `learners_for` gives.
    report : function, optional
        Told what begins.
    """
    results = []
    for each in learners:
        report(f"learning with {each}")
        try:
            results.append(learn_from(recorded, each, one_right=one_right, seed=seed))
        except InputError as error:
            raise InputError(f"{each}: {error}") from error
    return results


def learn_from(
    recorded: Recorded,
    learner_id: str,
    *,
    one_right: bool = True,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
) -> Result:
    """Fit one learner to recorded interactions, and test it where there is a test set.

    Test contexts are centred by the mean of their own run where runs are known, otherwise by the
    training mean.

    Parameters
    ----------
    recorded : Recorded
    learner_id : str
        One of `learners_for` these interactions.
    one_right : bool
        Whether exactly one action is right for each context.
    seed : int
        Of learners that draw random numbers.
    parameters : dict, optional
        Further parameters of the learner.
    """
    learners_for(recorded, [learner_id])
    learner = _fitted(recorded, learner_id, one_right, seed, parameters or {})
    if recorded.test_context is None or recorded.test_label is None:
        return Result(learner_id, learner)
    chosen, right = (
        learner.predict(recorded.test_context, run=recorded.test_run),
        recorded.test_label,
    )
    confusion = np.zeros((recorded.n_actions, recorded.n_actions), int)
    np.add.at(confusion, (right, chosen), 1)
    return Result(learner_id, learner, *share_with_interval(chosen == right), confusion)


def share_with_interval(true: np.ndarray) -> tuple[float, tuple[float, float]]:
    """Return how many percent are true, and their 95 % interval by Wilson's method."""
    interval = binomtest(int(true.sum()), len(true)).proportion_ci(method="wilson")
    return 100 * float(true.mean()), (100 * interval.low, 100 * interval.high)


def _fitted(
    recorded: Recorded, learner_id: str, one_right: bool, seed: int, further: Mapping[str, Any]
) -> BaseEstimator:
    if learner_id == "ceiling":
        return make_learner("ceiling", **further).fit(
            recorded.context, recorded.label, run=recorded.run
        )
    parameters: dict[str, Any] = {"n_actions": recorded.n_actions, **further}
    if learner_id == "cb":
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
        catch=recorded.catch,
    )
