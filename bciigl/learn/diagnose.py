"""Does a learner know what it is doing? A verdict without labels, from runs it had not seen."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit
from scipy.stats import f as f_distribution

from bciigl.learn.evidence import Evidence, contrast_t, information
from bciigl.learn.interactions import (
    FEWEST_TRIALS,
    FEWEST_TRIALS_OF_ACTION,
    InputError,
    Prepared,
    Scaling,
    folds,
)
from bciigl.learn.mixture import Whitening
from bciigl.learn.search import Found, Task

VERDICTS = TRUST, DOUBTFUL, DO_NOT_USE = "trust", "doubtful", "do not use"
# Thresholds of the verdict; benchmarks/verdicts.py measures how often it is wrong with them.
NO_EVIDENCE, ENOUGH_EVIDENCE, ENOUGH_CONTRAST = 1.0, 3.0, 7.0
# Where imagining clearly resembles seeing, another source says the same: less is enough.
CLEARLY_ALIKE, CLEARLY_UNLIKE, LESS_CONTRAST = 4.0, -2.5, 3.0
RESEMBLES = 3.0
CLEARLY_TOLD = 4.0
CLEARLY_UPRIGHT, UNLIKELY_UPRIGHT = 2.5, 7.5
MOST_GENEROUS = 0.25
SURELY_GRADED = 1e-4
LEAST_SKILL = 0.2
LEAST_OF_HALF, MOST_BETWEEN_HALVES, LEAST_OF_ACTION = 0.25, 4.0, 0.0
SMALLEST_MARGIN = 0.01
# The estimated accuracy is sought on a grid, by no more trials than these, for some shares of
# judgments that lapse, each with its probability.
GRID, MOST_COUNTED = np.linspace(0, 1, 101), 2000
LAPSES = ((0.0, 0.4), (0.03, 0.25), (0.07, 0.2), (0.15, 0.1), (0.25, 0.05))


@dataclass(frozen=True)
class Verdict:
    """What to do with a learner."""

    verdict: str  # "trust", "doubtful" or "do not use"
    reason: str
    remedy: str  # what to do about it

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as for JSON."""
        return asdict(self)

    def named(self, options: Sequence[object] | None) -> "Verdict":
        """Return the same with the options' own names in place of "action 1", if there are any."""
        if options is None:
            return self

        def name(found: re.Match) -> str:
            number = int(found[1])
            return f"option {str(options[number])!r}" if number < len(options) else found[0]

        return replace(self, reason=re.sub(r"\baction (\d+)\b", name, self.reason))

    def __str__(self) -> str:
        """Return the verdict in plain words."""
        return " ".join(filter(None, (f"{self.verdict}: {self.reason}", self.remedy)))


@dataclass(frozen=True)
class ActionDiagnosis:
    """How well the reward of one action is decoded, on unseen runs."""

    action: int
    trials: int  # how often it was taken
    separation: float  # of decoded match and mismatch, in units of their width
    match_rate: float  # share of rewarded trials: of catch trials, else of uniform guesses
    interval: tuple[float, float]  # 95 %, of the match rate
    information_t: float  # whether contexts tell of the feedback to this action


@dataclass(frozen=True)
class Diagnosis(Verdict):
    """What can be said about an AI-IGL learner without knowing a single reward.

    All but `mirrored_t` is found on trials of runs that it had not seen.

    Attributes
    ----------
    accuracy, interval : float and tuple of float, or None
        The policy's share of right choices, estimated without labels from how often its choices
        were judged a match when they were shown, and its 95 % interval. They mean something only if
        the reward was found: None without trust.
    information, information_t : float
        What a context tells of the feedback to come, nats per trial, and its t statistic.
    contrast_t : float
        Whether decoded rewards go with the option guessed, and not with any option that is probable
        as leaks do; a t statistic.
    halves_t : tuple of float
        The t statistic of the information in the first and in the second half of the session, and
        that of the difference.
    mirrored_t : float
        How much better it is than with match and mismatch exchanged, as a t statistic.
    alike : float or None
        Where contexts and feedback have the same features: how much imagining an option resembles
        seeing it, in SDs of what chance would have.
    generous : float
        How often feedback looks like a match where contexts rule it out.
    graded : float
        The probability that decoded rewards depend by chance on how near a guess was to the option.
    guess_told, guess_told_t : float
        How often the action can be told from the context, on unseen folds, less chance, and its t
        statistic; where guesses are said to have been uniform it should not be told at all.
    actions : tuple of ActionDiagnosis
    """

    accuracy: float | None
    interval: tuple[float, float] | None
    information: float
    information_t: float
    contrast_t: float
    halves_t: tuple[float, float, float]
    mirrored_t: float
    alike: float | None
    generous: float
    graded: float
    guess_told: float
    guess_told_t: float
    actions: tuple[ActionDiagnosis, ...]


def too_few_trials(data: Prepared) -> Verdict:
    """Return the verdict about a learner that had next to nothing to learn from."""
    reason = f"{data.trials} trials are too few to learn from: the policy always chooses action 0."
    return Verdict(DO_NOT_USE, reason, "Record more trials.")


def diagnosed(task: Task, found: Found) -> Diagnosis:
    """Return what the evidence on unseen runs says about a search's result."""
    data, evidence = task.data, found.unseen
    told = information(evidence, data)
    first = np.arange(data.trials) < data.trials / 2
    actions = (_action_diagnosis(task, evidence, told, action) for action in range(data.n_actions))
    accuracy = (None, None)
    if found.model.one_right:
        choice = found.judged.context.argmax(axis=1)
        accuracy = estimated_accuracy(choice, evidence.feedback, data)
    everything = Diagnosis(
        *("", "", ""),
        *accuracy,
        float(told.mean()),
        _t(told),
        contrast_t(evidence, data),
        (_t(told[first]), _t(told[~first]), _difference_t(told[first], told[~first])),
        found.mirrored_t(),
        found.search.alike(found.belief),
        generosity(evidence, data),
        graded(evidence, data) if task.one_right else 1.0,
        *action_told(data, task.fold),
        tuple(actions),
    )
    verdict, reason, remedy = next(_verdicts(task, everything))
    if verdict != TRUST:
        everything = replace(everything, accuracy=None, interval=None)
    return replace(everything, verdict=verdict, reason=reason, remedy=remedy)


def estimated_accuracy(
    choice: np.ndarray, odds: np.ndarray, data: Prepared
) -> tuple[float, tuple[float, float]]:
    """Return how often a policy's choices are right, without labels, and the 95 % interval.

    A guess that was the policy's choice matches with that probability, one that was not with an
    equal part of the rest, and some judgments lapse. How likely that makes the decoded feedback,
    given as log-likelihood ratios of reward, tells the probability.
    """
    rows = np.flatnonzero(data.uniform & ~data.catch)
    rows = (np.arange(data.trials) if len(rows) < FEWEST_TRIALS else rows)[:MOST_COUNTED]
    chosen, weight = choice[rows] == data.action[rows], data.weight[rows]
    gain = np.expm1(np.clip(odds[rows], -30, 30))
    likelihood = np.log([prior for _, prior in LAPSES])[:, None] + np.zeros(len(GRID))
    for mine, right in ((chosen, GRID), (~chosen, (1 - GRID) / (data.n_actions - 1))):
        for each, (lapse, _) in zip(likelihood, LAPSES, strict=True):
            judged = right + lapse - 2 * lapse * right
            each += weight[mine] @ np.log1p(np.outer(gain[mine], judged))
    share = np.exp(likelihood - likelihood.max()).sum(axis=0)
    share /= share.sum()
    low, high = np.searchsorted(np.cumsum(share), [0.025, 0.975])
    return float(GRID @ share), (float(GRID[low]), float(GRID[min(high, len(GRID) - 1)]))


def generosity(evidence: Evidence, data: Prepared) -> float:
    """Return how often feedback looks like a match where contexts rule one out.

    Two clusters of the decoded feedback, wherever they are, mixed by a + b p, with p the predicted
    probability of a match; a is returned. A decoder takes any cluster for the reward that contexts
    tell something of; if it is right, there is none of it where p is 0.
    """
    score, predicted = evidence.feedback, evidence.predicted(data.action)
    score = (score - score.mean()) / max(score.std(), 1e-12)
    features = np.column_stack([np.ones(data.trials), predicted])
    believed = evidence.reward(data.action)
    for _ in range(50):
        parts = [np.maximum(each, 1e-6) for each in (believed, 1 - believed)]
        means = [each @ score / each.sum() for each in parts]
        spreads = [
            max(each @ (score - mean) ** 2 / each.sum(), 1e-4)
            for each, mean in zip(parts, means, strict=True)
        ]
        mixing = np.linalg.lstsq(features, believed, rcond=None)[0]
        rate = logit(np.clip(features @ mixing, 1e-3, 1 - 1e-3))
        above, below = (
            -0.5 * ((score - mean) ** 2 / spread + np.log(spread))
            for mean, spread in zip(means, spreads, strict=True)
        )
        believed = expit(rate + above - below)
    return float(np.clip(mixing[0], 0.0, 1.0))


def graded(evidence: Evidence, data: Prepared) -> float:
    """Return the p value of decoded rewards that depend on which other option was probable.

    Of a judgment that is match or mismatch only the probability of the action taken tells; where
    near misses count a little, those of its neighbours do, too.
    """
    actions = data.n_actions
    if actions < 3 or actions > 12:
        return 1.0
    decoded = expit(evidence.feedback)
    acted = np.eye(actions)[data.action]
    own = np.hstack([acted, acted * evidence.predicted(data.action)[:, None]])
    others = (acted[:, :, None] * evidence.context[:, None, :])[:, ~np.eye(actions, dtype=bool)]
    # Of those the last one follows from the rest.
    kept = np.arange(actions * (actions - 1)) % (actions - 1) < actions - 2
    both = np.hstack([own, others[:, kept]])
    left = [
        ((decoded - design @ np.linalg.lstsq(design, decoded, rcond=None)[0]) ** 2).sum()
        for design in (own, both)
    ]
    free = data.trials - both.shape[1]
    if free < 1 or left[1] <= 0:
        return 1.0
    added = both.shape[1] - own.shape[1]
    ratio = (left[0] - left[1]) / added / (left[1] / free)
    return float(f_distribution.sf(ratio, added, free))


def refuse_adaptive(data: Prepared) -> None:
    """Raise `InputError` if contexts tell the actions of interactions without propensities."""
    scaled = data._replace(context=Scaling.of(data.context, data.run).apply(data.context, data.run))
    if data.trials >= FEWEST_TRIALS and action_told(scaled, folds(data.run))[1] > CLEARLY_TOLD:
        raise InputError(
            "actions can be told from contexts, so they were not guessed uniformly; give "
            "propensity, the probability with which each action was taken (if they were guessed "
            "uniformly, contexts contain what happened after the guess)"
        )


def action_told(data: Prepared, fold: np.ndarray) -> tuple[float, float]:
    """Return how often contexts of unseen folds tell uniform guesses, less chance, and its t."""
    rows = np.flatnonzero(data.uniform & ~data.catch)
    taken = np.bincount(data.action[rows], minlength=data.n_actions)
    if (taken > 1).sum() < 2:
        return 0.0, 0.0
    context, acted = data.context[rows], np.eye(data.n_actions)[data.action[rows]]
    right = np.zeros(len(rows))
    for each in np.unique(fold[rows]):
        out = fold[rows] == each
        means = acted[~out].T @ context[~out] / np.maximum(acted[~out].sum(axis=0), 1)[:, None]
        noise = Whitening.of(context[~out] - acted[~out] @ means).matrix
        scores = (context[out] @ noise) @ (means @ noise).T
        scores -= 0.5 * ((means @ noise) ** 2).sum(axis=1)
        right[out] = scores.argmax(axis=1) == data.action[rows][out]
    chance = taken.max() / len(rows)
    error = np.sqrt(chance * (1 - chance) / len(rows))
    told = float(right.mean() - chance)
    return told, float(told / max(error, 1e-9))


def match_rate(ratio: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Return the most likely share of rewarded trials, by likelihood ratios, and its error."""
    rate = 0.5
    for _ in range(200):
        # One trial of either kind is taken for granted, so that few trials are never sure.
        before = rate
        rate = float((weight @ expit(logit(rate) + ratio) + 1) / (weight.sum() + 2))
        if abs(rate - before) < 1e-6:
            break
    # The slope of a trial's log-likelihood in the rate.
    slope = (expit(logit(rate) + ratio) - rate) / (rate * (1 - rate))
    told = weight @ slope**2
    if told < 1e-6:
        return rate, 0.5
    return rate, float(min(np.sqrt(weight**2 @ slope**2) / told, 0.5))


def _action_diagnosis(
    task: Task, evidence: Evidence, told: np.ndarray, action: int
) -> ActionDiagnosis:
    mine = task.data.action == action
    known = (mine & task.data.catch, mine & (task.rate != 0.5), mine)
    rows = np.flatnonzero(next(filter(np.any, known), mine))
    if not len(rows):
        return ActionDiagnosis(action, 0, 0.0, 0.5, (0.0, 1.0), 0.0)
    ratio = evidence.feedback[rows]
    rate, error = match_rate(ratio, task.weight[rows])
    believed = expit(ratio + logit(rate))
    # Of Gaussian clusters, log-likelihood ratios are as far apart as the square of their distance.
    means = (each @ ratio / max(each.sum(), 1e-9) for each in (believed, 1 - believed))
    apart = next(means) - next(means)
    interval = (max(rate - 1.96 * error, 0.0), min(rate + 1.96 * error, 1.0))
    apart = float(np.sqrt(max(apart, 0.0)))
    return ActionDiagnosis(action, int(mine.sum()), apart, rate, interval, _t(told[mine]))


def _verdicts(task: Task, found: Diagnosis) -> Iterator[tuple[str, str, str]]:
    """Give verdict, reason and remedy of all that can be said; the first counts."""
    evidence = f"(t = {found.information_t:.1f}, and {found.contrast_t:.1f} for the option guessed)"
    more = "Record more trials."
    blind = np.abs(task.rate - 0.5).max() < SMALLEST_MARGIN
    if found.information_t < NO_EVIDENCE:
        reason = "there is no sign that the brain's answers to the guesses were understood"
        remedy = "Record more trials, or make the response to match and mismatch stronger."
        yield DO_NOT_USE, f"{reason} {evidence}.", remedy
    if blind and (found.alike is None or found.alike < RESEMBLES):
        yield (
            DOUBTFUL,
            "match and mismatch are equally frequent, or how often guesses match is not known, so"
            " which is which cannot be known: the policy is either right or exactly wrong.",
            "Add catch trials with a match rate far from 1/2, uniform guesses, or a third option.",
        )
    if found.guess_told_t > CLEARLY_TOLD:
        yield (
            DOUBTFUL,
            "the actions can be told from the contexts, though they are said to have been guessed"
            " uniformly.",
            "Give the propensities of the guesses, and estimate contexts from frames before them.",
        )
    for each in found.actions:
        if each.trials < FEWEST_TRIALS:
            reason = f"action {each.action} was taken in {each.trials} trials only."
            yield DOUBTFUL, reason, "Record more trials, in which every action is tried."
    alike = found.alike is not None and found.alike > CLEARLY_ALIKE
    unlike = found.alike is not None and found.alike < CLEARLY_UNLIKE
    # Where several options may be right, the others say nothing against one.
    contrast = LESS_CONTRAST if alike or not task.one_right else ENOUGH_CONTRAST
    if found.contrast_t < contrast or (found.information_t < ENOUGH_EVIDENCE and not alike):
        reason = "what contexts predict hardly fits the brain's answers in runs it had not seen"
        yield DOUBTFUL, f"{reason} {evidence}.", more
    upright = UNLIKELY_UPRIGHT if unlike else CLEARLY_UPRIGHT
    if not blind and not alike and found.mirrored_t < upright:
        yield (
            DOUBTFUL,
            "match and mismatch may be confused: exchanged, they explain the answers about as well"
            f" (t = {found.mirrored_t:.1f}).",
            "Record more trials, or add catch trials with a match rate far from 1/2.",
        )
    if found.generous > MOST_GENEROUS and not alike:
        yield (
            DOUBTFUL,
            "answers look like a match in"
            f" {100 * found.generous:.0f} % of the trials in which contexts rule one out: what was"
            " taken for a match may be something else.",
            "Check what is judged a match, and whether the patterns changed during the session.",
        )
    if found.graded < SURELY_GRADED and not alike:
        yield (
            DOUBTFUL,
            "answers depend on which other option was imagined, not only on whether the guess"
            f" matched (p = {found.graded:.0e}): near misses may count as matches.",
            "Ask for judgments that are match or mismatch.",
        )
    chance = 1 / task.data.n_actions
    if found.accuracy is not None and found.accuracy < chance + LEAST_SKILL * (1 - chance):
        reason = f"its choices seem to be right in {100 * found.accuracy:.0f} % of the trials only"
        yield DOUBTFUL, f"{reason} (chance is {100 * chance:.0f} %).", more
    first, second, difference = found.halves_t
    # Guesses that have become better leave less to tell.
    changed = abs(difference) > MOST_BETWEEN_HALVES and task.data.uniform.all()
    if min(first, second) < LEAST_OF_HALF or changed:
        half = "first" if difference < 0 else "second"
        reason = f"what was learned holds less in the {half} half of the session"
        yield DOUBTFUL, f"{reason} (t = {min(first, second):.1f}).", "Look for what changed."
    for each in found.actions:
        if each.trials >= 2 * FEWEST_TRIALS_OF_ACTION and each.information_t < LEAST_OF_ACTION:
            reason = f"the answers to action {each.action} were not understood"
            yield DOUBTFUL, f"{reason} (t = {each.information_t:.1f}).", more
    yield TRUST, _trusted(found, blind, evidence), ""


def _trusted(found: Diagnosis, blind: bool, evidence: str) -> str:
    """Return why a learner can be trusted, in words."""
    words = "the brain's answers to the guesses were understood, also in runs it had not seen"
    if found.accuracy is not None:
        low, high = (100 * each for each in found.interval)
        words = (
            f"its choices are estimated to be right in {100 * found.accuracy:.0f} % of the trials"
            f" ({low:.0f} to {high:.0f} %), and {words}"
        )
    if blind:
        words += (
            "; which answer means match rests on the assumption that imagining an option resembles"
            f" seeing it ({found.alike:.1f} SDs more than by chance)"
        )
    return f"{words} {evidence}."


def _t(values: np.ndarray) -> float:
    """Return the t statistic of a mean over trials."""
    if len(values) < 2:
        return 0.0
    return float(values.mean() / max(values.std(ddof=1) / np.sqrt(len(values)), 1e-9))


def _difference_t(one: np.ndarray, other: np.ndarray) -> float:
    """Return Welch's t statistic of a difference in means."""
    if min(len(one), len(other)) < 2:
        return 0.0
    error = np.sqrt(sum(each.var(ddof=1) / len(each) for each in (one, other)))
    return float((one.mean() - other.mean()) / max(error, 1e-9))
