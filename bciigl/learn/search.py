"""Reward discovery: several starts, refined, and chosen by what holds on unseen runs."""

from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from bciigl.learn.canonical import CrossCovariance
from bciigl.learn.contrastive import refine
from bciigl.learn.evidence import Evidence, net_information, orientation
from bciigl.learn.interactions import Prepared, folds, less_means
from bciigl.learn.mixture import Model, TwoViews
from bciigl.learn.symmetry import break_symmetry

# Expectation maximisation makes a good guess better and a bad one worse: what it has reached after
# a few steps and after many are compared.
FEW_STEPS, MANY_STEPS, FINAL_STEPS = 2, 7, 30
# Nats per trial on unseen runs: with less than the first no other start is tried, because there is
# nothing to find, with more than the second because there is nothing to gain. Rewards that are rare
# tell less: there a share of all that they could tell is enough.
HOPELESS, CONVINCING, CONVINCING_SHARE = 0.003, 0.1, 0.16
# More trials than this find nothing that fewer would not.
MOST_SEARCHED = 100_000


class Start(NamedTuple):
    """Where a search begins.

    Actions that are `together` share what they know of the contexts, as they can where exactly one
    option is right. Where contexts are far from Gaussian they had better not: most of what a shared
    model knows of an option it has from trials in which another was tried.
    """

    shared: bool  # whether the reward shows in one direction of feedback whatever the action
    ridge: float  # added to the covariances
    cleaned: bool = True  # whether covariance that is not the reward's is subtracted
    place: int = 0  # of the canonical pair, from the most correlated on
    mirrored: bool = False  # whether the less likely of both clusters is taken for the reward
    together: bool = True


USUAL = (
    Start(True, 0.1),
    Start(True, 0.03),
    Start(False, 0.1),
    Start(False, 0.1, cleaned=False),
    Start(True, 0.1, together=False),
    Start(False, 0.1, together=False),
)
FURTHER = (Start(True, 0.1, mirrored=True), Start(True, 0.3), Start(True, 0.1, place=1))


class Task(NamedTuple):
    """What is searched: folds in ascending order, trials of a run in theirs; see `in_folds`."""

    data: Prepared  # centred and scaled
    fold: np.ndarray
    rate: np.ndarray  # expected match rate of each trial; 1/2 where nothing is known of it
    weight: np.ndarray  # how much each trial counts where match and mismatch are told apart
    one_right: bool

    def rows(self, index: np.ndarray) -> "Task":
        """Return the task of learning from some of the trials."""
        return Task(self.data.rows(index), *(each[index] for each in self[1:-1]), self.one_right)

    def fewer(self) -> "Task":
        """Return the task of as many as are searched: each fold's first, neighbours together."""
        if self.data.trials <= MOST_SEARCHED:
            return self
        place = np.arange(self.data.trials) - np.searchsorted(self.fold, self.fold)
        size = np.bincount(self.fold)[self.fold]
        return self.rows(np.flatnonzero(place < size * MOST_SEARCHED // self.data.trials))

    def starts(self, starts: tuple[Start, ...]) -> list[Start]:
        """Return those of the starts that make sense for the task."""
        if self.one_right:
            return list(starts)
        return list(dict.fromkeys(start._replace(together=False) for start in starts))


def in_folds(task: Task) -> Task:
    """Return a task with its trials in folds, and those of a run in the order of time."""
    run = np.unique(task.data.run, return_inverse=True)[1]
    fold = folds(run)
    return task._replace(fold=fold).rows(np.lexsort((run, fold)))


class Explorer:
    """What starts on the same trials share."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._cross = CrossCovariance(task.data, task.one_right)
        self._views: dict[bool, TwoViews] = {}

    def views(self, together: bool) -> TwoViews:
        """Return the mixture model of the trials."""
        if together not in self._views:
            known_rate = np.where(self.task.data.catch, self.task.rate, np.nan)
            self._views[together] = TwoViews(self.task.data, self.task.fold, known_rate, together)
        return self._views[together]

    def refine(
        self, start: Start, reward: np.ndarray | None = None, steps: int = MANY_STEPS
    ) -> tuple[float, np.ndarray, Evidence]:
        """Return worth (nats per trial), belief, (trials, actions), and evidence of the best found.

        `reward`, (trials,), is a first guess in place of the start's own.
        """
        views = self.views(start.together)
        settings = {"ridge": start.ridge, "shared": start.shared}
        guess = self.first_guess(start) if reward is None else reward
        results, belief = [], views.completed(guess)
        for count in (FEW_STEPS, steps - FEW_STEPS):
            belief, evidence = views.fit(belief, steps=count, **settings)
            results.append((worth(evidence, self.task), belief, evidence))
        return max(results, key=itemgetter(0))

    def model(self, start: Start, belief: np.ndarray) -> Model:
        """Return the parameters that a belief leads to."""
        return self.views(start.together).model(belief, ridge=start.ridge, shared=start.shared)

    def first_guess(self, start: Start) -> np.ndarray:
        """Return the probability that each trial is rewarded, from the start alone, (trials,)."""
        data, rate = self.task.data, self.task.rate
        found = self._cross.directions(start.ridge, start.shared, start.cleaned, start.place)
        feedback = less_means(data.feedback, data.action)
        groups = [np.flatnonzero(data.action == each) for each in range(data.n_actions)]
        score = np.empty(data.trials)
        for rows, *pair in zip(groups, *found, strict=True):
            views = data.context[rows], feedback[rows]
            direction = pair[1]
            if not start.shared:
                steep = [_steep(each, view) for each, view in zip(pair, views, strict=True)]
                direction = refine(np.concatenate(steep), *views)[len(steep[0]) : -1]
            score[rows] = views[1] @ direction
        reward = rate.copy()
        unknown = (rate == 0.5) & ~data.uniform & ~data.catch
        for rows in [np.arange(data.trials)] if start.shared else groups:
            if len(rows):
                given = (each[rows] for each in (score, rate, self.task.weight, unknown))
                reward[rows] = break_symmetry(*given, mirrored=start.mirrored).reward
        return reward


class Fold(NamedTuple):
    """What a search found that saw all folds but one."""

    model: Model
    odds: np.ndarray  # as in `Found`, of the trials that it saw


class Found(NamedTuple):
    """What was discovered."""

    model: Model  # from all trials
    belief: np.ndarray  # (trials, actions): see `TwoViews.completed`
    start: Start  # where it was found from
    held_out: Evidence  # what models that saw none of a trial's fold say about it
    odds: np.ndarray  # (trials,): log-likelihood ratio of reward, as other folds have it
    folds: list[Fold]  # the searches behind `held_out`


def discover(task: Task) -> Found:
    """Return the rewards that explain best what context and feedback have in common."""
    explorer = Explorer(task)
    usual = task.starts(USUAL)
    screened = {start: explorer.refine(start)[0] for start in usual}
    usual.sort(key=screened.get, reverse=True)
    rare = 1 / task.data.n_actions
    all_there_is = -rare * np.log(rare) - (1 - rare) * np.log(1 - rare)
    convincing = min(CONVINCING, CONVINCING_SHARE * all_there_is)
    start, best = None, -np.inf
    for each in (*usual, *task.starts(FURTHER)):
        # Only the first is given a second chance in folds where it fails.
        others = usual if start is None else ()
        evidence, searches = unseen(task, each, others, screened[usual[0]])
        value = worth(evidence, task)
        if value > best:
            start, held_out, kept, best = each, evidence, searches, value
        if not HOPELESS < best < convincing:
            break
    agreed = held_out.reward(task.data.action)
    last = (explorer.refine(start, guess, FINAL_STEPS) for guess in (None, agreed))
    _, belief, evidence = max(last, key=itemgetter(0))
    model = explorer.model(start, belief)
    return Found(model, belief, start, held_out, evidence.feedback, kept)


def worth(evidence: Evidence, task: Task) -> float:
    """Return what evidence is worth, in nats per trial; less than nothing if it is upside down."""
    upright = task.weight @ orientation(evidence, task.rate) / task.data.trials
    return net_information(evidence, task.data) + min(upright, 0.0)


def unseen(
    task: Task, start: Start, others: Sequence[Start], expected: float
) -> tuple[Evidence, list[Fold]]:
    """Return what is said about each fold by a search that saw the others only, and the searches.

    Other starts are tried where the start leads to less than half of what is expected of it.
    """
    data = task.data
    evidence = Evidence(np.empty((data.trials, data.n_actions)), np.empty(data.trials))
    searches = []
    for fold in np.unique(task.fold):
        out = np.flatnonzero(task.fold == fold)
        explorer = Explorer(task.rows(np.flatnonzero(task.fold != fold)))
        best = -np.inf
        for each in (start, *(other for other in others if other != start)):
            value, belief, inner = explorer.refine(each)
            if value > best:
                best, found = value, Fold(explorer.model(each, belief), inner.feedback)
            if best >= expected / 2:
                break
        model = found.model
        evidence.context[out] = model.probable(model.context_scores(data.context[out]))
        evidence.feedback[out] = model.feedback_evidence(data.feedback[out], data.action[out])
        searches.append(found)
    return evidence, searches


def _steep(direction: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Return weights, and a bias of 0, by which a logistic function is neither flat nor a step."""
    spread = (features @ direction).std() if len(features) else 0.0
    return np.append(2 * direction / spread if spread > 0 else 0 * direction, 0.0)
