"""Learning from recorded sessions: read, checked, chosen by run, fitted and tested."""

import inspect
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from bciigl.base.arrays import read_arrays
from bciigl.base.errors import BciiglError, did_you_mean
from bciigl.base.progress import Notify, Progress, silent
from bciigl.base.registry import LEARNERS, Specification
from bciigl.learn import interactions as inputs
from bciigl.learn.diagnose import Verdict
from bciigl.learn.interactions import (
    InputError,
    Interactions,
    MaybeArray,
    check_vector,
    check_whole,
)
from bciigl.protocol import Protocol
from bciigl.recording import Dataset, DatasetError
from bciigl.recording.truth import Session, Truth
from bciigl.study.recorded import Sessions, array_name, check_person, normalise, people_of
from bciigl.study.statistics import mean_of, share_with_interval, within

FIFTHS = 5

_REQUIRED = ("context", "action", "feedback")
_KNOWN = [*_REQUIRED, "run", "person", "propensity", "catch", "match_rate", "reward", "label"]
_KNOWN += ["test_context", "test_label", "test_run", "test_person"]
_KNOWN += ["noise", "noise_run", "noise_person"]


class ArraysError(BciiglError):
    """What is wrong with a file of recorded interactions."""


def load_arrays(path: str | os.PathLike) -> dict[str, Session]:
    """Return the sessions in an NPZ file, or in a folder of NPY files such as context.npy."""
    try:
        return named_arrays(read_arrays(path))
    except InputError as error:
        raise ArraysError(f"{path}: {error}") from error


def named_arrays(arrays: Mapping[str, np.ndarray]) -> dict[str, Session]:
    """Return arrays as sessions; `InputError` if there are others than those that are known."""
    if "baseline" in arrays:
        raise InputError("the array baseline is called catch now: rename it")
    if unknown := sorted(set(arrays) - set(_KNOWN)):
        near = did_you_mean(unknown[0], _KNOWN)
        raise InputError(f"unknown array {unknown[0]!r}{near}; known are {', '.join(_KNOWN)}")
    if missing := [name for name in _REQUIRED if name not in arrays]:
        found = ", ".join(arrays) or "none"
        raise InputError(f"array {missing[0]} is missing; found {found}")
    return check_arrays(arrays)


def check_arrays(arrays: Mapping[str, np.ndarray]) -> dict[str, Session]:
    """Return arrays, by the names that files have for them, as sessions."""
    given: Callable[[str], Any] = arrays.get
    names = ("action", "feedback", "propensity", "run", "person", "catch", "match_rate")
    train = Interactions(arrays["context"], **{name: given(name) for name in names})
    sessions = {"train": Session(train, _truth(given("label"), given("reward")))}
    for name in ("test", "noise"):
        if (context := array_name(name, "context")) in arrays:
            of_rows = {each: given(array_name(name, each)) for each in ("run", "person")}
            rows = Interactions(arrays[context], **of_rows)
            sessions[name] = Session(rows, _truth(given(f"{name}_label")))
        elif any(each.startswith(f"{name}_") for each in arrays):
            raise InputError(f"array {context} is missing")
    return check_sessions(sessions)


def load_sessions(dataset: Dataset) -> dict[str, Session]:
    """Return the sessions of a dataset; where it has no truth, they have none."""
    try:
        return check_sessions(dataset.sessions)
    except InputError as error:
        raise DatasetError(f"{dataset.folder}: {error}") from error


def _truth(label: np.ndarray | None, reward: np.ndarray | None = None) -> Truth | None:
    return None if label is None and reward is None else Truth(label, reward)


def check_sessions(sessions: Sessions) -> dict[str, Session]:
    """Return sessions whose arrays fit together, with the number of actions in them."""
    found = {name: _session(each, name) for name, each in sessions.items()}
    train = found["train"].interactions
    features = train.context.shape[1]
    for name, (given, _) in found.items():
        if (got := given.context.shape[1]) != features:
            context = array_name(name, "context")
            raise InputError(f"{context} must have {features} features, got {got}")
    labels = [truth.meant for _, truth in found.values() if truth and truth.meant is not None]
    shown = np.concatenate([train.action, *labels])
    n_actions = train.n_actions
    if n_actions is None and shown.min() == 0:
        n_actions = max(2, int(shown.max()) + 1)  # labels may show actions that were never taken
    arrays = {name: getattr(train, name) for name in ("propensity", "run", "catch")}
    seen = (train.context, train.action, train.feedback)
    data = inputs.prepare(*seen, **arrays, n_actions=n_actions)
    found["train"] = Session(replace(train, feedback=data.feedback), found["train"].truth)
    return {
        name: Session(replace(given, n_actions=data.n_actions), truth)
        for name, (given, truth) in found.items()
    }


def _session(session: Session, name: str) -> Session:
    """Return a session whose arrays are what they should be, each by itself."""
    given, truth = session
    unit = "frames" if name == "noise" else "trials"
    context = inputs.check_matrix(given.context, array_name(name, "context"), unit=unit)
    rows = len(context)
    checks = {"action": check_whole, "run": check_whole, "person": check_person}
    checked: dict[str, Any] = {
        each: check(getattr(given, each), array_name(name, each), rows, unit)
        for each, check in checks.items()
        if getattr(given, each) is not None
    }
    rate = given.match_rate
    if rate is not None:
        rate = check_vector(np.atleast_1d(rate), "match_rate").reshape(np.shape(rate))[()]
    if truth is not None:
        meant, match = truth.meant, truth.match
        label, reward = array_name(name, "label"), array_name(name, "reward")
        if meant is not None:
            meant = check_whole(meant, label, rows)
            low, high = meant.min(), meant.max()
            if low < 0 or high >= inputs.MOST_ACTIONS:
                known = f"actions from 0 to {inputs.MOST_ACTIONS - 1}"
                raise InputError(f"{label} must be {known}, got {low} to {high}")
        if match is not None:
            match = check_vector(match, reward, rows)
        truth = replace(truth, meant=meant, match=match)
    return Session(replace(given, context=context, match_rate=rate, **checked), truth)


def select(
    sessions: Sessions, train_runs: Collection[int] | None, test_runs: Collection[int] | None
) -> dict[str, Session]:
    """Return the trials of some runs to learn from, and of some to be tested on.

    Without a test session the test runs are of the training session; learn from others. If test
    runs are asked for and the test contexts have no runs, but there are as many of them as
    trials, these are of the same runs as the trials. Frames of noise whose runs are known are those
    of the runs to learn from.
    """
    chosen = dict(sessions)
    if test_runs is not None:
        if "test" not in sessions and sessions["train"].truth is None:
            raise ArraysError("there is no array test_context to be tested on")
        # Without a test session some of its own runs will do, if the truth about them is known.
        test, train = sessions.get("test", sessions["train"]), sessions["train"].interactions
        if test.interactions.run is None and test.interactions.trials == train.trials:
            test = test._replace(interactions=replace(test.interactions, run=train.run))
        chosen["test"] = _of_runs(test, "test_run", test_runs)
    if train_runs is not None:
        chosen["train"] = _of_runs(sessions["train"], "run", train_runs)
        if "noise" in sessions and (run := sessions["noise"].interactions.run) is not None:
            mine = np.isin(run, list(train_runs))
            if not mine.any():
                raise ArraysError("noise_run: there are no frames of the runs to learn from")
            chosen["noise"] = sessions["noise"].rows(mine)
    return chosen


def _of_runs(session: Session, name: str, wanted: Collection[int]) -> Session:
    run = session.interactions.run
    if run is None:
        raise ArraysError(f"there is no array {name} to choose runs by")
    if missing := sorted(set(wanted) - set(run.tolist())):
        there = f"there are {run.min()} to {run.max()}"
        raise ArraysError(f"{name}: there is no run {missing[0]}; {there}")
    return session.rows(np.isin(run, list(wanted)))


@dataclass(frozen=True)
class Result:
    """What a learner made of recorded interactions.

    `accuracy` is in percent of the test contexts, with its 95 % `interval` by Wilson's method;
    `confusion` counts right (rows) and chosen actions (columns); None where there is no test.
    """

    learner_id: str
    learner: BaseEstimator
    accuracy: float | None = None
    interval: tuple[float, float] | None = None
    confusion: MaybeArray = None

    @property
    def match_rates(self) -> list[float] | None:
        """Decoded match rate of each action, if the learner decodes it."""
        rates = getattr(self.learner, "match_rate_", None)
        return None if rates is None else rates.tolist()

    @property
    def diagnosis(self) -> Verdict | None:
        """How far the learner can be trusted, if it knows."""
        return getattr(self.learner, "diagnosis_", None)

    @property
    def objective(self) -> float | None:
        """Of full-CI IGL."""
        return getattr(self.learner, "objective_", None)

    def as_dict(self, options: Sequence[object] | None = None) -> dict[str, Any]:
        """Return plain data, as for JSON, with the options' own names where they are given."""
        names, found = ("accuracy", "interval", "match_rates", "objective"), self.diagnosis
        plain = {name: getattr(self, name) for name in names}
        return {**plain, "diagnosis": None if found is None else found.named(options).as_dict()}


def learners_for(sessions: Sessions, wanted: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the learners wanted, or all for which there is what they need."""
    train, truth = sessions["train"]
    if not wanted:
        same = train.feedback is None or train.context.shape[1] == train.feedback.shape[1]
        known = (each for each in LEARNERS.usual() if same or not each.same_features)
        return tuple(each.id for each in known if _can_be_told(each, truth))
    for each in wanted:
        found = LEARNERS.get(each)
        if not _can_be_told(found, truth):
            raise ArraysError(f"{each} needs the array {found.told}")
    return tuple(dict.fromkeys(wanted))


def _can_be_told(learner: Specification, truth: Truth | None) -> bool:
    known = {"reward": truth and truth.match, "label": truth and truth.meant}
    return not learner.told or known.get(learner.told) is not None


def session_learners(protocol: Protocol, sessions: Sessions) -> tuple[str, ...]:
    """Return the protocol's learners for which there is what they need."""
    truth = sessions["train"].truth
    wanted = [each for each in protocol.learners if _can_be_told(LEARNERS.get(each), truth)]
    if not wanted:
        raise DatasetError(f"without its truth, none of {', '.join(protocol.learners)} can learn")
    return tuple(wanted)


def learn_with(
    sessions: Sessions, learners: Sequence[str], *, report: Notify = silent, **how: Any
) -> list[Result]:
    """Fit learners (`learners_for`) one after the other, as `learn_from` does."""
    results, person = [], "".join(f"person {each}: " for each in people_of(sessions))
    for each in learners:
        step = f"{person}learning with {LEARNERS.get(each).name}"
        report(step)
        try:
            results.append(learn_from(sessions, each, progress=_tenths(report, step), **how))
        except InputError as error:
            raise InputError(f"{person}{each}: {error}") from error
    return results


def _tenths(report: Notify, step: str) -> Progress:
    """Return a function that reports every tenth of a step that takes minutes."""
    told = 0

    def progress(done: int, total: int) -> None:
        nonlocal told
        if told < (tenth := 10 * done // total) < 10:
            told = tenth
            report(f"{step}: {10 * tenth} %")

    return progress


def learn_from(
    sessions: Sessions,
    learner: str | Specification,
    *,
    one_right: bool = True,
    seed: int = 0,
    progress: Progress = silent,
) -> Result:
    """Fit one learner to recorded interactions, and test it where there is a test set.

    Test contexts are centred by the mean of their own run where runs are known, otherwise by the
    training mean. `one_right` says whether exactly one action is right for each context, `seed` is
    that of learners that draw random numbers. Those that take minutes call `progress`. Trials of
    several people are refused: see `bciigl.study.recorded.by_person`.
    """
    if len(people := people_of(sessions)) > 1:
        raise InputError(f"the trials are of {len(people)} people: take each apart by by_person")
    sessions = normalise(sessions)
    if isinstance(learner, str):
        learners_for(sessions, [learner])
        learner = LEARNERS.get(learner)
    train, truth = sessions["train"]
    how: dict[str, Any] = {"one_right": one_right, "seed": seed, "progress": progress}
    fitted = fit_learner(learner, train, truth, **how)
    test, truth = sessions.get("test", (None, None))
    if test is None or truth is None or truth.meant is None:
        return Result(learner.id, fitted)
    chosen, right = fitted.predict(test.context, run=test.run), truth.meant
    confusion = np.zeros((train.n_actions, train.n_actions), int)
    np.add.at(confusion, (right, chosen), 1)
    share = share_with_interval(np.sum(chosen == right), len(right))
    return Result(learner.id, fitted, *share, confusion)


def mean_over_people(results: Iterable[Sequence[Result]]) -> list[Result]:
    """Return the mean accuracy of each learner over people, with its 95 % interval."""
    means = []
    for of_learner in zip(*results, strict=True):
        tested = [each.accuracy for each in of_learner if each.accuracy is not None]
        mean = within(mean_of(tested), 0.0) if tested else None
        scores = (None, None) if mean is None else (mean.mean, mean.interval)
        means.append(Result(of_learner[0].learner_id, None, *scores))
    return means


def fit_learner(
    learner: Specification,
    given: Interactions,
    truth: Truth | None = None,
    *,
    one_right: bool = True,
    seed: int = 0,
    progress: Progress = silent,
) -> BaseEstimator:
    """Return a learner fitted to interactions, and to that part of the truth that it is told."""
    parameters = {"n_actions": given.n_actions, "match_rate": given.match_rate}
    parameters |= {"one_right": one_right, "random_state": seed}
    known = inspect.signature(learner.make).parameters
    made = learner.make(**{name: each for name, each in parameters.items() if name in known})
    if learner.told and truth is None:
        raise InputError(f"{learner.id} must be told each trial's {learner.told}")
    if truth is not None and learner.told == "label":
        return made.fit(given.context, truth.meant, run=given.run)
    how: dict[str, Any] = {"propensity": given.propensity, "run": given.run}
    if "progress" in inspect.signature(made.fit).parameters:
        how["progress"] = progress
    if truth is not None and learner.told == "reward":
        return made.fit(given.context, given.action, truth.match, **how)
    return made.fit(given.context, given.action, given.feedback, **how, catch=given.catch)


def matches_by_fifths(session: Session) -> list[float | None] | None:
    """Return how many percent of an agent's guesses, catch trials apart, matched in each fifth."""
    if session.truth is None or session.truth.match is None:
        return None
    catch, matches = session.interactions.catch, session.truth.match
    parts = np.array_split(matches if catch is None else matches[~catch.astype(bool)], FIFTHS)
    return [100 * float(part.mean()) if len(part) else None for part in parts]
