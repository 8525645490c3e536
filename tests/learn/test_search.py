"""Reward discovery: what a search begins with, and what it never sees."""

import numpy as np
import pytest
from interactions import session

from bciigl.learn import search
from bciigl.learn.canonical import CrossCovariance
from bciigl.learn.evidence import Evidence, net_information, orientation
from bciigl.learn.interactions import Scaling, check_interactions, folds
from bciigl.learn.search import (
    FURTHER,
    USUAL,
    Start,
    Task,
    _final_belief,
    _steep,
    discover,
    first_guess,
    refined,
    unseen,
    worth,
)


def task_of(told, one_right=True):
    data = check_interactions(*told.seen, run=told.run)
    context, feedback = (
        Scaling.of(each, data.run).apply(each, data.run) for each in (data.context, data.feedback)
    )
    data = data._replace(context=context, feedback=feedback)
    # folds of whole runs, and runs in their order, are ascending if there are as many
    fold = folds(data.run)
    order = np.argsort(fold, kind="stable")
    rate = np.full(data.trials, 1 / data.n_actions)
    return Task(data, fold, rate, data.baseline, one_right).rows(order)


TOLD = session(runs=5)
TASK = task_of(TOLD)


@pytest.mark.parametrize("start", USUAL)
def test_each_usual_start_finds_clear_rewards(start):
    guess = first_guess(TASK, CrossCovariance(TASK.data, True), start)
    assert np.mean((guess > 0.5) == TOLD.reward) > 0.85
    belief, evidence = refined(TASK, TASK.views(), CrossCovariance(TASK.data, True), start)
    found = belief[np.arange(TASK.data.trials), TASK.data.action]
    assert np.mean((found > 0.5) == TOLD.reward) > 0.95
    assert worth(evidence, TASK) > 0.3


def test_a_first_guess_leaves_the_expected_rate_where_nothing_varies():
    still = TASK._replace(data=TASK.data._replace(feedback=np.zeros_like(TASK.data.feedback)))
    for start in (*USUAL, *FURTHER):
        guess = first_guess(still, CrossCovariance(still.data, True), start)
        np.testing.assert_array_equal(guess, still.rate)


def test_the_mirrored_start_takes_the_other_cluster_for_the_reward():
    cross = CrossCovariance(TASK.data, True)
    guess, mirrored = (
        first_guess(TASK, cross, Start(True, 0.1, mirrored=each)) for each in (False, True)
    )
    assert np.corrcoef(guess, mirrored)[0, 1] < 0


def test_worth_is_net_information_less_what_is_upside_down():
    rng = np.random.default_rng(0)
    context = rng.dirichlet(np.ones(3), size=TASK.data.trials)
    for ratio in (rng.standard_normal(600) - 1, rng.standard_normal(600) + 1):
        evidence = Evidence(context, ratio)
        upright = orientation(evidence, TASK.rate).mean()
        expected = net_information(evidence, TASK.data) + min(upright, 0)
        assert worth(evidence, TASK) == pytest.approx(expected)
    assert upright < 0


def test_what_is_said_of_a_fold_does_not_depend_on_it():
    evidence = unseen(TASK, USUAL[0], -np.inf)
    mine = TASK.fold == 3
    rng = np.random.default_rng(0)
    shuffled = np.arange(600)
    shuffled[mine] = rng.permutation(shuffled[mine])
    # the fold's contexts no longer go with its feedback
    data = TASK.data._replace(context=TASK.data.context[shuffled])
    again = unseen(TASK._replace(data=data), USUAL[0], -np.inf)
    np.testing.assert_array_equal(again.feedback[mine], evidence.feedback[mine])
    np.testing.assert_array_equal(again.context[mine], evidence.context[shuffled][mine])
    assert not np.array_equal(again.feedback[~mine], evidence.feedback[~mine])


@pytest.mark.parametrize("one_right", [True, False])
def test_what_is_found_is_the_reward(one_right):
    found = discover(TASK._replace(one_right=one_right))
    assert np.mean((found.reward(TASK.data.action) > 0.5) == TOLD.reward) > 0.95
    held_out = found.held_out.reward(TASK.data.action)
    assert np.mean((held_out > 0.5) == TOLD.reward) > 0.95


def test_what_folds_agreed_on_replaces_a_start_that_leads_nowhere():
    nowhere = Start(True, 0.1, place=5)
    views, cross = TASK.views(), CrossCovariance(TASK.data, True)
    context = np.where(TOLD.right, 0.9, 0.05)
    agreed = Evidence(context, np.where(TOLD.reward, 5.0, -5.0))
    belief = _final_belief(TASK, views, cross, nowhere, agreed)
    assert np.mean(belief.argmax(axis=1) == TOLD.right.argmax(axis=1)) > 0.95


@pytest.mark.parametrize(
    ("law", "fewest", "most"),
    [({}, 1, 1), ({"strength": 0, "trials": 300}, 1, 1), ({"strength": 1.0}, 2, 7)],
    ids=["convincing", "hopeless", "in between"],
)
def test_further_starts_are_tried_only_where_they_may_help(law, fewest, most, monkeypatch):
    tried = []

    def counted(task, start, expected):
        tried.append(start)
        return unseen(task, start, expected)

    monkeypatch.setattr(search, "unseen", counted)
    discover(task_of(session(1, runs=5, **law)))
    assert fewest <= len(tried) <= most
    assert len(set(tried)) == len(tried)


def test_rows_of_a_task_are_rows_of_all_its_arrays():
    part = TASK.rows(np.array([5, 2]))
    assert part.data.action.tolist() == TASK.data.action[[5, 2]].tolist()
    assert part.fold.tolist() == TASK.fold[[5, 2]].tolist()
    assert part.one_right is True


def test_a_direction_becomes_weights_of_scores_with_an_sd_of_two():
    features = np.random.default_rng(0).standard_normal((50, 3))
    weights = _steep(np.array([1.0, 2.0, 3.0]), features)
    assert (features @ weights[:-1]).std() == pytest.approx(2)
    assert weights[-1] == 0
    assert _steep(np.ones(3), np.zeros((50, 3))).tolist() == [0, 0, 0, 0]
    assert _steep(np.ones(3), np.zeros((0, 3))).tolist() == [0, 0, 0, 0]
