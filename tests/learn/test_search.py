"""Reward discovery: what is planted is found, what is not there is not."""

from functools import cache

import numpy as np
import pytest
from interactions import interactions, planted, session

from bciigl.learn import SupervisedCeiling, search
from bciigl.learn.evidence import Evidence, contrast_t, information, rate_misfit
from bciigl.learn.interactions import Scalings, folds, less_means, of_action, prepare
from bciigl.learn.search import Family, Search, Task, discover, expectation, without_leak


def task_of(data, one_right=True, **known):
    """Return the search of interactions whose match rate is known as that of uniform guesses."""
    scalings = Scalings.of(data)
    units = tuple(np.where(np.isfinite(each.scale), each.scale, 0.0) for each in scalings)
    uniform = np.full(data.n_actions, 1 / data.n_actions)
    rates = expectation(data, **{"uniform": uniform, "catch": uniform, **known})
    return Task(scalings.apply(data), folds(data.run), *rates, one_right, units)


def of_session(told, one_right=True):
    return task_of(prepare(*told.seen, run=told.run, n_actions=told.right.shape[1]), one_right)


@cache
def found_in(seed=0, **law):
    """Return planted interactions, their task and what is found in it; not to be changed."""
    told = planted(seed, **law)
    task = task_of(told.data)
    return told, task, discover(task)


def chosen(found, context, scaling):
    return found.model.context_scores(scaling.apply(context)).argmax(axis=1)


def fresh(told, trials=1000):
    """Return new contexts of the same person, and the options imagined."""
    rng = np.random.default_rng(99)
    actions, features = told.patterns.shape
    option = rng.integers(actions, size=trials)
    return told.patterns[option] + rng.standard_normal((trials, features)), option


def shares_of_the_ceiling(law, seeds):
    """Return the accuracy over that of a classifier with all labels, on fresh contexts."""
    shares = []
    for seed in range(seeds):
        told, _, found = found_in(seed, **law)
        context, option = fresh(told)
        scaling = Scalings.of(told.data).context
        ceiling = SupervisedCeiling().fit(
            told.data.context, told.right.argmax(axis=1), run=told.data.run
        )
        right = chosen(found, context, scaling) == option
        shares.append(right.mean() / np.mean(ceiling.predict(context) == option))
    return np.array(shares)


# 138 trials are three runs; 64 features of which noise has as much as in a real brain's contexts: a
# classifier with all labels is right in 80 to 90 %.
@pytest.mark.parametrize(
    "law",
    [
        {},
        {"n_actions": 5, "imagined": 3.0, "judged": 4.5},
        # seeing an option may be like imagining it, unlike it, or the opposite
        {"alike": 0.9},
        {"alike": -0.9},
        # guesses become better from run to run, which propensities tell
        {"trials": 276, "learned": 0.8},
    ],
    ids=["three", "five", "alike", "opposite", "adaptive"],
)
def test_no_labels_are_needed_to_come_near_the_ceiling(law):
    shares = shares_of_the_ceiling(law, 2)
    # 1000 contexts have a standard error of 1 %, and rewards are told with errors
    assert shares.mean() > 0.95
    assert shares.min() > 0.9


def t_of(evidence, data):
    told = information(evidence, data)
    return np.sqrt(len(told)) * told.mean() / told.std()


@pytest.mark.parametrize("law", [{"imagined": 0.0, "judged": 0.0}, {"judged": 0.0}])
@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 12), marks=pytest.mark.slow)])
def test_nothing_is_told_of_unseen_trials_where_there_is_nothing(law, seeds):
    for seed in seeds:
        task = task_of(planted(seed, **law).data)
        # of twelve, none is beyond 3 by chance
        assert t_of(discover(task).unseen, task.data) < 3


def test_planted_rewards_are_told_of_unseen_trials():
    for seed in range(3):
        told, task, found = found_in(seed)
        evidence = found.unseen
        assert t_of(evidence, task.data) > 3
        # match and mismatch are 3.3 SDs apart: 5 % errors are unavoidable where all is known
        right = (evidence.reward(task.data.action) > 0.5) == told.reward
        assert right.mean() > 0.85


def shuffled_within(task, fold):
    """Return the task with the contexts of a fold in another order."""
    context, out = task.data.context.copy(), np.flatnonzero(task.fold == fold)
    context[out] = context[np.random.default_rng(0).permutation(out)]
    return task._replace(data=task.data._replace(context=context))


@pytest.mark.parametrize("one_right", [True, False])
def test_a_model_without_a_fold_does_not_depend_on_it(one_right):
    told = planted(0)
    task = task_of(told.data, one_right)
    other = shuffled_within(task, 2)
    rest = task.fold != 2
    belief = discover(task).belief
    # nothing that is believed of the fold matters, either
    doubt = np.where(rest[:, None], belief, belief[::-1])
    family = Family(one_right=one_right)
    first = Search(task, family).without(2, belief)
    second = Search(other, family).without(2, doubt)
    for one, another in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, another)
    third = Search(other, family).without(3, belief)
    assert not np.allclose(first.context_weights, third.context_weights)


def test_of_a_fold_whose_contexts_go_with_nothing_nothing_is_told():
    for seed in range(2):
        task = shuffled_within(task_of(planted(seed, trials=276).data), 2)
        unseen, out = discover(task).unseen, np.flatnonzero(task.fold == 2)
        rest = np.flatnonzero(task.fold != 2)
        # of two, none is beyond 3 by chance
        assert t_of(unseen.rows(out), task.data.rows(out)) < 3
        assert t_of(unseen.rows(rest), task.data.rows(rest)) > 3


def test_unseen_evidence_is_that_of_the_models_without_the_fold():
    _, task, found = found_in(0)
    data = found.search.centred()
    assert len(found.without) == 5
    for fold, model in enumerate(found.without):
        out = np.flatnonzero(task.fold == fold)
        scores = model.context_scores(data.context[out])
        np.testing.assert_array_equal(found.unseen.context[out], model.probable(scores))
        odds = model.feedback_evidence(data.feedback[out], data.action[out])
        np.testing.assert_array_equal(found.unseen.feedback[out], odds)


@pytest.mark.parametrize("one_right", [True, False])
def test_clear_rewards_are_found(one_right):
    told = session(runs=5)
    task = of_session(told, one_right)
    found = discover(task)
    assert found.model.one_right is one_right
    for reward in (
        of_action(found.belief, task.data.action),
        found.judged.reward(task.data.action),
        found.unseen.reward(task.data.action),
    ):
        # 4 SDs between match and mismatch: 2.3 % errors are unavoidable
        assert np.mean((reward > 0.5) == told.reward) > 0.95


@pytest.mark.parametrize("one_right", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_match_is_not_taken_for_mismatch(one_right, seed):
    told = session(seed, several=not one_right, trials=900)
    found = discover(of_session(told, one_right))
    assert np.corrcoef(of_action(found.belief, told.action), told.reward)[0, 1] > 0.8
    # and the mirror image is clearly worse
    assert found.mirrored_t() > 3


@pytest.mark.parametrize("exact", ["reward", "action and reward"])
def test_exact_feedback_is_found(exact):
    told = planted(0, n_actions=5, trials=300)
    columns = [1.0 * told.reward]
    if exact == "action and reward":
        columns.append(1.0 * told.data.action)
    task = task_of(told.data._replace(feedback=np.column_stack(columns)))
    found = discover(task)
    assert ((of_action(found.belief, task.data.action) > 0.5) == told.reward).all()
    assert all(np.isfinite(each).all() for each in found.model[:4])


@pytest.mark.parametrize("match_rate", [0.8, 0.2])
def test_catch_trials_tell_match_from_mismatch_of_two_options(match_rate):
    catch = np.arange(600) % 3 == 0
    for seed in range(3):
        told = session(seed, n_actions=2, catch=catch, match_rate=match_rate)
        data = prepare(*told.seen, run=told.run, catch=catch)
        found = discover(task_of(data, catch=np.full(2, match_rate)))
        assert np.mean((of_action(found.belief, data.action) > 0.5) == told.reward) > 0.95


def finite(found):
    parts = found.belief, *found.judged, *found.unseen, *found.model[:4], found.mirrored_t()
    return all(np.isfinite(each).all() for each in parts)


def rare(data, count):
    """Return interactions without action 2 but for the first few."""
    kept = np.append(np.flatnonzero(data.action != 2), np.flatnonzero(data.action == 2)[:count])
    return data.rows(np.sort(kept))


def constant(data):
    context = data.context.copy()
    context[:, :3] = 0.1
    return data._replace(context=context, feedback=np.column_stack([data.feedback, np.ones(138)]))


ODD = {
    "never taken": lambda data: rare(data, 0),
    "taken once": lambda data: rare(data, 1),
    "features that do not vary": constant,
    "10 trials": lambda data: data.rows(np.arange(10)),
    "no feedback": lambda data: data._replace(feedback=np.zeros((138, 2))),
    "no context": lambda data: data._replace(context=np.zeros((138, 2))),
    "runs of one trial": lambda data: data._replace(run=np.arange(138)),
    "one run": lambda data: data._replace(run=np.zeros(138, int)),
    "one feature": lambda data: data._replace(context=data.context[:, :1]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("odd", "one_right"), [*((each, True) for each in ODD), ("taken once", False)]
)
def test_odd_interactions_are_borne(odd, one_right):
    assert finite(discover(task_of(ODD[odd](planted(0, features=8).data), one_right)))


def test_a_hundred_actions_are_borne():
    assert finite(discover(task_of(interactions(200, 100, seed=1))))


def test_an_action_never_taken_does_not_spoil_the_others():
    for seed in range(2):
        told = planted(seed, trials=276)
        kept = np.flatnonzero(told.data.action != 2)
        task = task_of(told.data.rows(kept))
        found = discover(task)
        right = (of_action(found.belief, task.data.action) > 0.5) == told.reward[kept]
        assert right.mean() > 0.85


def test_features_and_their_units_do_not_matter_where_they_are_given():
    told, _, first = found_in(0)
    scale = np.exp(np.random.default_rng(0).uniform(-2, 2, 64))
    moved = told.data._replace(context=told.data.context * 1e6 + 3)
    second = discover(task_of(moved))
    np.testing.assert_allclose(first.belief, second.belief, atol=1e-6)
    # units of single features are a matter of a covariance that has to be learned
    uneven = told.data._replace(feedback=told.data.feedback * scale)
    right = (of_action(discover(task_of(uneven)).belief, told.data.action) > 0.5) == told.reward
    assert right.mean() > 0.8


def test_how_alike_imagining_and_seeing_are():
    # patterns of 64 features have 1/8 in common by chance, more than noise would have
    laws = ({"alike": 0.9}, 4, np.inf), ({}, -4, 4), ({"alike": -0.9}, -np.inf, -4)
    for law, least, most in laws:
        *_, found = found_in(0, **law)
        assert least < found.search.resemblance_t(found.unseen) < most
        # whatever they are alike, no other option is more alike: 4 SDs of chance would be
        assert 0 <= found.search.resemblance(found.belief)[1] < 4


def test_other_features_cannot_be_compared():
    data = planted(0).data
    found = discover(task_of(data._replace(feedback=data.feedback[:, :20])))
    assert found.search.resemblance_t(found.unseen) == 0
    assert found.search.resemblance(found.belief) == (0, 0)


def test_options_taken_for_others_are_confused():
    for seed in range(4):
        told = planted(seed, alike=0.9)
        search = Search(task_of(told.data), Family())
        right, others = 1.0 * told.right, 1.0 * np.roll(told.right, 1, axis=1)
        # seen and imagined patterns of 64 features have 0.9 in common: 10 SDs of chance
        assert search.resemblance(right)[1] == 0
        assert search.resemblance(others)[1] > 4


def test_means_are_learned_from_what_was_seen_as_far_as_it_is_alike():
    strengths = {}
    for alike in (1.0, 0.5, 0.0, -0.9):
        told = planted(0, alike=alike)
        found = Search(task_of(told.data), Family()).normalised_by(1.0 * told.right)
        strengths[alike] = found.mixture.shrinkage * np.any(found.mixture.prior)
    # the more alike, the more trials it counts for; without a resemblance nothing is taken
    assert strengths[1.0] >= strengths[0.5] > 0
    assert strengths[1.0] > 10
    assert strengths[0.0] == strengths[-0.9] == 0


def test_what_is_told_is_less_where_rates_do_not_fit():
    _, task, found = found_in(0)
    for rate in (task.rate, 1 - task.rate):
        told = Search(task._replace(rate=rate), Family()).told(found.judged)
        misfit = rate_misfit(found.judged, rate, task.weight)
        expected = information(found.judged, task.data).sum() - search.WRONG_RATE * misfit
        assert told.sum() == pytest.approx(expected)


def test_contexts_that_resemble_what_is_seen_are_the_more_likely_if_recorded():
    told = planted(0, n_actions=2, alike=0.9)
    task = task_of(told.data)
    recorded, given = (Search(task._replace(recorded=each), Family()) for each in (True, False))
    right, wrong = 1.0 * told.right, 1.0 * ~told.right
    same = recorded.mixture.fit(right, 1)[1]
    # of two options, nothing else tells match from mismatch
    more = recorded.likelihood(right, same) - recorded.likelihood(wrong, same)
    assert more == pytest.approx(search.CONTRARY)
    assert given.likelihood(right, same) == given.likelihood(wrong, same)


def contrast_of(task, belief):
    """Return the contrast of what models without a fold say about it, from some belief."""
    search, data = Search(task, Family()), task.data
    unseen = Evidence(np.empty((data.trials, data.n_actions)), np.empty(data.trials))
    for fold in np.unique(task.fold):
        model, out = search.without(fold, belief), task.fold == fold
        unseen.context[out] = model.probable(model.context_scores(data.context[out]))
        unseen.feedback[out] = model.feedback_evidence(data.feedback[out], data.action[out])
    return contrast_t(unseen, data, task.fold)


@pytest.mark.slow
def test_noise_has_no_contrast_on_unseen_folds():
    chance, chosen_by_all = [], []
    for seed in range(20):
        task = task_of(planted(seed, imagined=0.0, judged=0.0).data)
        chance.append(contrast_of(task, np.random.default_rng(seed).random((138, 3))))
        found = discover(task)
        chosen_by_all.append(contrast_t(found.unseen, task.data, task.fold))
    # trials of a fold share a model, so SDs are up to 1.7: three standard errors of a mean of 20
    assert abs(np.mean(chance)) < 1.1
    # all trials have chosen which of seven starts it is, which makes 0.7 of it
    assert abs(np.mean(chosen_by_all) - 0.7) < 0.9


def test_a_task_of_no_more_trials_than_are_searched_is_searched_as_it_is(monkeypatch):
    task = task_of(planted(0).data)
    for most in (138, 10_000):
        monkeypatch.setattr(search, "MOST_SEARCHED", most)
        assert task.fewer() is task


def test_of_more_trials_some_are_searched_evenly_spaced(monkeypatch):
    task = of_session(session(runs=5))
    for most in (100, 260, 599):
        monkeypatch.setattr(search, "MOST_SEARCHED", most)
        part = task.fewer()
        assert part.data.trials == most
        # none twice, from the first to the last, and of all runs alike
        places = [np.flatnonzero((task.data.context == each).all(1)) for each in part.data.context]
        places = np.concatenate(places)
        assert (places[0], places[-1]) == (0, 599)
        steps = np.diff(places)
        assert steps.min() >= 1
        assert np.ptp(steps) <= 1
        assert np.ptp(np.bincount(part.data.run)) <= 1
        np.testing.assert_array_equal(part.fold, task.fold[places])


def test_rows_of_a_task_are_rows_of_all_its_arrays():
    task = task_of(planted(0).data)
    part = task.rows(np.array([5, 2]))
    for name in ("context", "action", "feedback", "run"):
        rows = getattr(task.data, name)[[5, 2]]
        np.testing.assert_array_equal(getattr(part.data, name), rows)
    assert part.fold.tolist() == task.fold[[5, 2]].tolist()
    assert (part.one_right, part.units) == (task.one_right, task.units)


def test_only_trials_of_known_match_rate_tell_match_from_mismatch():
    uniform = np.arange(120) < 60
    data = interactions(120, 3, action=np.arange(120) % 3, uniform=uniform)
    rate, weight = expectation(data, np.array([0.3, 0.3, 0.4]), np.full(3, np.nan))
    assert rate[:3].tolist() == [0.3, 0.3, 0.4]
    assert set(rate[60:]) == {0.5}
    assert set(weight) == {1.0}


def test_all_trials_count_by_importance_where_few_are_known():
    importance = np.random.default_rng(0).uniform(0.5, 1.5, 120)
    few = np.arange(120) < 57  # 19 of each action: one too few
    data = interactions(120, 3, action=np.arange(120) % 3, uniform=few, weight=importance)
    rate, weight = expectation(data, np.full(3, 1 / 3), np.full(3, np.nan))
    assert set(rate) == {1 / 3}
    np.testing.assert_array_equal(weight, importance)


def test_catch_trials_have_a_rate_of_their_own():
    catch = np.arange(60) % 2 == 0
    data = interactions(60, 2, action=np.arange(60) // 2 % 2, catch=catch)
    rate, _ = expectation(data, np.full(2, 0.5), np.array([0.8, 0.9]))
    assert rate[:4].tolist() == [0.8, 0.5, 0.9, 0.5]


def leaking(leak, seed=0, **law):
    """Return planted interactions in two features of which both views share noise."""
    told = planted(seed, **{"trials": 600, "features": 8, **law})
    shared = leak * np.random.default_rng([seed, 8]).standard_normal((len(told.reward), 2))
    told.data.context[:, :2] += shared
    told.data.feedback[:, 3:5] += shared
    return told


def in_common(task):
    """Return the largest correlation of a context's with a feedback's feature, given the action."""
    views = task.data.context, less_means(task.data.feedback, task.data.action)
    left, right = (each / each.std(axis=0) for each in views)
    return np.abs(left.T @ right / task.data.trials).max()


def test_a_leak_is_taken_out_and_the_reward_is_not():
    told = leaking(3.0)
    task = task_of(told.data)
    clean = without_leak(task)
    # nine tenths of the variance are shared
    assert in_common(task) > 0.8
    assert in_common(clean) < 0.2
    # contexts and what tells the actions apart are as they were
    np.testing.assert_array_equal(clean.data.context, task.data.context)
    for before, after in zip(task.data.feedback.T, clean.data.feedback.T, strict=True):
        np.testing.assert_allclose(task.data.means(after), task.data.means(before), atol=0.2)
    # and the reward shows as much as before: 3.3 SDs of what is left
    found = discover(task)
    right = (of_action(found.belief, task.data.action) > 0.5) == told.reward
    assert right.mean() > 0.9


def test_a_leak_of_strong_contexts_is_taken_out_completely():
    for seed in range(3):
        told = planted(seed, trials=600, features=16, imagined=3.0)
        turn = np.linalg.qr(np.random.default_rng([seed, 9]).standard_normal((16, 16)))[0]
        told.data.feedback[:] += told.data.context @ turn
        noise = (told.data.context - told.patterns[told.right.argmax(axis=1)]) @ turn
        task = task_of(told.data)
        before, after = (
            # given action and reward, nothing but the leak goes with the contexts' noise
            less_means(each.data.feedback, 2 * told.data.action + told.reward)
            for each in (task, without_leak(task))
        )
        before, after = (np.corrcoef(noise.T, each.T)[:16, 16:] for each in (before, after))
        assert np.abs(before).max() > 0.6
        # of 256 correlations of 600 trials, four standard errors
        assert np.abs(after).max() < 4 / np.sqrt(600)


def test_where_nothing_leaks_nothing_is_taken_out():
    # the reward itself, which both views tell of, is no leak
    for seed in range(5):
        task = task_of(leaking(0.0, seed, imagined=4.0, judged=4.0).data)
        assert without_leak(task) is task


def test_where_several_may_be_right_or_nothing_was_recorded_no_leak_is_sought():
    task = task_of(leaking(3.0).data)
    for other in (task._replace(one_right=False), task._replace(recorded=False)):
        assert discover(other).search.task is other


def test_a_mirror_image_has_the_opposite_rewards():
    told = planted(0, imagined=4.0, judged=5.0)
    search = discover(task_of(told.data)).search
    belief = search.mixture.completed(1.0 * told.reward)
    turned, _ = search.mirrored(search.mixture.fit(belief, 5)[0])
    before, after = (of_action(each, told.data.action) for each in (belief, turned))
    assert np.corrcoef(before, after)[0, 1] < -0.5


@pytest.mark.parametrize("learned", [0.0, 0.8])
def test_runs_are_centred_without_the_reward(learned):
    told = planted(0, trials=552, runs=12, imagined=4.0, judged=5.0, learned=learned)
    task = task_of(told.data)
    data = discover(task).search.centred()
    left = less_means(data.feedback, 2 * data.action + told.reward)
    # what is left of each run's mean when the reward is known: of 46 trials, noise of 0.15 SD
    unit = left.std(axis=0)
    means = [left[data.run == run].mean(axis=0) / unit for run in range(12)]
    assert np.sqrt(np.mean(np.square(means))) < 0.2
