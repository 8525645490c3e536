"""Reward discovery: what a search begins with, and what it never sees."""

import numpy as np
import pytest
from interactions import session

from bciigl.learn import search
from bciigl.learn.canonical import CrossCovariance
from bciigl.learn.contrastive import refine
from bciigl.learn.evidence import Evidence, net_information, orientation
from bciigl.learn.interactions import Scalings, folds, less_means, of_action, prepare
from bciigl.learn.search import (
    FEW_STEPS,
    FINAL_STEPS,
    FURTHER,
    MANY_STEPS,
    USUAL,
    Explorer,
    Start,
    Task,
    _steep,
    discover,
    unseen,
    worth,
)
from bciigl.learn.symmetry import break_symmetry


def task_of(told, one_right=True):
    data = prepare(*told.seen, run=told.run, n_actions=told.right.shape[1])
    data = Scalings.of(data).apply(data)
    # folds of whole runs, and runs in their order, are ascending if there are as many
    fold = folds(data.run)
    order = np.argsort(fold, kind="stable")
    rate = np.full(data.trials, 1 / data.n_actions)
    return Task(data, fold, rate, np.ones(data.trials), one_right).rows(order)


TOLD = session(runs=5)
TASK = task_of(TOLD)
ACTION = TASK.data.action


@pytest.mark.parametrize("start", USUAL)
def test_each_usual_start_finds_clear_rewards(start):
    explorer = Explorer(TASK)
    guess = explorer.first_guess(start)
    assert np.mean((guess > 0.5) == TOLD.reward) > 0.85
    value, belief, evidence = explorer.refine(start)
    found = belief[np.arange(TASK.data.trials), TASK.data.action]
    assert np.mean((found > 0.5) == TOLD.reward) > 0.95
    assert value == worth(evidence, TASK) > 0.3


def test_starts_whose_actions_learn_apart_have_a_belief_about_the_action_taken_alone():
    explorer = Explorer(TASK)
    for together in (True, False):
        belief = explorer.refine(Start(True, 0.1, together=together))[1]
        model = explorer.model(Start(True, 0.1, together=together), belief)
        assert model.one_right is explorer.views(together).one_right is together
        others = belief[~np.eye(3, dtype=bool)[TASK.data.action]]
        assert np.all(others == 0) != together


def test_a_model_is_that_of_the_views_with_the_ridge_and_directions_of_its_start():
    explorer = Explorer(TASK)
    for start in (Start(True, 0.1), Start(False, 0.3, together=False)):
        views = explorer.views(start.together)
        belief = views.completed(1 / 3 + 0.1 * TOLD.reward)
        expected = views.model(belief, ridge=start.ridge, shared=start.shared)
        for found, each in zip(explorer.model(start, belief), expected, strict=True):
            np.testing.assert_array_equal(found, each)


def test_known_rates_are_those_of_known_trials_alone():
    known = np.arange(600) % 2 == 0
    rewards = []
    for rate in (0.1, 0.9):
        data = TASK.data._replace(catch=known)
        views = Explorer(TASK._replace(rate=np.full(600, rate), data=data)).views(True)
        guess = views.completed(1 / 3 + 0.1 * TOLD.reward)
        belief, _ = views.fit(guess, ridge=0.1, shared=True, steps=1)
        rewards.append(belief[np.arange(600), TASK.data.action])
    low, high = rewards
    np.testing.assert_array_equal(low[~known], high[~known])
    assert (low[known] < high[known]).all()


@pytest.mark.parametrize("better", ["few", "many"])
def test_of_what_few_and_many_steps_reach_the_better_counts(better, monkeypatch):
    explorer = Explorer(TASK)
    views, guess = explorer.views(True), explorer.first_guess(USUAL[0])
    reached = {
        name: views.fit(views.completed(guess), ridge=0.1, shared=True, steps=steps)
        for name, steps in {"few": FEW_STEPS, "many": 5}.items()
    }
    worths = iter([1.0, 0.0] if better == "few" else [0.0, 1.0])
    monkeypatch.setattr(search, "worth", lambda evidence, task: next(worths))
    value, belief, evidence = explorer.refine(USUAL[0], steps=5)
    assert value == 1
    np.testing.assert_array_equal(belief, reached[better][0])
    np.testing.assert_array_equal(evidence.feedback, reached[better][1].feedback)
    assert not np.array_equal(reached["few"][0], reached["many"][0])


def test_a_guess_takes_the_place_of_the_starts_own():
    explorer = Explorer(TASK)
    nowhere = Start(True, 0.1, place=5)
    lost, found = (
        explorer.refine(nowhere, guess, FINAL_STEPS)[0] for guess in (None, 1.0 * TOLD.reward)
    )
    assert found > 0.3 > lost


def test_starts_of_tasks_where_several_may_be_right_are_apart_and_not_repeated():
    assert TASK.starts(USUAL) == list(USUAL)
    several = TASK._replace(one_right=False).starts(USUAL)
    assert not any(start.together for start in several)
    # the last two differ from the first and the third by that alone
    assert several == [start._replace(together=False) for start in USUAL[:4]]


def weighted(one_right):
    """Return the task with trials that count unequally."""
    weight = np.random.default_rng(1).uniform(0.2, 2, 600)
    return TASK._replace(weight=weight, one_right=one_right)


@pytest.mark.parametrize("one_right", [True, False])
@pytest.mark.parametrize("how", [{}, {"cleaned": False}, {"place": 1}])
def test_a_shared_first_guess_takes_scores_of_all_trials_apart(one_right, how):
    task = weighted(one_right)
    found = CrossCovariance(task.data, one_right).directions(0.3, shared=True, **how)
    score = less_means(task.data.feedback, task.data.action) @ found[1][0]
    expected = break_symmetry(score, task.rate, task.weight).reward
    np.testing.assert_allclose(Explorer(task).first_guess(Start(True, 0.3, **how)), expected)


@pytest.mark.parametrize("one_right", [True, False])
def test_another_first_guess_takes_refined_scores_of_each_action_apart(one_right):
    task = weighted(one_right)
    guess = Explorer(task).first_guess(Start(False, 0.1))
    found = CrossCovariance(task.data, one_right).directions(0.1, shared=False)
    feedback = less_means(task.data.feedback, task.data.action)
    for action in range(3):
        mine = task.data.action == action
        views = task.data.context[mine], feedback[mine]
        start = [_steep(each[action], view) for each, view in zip(found, views, strict=True)]
        score = views[1] @ refine(np.concatenate(start), *views)[len(start[0]) : -1]
        expected = break_symmetry(score, task.rate[mine], task.weight[mine]).reward
        np.testing.assert_allclose(guess[mine], expected)


def test_a_first_guess_leaves_the_expected_rate_where_nothing_varies():
    still = TASK._replace(data=TASK.data._replace(feedback=np.zeros_like(TASK.data.feedback)))
    for start in (*USUAL, *FURTHER):
        np.testing.assert_array_equal(Explorer(still).first_guess(start), still.rate)


def test_the_mirrored_start_takes_the_other_cluster_for_the_reward():
    explorer = Explorer(TASK)
    guess, mirrored = (
        explorer.first_guess(Start(True, 0.1, mirrored=each)) for each in (False, True)
    )
    assert np.corrcoef(guess, mirrored)[0, 1] < 0


def test_worth_is_net_information_less_what_is_upside_down():
    rng, task = np.random.default_rng(0), weighted(True)
    context = rng.dirichlet(np.ones(3), size=600)
    for ratio in (rng.standard_normal(600) - 1, rng.standard_normal(600) + 1):
        evidence = Evidence(context, ratio)
        upright = np.mean(task.weight * orientation(evidence, task.rate))
        expected = net_information(evidence, task.data) + min(upright, 0)
        assert worth(evidence, task) == pytest.approx(expected)
    assert upright < 0


def test_what_is_said_of_a_fold_does_not_depend_on_it():
    evidence, _ = unseen(TASK, USUAL[0], USUAL, np.inf)
    mine = TASK.fold == 3
    rng = np.random.default_rng(0)
    shuffled = np.arange(600)
    shuffled[mine] = rng.permutation(shuffled[mine])
    # the fold's contexts no longer go with its feedback
    data = TASK.data._replace(context=TASK.data.context[shuffled])
    again, _ = unseen(TASK._replace(data=data), USUAL[0], USUAL, np.inf)
    np.testing.assert_array_equal(again.feedback[mine], evidence.feedback[mine])
    np.testing.assert_array_equal(again.context[mine], evidence.context[shuffled][mine])
    assert not np.array_equal(again.feedback[~mine], evidence.feedback[~mine])


@pytest.mark.parametrize("one_right", [True, False])
def test_what_is_found_is_the_reward(one_right):
    found = discover(TASK._replace(one_right=one_right))
    assert np.mean((of_action(found.belief, TASK.data.action) > 0.5) == TOLD.reward) > 0.95
    held_out = found.held_out.reward(TASK.data.action)
    assert np.mean((held_out > 0.5) == TOLD.reward) > 0.95
    assert np.mean((found.odds > 0) == TOLD.reward) > 0.93
    assert [len(each.odds) for each in found.folds] == [480] * 5


def test_searches_are_those_behind_what_is_said_of_each_fold():
    evidence, searches = unseen(TASK, USUAL[1], (), -np.inf)
    for fold, (model, odds) in enumerate(searches):
        out, others = (np.flatnonzero(each) for each in (TASK.fold == fold, TASK.fold != fold))
        scores = model.context_scores(TASK.data.context[out])
        np.testing.assert_array_equal(evidence.context[out], model.probable(scores))
        said = model.feedback_evidence(TASK.data.feedback[out], ACTION[out])
        np.testing.assert_array_equal(evidence.feedback[out], said)
        # what each fold that was seen has by the others of them
        inner = Explorer(TASK.rows(others)).refine(USUAL[1])[2]
        np.testing.assert_array_equal(odds, inner.feedback)
        assert np.mean((odds > 0) == TOLD.reward[others]) > 0.93


def test_the_search_of_another_start_takes_the_place_of_one_that_leads_nowhere():
    searches = unseen(TASK, NOWHERE, (USUAL[0],), 1.0)[1]
    expected = unseen(TASK, USUAL[0], (), -np.inf)[1]
    for found, each in zip(searches, expected, strict=True):
        np.testing.assert_array_equal(found.odds, each.odds)
        np.testing.assert_array_equal(found.model.feedback_weights, each.model.feedback_weights)


NOWHERE = Start(True, 0.1, place=5)


def decoded(evidence):
    """Return how often feedback is decoded rightly."""
    return np.mean((evidence.feedback > 0) == TOLD.reward)


def test_another_start_replaces_one_that_leads_nowhere_in_a_fold():
    assert decoded(unseen(TASK, NOWHERE, (), 1.0)[0]) < 0.8
    assert decoded(unseen(TASK, NOWHERE, (NOWHERE, USUAL[0]), 1.0)[0]) > 0.95
    # where nothing is expected, nothing else is tried
    assert decoded(unseen(TASK, NOWHERE, (USUAL[0],), -1.0)[0]) < 0.8


def test_a_start_that_reaches_half_of_what_is_expected_is_kept(monkeypatch):
    tried = []

    class Counted(Explorer):
        def refine(self, start, *rest):
            tried.append(start)
            return 0.2, *super().refine(start, *rest)[1:]

    monkeypatch.setattr(search, "Explorer", Counted)
    unseen(TASK, USUAL[0], USUAL, 0.4)
    assert tried == [USUAL[0]] * 5
    tried.clear()
    unseen(TASK, USUAL[1], USUAL[:3], 0.41)
    assert tried == [USUAL[1], USUAL[0], USUAL[2]] * 5


@pytest.mark.parametrize("start", [NOWHERE, USUAL[0]])
def test_the_last_climb_begins_with_the_better_of_the_start_and_what_folds_agreed_on(
    start, monkeypatch
):
    # either the start leads nowhere, or the folds tell nothing
    sure = 1.0 if start == NOWHERE else 0.0
    agreed = Evidence(np.full((600, 3), 1 / 3), sure * np.where(TOLD.reward, 5.0, -5.0))
    monkeypatch.setattr(search, "USUAL", (start,))
    monkeypatch.setattr(search, "FURTHER", ())
    monkeypatch.setattr(search, "FINAL_STEPS", 3)
    monkeypatch.setattr(search, "unseen", lambda *_: (agreed, []))
    found = discover(TASK)
    assert found.start == start
    assert np.mean(found.belief.argmax(axis=1) == TOLD.right.argmax(axis=1)) > 0.95
    explorer = Explorer(TASK)
    best = max(
        (explorer.refine(start, each, 3) for each in (None, agreed.reward(ACTION))),
        key=lambda result: result[0],
    )
    np.testing.assert_array_equal(found.belief, best[1])
    np.testing.assert_array_equal(found.odds, best[2].feedback)


@pytest.mark.parametrize("better", [USUAL[2], FURTHER[1]])
def test_the_start_is_the_one_that_is_worth_most_on_unseen_runs(better, monkeypatch):
    nothing = Evidence(np.full((600, 3), 1 / 3), np.zeros(600))
    told = nothing._replace(feedback=np.where(TOLD.reward, 5.0, -5.0))
    monkeypatch.setattr(
        search, "unseen", lambda task, start, *_: (told if start == better else nothing, [start])
    )
    # between hopeless and convincing: all starts are tried
    monkeypatch.setattr(search, "worth", lambda evidence, task: 0.05 + 0.01 * (evidence is told))
    found = discover(TASK)
    assert found.start == better
    assert found.held_out is told
    # and the searches are those behind it
    assert found.folds == [better]


def test_only_the_first_start_is_given_a_second_chance_and_the_best_comes_first(monkeypatch):
    seen = []

    def counted(task, start, others, expected):
        seen.append((start, tuple(others), expected))
        return unseen(task, start, (), expected)

    monkeypatch.setattr(search, "unseen", counted)
    monkeypatch.setattr(search, "CONVINCING", np.inf)
    monkeypatch.setattr(search, "CONVINCING_SHARE", np.inf)
    discover(TASK)
    explorer = Explorer(TASK)
    worths = {start: explorer.refine(start, None, MANY_STEPS)[0] for start in USUAL}
    ranked = tuple(sorted(USUAL, key=worths.get, reverse=True))
    assert [start for start, _, _ in seen] == [*ranked, *FURTHER]
    assert [others for _, others, _ in seen] == [ranked] + [()] * (len(seen) - 1)
    assert {expected for _, _, expected in seen} == {worths[ranked[0]]}


@pytest.mark.parametrize(
    ("law", "fewest", "most"),
    [({}, 1, 1), ({"strength": 0, "trials": 300}, 1, 1), ({"strength": 1.0}, 2, 9)],
    ids=["convincing", "hopeless", "in between"],
)
def test_further_starts_are_tried_only_where_they_may_help(law, fewest, most, monkeypatch):
    tried = []

    def counted(task, start, others, expected):
        tried.append(start)
        return unseen(task, start, others, expected)

    monkeypatch.setattr(search, "unseen", counted)
    discover(task_of(session(1, runs=5, **law)))
    assert fewest <= len(tried) <= most
    assert len(set(tried)) == len(tried)


@pytest.mark.parametrize(
    ("n_actions", "enough"),
    # all that a reward of one action in K can tell is 0.693, 0.637, 0.325 and 0.146 nats
    [(2, 0.1), (3, 0.1), (10, 0.16 * 0.32508), (30, 0.16 * 0.14614)],
)
def test_of_rare_rewards_a_share_of_what_they_could_tell_is_enough(n_actions, enough, monkeypatch):
    task = task_of(session(n_actions=n_actions, runs=5, features=30, trials=60, distance=1.0))
    task = task._replace(data=task.data._replace(n_actions=n_actions))
    nothing = Evidence(np.full((60, n_actions), 1 / n_actions), np.zeros(60))
    for value, count in ((1.01 * enough, 1), (0.99 * enough, len(USUAL) + len(FURTHER))):
        tried = []

        def told(task, start, *_, tried=tried):
            tried.append(start)
            return nothing, []

        monkeypatch.setattr(search, "unseen", told)
        monkeypatch.setattr(search, "worth", lambda *_, value=value: value)
        discover(task)
        assert len(tried) == count


@pytest.mark.parametrize("most", [600, 10_000])
def test_a_task_of_no_more_trials_than_are_searched_is_searched_as_it_is(most, monkeypatch):
    assert TASK.fewer() is TASK
    monkeypatch.setattr(search, "MOST_SEARCHED", most)
    assert TASK.fewer() is TASK


def test_of_more_trials_the_first_of_each_fold_are_searched(monkeypatch):
    uneven = TASK.rows(np.flatnonzero((TASK.fold != 1) | (np.arange(600) % 3 == 0)))
    assert np.bincount(uneven.fold).tolist() == [120, 40, 120, 120, 120]
    for most, expected in ((260, [60, 20, 60, 60, 60]), (100, [23, 7, 23, 23, 23])):
        monkeypatch.setattr(search, "MOST_SEARCHED", most)
        part = uneven.fewer()
        assert np.bincount(part.fold).tolist() == expected
        for fold, count in enumerate(expected):
            first = np.flatnonzero(uneven.fold == fold)[:count]
            rows = uneven.data.context[first]
            np.testing.assert_array_equal(part.data.context[part.fold == fold], rows)


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
