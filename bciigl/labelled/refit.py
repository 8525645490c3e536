"""A policy and a decoder that assume no law of the features, where they hold better than the model.

The model that discovers the reward takes contexts and feedback for Gaussian. Where they are, as in
a brain's noise, nothing learns faster. Where they are not, as in pixels and categories, what it has
found is a good start only. From there the policy alone is fitted anew to what the decoder tells
(`one_right`), and then both together (`agreement`). All are compared on trials they have not seen.

An action whose reward was not found is then as good as lost: its decoder tells nothing, so nothing
teaches it better. But the others know: where exactly one action is right, contexts that none of
them claims must be its own, and teach its decoder anew.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from bciigl.base.registry import LEARNERS, Specification
from bciigl.labelled.agreement import Linear, fit_agreement
from bciigl.labelled.one_right import SURE, OneRightBandit, fit_one_right
from bciigl.learn.action_inclusive import AI_IGL, ActionInclusiveIGL
from bciigl.learn.bandit import BANDIT
from bciigl.learn.decoded_return import objective_terms
from bciigl.learn.evidence import Evidence, information
from bciigl.learn.interactions import Prepared
from bciigl.learn.logistic import fit_logistic
from bciigl.learn.mixture import Model
from bciigl.learn.search import Found, Task

# Standard errors by which what is fitted anew must be better than what it would replace.
CLEARLY = 2.0
# An action is lost if feedback to it tells less than this share of what the median action's does.
LOST = 0.5
# Log-odds of rewards that are as good as known.
SURELY_DECODED = 10.0
# More trials than this decide nothing that fewer would not.
MOST_COMPARED = 10_000


class Start(NamedTuple):
    """What trials are fitted anew from: a model, and what it says about each by the others."""

    model: Model
    odds: np.ndarray  # (trials,): log-likelihood ratio of reward


class RefittedIGL(ActionInclusiveIGL):
    """AI-IGL whose policy and decoder are fitted anew where that holds better on unseen trials."""

    _recorded = False

    def _refitted(self, task: Task, found: Found, data: Prepared) -> Linear | None:
        return refitted(task, found, data)


LABELLED_LEARNERS = {AI_IGL.id: RefittedIGL, BANDIT.id: OneRightBandit}
"""What learns from labelled data in place of the learners of these ids."""


def labelled_learner(learner_id: str) -> Specification:
    """Return the learner of an id as it learns from labelled data."""
    found = LEARNERS.get(learner_id)
    return replace(found, make=LABELLED_LEARNERS.get(learner_id, found.make))


def refitted(task: Task, found: Found, data: Prepared | None = None) -> Linear | None:
    """Return what is fitted anew to all data, or None if the model itself is not clearly worse."""
    data = task.data if data is None else data
    compared = np.arange(task.data.trials) % -(-task.data.trials // MOST_COMPARED) == 0
    rows = np.flatnonzero(compared)
    model, alone, both = found.unseen.rows(rows), *_unseen(task, found, compared)
    some = task.rows(rows)
    # Where rewards are known, which policy is best has nothing to do with how they were found.
    known = np.median(np.abs(found.judged.feedback)) > SURELY_DECODED
    kept = _better(model, alone, some) if known else not _better(alone, model, some)
    if found.model.one_right and kept and not _informs(both, model, some):
        return None
    odds = found.judged.feedback
    if data.trials > len(odds):
        # Among this many trials none weighs enough to vouch for itself.
        odds = found.model.feedback_evidence(data.feedback, data.action)
    start = _policy_alone(data, Start(found.model, odds))
    return _both(data, start) if _informs(both, alone, some) else start


def _better(new: Evidence, old: Evidence, task: Task) -> bool:
    """Tell whether evidence is better: clearly more information or, if it is not clear, return."""
    if _informs(new, old, task) or _informs(old, new, task):
        return _informs(new, old, task)
    return _clear(_returns(new, task) - _returns(old, task))


def _informs(new: Evidence, old: Evidence, task: Task) -> bool:
    """Tell whether evidence has clearly more information about unseen trials."""
    return _clear(information(new, task.data) - information(old, task.data))


def _returns(evidence: Evidence, task: Task) -> np.ndarray:
    """Return each trial's part of the decoded return of the actions that evidence favours."""
    data = task.data
    decoded = expit(evidence.feedback + logit(task.rate))
    favoured = evidence.context.argmax(axis=1) == data.action
    return objective_terms(favoured, decoded, data.weight, data.n_actions)


def _unseen(task: Task, found: Found, compared: np.ndarray) -> tuple[Evidence, Evidence]:
    """Return what the policy fitted alone, and both together, say about trials they did not see."""
    data = task.data
    places = np.cumsum(compared) - 1
    trials = compared.sum()
    alone, both = (Evidence(np.empty((trials, data.n_actions)), np.empty(trials)) for _ in range(2))
    for fold, model in zip(np.unique(task.fold), found.without, strict=True):
        other = task.fold != fold
        seen, out = np.flatnonzero(compared & other), np.flatnonzero(compared & ~other)
        start = Start(model, found.judged.feedback[seen])
        first = _policy_alone(data.rows(seen), start)
        # Lost actions are not taught here: that would only make it better, and takes long.
        second = fit_agreement(data.rows(seen), first)
        for linear, evidence in ((first, alone), (second, both)):
            said = linear.evidence(data.rows(out))
            evidence.context[places[out]] = said.context
            evidence.feedback[places[out]] = said.feedback
    return alone, both


def _policy_alone(data: Prepared, start: Start) -> Linear:
    """Return a policy fitted to what the model's decoder tells, with that decoder."""
    policy = fit_one_right(data.context, data.action, start.odds, data.n_actions)
    decoder = np.vstack([start.model.feedback_weights, start.model.feedback_bias])
    # One that is surer than sure could not be made better.
    return Linear(policy, decoder * min(1.0, SURE / 2 / max(np.abs(start.odds).max(), 1e-9)))


def _both(data: Prepared, start: Linear) -> Linear:
    """Return a policy and a decoder fitted together, lost actions being taught by the others."""
    found = fit_agreement(data, start)
    told = information(found.evidence(data), data)
    of_action = data.means(told)
    lost = (of_action < LOST * np.median(of_action)) & (data.taken > 0)
    if not lost.any():
        return found
    taught = fit_agreement(data, _taught(data, found, lost))
    return taught if information(taught.evidence(data), data).sum() > told.sum() else found


def _taught(data: Prepared, found: Linear, lost: np.ndarray) -> Linear:
    """Return a policy that has learned from other actions only, and what that teaches the lost."""
    odds = np.where(lost[data.action], 0.0, found.evidence(data).feedback)
    policy = fit_one_right(data.context, data.action, odds, data.n_actions)
    probable = Linear(policy, found.decoder).evidence(data).predicted(data.action)
    decoder = found.decoder.copy()
    for each in np.flatnonzero(lost):
        rows = data.action == each
        decoder[:, each] = fit_logistic(data.feedback[rows], probable[rows], np.ones(rows.sum()))
        # A likelihood ratio does not have the prior in it.
        decoder[-1, each] -= logit(np.clip(probable[rows].mean(), 1e-6, 1 - 1e-6))
    return Linear(policy, decoder)


def _clear(differences: np.ndarray) -> bool:
    """Tell whether the mean of differences is clearly above 0."""
    error = differences.std() / np.sqrt(len(differences))
    return bool(differences.mean() > CLEARLY * error)
