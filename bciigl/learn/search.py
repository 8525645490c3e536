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

from bciigl.learn.evidence import Evidence, information, orientation, rate_misfit, t_statistic
from bciigl.learn.interactions import (
    FEWEST_TRIALS_OF_ACTION,
    Prepared,
    less_means,
    of_action,
    run_means,
)
from bciigl.learn.mixture import Mixture, Model, Whitening, softmax
from bciigl.learn.resemblance import clusters_t

# Singular pairs that are tried, each in both orders; fewer if some are surely no noise, by their
# size in units of the largest that noise alone would have.
PAIRS, ABOVE_NOISE = 3, 1.1
# Steps of expectation maximisation: from every start, and after the noise has been measured again,
# which is done so often.
SCREENING, FINAL, ROUNDS = 12, 15, 2
# More trials than this find nothing that fewer would not.
MOST_SEARCHED = 100_000
# How much an unlikely match rate counts.
WRONG_RATE = 3.0
# How steep the first guess is in the feedback's score, per SD.
STEEPNESS = 3.0
# Of all there is to know of the reward: enough to look no further. And standard errors by which
# something is clear.
CONVINCING, CLEARLY = 0.3, 3.0
# Of what folds tell of unseen trials: all trials together that tell less have lost it.
LEAST_OF_FOLDS = 0.95
# Of all that feedback tells of the reward: less than this differs between actions if they share it.
SAME_REWARD = 0.1
# What it costs to believe that imagining an option resembles the contrary of seeing it, or seeing
# another one, nats.
CONTRARY, EXCHANGED = 3.0, 20.0
# As how many trials of seeing options counts for what imagining them is like, where it may count.
SEEN = (10.0, 30.0, 100.0)
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
    # Whether they were recorded: answers may differ in width, and contexts may leak into feedback.
    recorded: bool = True

    def rows(self, index: np.ndarray) -> "Task":
        """Return the task of learning from some of the trials."""
        some = [each[index] for each in self[1:4]]
        return Task._make([self.data.rows(index), *some, *self[4:]])

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

    def likelihood(self) -> float:
        """Return how likely this makes the feedback of unseen folds: see `Search.likelihood`."""
        return self.search.likelihood(self.belief, self.unseen)

    def mirrored_t(self) -> float:
        """Return how much better this is than with match and mismatch exchanged, as a t statistic.

        The mirror image is refined as this was; nothing is better than one that does not last.
        """
        search, data = self.search, self.search.task.data
        belief, evidence = search.mirrored(self.belief)
        more = information(self.judged, data) - information(evidence, data)
        more += search.task.weight * orientation(self.judged, search.task.rate)
        same = np.abs(belief - self.belief).mean() < SAME or more.std() == 0
        return CERTAIN if same else float(np.clip(t_statistic(more), -CERTAIN, CERTAIN))


class Family(NamedTuple):
    """What kind of model is sought, and what is taken for the noise at first."""

    spherical: bool = True  # noise as features are given has the same variance in all directions
    shared: bool = True  # the reward shows in the same direction of feedback whatever the action
    one_right: bool = True  # exactly one action is right for each context


FAMILIES = (Family(), Family(False), Family(False, False), Family(False, False, False))


class Search:
    """A search in one family of models, by the noise as it is known so far."""

    def __init__(self, task: Task, family: Family) -> None:
        self.task, self.family = task, family
        self._context = task.data.context
        self._feedback = less_means(task.data.feedback, task.data.action)
        views = (self._context, self._feedback)
        if family.spherical:
            self._normalise(*map(Whitening.spherical, views, task.units))
        else:
            self._normalise(*map(Whitening.of, views))

    def _normalise(self, left: Whitening, right: Whitening) -> None:
        """Take the noise that is left in both views for the unit."""
        self._whitenings, task = (left, right), self.task
        data = task.data._replace(
            context=self._context @ left.matrix, feedback=self._feedback @ right.matrix
        )
        known_rate = np.where(data.catch, task.rate, np.nan)
        noise = left.noise, right.noise
        self.mixture = Mixture(data, known_rate, noise, *self.family[1:], task.recorded)

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
        found._learn_from_seen(belief)
        return found

    def _learn_from_seen(self, belief: np.ndarray) -> None:
        """Shrink contexts' means towards what was seen, as far as contexts of other trials fit it.

        Only where imagined options clearly resemble seen ones, and each its own the most.
        """
        alike, confusion = self.resemblance(belief)
        if alike < CLEARLY or confusion > 0:
            return
        mixture, seen = self.mixture, self._seen()
        means = mixture.parameters(belief, mixture.data.context, mixture.data.feedback)[0]
        seen = seen * ((means * seen).sum() / (seen**2).sum())
        fits = []
        for prior in ((0.0, mixture.shrinkage), *((seen, strength) for strength in SEEN)):
            mixture.prior, mixture.shrinkage = prior
            fits.append((mixture.context_fit(belief).sum(), prior))
        mixture.prior, mixture.shrinkage = max(fits, key=lambda fit: fit[0])[1]

    def centred(self) -> Prepared:
        """Return the data less what is constant in each run and is not of the reward."""
        data = self.task.data
        means = data.feedback - less_means(data.feedback, data.action)
        return data._replace(context=self._context, feedback=self._feedback + means)

    def starts(self) -> Iterator[np.ndarray]:
        """Yield first beliefs, (trials, actions)."""
        rate = np.clip(self.task.rate.mean(), 0.05, 0.95)
        for score in self._scores():
            for either in (score, -score):
                # About as many trials are likely rewarded as are expected to be.
                above = either - np.quantile(either, 1 - rate)
                yield self.mixture.completed(expit(STEEPNESS * above / max(score.std(), 1e-12)))
        if (seen := self._seen()).any():
            # Perception transfer: what is imagined may look like what is seen.
            resemblance = self.mixture.data.context @ seen.T
            yield softmax(STEEPNESS * resemblance / max(resemblance.std(), 1e-12))

    def _scores(self) -> Iterator[np.ndarray]:
        """Yield how far each feedback lies along singular pairs' directions, (trials,)."""
        data = self.mixture.data
        cross = np.zeros((data.n_actions, data.context.shape[1], data.feedback.shape[1]))
        for action in np.flatnonzero(data.taken):
            mine = data.action == action
            cross[action] = data.context[mine].T @ data.feedback[mine] / mine.sum()
        if self.task.one_right:
            cross -= cross.mean(axis=0)
        if not self.family.shared:
            along = np.linalg.eigh(np.einsum("kij,kil->kjl", cross, cross))[1][:, :, -1]
            score = of_action(data.feedback @ along.T, data.action)
            score /= np.sqrt(np.maximum(data.means(score**2), 1e-24))[data.action]
            # The rarer of both clusters is above.
            rarer = np.where(data.means(self.task.rate) <= 0.5, 1, -1)
            yield score * (rarer * np.where(data.means(score**3) < 0, -1, 1))[data.action]
            return
        # Of all actions' cross-covariances on top of each other.
        square, along = np.linalg.eigh(np.einsum("kij,kil->jl", cross, cross))
        actions, *features = cross.shape
        # Where noise alone would end (Marchenko and Pastur).
        edge = np.sqrt((actions - 1) * features[0]) + np.sqrt(features[1])
        sizes = np.sqrt(np.maximum(square[::-1], 0) * data.trials / actions) / edge
        clear = int((sizes > ABOVE_NOISE).sum())
        yield from (data.feedback @ along[:, ::-1][:, : min(clear or PAIRS, PAIRS)]).T

    def _seen(self) -> np.ndarray:
        """Return feedback to each action, in units of the contexts' noise, (actions, features).

        Less what all have in common. 0 where it cannot be compared with contexts.
        """
        data = self.task.data
        if data.context.shape[1] != data.feedback.shape[1] or not self.family.one_right:
            return np.zeros((data.n_actions, data.context.shape[1]))
        seen = data.means(data.feedback)
        return (seen - seen.mean(axis=0)) @ self._whitenings[0].matrix

    def _likeness(self, belief: np.ndarray) -> tuple[float, float]:
        """Return how much imagined options resemble seen ones: each its own, and at most another's.

        In SDs of what patterns by chance would have.
        """
        seen, imagined = self._seen(), self.mixture.model(belief).context_weights.T
        imagined = imagined - imagined.mean(axis=0)
        scale = np.sqrt((seen**2).sum() * (imagined**2).sum()) or 1.0
        alike = seen @ imagined.T / scale * np.sqrt((len(seen) - 1) * seen.shape[1])
        return float(np.trace(alike)), float(alike[linear_sum_assignment(-alike)].sum())

    def resemblance(self, belief: np.ndarray) -> tuple[float, float]:
        """Return how much imagined options resemble seen ones, in SDs of chance.

        And how much more they would if they were taken for others.
        """
        own, best = self._likeness(belief)
        # Where imagining is the contrary of seeing, it resembles seeing any other option a little.
        return own, best - max(own, -own / (self.task.data.n_actions - 1))

    def clusters_t(self, evidence: Evidence) -> float:
        """Return whether contexts cluster around what was seen: see `resemblance.clusters_t`.

        0 where they cannot be compared.
        """
        if not self._seen().any():
            return 0.0
        seen = self.task.data.feedback @ self._whitenings[0].matrix
        return clusters_t(self.mixture.data, evidence.context, seen, self.task.fold)

    def resemblance_t(self, evidence: Evidence) -> float:
        """Return whether contexts resemble seeing the option guessed more if it was a match, as t.

        0 where they cannot be compared.
        """
        data = self.mixture.data
        score = of_action(data.context @ self._seen().T, data.action)
        both = np.column_stack([score, expit(evidence.feedback)])
        group = self.task.fold * data.n_actions + data.action
        return t_statistic(less_means(both, group).prod(axis=1))

    def told(self, evidence: Evidence) -> np.ndarray:
        """Return what contexts tell of feedback, nats, (trials,); less if rates do not fit."""
        task = self.task
        wrong = WRONG_RATE * rate_misfit(evidence, task.rate, task.weight)
        return information(evidence, task.data) - wrong / task.data.trials

    def likelihood(self, belief: np.ndarray, evidence: Evidence) -> float:
        """Return how likely a belief makes the feedback, in nats up to a constant.

        That is what contexts tell of it. Imagining an option may resemble seeing it, too: nothing
        else tells match from mismatch where the match rate does not.
        """
        told = self.told(evidence).sum()
        if not self.task.recorded:
            return told
        own, best = self._likeness(belief)
        features = (self.task.data.n_actions - 1) * self.task.data.context.shape[1]
        nats = -0.5 * features * np.log1p(-np.minimum(np.square([own, best]) / features, 0.99))
        nats[0] -= CONTRARY * (own < 0)
        return told + max(nats[0], nats[1] - EXCHANGED, 0.0)

    def best(self) -> tuple["Search", np.ndarray, Evidence]:
        """Return the search, refined, from the start that turns out best, its belief and evidence.

        Of what was not recorded, where nothing but the feedback chooses, the two best are refined.
        """
        fits = [self.mixture.fit(each, SCREENING) for each in self.starts()]
        fits = sorted(fits, key=lambda fit: self.likelihood(*fit), reverse=True)
        found = [_refined(self, fit[0]) for fit in fits[: 1 if self.task.recorded else 2]]
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
        starts = search.starts()
        start = max(starts, key=lambda each: (each * wanted).sum() / max(each.std(), 1e-12))
        belief, _ = search.mixture.fit(start, SCREENING)
        search = search.normalised_by(belief)
        return search.model(search.mixture.fit(belief, SCREENING)[0])

    def model(self, belief: np.ndarray) -> Model:
        """Return the linear evidence that a belief leads to, of scaled features."""
        found, (left, right) = self.mixture.model(belief), self._whitenings
        weights = right.matrix @ found.feedback_weights
        # Feedback was centred by action.
        data = self.task.data
        means = data.means(data.feedback).T
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

    Families are tried from the simplest on, until one tells enough of unseen trials. Where actions
    share less, anything can be explained, so such a family must tell clearly more.
    """
    clean = without_leak(task) if task.one_right and task.recorded else task
    rate = 1 / task.data.n_actions
    entropy = -rate * np.log(rate) - (1 - rate) * np.log(1 - rate)
    families = (each._replace(one_right=each.one_right and task.one_right) for each in FAMILIES)
    # Where several may be right, the last two are the same.
    simplest, *others = dict.fromkeys(families)
    best = _found(Search(clean, simplest))
    most = best.search.told(best.unseen)
    for family in others:
        enough = most.mean() > CONVINCING * entropy
        if not family.shared and task.recorded:
            # Directions of actions' own would take what leaks for any reward. But where rewards
            # clearly differ, a common direction may exchange two actions, and seem to leave a leak.
            enough |= clean is not task or t_statistic(most) > CLEARLY
            differ, share = best.search.mixture.directions_differ(best.belief)
            enough &= differ < CLEARLY or share < SAME_REWARD
            enough |= family.one_right != task.one_right
        if enough:
            continue
        found = _found(Search(clean, family))
        told = found.search.told(found.unseen)
        if (
            found.likelihood() > best.likelihood()
            if family.shared
            else t_statistic(told - most) > CLEARLY
        ):
            best, most = found, told
    return best


def without_leak(task: Task) -> Task:
    """Return the task without what contexts tell of feedback whatever the action.

    Where one option is right that is not the reward: being right about one option is being wrong
    about the others. Only what is clearly more than noise is taken out.
    """
    data = task.data
    if not data.taken.all():  # what is left of the reward would not cancel
        return task
    feedback = less_means(data.feedback, data.action)
    context, white = (each @ Whitening.of(each).matrix for each in (data.context, feedback))
    # All actions count alike, however often they were taken.
    share = 1 / (data.n_actions * data.taken[data.action])[:, None]
    directions, sizes, _ = np.linalg.svd(context.T @ (share * white))
    edge = (np.sqrt(context.shape[1]) + np.sqrt(feedback.shape[1])) / np.sqrt(data.trials)
    clear = np.flatnonzero(sizes > ABOVE_NOISE * edge)
    if not len(clear):
        return task
    leaking = context @ directions[:, clear]
    slopes = np.linalg.lstsq(np.sqrt(share) * leaking, np.sqrt(share) * feedback, rcond=None)[0]
    return task._replace(data=data._replace(feedback=data.feedback - leaking @ slopes))


def _found(search: Search) -> Found:
    """Return what a search finds, tested on unseen folds."""
    fold = search.task.fold
    search, belief, evidence = search.best()
    # Runs whose guesses match more often were centred by too much until now, which favours the
    # mirror image.
    turned, new = search.mirrored(belief)
    if search.likelihood(turned, new) > search.likelihood(belief, evidence):
        search, belief, evidence = _refined(search, turned)
    without, data = [], search.centred()
    unseen = Evidence(np.empty((data.trials, data.n_actions)), np.empty(data.trials))
    for each in np.unique(fold):
        model, out = search.without(each, belief), fold == each
        without.append(model)
        unseen.context[out] = model.probable(model.context_scores(data.context[out]))
        unseen.feedback[out] = model.feedback_evidence(data.feedback[out], data.action[out])
    if LEAST_OF_FOLDS * search.told(unseen).sum() > search.told(evidence).sum():
        # Folds have found more than the whole: it goes on from there.
        told = search.mixture.completed(unseen.reward(data.action))
        search, belief, evidence = _refined(search, told)
    return Found(search, search.model(belief), belief, evidence, without, unseen)


def _refined(search: Search, belief: np.ndarray) -> tuple[Search, np.ndarray, Evidence]:
    """Return a search by the noise that is left, its belief and the evidence for it."""
    for _ in range(ROUNDS):
        search = search.normalised_by(belief)
        belief, evidence = search.mixture.fit(belief, FINAL)
    return search, belief, evidence
