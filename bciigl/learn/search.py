"""Reward discovery: several starts, refined, and chosen by what holds on unseen runs."""

from typing import NamedTuple

import numpy as np

from bciigl.learn import canonical, contrastive
from bciigl.learn.canonical import CrossCovariance
from bciigl.learn.evidence import Evidence, net_information, orientation
from bciigl.learn.interactions import Interactions
from bciigl.learn.mixture import Model, TwoViews
from bciigl.learn.symmetry import break_symmetry

SCREENING_STEPS = 7
FINAL_STEPS = 30
HOPELESS = 0.003
# Nats per trial on unseen runs from which on no other start is tried.
CONVINCING = 0.1


class Start(NamedTuple):
    """Where a search begins.

    Attributes
    ----------
    shared : bool
        Whether the reward shows in the same direction of feedback whatever the action.
    ridge : float
        Of the covariances.
    cleaned : bool
        Whether covariance that is not the reward's is subtracted; see `canonical`.
    place : int
        Which canonical pair is taken for the reward.
    mirrored : bool
        Whether the less likely of both clusters is taken for the rewarded one.
    """

    shared: bool
    ridge: float
    cleaned: bool = True
    place: int = 0
    mirrored: bool = False


USUAL = (
    Start(True, 0.1),
    Start(True, 0.03),
    Start(False, 0.1),
    Start(False, 0.1, cleaned=False),
)
FURTHER = (
    Start(True, 0.1, mirrored=True),
    Start(True, 0.3),
    Start(True, 0.1, place=1),
)


class Task(NamedTuple):
    """What is searched.

    Attributes
    ----------
    data : Interactions
        Centred and scaled, folds in ascending order, trials of a run in theirs.
    fold : array of int, (trials,)
    rate : array, (trials,)
        Expected match rate of each trial.
    known : array of bool, (trials,)
        Whether it is known, or else assumed for a start only.
    one_right : bool
        Whether exactly one option is right.
    """

    data: Interactions
    fold: np.ndarray
    rate: np.ndarray
    known: np.ndarray
    one_right: bool

    def rows(self, index: np.ndarray) -> "Task":
        """Return the task of learning from some of the trials."""
        return Task(
            self.data.rows(index),
            self.fold[index],
            self.rate[index],
            self.known[index],
            self.one_right,
        )

    def views(self) -> TwoViews:
        """Return the mixture model of the trials."""
        known_rate = np.where(self.known, self.rate, np.nan)
        return TwoViews(self.data, self.fold, known_rate, self.one_right)


class Found(NamedTuple):
    """What was discovered.

    Attributes
    ----------
    model : Model
        From all trials.
    belief : array, (trials, actions)
        Probability that each action is right, or the one taken; see `TwoViews.fit`.
    start : Start
        Where it was found from.
    held_out : Evidence
        What models that saw none of a trial's fold say about it.
    """

    model: Model
    belief: np.ndarray
    start: Start
    held_out: Evidence

    def reward(self, action: np.ndarray) -> np.ndarray:
        """Return the probability that the action taken is right, (trials,)."""
        return np.take_along_axis(self.belief, action[:, None], axis=1)[:, 0]


def discover(task: Task) -> Found:
    """Return the rewards that explain best what context and feedback have in common."""
    views, cross = task.views(), CrossCovariance(task.data, task.one_right)
    screened = [worth(refined(task, views, cross, start)[1], task) for start in USUAL]
    order = np.argsort(screened)[::-1]
    start, held_out, best = None, None, -np.inf
    for each in (*(USUAL[i] for i in order), *FURTHER):
        evidence = unseen(task, each, max(screened) if start is None else -np.inf)
        value = worth(evidence, task)
        if value > best:
            start, held_out, best = each, evidence, value
        if not HOPELESS < best < CONVINCING:
            break
    belief = _final_belief(task, views, cross, start, held_out)
    model = views.model(belief, ridge=start.ridge, shared=start.shared)
    return Found(model, belief, start, held_out)


def worth(evidence: Evidence, task: Task) -> float:
    """Return what evidence is worth, in nats per trial; less than nothing if it is upside down."""
    upright = task.data.weight @ orientation(evidence, task.rate) / task.data.trials
    return net_information(evidence, task.data) + min(upright, 0.0)


def _final_belief(
    task: Task, views: TwoViews, cross: CrossCovariance, start: Start, held_out: Evidence
) -> np.ndarray:
    """Return the belief of all trials, from the start or from what the folds agreed on."""
    guesses = (first_guess(task, cross, start), held_out.reward(task.data.action))
    results = [
        views.fit(guess, ridge=start.ridge, shared=start.shared, iterations=FINAL_STEPS)
        for guess in guesses
    ]
    return max(results, key=lambda result: worth(result[1], task))[0]


def refined(
    task: Task,
    views: TwoViews,
    cross: CrossCovariance,
    start: Start,
    iterations: int = SCREENING_STEPS,
) -> tuple[np.ndarray, Evidence]:
    """Return belief and evidence that expectation maximisation reaches from a start."""
    reward = first_guess(task, cross, start)
    return views.fit(reward, ridge=start.ridge, shared=start.shared, iterations=iterations)


def first_guess(task: Task, cross: CrossCovariance, start: Start) -> np.ndarray:
    """Return the probability that each trial is rewarded, from the start alone, (trials,)."""
    data = task.data
    found = cross.directions(
        start.ridge, shared=start.shared, cleaned=start.cleaned, place=start.place
    )
    feedback = canonical.within_actions(data.feedback, data)
    groups = [np.flatnonzero(data.action == each) for each in range(data.n_actions)]
    score = np.empty(data.trials)
    for rows, of_context, of_feedback in zip(groups, *found, strict=True):
        if start.shared:
            score[rows] = feedback[rows] @ of_feedback
        else:
            score[rows] = _refined_score(
                contrastive.Pair(of_context, of_feedback),
                data.context[rows],
                feedback[rows],
                data.weight[rows],
            )
    reward = task.rate.copy()
    for rows in [np.arange(data.trials)] if start.shared else groups:
        if len(rows):
            reward[rows] = break_symmetry(
                score[rows], task.rate[rows], data.weight[rows], mirrored=start.mirrored
            ).reward
    return reward


def unseen(task: Task, start: Start, expected: float) -> Evidence:
    """Return what is said about each fold by a search that saw the others only.

    Where a start leads to much less than is expected of it, in nats per trial, the other usual
    starts are tried too.
    """
    data = task.data
    evidence = Evidence(np.empty((data.trials, data.n_actions)), np.empty(data.trials))
    for fold in np.unique(task.fold):
        out = np.flatnonzero(task.fold == fold)
        model = _best_model(task.rows(np.flatnonzero(task.fold != fold)), start, expected)
        evidence.context[out] = model.probable(model.context_scores(data.context[out]))
        evidence.feedback[out] = model.feedback_evidence(data.feedback[out], data.action[out])
    return evidence


def _best_model(task: Task, start: Start, expected: float) -> Model:
    views, cross = task.views(), CrossCovariance(task.data, task.one_right)
    best = -np.inf
    for each in (start, *(other for other in USUAL if other != start)):
        belief, evidence = refined(task, views, cross, each)
        value = worth(evidence, task)
        if value > best:
            best, model = value, views.model(belief, ridge=each.ridge, shared=each.shared)
        if best >= expected / 2:
            break
    return model


def _refined_score(
    pair: contrastive.Pair, context: np.ndarray, feedback: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return the feedback of an action along the direction that the contrastive objective finds."""
    start = contrastive.Pair(_steep(pair.context, context), _steep(pair.feedback, feedback))
    return feedback @ contrastive.refine(start, context, feedback, weight).feedback[:-1]


def _steep(direction: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Return weights, and a bias of 0, by which a logistic function is neither flat nor a step."""
    spread = (features @ direction).std() if len(features) else 0.0
    return np.append(2 * direction / spread if spread > 0 else 0 * direction, 0.0)
