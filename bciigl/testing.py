"""Checks for custom learners, agents, sources and participants, as Gymnasium's `check_env`.

Each raises `ConformanceError` that says what is wrong, and returns nothing if all is well::

    from bciigl.testing import check_learner

    check_learner(MyLearner())
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from bciigl.base.errors import BciiglError
from bciigl.brain.events import Event
from bciigl.learn.diagnose import VERDICTS, Verdict
from bciigl.learn.interactions import Interactions
from bciigl.loop.agent import Choice
from bciigl.protocol import Protocol
from bciigl.protocol.timetable import timetable
from bciigl.recording.trial import Shown
from bciigl.recording.truth import Truth
from bciigl.source.interface import CORRUPT, DUPLICATE, LATE, MISSING, STATUSES, Source

OPTIONS, FEATURES, TRIALS, RUNS = 3, 6, 240, 6


class ConformanceError(BciiglError, AssertionError):
    """How a learner, an agent, a source or a participant breaks its interface."""


def check_learner(learner: Any, told: str = "") -> None:
    """Check that a learner can be used wherever bciigl uses learners.

    Parameters
    ----------
    learner : estimator
        Not fitted. It is cloned, and stays as it is.
    told : str
        What `fit` is given: ``""`` for feedback, ``"reward"`` or ``"label"``.
    """
    rng = np.random.default_rng(0)
    label, action = rng.integers(OPTIONS, size=(2, TRIALS))
    action[:OPTIONS] = range(OPTIONS)
    match = label == action
    context = 3 * np.eye(OPTIONS, FEATURES)[label] + rng.standard_normal((TRIALS, FEATURES))
    feedback = 3 * np.eye(OPTIONS, FEATURES)[action] + rng.standard_normal((TRIALS, FEATURES))
    feedback += 4 * match[:, None] * np.eye(1, FEATURES, FEATURES - 1)
    run = np.arange(TRIALS) * RUNS // TRIALS + 1
    propensity = np.full(TRIALS, 1 / OPTIONS)
    given = {
        "": (context, action, feedback),
        "reward": (context, action, match.astype(float)),
        "label": (context, label),
    }
    _require(told in given, f"told should be one of {', '.join(map(repr, given))}, got {told!r}")
    named = {"run": run}
    if told != "label":
        named["propensity"] = propensity
    if not told:
        named["catch"] = np.zeros(TRIALS, bool)
    before = [each.copy() for each in given[told]]
    fitted, again = (_call(clone(learner).fit, *given[told], **named) for _ in range(2))
    for one, other in zip(before, given[told], strict=True):
        _require(np.array_equal(one, other), "fit should not change the arrays it is given")
    chosen = _call(fitted.predict, context, run=run)
    right = np.shape(chosen) == (TRIALS,) and np.isin(chosen, range(OPTIONS)).all()
    _require(right, f"predict should return an action from 0 to {OPTIONS - 1} for each context")
    same = np.array_equal(chosen, again.predict(context, run=run))
    _require(same, "fit should give the same policy for the same data; use random_state")
    probable = np.asarray(_call(fitted.predict_proba, context, run=run))
    right = probable.shape == (TRIALS, OPTIONS) and (probable >= 0).all()
    right = right and np.allclose(probable.sum(axis=1), 1)
    _require(right, "predict_proba should return a probability for each context and action")
    same = np.array_equal(probable.argmax(axis=1), chosen)
    _require(same, "predict should choose the action that predict_proba finds most probable")
    right = np.isclose(_call(fitted.score, context, label, run=run), (chosen == label).mean())
    _require(right, "score should be the share of right choices")
    if not told:
        decoded = np.asarray(_call(fitted.decode, feedback, action, run=run))
        right = decoded.shape == (TRIALS,) and (decoded >= 0).all() and (decoded <= 1).all()
        _require(right, "decode should return a probability of reward for each trial")
        verdict = _call(fitted.diagnose)
        right = isinstance(verdict, Verdict) and verdict.verdict in VERDICTS
        _require(right, f"diagnose should return a Verdict: {', '.join(VERDICTS)}")
    broken = context.copy()
    broken[0, 0] = np.nan
    try:
        clone(learner).fit(broken, *given[told][1:], **named)
    except ValueError:
        return
    raise ConformanceError("fit should refuse contexts that are not finite with a ValueError")


def check_agent(make: Callable[[], Any]) -> None:
    """Check that an agent can take part in sessions.

    Parameters
    ----------
    make : function
        Returns a new agent for `OPTIONS` options each time; all of them are alike.
    """
    for name in ("recall", "begin_run", "act", "observe", "end_run", "explore"):
        _require(hasattr(make(), name), f"an agent should have the method {name}")
    known = {"context", "action", "feedback", "propensity", "catch"}
    asked = set(inspect.signature(make().observe).parameters)
    _require(asked == known, f"observe should take {', '.join(sorted(known))}: no reward")
    guesses = [_guesses(make()) for _ in range(2)]
    _require(
        guesses[0] == guesses[1],
        "an agent should draw random numbers from self.rng alone, so that it can be resumed",
    )
    # Each probability is an honest one: inverse propensities of an action have a mean of 1.
    weights = np.array([[1 / p * (a == each) for each in range(OPTIONS)] for a, p in guesses[0]])
    mean, error = weights.mean(axis=0), weights.std(axis=0) / np.sqrt(len(weights))
    explores = max(p for _, p in guesses[0]) < 1
    honest = not explores or (np.abs(mean - 1) < 5 * error + 0.05).all()
    _require(honest, "a propensity should be the probability with which the guess was made")


def _guesses(agent: Any) -> list[tuple[int, float]]:
    rng = np.random.default_rng(1)
    found = []
    _require(agent.n_actions == OPTIONS, f"n_actions should be {OPTIONS}, got {agent.n_actions!r}")
    past: list[tuple] = []
    names = ("context", "action", "feedback", "propensity", "run")
    for run in range(4):
        if past:
            arrays = dict(zip(names, map(np.array, zip(*past, strict=True)), strict=True))
            changes = _call(agent.recall, Interactions(**arrays, n_actions=OPTIONS))
            _require(isinstance(changes, bool), "recall should return true or false")
        agent.begin_run(np.random.default_rng(run))
        for _ in range(100):
            context, feedback = rng.standard_normal((2, FEATURES))
            kept = context.copy()
            choice = Choice(*_call(agent.act, context))
            _require(np.array_equal(context, kept), "act should not change the context")
            right = choice.action in range(OPTIONS) and 0 < choice.propensity <= 1
            wanted = f"an action from 0 to {OPTIONS - 1} and its propensity"
            _require(right, f"act should return {wanted}")
            found.append((int(choice.action), float(choice.propensity)))
            _call(agent.observe, context, choice.action, feedback, choice.propensity, catch=False)
            past.append((context, choice.action, feedback, choice.propensity, run + 1))
        agent.end_run()
    return found


def check_source(source: Source, protocol: Protocol) -> None:
    """Check that a new source gives the frames of a protocol's run as the session loop expects."""
    _require(source.tr > 0, f"tr should be above 0, got {source.tr!r}")
    right = source.n_voxels == len(source.region) > 0
    _require(right, "n_voxels should be the number of the region's")
    right = np.shape(source.affine) == (4, 4) and np.isfinite(source.affine).all()
    _require(right, "affine should be a matrix of shape (4, 4)")
    options = protocol.task.options
    trials = min(protocol.task.trials, protocol.task.trials_per_run)
    length = timetable(protocol, trials, "train", 1).frames(protocol.timing.tr)
    for run in (1, 1):  # a run can be begun again, as after a crash
        source.begin_run("train", run, length)
        source.announce(Event("imagination", protocol.timing.burn_in, options[0]))
        frames = []
        for stop in (*range(1, 4), length // 2, length // 2, length):
            frames += _call(source.read, stop)
            given = [each for each in frames if each.status != DUPLICATE]
            indices = [each.index for each in given if not _came_late(each, given)]
            wanted = f"every frame before {stop} once and in order"
            _require(indices == list(range(stop)), f"read({stop}) should give {wanted}")
        _require(source.elapsed() >= 0, "elapsed should be the seconds since the run began")
        for each in frames:
            _check_frame(each, source.n_voxels)


def _came_late(frame: Any, given: list) -> bool:
    """Tell whether a late frame was given as missing before."""
    before = given[: next(place for place, each in enumerate(given) if each is frame)]
    missing = (each.index for each in before if each.status == MISSING)
    return frame.status == LATE and frame.index in missing


def _check_frame(frame: Any, voxels: int) -> None:
    known = ", ".join(STATUSES)
    right = frame.status in STATUSES
    _require(right, f"a frame's status should be one of {known}, got {frame.status!r}")
    if frame.status in (MISSING, CORRUPT):
        _require(frame.values is None, f"a {frame.status} frame should have no values")
    else:
        right = np.shape(frame.values) == (voxels,) and np.isfinite(frame.values).all()
        _require(right, f"a frame's values should be {voxels} finite numbers")
    right, since = 0 <= frame.acquired <= frame.arrived + 1e-9, "seconds since the run began"
    _require(right, f"a frame should be acquired before it arrives, both in {since}")


def check_participant(participant: Any, protocol: Protocol) -> None:
    """Check that a participant can take part in a run with a few trials of a protocol."""
    options = len(protocol.task.options)
    _require(participant.trials > 0, "trials should be the number of trials in the run")
    actions = []
    for trial in range(participant.trials):
        first = _call(participant.imagine, trial)
        _require(first.kind == "imagination", "a trial should begin with imagination")
        shown = _call(participant.shown, trial)
        right = shown is None or (isinstance(shown, Shown) and shown.action in range(options))
        _require(right, "shown should return a Shown, or None where the agent guesses")
        actions.append(trial % options if shown is None else shown.action)
        kinds = [each.kind for each in _call(participant.answer, trial, actions[-1])]
        wanted = list(protocol.task.events[1:])
        said = f"answer should return the events {', '.join(wanted)}, got {kinds}"
        _require(kinds == wanted, said)
    truth = _call(participant.truth, actions)
    _require(truth is None or isinstance(truth, Truth), "truth should return a Truth, or None")
    right = truth is None or np.array_equal(truth.match, np.asarray(truth.meant) == actions)
    _require(right, "a match should be a guess of the option meant")


def _call(function: Callable, *arguments: Any, **named: Any) -> Any:
    try:
        return function(*arguments, **named)
    except Exception as error:
        name = getattr(function, "__name__", str(function))
        raise ConformanceError(f"{name} failed: {type(error).__name__}: {error}") from error


def _require(condition: bool | np.bool_, message: str) -> None:
    if not condition:
        raise ConformanceError(message)
