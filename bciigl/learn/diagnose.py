"""Does a learner know what it is doing? A verdict without labels, from runs it had not seen."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any

import numpy as np
from scipy.special import expit, logit

from bciigl.learn.evidence import Evidence, contrast_t, information, t_statistic
from bciigl.learn.interactions import FEWEST_TRIALS, InputError, Prepared, Scaling, folds
from bciigl.learn.mixture import Whitening
from bciigl.learn.search import Found, Task

VERDICTS = TRUST, DOUBTFUL, DO_NOT_USE = "trust", "doubtful", "do not use"
# Thresholds of the verdict, t statistics if nothing else is said; benchmarks/verdicts.py measures
# how often it is wrong with them.
NO_EVIDENCE, SOME_CONTRAST, ENOUGH_CONTRAST = 1.0, 3.0, 4.5
CLEARLY_CLUSTERED, CONTRADICTION = 4.0, -2.0
# Whether contexts of matches resemble seeing the guess, and patterns themselves, in SDs of chance.
CLEARLY_ALIKE, CLEARLY_UNLIKE = 3.0, -2.5
CONFUSED = 4.0  # SDs of chance
CLEARLY_TOLD = 4.0
CLEARLY_UPRIGHT, UNLIKELY_UPRIGHT = 2.5, 7.5
LEAST_OF_ACTION = -2.0
LEAST_SKILL = 0.3  # from chance to 1
LEAST_MATCHES = 0.2  # of an action, of what chance would have
LARGEST_CHANGE = 0.1  # of the accuracy, from one half's interval to the other's
SMALLEST_MARGIN = 0.01  # of a match rate, from 1/2
# The estimated accuracy is sought on a grid, by no more trials than these, for some shares of
# judgments that lapse, each with its probability.
GRID, MOST_COUNTED = np.linspace(0, 1, 101), 2000
LAPSES = ((0.0, 0.3), (0.03, 0.2), (0.07, 0.15), (0.15, 0.15), (0.25, 0.1), (0.35, 0.1))


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

    @property
    def plain(self) -> "Verdict":
        """The same without the statistics in its reason, such as "(t = 5.1)"."""
        return replace(self, reason=re.sub(r" \((?:t = |[-\d.]+ SDs )[^()]*\)", "", self.reason))

    def __str__(self) -> str:
        """Return the verdict in plain words."""
        return " ".join(filter(None, (f"{self.verdict}: {self.reason}", self.remedy)))

    def _repr_html_(self) -> str:
        color = {TRUST: "#2b8a3e", DOUBTFUL: "#e67700", DO_NOT_USE: "#c92a2a"}[self.verdict]
        words = escape(" ".join(filter(None, (self.reason, self.remedy))))
        return f'<p><b style="color: {color}">{self.verdict}</b>: {words}</p>'


@dataclass(frozen=True)
class ActionDiagnosis:
    """How well the reward of one action is decoded, on unseen runs."""

    action: int
    trials: int  # how often it was taken
    match_rate: float  # share of rewarded trials: of catch trials, else of uniform guesses
    information_t: float  # whether contexts tell of the feedback to this action


@dataclass(frozen=True)
class Diagnosis(Verdict):
    """What can be said about an AI-IGL learner without knowing a single reward.

    All but `mirrored_t`, `alike` and `confusion` is found on trials of runs that it had not seen.
    Names that end in `_t` are t statistics.
    """

    # The policy's share of right choices, estimated without labels from how often its choices were
    # judged a match when they were shown, its 95 % interval, and those of both halves of the
    # session. They mean something only if the reward was found: None without trust.
    accuracy: float | None
    interval: tuple[float, float] | None
    halves: tuple[tuple[float, float], ...]
    # What a context tells of the feedback to come, nats per trial.
    information: float
    information_t: float
    # Whether decoded rewards go with the option guessed, not with any that is probable as leaks do.
    contrast_t: float
    # How much better it is than with match and mismatch exchanged.
    mirrored_t: float
    # Whether contexts resemble seeing the option guessed more if the answer was a match; 0 where
    # contexts and feedback have other features.
    alike_t: float
    # How much imagined options resemble seen ones, and how much more they would if they were taken
    # for others, in SDs of what patterns by chance would have.
    alike: float
    confusion: float
    # Whether contexts cluster around what was seen, whatever was judged: see `resemblance`.
    clusters_t: float
    # How often the action can be told from the context, less chance; if guesses were uniform, as
    # they are said to be, it cannot.
    guess_told: float
    guess_told_t: float
    actions: tuple[ActionDiagnosis, ...]
    # What trust rests on: "judgment", or "resemblance" if judgments alone would not do.
    rests_on: str = ""


def too_few_trials(data: Prepared) -> Verdict:
    """Return the verdict about a learner that had next to nothing to learn from."""
    reason = f"{data.trials} trials are too few to learn from: the policy always chooses action 0."
    return Verdict(DO_NOT_USE, reason, "Record more trials.")


def diagnosed(task: Task, found: Found) -> Diagnosis:
    """Return what the evidence on unseen runs says about a search's result."""
    data, evidence = task.data, found.unseen
    told = information(evidence, data)
    accuracy: float | None = None
    interval: tuple[float, float] | None = None
    halves: tuple[tuple[float, float], ...] = ()
    if found.model.one_right:
        choice = found.judged.context.argmax(axis=1)
        whole, *parts = (
            estimated_accuracy(choice[rows], evidence.feedback[rows], data.rows(rows))
            for rows in (np.arange(data.trials), *np.array_split(np.arange(data.trials), 2))
        )
        (accuracy, interval), halves = whole, tuple(each[1] for each in parts)
    everything = Diagnosis(
        *("", "", ""),
        accuracy,
        interval,
        halves,
        float(told.mean()),
        t_statistic(told),
        contrast_t(evidence, data, task.fold),
        found.mirrored_t(),
        found.search.resemblance_t(evidence),
        *found.search.resemblance(found.belief),
        found.search.clusters_t(evidence),
        *action_told(data, task.fold),
        tuple(_action_diagnosis(task, evidence, told, each) for each in range(data.n_actions)),
    )
    verdict, reason, remedy, rests_on = verdict_of(task, everything)
    everything = replace(
        everything, verdict=verdict, reason=reason, remedy=remedy, rests_on=rests_on
    )
    if everything.verdict == TRUST and _understood(task, everything):
        return everything
    return replace(everything, accuracy=None, interval=None, halves=())


def _understood(task: Task, found: Diagnosis) -> bool:
    """Tell whether judgments were; where several options may be right, others say little of one."""
    return found.contrast_t >= (ENOUGH_CONTRAST if task.one_right else SOME_CONTRAST)


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
    # How likely each share of matches is among guesses that were the choice, and among the others.
    among = [weight[each] @ np.log1p(np.outer(gain[each], GRID)) for each in (chosen, ~chosen)]
    likelihood = np.zeros((len(LAPSES), len(GRID)))
    for each, (lapse, prior) in zip(likelihood, LAPSES, strict=True):
        each += np.log(prior)
        for right, fit in zip((GRID, (1 - GRID) / (data.n_actions - 1)), among, strict=True):
            each += np.interp(right + lapse - 2 * lapse * right, GRID, fit)
    share = np.exp(likelihood - likelihood.max()).sum(axis=0)
    share /= share.sum()
    low, high = np.searchsorted(np.cumsum(share), [0.025, 0.975])
    half = GRID[1] / 2  # to the end of a cell
    low, high = max(GRID[low] - half, 0.0), min(GRID[min(high, len(GRID) - 1)] + half, 1.0)
    return float(GRID @ share), (float(low), float(high))


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


def match_rate(ratio: np.ndarray, weight: np.ndarray) -> float:
    """Return the most likely share of rewarded trials, by likelihood ratios.

    One trial of either kind is taken for granted, so that few trials are never sure.
    """
    rate = 0.5
    for _ in range(100):
        rate = float((weight @ expit(logit(rate) + ratio) + 1) / (weight.sum() + 2))
    return rate


def _action_diagnosis(
    task: Task, evidence: Evidence, told: np.ndarray, action: int
) -> ActionDiagnosis:
    mine = task.data.action == action
    known = (mine & task.data.catch, mine & (task.rate != 0.5), mine)
    rows = np.flatnonzero(next(filter(np.any, known), mine))
    rate = match_rate(evidence.feedback[rows], task.weight[rows])
    return ActionDiagnosis(action, int(mine.sum()), rate, t_statistic(told[mine]))


def verdict_of(task: Task, found: Diagnosis) -> tuple[str, str, str, str]:
    """Return verdict, reason, remedy and what trust rests on: the first doubt, or trust."""
    evidence = f"(t = {found.information_t:.1f}, and {found.contrast_t:.1f} for the option guessed)"
    silent = f"there is no sign that the brain's answers to the guesses were understood {evidence}"
    judged = _understood(task, found)
    clustered = found.clusters_t > CLEARLY_CLUSTERED and found.contrast_t > CONTRADICTION
    if not clustered and found.information_t < NO_EVIDENCE and found.contrast_t < SOME_CONTRAST:
        remedy = "Record more trials, or make the response to match and mismatch stronger."
        return DO_NOT_USE, f"{silent}.", remedy, ""
    blind = np.abs(task.rate - 0.5).max() < SMALLEST_MARGIN
    upright = UNLIKELY_UPRIGHT if found.alike_t < CLEARLY_UNLIKE else CLEARLY_UPRIGHT
    assumed = blind or found.mirrored_t < upright
    doubts = list(_doubts(found))
    if not (judged or clustered):
        hardly = "what contexts predict hardly fits the brain's answers in runs it had not seen"
        doubts.append((f"{hardly} {evidence}.", "Record more trials."))
    if judged or not clustered:
        doubts += _doubts_of_judgments(task, found, blind, assumed)
    if doubts:
        return DOUBTFUL, *doubts[0], ""
    alike = f"imagining an option resembles seeing it ({found.alike:.1f} SDs more than by chance)"
    if not judged:
        reason = (
            f"{alike}, and its choices are those that follow; they rest on that alone: {silent}"
        )
        return TRUST, f"{reason}.", "", "resemblance"
    reason = "the brain's answers to the guesses were understood, also in runs it had not seen"
    if found.accuracy is not None and found.interval is not None:
        low, high = (100 * each for each in found.interval)
        reason = (
            f"its choices are estimated to be right in {100 * found.accuracy:.0f} % of the trials"
            f" ({low:.0f} to {high:.0f} %), and {reason}"
        )
    if assumed:
        reason += f"; which answer means match rests on the assumption that {alike}"
    return TRUST, f"{reason} {evidence}.", "", "resemblance" if assumed else "judgment"


def _doubts(found: Diagnosis) -> Iterator[tuple[str, str]]:
    """Yield reasons to doubt, with remedies, whatever was judged."""
    if found.guess_told_t > CLEARLY_TOLD:
        yield (
            "the guesses can be told from the contexts, though they are said to have been uniform.",
            "Give the propensities of the guesses, and estimate contexts from frames before them.",
        )
    for each in found.actions:
        if each.trials < FEWEST_TRIALS:
            reason = f"action {each.action} was guessed in {each.trials} trials only."
            yield reason, "Record more trials, in which every option is guessed."
    if found.confusion > CONFUSED:
        yield (
            "imagining an option resembles seeing another one more than seeing the same: what was"
            " taken for a match may be something else.",
            "Check what is judged a match, and that no options were exchanged.",
        )


def _doubts_of_judgments(
    task: Task, found: Diagnosis, blind: bool, assumed: bool
) -> Iterator[tuple[str, str]]:
    """Yield reasons to doubt that judgments were read as they were meant, with remedies."""
    if blind and min(found.alike, found.alike_t) < CLEARLY_ALIKE:
        yield (
            "match and mismatch are equally frequent, or how often guesses match is not known, so"
            " which is which cannot be known: the policy is either right or exactly wrong.",
            "Add catch trials with a match rate far from 1/2, uniform guesses, or a third option.",
        )
    if not blind and assumed and found.alike_t <= CLEARLY_ALIKE:
        yield (
            "match and mismatch may be confused: exchanged, they explain the answers about as well"
            f" (t = {found.mirrored_t:.1f}).",
            "Record more trials, or add catch trials with a match rate far from 1/2.",
        )
    chance, check = 1 / task.data.n_actions, "Check what is judged a match."
    # Whether each option should match now and then.
    expected = task.recorded and task.one_right and not task.data.catch.any()
    for each in found.actions:
        if each.information_t < LEAST_OF_ACTION:
            yield f"the answers to action {each.action} contradict the others.", check
        if expected and each.match_rate < LEAST_MATCHES * chance:
            yield f"no guess of action {each.action} seems to have been a match.", check
    if found.accuracy is None or found.interval is None:
        return
    if found.interval[0] < chance or found.accuracy < chance + LEAST_SKILL * (1 - chance):
        hardly = "its choices seem to be right hardly more often than by chance."
        yield hardly, "Record more trials."
    if max(low for low, _ in found.halves) > LARGEST_CHANGE + min(high for _, high in found.halves):
        changed = "its choices are right more often in one half of the session than in the other."
        yield changed, "Look for what changed."
