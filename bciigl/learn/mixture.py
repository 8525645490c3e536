"""Two views of one hidden option: expectation maximisation in which no trial vouches for itself.

Context and feedback are independent given action and reward (Assumption 2), so either view's guess
of the reward teaches the other. Where exactly one option is right the hidden thing is that option,
and the actions share what they know of the contexts; otherwise it is the reward of the action
taken, of each action apart.

Features are Gaussian with the same covariance whatever is hidden, and are given in its units: only
means are left to learn, and all evidence is linear. With as many features as here, trials that
teach themselves would confirm whatever they were first taken for. So the means that judge a trial
are those of all other trials, which takes one subtraction each.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from bciigl.learn.evidence import Evidence
from bciigl.learn.interactions import FEWEST_TRIALS, Prepared, of_action

TOLERANCE = 1e-2
# Means are shrunk as by this many trials of value 0, those of recorded contexts by more, and widths
# of clusters as by this many trials of both.
SHRINKAGE, RECORDED_SHRINKAGE, SAME_WIDTH = 2.0, 10.0, 20.0
# Of a log-likelihood ratio: tails of real answers are heavier than they seem.
SUREST = 8.0


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return probabilities along the last axis."""
    # scipy's spends three times as long on checks as on numbers of this size; and numpy is several
    # times faster along rows than along a short last axis.
    powers = np.array(np.moveaxis(scores, -1, 0), order="C")
    powers -= powers.max(axis=0)
    np.exp(powers, out=powers)
    powers /= powers.sum(axis=0)
    return np.ascontiguousarray(np.moveaxis(powers, 0, -1))


class Model(NamedTuple):
    """Linear evidence for the reward in both views.

    That of the context is log-probabilities of the options, up to a constant, if one is right, and
    log-odds of each action's reward otherwise; that of the feedback is the log-likelihood ratio of
    reward.
    """

    context_weights: np.ndarray  # (context features, actions)
    context_bias: np.ndarray  # (actions,)
    feedback_weights: np.ndarray  # (feedback features, actions)
    feedback_bias: np.ndarray  # (actions,)
    one_right: bool

    def context_scores(self, context: np.ndarray) -> np.ndarray:
        """Return the evidence for each action from the context, (trials, actions)."""
        return context @ self.context_weights + self.context_bias

    def probable(self, scores: np.ndarray) -> np.ndarray:
        """Return the probability that each action is right, (trials, actions)."""
        return softmax(scores) if self.one_right else expit(scores)

    def feedback_evidence(self, feedback: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Return the log-likelihood ratio of reward of the action taken, (trials,)."""
        return of_action(feedback @ self.feedback_weights + self.feedback_bias, action)


class Whitening(NamedTuple):
    """What turns the noise of a view into noise of about unit variance in all directions."""

    matrix: np.ndarray  # (features, features)
    noise: float  # the variance that is left: the median over directions

    @classmethod
    def spherical(cls, values: np.ndarray, units: np.ndarray) -> "Whitening":
        """Return that of values, in units, whose noise has the same variance in all directions.

        What is not noise is in fewer than half of the directions.
        """
        given = values * units
        noise = float(np.median(np.linalg.eigvalsh(given.T @ given))) / len(given)
        return cls(np.diag(units) / np.sqrt(noise or 1.0), 1.0)

    @classmethod
    def of(cls, noise: np.ndarray, least: float = 0.0) -> "Whitening":
        """Return that of a sample of noise with mean 0, (trials, features).

        The covariance is shrunk towards a multiple of the identity as Ledoit and Wolf (2004) do: in
        features that were normalised by a recording's frames hardly anything but the multiple is
        left if trials are few. No direction is taken to have a variance of less than `least`.
        """
        trials, features = noise.shape
        square = noise.T @ noise / max(trials, 1)
        mean = np.trace(square) / features or 1.0
        spread = ((square - mean * np.eye(features)) ** 2).sum()
        sampling = ((noise**2).sum(axis=1) ** 2).mean() - (square**2).sum() if trials else 0.0
        shrunk = np.clip(sampling / (trials * spread), 0.0, 1.0) if trials * spread > 0 else 1.0
        variance, axes = np.linalg.eigh(square)
        # Directions without any variance tell nothing, and must not be blown up.
        used = (1 - shrunk) * np.maximum(variance, 1e-3 * mean) + shrunk * mean
        used = np.maximum(used, least)
        return cls(
            axes / np.sqrt(used), float(np.median(np.maximum(variance, least) / used)) or 1.0
        )


def recalibrated(odds: np.ndarray, reward: np.ndarray) -> np.ndarray:
    """Return log-likelihood ratios for clusters of different widths, (trials,).

    Real answers to mismatches vary more than those to matches. Clusters of equal width would then
    take the tail of the wide one for the rarer of both, and match for mismatch.
    """
    weight = np.array([reward, 1 - reward])
    trials = weight.sum(axis=1) + 1e-9
    means = weight @ odds / trials
    if trials.min() < FEWEST_TRIALS or means[0] <= means[1]:
        return odds
    variance = (weight * (odds - means[:, None]) ** 2).sum(axis=1)
    # As many trials of the common width are taken for granted.
    variance += SAME_WIDTH * variance.sum() / trials.sum()
    variance /= trials + SAME_WIDTH
    unlikely = (odds - means[:, None]) ** 2 / variance[:, None] + np.log(variance)[:, None]
    return np.clip(0.5 * (unlikely[1] - unlikely[0]), -SUREST, SUREST)


class Mixture:
    """The mixture model of one set of interactions, whose features are white noise around means."""

    def __init__(
        self,
        data: Prepared,  # with normalised features: context centred, feedback centred by action
        known_rate: np.ndarray,  # (trials,): the match rate where it is known, else nan
        noise: tuple[float, float],  # the variance of contexts and of feedback around their means
        shared: bool,  # see `search.Family`
        one_right: bool,
        recorded: bool = False,  # whether features were: see `search.Task`
    ) -> None:
        # Clusters of recorded answers may differ in width. Where a policy has become better, runs
        # differ in their means, too, and what is left of that would be taken for width.
        self._widths = recorded and bool(data.uniform.all())
        self.data, self.noise, self.shared, self.one_right = data, noise, shared, one_right
        self._known = np.flatnonzero(np.isfinite(known_rate))
        self._known_odds = logit(known_rate[self._known])
        self.acted = np.eye(data.n_actions)[data.action]
        # What means of contexts are shrunk towards, and as by how many trials.
        self.prior, self.shrinkage = 0.0, RECORDED_SHRINKAGE if recorded else SHRINKAGE
        self._squares = tuple((each**2).sum(axis=1) for each in (data.context, data.feedback))

    def completed(self, reward: np.ndarray) -> np.ndarray:
        """Return the belief, (trials, actions), that a first guess of rewards, (trials,), is.

        Where one action is right, one that is not leaves the others equally likely. Otherwise it is
        the probability of the action taken, and 0 elsewhere.
        """
        taken = self.acted * reward[:, None]
        if not self.one_right:
            return taken
        return taken + (1 - self.acted) * ((1 - reward) / (self.data.n_actions - 1))[:, None]

    def fit(self, belief: np.ndarray, steps: int) -> tuple[np.ndarray, Evidence]:
        """Return the belief that expectation maximisation reaches, and the evidence for it."""
        for _ in range(steps):
            before = belief
            belief, scores, odds = self._judged_by_others(before)
            if np.abs(belief - before).max() < TOLERANCE:
                break
        return belief, Evidence(softmax(scores) if self.one_right else expit(scores), odds)

    def _judged_by_others(self, belief: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the belief about each trial by all others (E step), and what led to it.

        The context's score of each action, and the feedback's log-likelihood ratio of reward.
        """
        likelihood, share = self._context_likelihood(belief)
        reward = of_action(belief, self.data.action)
        odds = self._feedback_odds(reward)
        if self._widths:
            odds = recalibrated(odds, reward)
        if self.one_right:
            probable, scores = softmax, share + likelihood
        else:
            right, wrong = np.split(likelihood, 2, axis=1)
            probable, scores = expit, share + right - wrong
        both = odds
        if len(self._known):
            # A known match rate takes the place of the rate that was learned.
            learned = of_action(expit(share), self.data.action)[self._known]
            both = odds.copy()
            both[self._known] += self._known_odds - logit(np.clip(learned, 1e-3, 1 - 1e-3))
        believed = probable(scores + self.acted * both[:, None])
        return (believed if self.one_right else self.acted * believed), scores, odds

    def context_fit(self, belief: np.ndarray) -> np.ndarray:
        """Return the log-likelihood of each context by the other trials, (trials,)."""
        likelihood, share = self._context_likelihood(belief)
        if self.one_right:
            return np.logaddexp.reduce(share + likelihood, axis=1)
        right, wrong = np.split(likelihood, 2, axis=1)
        fit = np.logaddexp(share + right, wrong) - np.logaddexp(0, share)
        return of_action(fit, self.data.action)

    def _context_likelihood(self, belief: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the log-likelihood of each context in each state, and log-shares of actions."""
        context, (square, _), actions = self.data.context, self._squares, self.data.n_actions
        states = self._states(belief)
        sums, counts = states.T @ context + self.shrinkage * self.prior, states.sum(axis=0)
        dot = context @ sums.T
        weight = np.maximum(counts - states, 0.0) + self.shrinkage
        along = (dot - states * square[:, None]) / weight
        length = ((sums**2).sum(axis=1) - 2 * states * dot + states**2 * square[:, None]) / (
            weight**2
        )
        # A mean of few trials is itself uncertain.
        variance = self.noise[0] * (1 + 1 / weight)
        distance = square[:, None] - 2 * along + length
        likelihood = -0.5 * (distance / variance + context.shape[1] * np.log(variance))
        if self.one_right:
            rest = weight - self.shrinkage + 1
            return likelihood, np.log(rest / rest.sum(axis=1, keepdims=True))
        taken = counts[:actions] + counts[actions:]
        rate = (counts[:actions] + 1) / (taken + 2)
        return likelihood, np.broadcast_to(logit(rate), (len(context), actions))

    def _states(self, belief: np.ndarray) -> np.ndarray:
        return belief if self.one_right else np.hstack([belief, self.acted - belief])

    def _feedback_odds(self, reward: np.ndarray) -> np.ndarray:
        """Return the log-likelihood ratio of reward, by the other trials, (trials,)."""
        data, (_, square) = self.data, self._squares
        action, taken = data.action, np.maximum(data.taken, 1)
        sums, told = self._feedback_sums(data.feedback, reward, self.shared)
        rewarded = np.bincount(action, reward, data.n_actions)
        rest = np.maximum(taken[action] - 1, 1)
        share = (rewarded[action] - reward) / rest
        own = rewarded * (1 - rewarded / taken)
        told = told[action] - own[action] + rest * share * (1 - share) + SHRINKAGE / 2
        mine = reward - share
        dot = of_action(data.feedback @ sums.T, action)
        length = ((sums**2).sum(axis=1)[action] - 2 * mine * dot + mine**2 * square) / told**2
        along = (dot - mine * square) / told
        variance = self.noise[1] * (1 + 1 / rest + 1 / np.maximum(told, 1))
        return ((1 + 1 / rest) * along + (share - 0.5) * length) / variance

    def _feedback_sums(self, feedback: np.ndarray, reward: np.ndarray, shared: bool) -> tuple:
        """Return what points along the reward, (actions, features), and how much it is told."""
        data = self.data
        sums = (self.acted * reward[:, None]).T @ feedback
        rewarded = np.bincount(data.action, reward, data.n_actions)
        told = rewarded * (1 - rewarded / np.maximum(data.taken, 1))
        if shared:
            sums = np.repeat(sums.sum(axis=0, keepdims=True), data.n_actions, axis=0)
            told = np.full(data.n_actions, told.sum())
        return sums, told

    def parameters(
        self,
        belief: np.ndarray,
        context: np.ndarray,
        feedback: np.ndarray,
        prior: np.ndarray | float = 0.0,
        shrinkage: float = SHRINKAGE,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return means of contexts in each state, and directions of the reward (M step).

        Contexts and feedback, centred by action, may be in other units than those of the model.
        """
        states = self._states(belief)
        sums = states.T @ context + shrinkage * prior
        means = sums / (states.sum(axis=0) + shrinkage)[:, None]
        reward = of_action(belief, self.data.action)
        sums, told = self._feedback_sums(feedback, reward, self.shared)
        return means, sums / (told + SHRINKAGE / 2)[:, None]

    def directions_differ(self, belief: np.ndarray) -> tuple[float, float]:
        """Return how much the reward's direction in feedback differs from action to action.

        In SDs of chance, and as a share of all that feedback tells of the reward.
        """
        reward = of_action(belief, self.data.action)
        sums, told = self._feedback_sums(self.data.feedback, reward, False)
        some, (features,) = told > 0, sums.shape[1:]
        if some.sum() < 2:
            return 0.0, 0.0
        of_each = ((sums[some] ** 2).sum(axis=1) / told[some]).sum() / self.noise[1]
        of_all = (sums.sum(axis=0) ** 2).sum() / told.sum() / self.noise[1]
        chance = features * (some.sum() - 1)
        differ = of_each - of_all - chance
        return differ / np.sqrt(2 * chance), differ / max(differ + of_all - features, 1e-12)

    def unexplained(
        self, belief: np.ndarray, context: np.ndarray, feedback: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what a belief leaves of contexts and feedback; see `parameters`."""
        means, direction = self.parameters(belief, context, feedback)
        reward, action = of_action(belief, self.data.action), self.data.action
        surprise = reward - self.data.means(reward)[action]
        return (
            context - self._states(belief) @ means,
            feedback - surprise[:, None] * direction[action],
        )

    def model(self, belief: np.ndarray) -> Model:
        """Return the linear evidence that a belief about all trials leads to."""
        data, actions = self.data, self.data.n_actions
        means, direction = self.parameters(
            belief, data.context, data.feedback, self.prior, self.shrinkage
        )
        weights, along = means.T / self.noise[0], direction.T / self.noise[1]
        counts = self._states(belief).sum(axis=0) + 1
        bias = np.log(counts / counts.sum()) - 0.5 * (means.T * weights).sum(axis=0)
        if not self.one_right:
            weights, bias = (each[..., :actions] - each[..., actions:] for each in (weights, bias))
        share = data.means(of_action(belief, data.action))
        against = (share - 0.5) * (direction.T * along).sum(axis=0)
        return Model(weights, bias, along, against, self.one_right)
