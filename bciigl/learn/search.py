"""Reward discovery: normalise, start where the cross-covariance points, refine, choose.

Given the action, context and feedback depend on each other through the reward alone (Assumption 2),
so their cross-covariance has rank one: the contexts' difference times the feedback's. Its largest
singular pairs are where a search starts (the spectral contrastive objective of Section 3.1 has its
maximum there), in both orders: the objective cannot tell match from mismatch.

In practice context and feedback also share noise that lasts, and what leaks from one estimate into
the other. That has nothing to do with the action. Where exactly one option is right, the reward
has: for each context, being right about one option is being wrong about the others, so that over
all actions the reward's part of the cross-covariance cancels, and the mean over actions is what is
foreign to it.
"""

from collections.abc import Iterator
from copy import copy
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import expit

from bciigl.learn.evidence import Evidence, information, orientation, rate_misfit
from bciigl.learn.interactions import (
    FEWEST_TRIALS_OF_ACTION,
    Prepared,
    less_means,
    of_action,
    run_means,
)
from bciigl.learn.mixture import Mixture, Model, Whitening, softmax

# Singular pairs that are tried, each in both orders, and the size of those that are surely no noise,
# in units of the largest singular value that noise alone would have.
PAIRS, ABOVE_NOISE = 3, 1.1
# Steps of expectation maximisation: from every start, after normalising again, and again without a
# fold.
SCREENING, FINAL, AGAIN = 12, 15, 10
# How often the noise is measured again by what is left when the reward has been found.
ROUNDS = 2
# More trials than this find nothing that fewer would not.
MOST_SEARCHED = 100_000
# How much an unlikely match rate counts: contexts that are not Gaussian fit anything.
WRONG_RATE = 3.0
# How steep the first guess is in the feedback's score, per SD.
STEEPNESS = 3.0
# Of all there is to know of the reward: enough to look no further.
CONVINCING = 0.3
# Standard errors by which a family in which actions share less must tell more.
CLEARLY = 3.0
# Further steps that leave less than this share of what there was have lost it.
LOST = 0.7
# What it costs to believe that imagining an option resembles the contrary of seeing it, nats.
CONTRARY = 3.0
# Of a view's variance, what is always taken for noise.
LEAST_NOISE = 0.003
# A mirror image that has come back: its belief is the same. And the largest t statistic told.
SAME, CERTAIN = 0.02, 99.0


class Task(NamedTuple):
    """What is searched, one row a trial."""

    data: Prepared  # centred and scaled
    fold: np.ndarray
    rate: np.ndarray  # expected match rate of each trial; 1/2 where nothing is known of it
    weight: np.ndarray  # how much each trial counts where match and mismatch are told apart
    one_right: bool
    units: tuple[np.ndarray, np.ndarray]  # of the features of contexts and of feedback
    # Whether they were recorded: Gaussian around their means, and contexts leak into feedback.
    recorded: bool = True

    def rows(self, index: np.ndarray) -> "Task":
        """Return the task of learning from some of the trials."""
        return Task(self.data.rows(index), *(each[index] for each in self[1:4]), *self[4:])

    def fewer(self) -> "Task":
        """Return the task of as many trials as are searched."""
        if self.data.trials <= MOST_SEARCHED:
            return self
        return self.rows(np.linspace(0, self.data.trials - 1, MOST_SEARCHED).astype(int))


class Found(NamedTuple):
    """What was discovered."""

    search: "Search"
    model: Model  # from all trials
    belief: np.ndarray  # (trials, actions): see `Mixture.completed`
    judged: Evidence  # what all other trials say about each
    without: list[Model]  # from all folds but one
    unseen: Evidence  # what these say about the fold

    def mirrored_t(self) -> float:
        """Return how much better this is than with match and mismatch exchanged, as a t statistic.

        The mirror image is refined as this was; nothing is better than one that does not last.
        """
        search, mixture, data = self.search, self.search.mixture, self.search.task.data
        belief, evidence = search.mirrored(self.belief)
        more = information(self.judged, data) - information(evidence, data)
        more += mixture.context_fit(self.belief) - mixture.context_fit(belief)
        more += search.task.weight * orientation(self.judged, search.task.rate)
        if np.abs(belief - self.belief).mean() < SAME or more.std() == 0:
            return CERTAIN
        return float(np.clip(np.sqrt(len(more)) * more.mean() / more.std(), -CERTAIN, CERTAIN))


class Family(NamedTuple):
    """What kind of model is sought, and what is taken for the noise at first."""

    spherical: bool = True  # noise as features are given has the same variance in all directions
    shared: bool = True  # the reward shows in the same direction of feedback whatever the action
    one_right: bool = True  # exactly one action is right for each context


FAMILIES = (
    Family(),
    Family(spherical=False),
    Family(spherical=False, shared=False),
    Family(spherical=False, shared=False, one_right=False),
)


class Search:
    """A search in one family of models, by the noise as it is known so far."""

    def __init__(self, task: Task, family: Family) -> None:
        self.task, self.family = task, family
        self._known_rate = np.where(task.data.catch, task.rate, np.nan)
        self._context = task.data.context
        self._feedback = less_means(task.data.feedback, task.data.action)
        views = (self._context, self._feedback)
        if family.spherical:
            pairs = zip(views, task.units, strict=True)
            self._normalise(*(Whitening.spherical(*each) for each in pairs))
        else:
            self._normalise(*map(Whitening.of, views))

    def _normalise(self, *whitenings: Whitening) -> None:
        """Take the noise that is left in both views for the unit."""
        self._whitenings = (left, context_noise), (right, feedback_noise) = whitenings
        data = self.task.data._replace(
            context=self._context @ left, feedback=self._feedback @ right
        )
        noise_left = (context_noise, feedback_noise)
        self.mixture = Mixture(data, self._known_rate, noise_left, *self.family[1:])

    def normalised_by(self, belief: np.ndarray) -> "Search":
        """Return the search by the noise that is left when a belief is taken out.

        So is what is constant in each run: the mean of a run's feedback contains the reward, as
        often as its guesses matched, and centring alone would hide a policy that has become better.
        """
        run, action = self.task.data.run, self.task.data.action
        left = self.mixture.unexplained(belief, self._context, self._feedback)
        offsets = [run_means(each, run, np.zeros(each.shape[1])) for each in left]
        found = copy(self)
        found._context = self._context - offsets[0]
        found._feedback = less_means(self._feedback - offsets[1], action)
        noise = (each - offset for each, offset in zip(left, offsets, strict=True))
        # Feedback that is exact must not make the decoder infinitely sure.
        least = (LEAST_NOISE * (each**2).mean() for each in (self._context, self._feedback))
        found._normalise(*map(Whitening.of, noise, least))
        return found

    def centred(self) -> Prepared:
        """Return the data less what is constant in each run and is not of the reward."""
        data = self.task.data
        means = data.feedback - less_means(data.feedback, data.action)
        return data._replace(context=self._context, feedback=self._feedback + means)

    def starts(self) -> Iterator[np.ndarray]:
        """Yield first beliefs, (trials, actions)."""
        for score in self._scores():
            for sign in (1, -1):
                yield self.mixture.completed(_first_guess(sign * score, self.task.rate))
        if self.family.one_right and (seen := self._seen()) is not None:
            # Perception transfer: what is imagined may look like what is seen.
            resemblance = self.mixture.data.context @ seen.T
            yield softmax(STEEPNESS * resemblance / max(resemblance.std(), 1e-12))

    def _scores(self) -> Iterator[np.ndarray]:
        """Yield how far each feedback lies along singular pairs' directions, in SDs."""
        data = self.mixture.data
        cross = np.zeros((data.n_actions, data.context.shape[1], data.feedback.shape[1]))
        for action in np.flatnonzero(data.taken):
            mine = data.action == action
            cross[action] = data.context[mine].T @ data.feedback[mine] / mine.sum()
        if self.task.one_right:
            cross -= cross.mean(axis=0)
        if not self.family.shared:
            yield self._own_score(cross)
            return
        # Of all actions' cross-covariances on top of each other.
        square, along = np.linalg.eigh(np.einsum("kij,kil->jl", cross, cross))
        actions, *features = cross.shape
        # Where noise alone would end (Marchenko and Pastur).
        edge = np.sqrt((actions - 1) * features[0]) + np.sqrt(features[1])
        sizes = np.sqrt(np.maximum(square[::-1], 0) * data.trials / actions) / edge
        clear = int((sizes > ABOVE_NOISE).sum())
        for place in range(min(clear or PAIRS, PAIRS, len(sizes))):
            score = data.feedback @ along[:, -1 - place]
            yield score / max(score.std(), 1e-12)

    def _own_score(self, cross: np.ndarray) -> np.ndarray:
        """Return how far each feedback lies along its own action's first direction, in SDs."""
        data = self.mixture.data
        score = np.zeros(data.trials)
        for action in np.flatnonzero(data.taken):
            mine = data.action == action
            along = np.linalg.eigh(cross[action].T @ cross[action])[1][:, -1]
            values = data.feedback[mine] @ along
            values /= max(values.std(), 1e-12)
            # The rarer of both clusters is above.
            skewed = np.sign((values**3).mean()) or 1.0
            score[mine] = values * skewed * (1 if self.task.rate[mine].mean() <= 0.5 else -1)
        return score

    def _seen(self) -> np.ndarray | None:
        """Return feedback to each action, in units of the contexts' noise, (actions, features).

        Less what all have in common. None where contexts have other features.
        """
        data, whiten = self.task.data, self._whitenings[0].matrix
        if data.context.shape[1] != data.feedback.shape[1]:
            return None
        seen = np.array([data.means(each) for each in data.feedback.T]).T @ whiten
        return seen - seen.mean(axis=0)

    def _pairs(self, belief: np.ndarray) -> np.ndarray | None:
        """Return how much contexts of each option resemble seeing each, (seen, imagined).

        In SDs of what the sum over the options would have by chance.
        """
        seen = self._seen()
        if seen is None or not self.family.one_right:
            return None
        imagined = self.mixture.model(belief).context_weights.T
        imagined = imagined - imagined.mean(axis=0)
        scale = np.sqrt((seen**2).sum() * (imagined**2).sum()) or 1.0
        return seen @ imagined.T / scale * np.sqrt((len(seen) - 1) * seen.shape[1])

    def confusion(self, belief: np.ndarray) -> float:
        """Return how much more options would resemble those seen if they were taken for others.

        0 where they cannot be compared.
        """
        pairs = self._pairs(belief)
        if pairs is None:
            return 0.0
        own, best = np.trace(pairs), pairs[linear_sum_assignment(-pairs)].sum()
        # Where imagining is the contrary of seeing, it resembles seeing any other option a little.
        return float(best - max(own, -own / (len(pairs) - 1)))

    def resemblance_t(self, evidence: Evidence) -> float | None:
        """Return whether contexts resemble seeing the option guessed more if it was a match.

        A t statistic; None where they cannot be compared.
        """
        seen, data = self._seen(), self.mixture.data
        if seen is None or not self.family.one_right:
            return None
        score = of_action(data.context @ seen.T, data.action)
        both = np.column_stack([score, expit(evidence.feedback)])
        product = less_means(both, self.task.fold * data.n_actions + data.action).prod(axis=1)
        return float(np.sqrt(data.trials) * product.mean() / max(product.std(), 1e-12))

    def told(self, evidence: Evidence) -> np.ndarray:
        """Return what contexts tell of feedback, nats, less if match rates do not fit, (trials,)."""
        data = self.task.data
        wrong = rate_misfit(evidence, self.task.rate, self.task.weight)
        return information(evidence, data) - WRONG_RATE * wrong / data.trials

    def likelihood(self, belief: np.ndarray, evidence: Evidence) -> float:
        """Return the log-likelihood of contexts given feedback, up to a constant.

        That of contexts, and what they tell of feedback beyond its own likelihood. Imagining an
        option may resemble seeing it, which is all that tells match from mismatch where the match
        rate does not.
        """
        known = self.told(evidence).sum()
        if not self.task.recorded:
            return known
        known += self.mixture.context_fit(belief).sum()
        if (pairs := self._pairs(belief)) is None:
            return known
        alike = np.trace(pairs)
        features = (self.task.data.n_actions - 1) * self.task.data.context.shape[1]
        resembles = -0.5 * features * np.log1p(-min(alike**2 / features, 0.99))
        return known + (resembles if alike > 0 else max(resembles - CONTRARY, 0.0))

    def best(self) -> tuple["Search", np.ndarray, Evidence]:
        """Return the search, refined, from the start that turns out best, its belief and evidence.

        Which order is right may be unclear until the noise has been measured again.
        """
        fits = [self.mixture.fit(each, SCREENING) for each in self.starts()]
        fits = sorted(fits, key=lambda fit: self.likelihood(*fit), reverse=True)
        found = [_refined(self, *fit) for fit in fits[: 1 if self.task.recorded else 2]]
        return max(found, key=lambda each: each[0].told(each[2]).sum())

    def mirrored(self, belief: np.ndarray) -> tuple[np.ndarray, Evidence]:
        """Return what a belief leads to when match and mismatch are exchanged."""
        turned = 1 - of_action(belief, self.task.data.action)
        return self.mixture.fit(self.mixture.completed(turned), FINAL)

    def without(self, fold: int, belief: np.ndarray) -> Model:
        """Return the model of a search without a fold, from the start most like a belief.

        Neither starts nor noise have anything to do with the fold.
        """
        rows = np.flatnonzero(self.task.fold != fold)
        search = Search(self.task.rows(rows), self.family)
        wanted = belief[rows] - belief[rows].mean()

        def like(start: np.ndarray) -> float:
            return float((start * wanted).sum() / max(start.std(), 1e-12))

        belief, _ = search.mixture.fit(max(search.starts(), key=like), SCREENING)
        search = search.normalised_by(belief)
        return search.model(search.mixture.fit(belief, AGAIN)[0])

    def model(self, belief: np.ndarray) -> Model:
        """Return the linear evidence that a belief leads to, of scaled features."""
        found, (left, right) = self.mixture.model(belief), self._whitenings
        weights = right.matrix @ found.feedback_weights
        # Feedback was centred by action.
        data = self.task.data
        means = np.array([data.means(each) for each in data.feedback.T])
        return found._replace(
            context_weights=left.matrix @ found.context_weights,
            feedback_weights=weights,
            feedback_bias=found.feedback_bias - (means * weights).sum(axis=0),
        )


def expectation(
    data: Prepared, uniform: np.ndarray, catch: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the match rate of each trial, 1/2 where nothing is known of it, and how it counts.

    It is known of catch trials and of uniform guesses: `uniform` and `catch` have it by action.
    What a better policy guessed matches more often than nobody knows; such trials tell where the
    clusters are, but not which is which. Only if there are few others, they are weighted so as if
    they had been guessed uniformly, as far as that is possible: nothing is known of guesses that
    could not have been others.
    """
    known = data.uniform | data.catch
    rate = np.where(data.catch, catch[data.action], uniform[data.action])
    counts = np.bincount(data.action[known], minlength=data.n_actions)
    if counts[data.taken > 0].min() >= FEWEST_TRIALS_OF_ACTION:
        return np.where(known, rate, 0.5), np.ones(data.trials)
    return np.where(data.certain & ~data.catch, 0.5, rate), data.weight


def discover(task: Task) -> Found:
    """Return the rewards that explain best what context and feedback have in common.

    Families are tried from the simplest on, until one is convincing. Where actions share less,
    anything can be explained, so such a family must tell clearly more of unseen trials.
    """
    clean = without_leak(task) if task.one_right and task.recorded else task
    best, most = None, np.zeros(task.data.trials)
    for family in FAMILIES:
        enough = most.mean() > CONVINCING * _entropy(task)
        if not family.shared and task.recorded:
            # Directions of actions' own would take what leaks for any reward.
            enough |= clean is not task or _clearly(most)
        if enough:
            break
        search = Search(clean, family._replace(one_right=family.one_right and task.one_right))
        found = _found(search)
        told = search.told(found.unseen)
        more = told - most
        if best is None or (more.mean() > 0 if family.shared else _clearly(more)):
            best, most = found, told
    return best


def _clearly(told: np.ndarray) -> bool:
    """Tell whether the mean over trials is clearly above 0."""
    return told.mean() > CLEARLY * told.std() / np.sqrt(len(told))


def _found(search: Search) -> Found:
    """Return what a search finds, tested on unseen folds."""
    task = search.task
    search, belief, evidence = search.best()
    # Runs whose guesses match more often were centred by too much until now, which favours the
    # mirror image.
    turned, new = search.mirrored(belief)
    if search.likelihood(turned, new) > search.likelihood(belief, evidence):
        search, belief, evidence = _refined(search, turned, new)
    without, data = [], search.centred()
    unseen = Evidence(np.empty((data.trials, data.n_actions)), np.empty(data.trials))
    for fold in np.unique(task.fold):
        model, out = search.without(fold, belief), task.fold == fold
        without.append(model)
        unseen.context[out] = model.probable(model.context_scores(data.context[out]))
        unseen.feedback[out] = model.feedback_evidence(data.feedback[out], data.action[out])
    return Found(search, search.model(belief), belief, evidence, without, unseen)


def without_leak(task: Task) -> Task:
    """Return the task without what contexts tell of feedback whatever the action.

    Where one option is right that is not the reward: being right about one option is being wrong
    about the others. Only what is clearly more than noise is taken out.
    """
    data = task.data
    if not data.taken.all():  # what is left of the reward would not cancel
        return task
    feedback = less_means(data.feedback, data.action)
    left, right = Whitening.of(data.context).matrix, Whitening.of(feedback).matrix
    context = data.context @ left
    # All actions count alike, however often they were taken.
    share = 1 / (data.n_actions * data.taken[data.action])[:, None]
    directions, sizes, _ = np.linalg.svd(context.T @ (share * feedback @ right))
    edge = (np.sqrt(context.shape[1]) + np.sqrt(feedback.shape[1])) / np.sqrt(data.trials)
    clear = np.flatnonzero(sizes > ABOVE_NOISE * edge)
    if not len(clear):
        return task
    leaking = context @ directions[:, clear]
    slopes = np.linalg.lstsq(np.sqrt(share) * leaking, np.sqrt(share) * feedback, rcond=None)[0]
    return task._replace(data=data._replace(feedback=data.feedback - leaking @ slopes))


def _entropy(task: Task) -> float:
    """Return how much there is to know of the reward of a uniform guess, nats."""
    rate = 1 / task.data.n_actions
    return -rate * np.log(rate) - (1 - rate) * np.log(1 - rate)


def _refined(
    search: Search, belief: np.ndarray, evidence: Evidence
) -> tuple[Search, np.ndarray, Evidence]:
    """Return a search by the noise that is left, its belief and the evidence for it."""
    for _ in range(ROUNDS):
        again = search.normalised_by(belief)
        found, new = again.mixture.fit(belief, FINAL)
        # Where features are far from Gaussian, further steps may lose what there was.
        if again.told(new).sum() < LOST * search.told(evidence).sum():
            break
        search, belief, evidence = again, found, new
    return search, belief, evidence


def _first_guess(score: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Return probabilities of reward of which about as many are high as are expected to be."""
    return expit(STEEPNESS * (score - np.quantile(score, 1 - np.clip(rate.mean(), 0.05, 0.95))))
