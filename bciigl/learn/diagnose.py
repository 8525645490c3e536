"""Does a learner know what it is doing? A verdict without labels, from runs it had not seen."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

from bciigl.learn.canonical import whitening
from bciigl.learn.evidence import Evidence, information, orientation, placebo
from bciigl.learn.interactions import (
    FEWEST_TRIALS,
    FEWEST_TRIALS_OF_ACTION,
    InputError,
    Prepared,
    Scaling,
    folds,
    less_means,
    of_action,
)
from bciigl.learn.search import Found, Task
from bciigl.learn.symmetry import break_symmetry

VERDICTS = TRUST, DOUBTFUL, DO_NOT_USE = "trust", "doubtful", "do not use"
# Thresholds of the verdict; benchmarks/verdicts.py measures how often it is wrong with them.
NO_EVIDENCE, ENOUGH_EVIDENCE = 1.0, 3.0
CLEARLY_TOLD = 4.0
ENOUGH_STABILITY, LARGEST_WRONG_FLIP = 0.75, 0.2
LEAK_SHARE = 2.0
SMALLEST_MARGIN = 0.01
FEWEST_RUNS = 5
SMALL_RIDGE = 0.1


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
    margin: float  # distance of the match rate from 1/2
    wrong_flip: float  # probability that match and mismatch are confused


@dataclass(frozen=True)
class Diagnosis(Verdict):
    """What can be said about an AI-IGL learner without knowing a single reward.

    Attributes
    ----------
    information, information_t : float
        What a context tells of the feedback to come, nats per trial, on unseen runs; and its t
        statistic over runs.
    placebo : float
        What the next trial's context tells of it: noise that lasts, nats per trial.
    upright : float
        How much better the decoding fits the expected match rate than its mirror image does, nats
        per trial.
    stability : float
        Share of contexts for which a policy that had not seen their run chooses as the final one.
    chosen, chosen_t : float
        Decoded reward where the action taken is the choice of a policy that had not seen the run,
        less that where it is not; and its t statistic.
    leak, leak_t : float
        Correlation of context and feedback beyond action and reward, on trials it was not sought
        in; and its t statistic.
    guess_told, guess_told_t : float
        How often the action can be told from the context, on unseen folds, less chance, and its t
        statistic; where guesses are said to have been uniform it should not be told at all.
    actions : tuple of ActionDiagnosis
    """

    information: float
    information_t: float
    placebo: float
    upright: float
    stability: float
    chosen: float
    chosen_t: float
    leak: float
    leak_t: float
    guess_told: float
    guess_told_t: float
    actions: tuple[ActionDiagnosis, ...]


def too_few_trials(data: Prepared) -> Verdict:
    """Return the verdict about a learner that had next to nothing to learn from."""
    reason = f"{data.trials} trials are too few to learn from: the policy always chooses action 0."
    return Verdict(DO_NOT_USE, reason, "Record more trials.")


def diagnosed(task: Task, found: Found) -> Diagnosis:
    """Return what the evidence on unseen runs says about a search's result."""
    data, evidence = task.data, found.held_out
    told, lasting = information(evidence, data), placebo(evidence, data)
    choice = evidence.context.argmax(axis=1)
    final = found.model.context_scores(data.context).argmax(axis=1)
    actions = (_action_diagnosis(task, evidence, action) for action in range(data.n_actions))
    numbers = (
        float(told.mean()),
        _t_over_runs(told, data.run),
        float(lasting.mean()) if len(lasting) else 0.0,
        float(task.weight @ orientation(evidence, task.rate) / data.trials),
        float((choice == final).mean()),
        *_difference(expit(evidence.feedback), choice == data.action),
        *leaked(task, found),
        *action_told(data, task.fold),
        tuple(actions),
    )
    verdict = next(_verdicts(task, Diagnosis("", "", "", *numbers)))
    return Diagnosis(*verdict, *numbers)


def leaked(task: Task, found: Found) -> tuple[float, float]:
    """Return how context and feedback still correlate given action and reward, and its t.

    What is left of both, after the means of what was decoded, is correlated along the direction
    that even folds suggest, on odd folds, and vice versa.
    """
    data = task.data
    decoded = 2 * data.action + (of_action(found.belief, data.action) > 0.5)
    option = found.belief.argmax(axis=1) if found.model.one_right else decoded
    left, right = less_means(data.context, option), less_means(data.feedback, decoded)
    odd = task.fold % 2 == 1
    if min(odd.sum(), (~odd).sum()) < 10:
        return 0.0, 0.0
    scores = np.zeros((2, len(odd)))
    for seek in (odd, ~odd):
        a, b = (whitening(side[seek], SMALL_RIDGE) for side in (left, right))
        pair = np.linalg.svd((left[seek] @ a).T @ (right[seek] @ b))
        along = left[~seek] @ a @ pair[0][:, 0], right[~seek] @ b @ pair[2][0]
        for row, values in zip(scores, along, strict=True):
            row[~seek] = (values - values.mean()) / max(values.std(), 1e-12)
    correlation = float((scores[0] * scores[1]).mean())
    return correlation, float(correlation * np.sqrt(len(odd)))


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
        scores = _discriminant(context[~out], acted[~out], context[out])
        right[out] = scores.argmax(axis=1) == data.action[rows][out]
    chance = taken.max() / len(rows)
    error = np.sqrt(chance * (1 - chance) / len(rows))
    told = float(right.mean() - chance)
    return told, float(told / max(error, 1e-9))


def _discriminant(context: np.ndarray, acted: np.ndarray, unseen: np.ndarray) -> np.ndarray:
    """Return the linear discriminant scores of unseen contexts for each action."""
    taken = acted.sum(axis=0)
    means = acted.T @ context / np.maximum(taken, 1)[:, None]
    spread = context.T @ context - (means * taken[:, None]).T @ means
    ridged = spread / max(len(context), 1) + SMALL_RIDGE * np.eye(context.shape[1])
    weights = np.linalg.solve(ridged, means.T)
    prior = np.log(np.maximum(taken, 1e-9))
    return unseen @ weights - 0.5 * (means.T * weights).sum(axis=0) + prior


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


def _action_diagnosis(task: Task, evidence: Evidence, action: int) -> ActionDiagnosis:
    mine = task.data.action == action
    told = (mine & task.data.catch, mine & (task.rate != 0.5), mine)
    rows = np.flatnonzero(next(filter(np.any, told), mine))
    if not len(rows):
        return ActionDiagnosis(action, 0, 0.0, 0.5, (0.0, 1.0), 0.0, 0.5)
    ratio, weight = evidence.feedback[rows], task.weight[rows]
    rate, error = match_rate(ratio, weight)
    below = 0.5 - rate if task.rate[rows].mean() < 0.5 else rate - 0.5
    return ActionDiagnosis(
        action,
        int(mine.sum()),
        break_symmetry(ratio, task.rate[rows], weight).separation,
        rate,
        (max(rate - 1.96 * error, 0.0), min(rate + 1.96 * error, 1.0)),
        abs(rate - 0.5),
        float(norm.cdf(-below / max(error, 1e-9))),
    )


def _verdicts(task: Task, found: Diagnosis) -> Iterator[tuple[str, str, str]]:
    """Give verdict, reason and remedy of all that can be said; the first counts."""
    unseen = "runs" if task.data.run.max() > 0 else "trials"
    t = f"t = {found.information_t:.1f}, {ENOUGH_EVIDENCE:g} is enough"
    same, enough = f"{100 * found.stability:.0f} %", f"{100 * ENOUGH_STABILITY:.0f} % is enough"
    seen = f"feedback of {unseen} it had not seen ({found.information:.2f} nats a trial, {t})"
    if found.information_t < NO_EVIDENCE:
        remedy = "Record more trials, or make the response to match and mismatch stronger."
        yield DO_NOT_USE, f"what contexts predict does not fit the {seen}.", remedy
    if np.abs(task.rate - 0.5).max() < SMALLEST_MARGIN:
        yield (
            DOUBTFUL,
            "how often guesses match is not known, or match and mismatch are equally frequent, so"
            " which is which cannot be known: the policy is either right or exactly wrong.",
            "Add uniform guesses, or catch trials with a match rate far from 1/2 (catch trials),"
            " or a third option.",
        )
    if found.guess_told_t > CLEARLY_TOLD:
        yield (
            DOUBTFUL,
            "the actions can be told from the contexts, though they are said to have been guessed"
            " uniformly.",
            "Give the propensities of the guesses, and estimate contexts from frames before them.",
        )
    for each in found.actions:
        if each.trials < FEWEST_TRIALS_OF_ACTION:
            reason = f"action {each.action} was taken in {each.trials} trials only."
            yield DOUBTFUL, reason, "Record more trials, in which every action is tried."
    if found.information_t < ENOUGH_EVIDENCE:
        reason = f"what contexts predict hardly fits the feedback that it had not seen ({t})."
        yield DOUBTFUL, reason, "Record more trials."
    if found.leak > LEAK_SHARE * found.chosen and found.leak_t > ENOUGH_EVIDENCE:
        yield (
            DOUBTFUL,
            "contexts leak into the feedback beyond action and reward "
            f"(r = {found.leak:.2f}) more than the reward shows in it.",
            "Estimate contexts from frames before the guess alone, and remove slow drift.",
        )
    if found.stability < ENOUGH_STABILITY:
        reason = f"policies learned from other trials choose the same in {same} only ({enough})."
        yield DOUBTFUL, reason, "Record more trials."
    for each in found.actions:
        if each.wrong_flip > LARGEST_WRONG_FLIP:
            confused = f"match and mismatch of action {each.action} may be confused"
            reason = f"{confused} (probability {each.wrong_flip:.2f})."
            yield DOUBTFUL, reason, "Add catch trials with a match rate far from 1/2."
    others = f"policies learned from the other {unseen} choose the same in {same} of them"
    yield TRUST, f"what contexts predict fits the {seen}, and {others} ({enough}).", ""


def _difference(values: np.ndarray, chosen: np.ndarray) -> tuple[float, float]:
    """Return the difference in mean between two groups, and Welch's t."""
    if min(chosen.sum(), (~chosen).sum()) < 2:
        return 0.0, 0.0
    groups = values[chosen], values[~chosen]
    difference = groups[0].mean() - groups[1].mean()
    error = np.sqrt(sum(group.var(ddof=1) / len(group) for group in groups))
    return float(difference), float(difference / max(error, 1e-9))


def _t_over_runs(values: np.ndarray, run: np.ndarray) -> float:
    """Return the t statistic of a mean over runs, or over trials where runs are few."""
    counts = np.bincount(run)
    if len(counts) >= FEWEST_RUNS:
        values = np.bincount(run, values) / np.maximum(counts, 1)
    if len(values) < 2:
        return 0.0
    return float(values.mean() / max(values.std(ddof=1) / np.sqrt(len(values)), 1e-9))
