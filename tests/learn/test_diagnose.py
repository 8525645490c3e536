"""The numbers of a diagnosis: match rates, leaks, t statistics, verdicts."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from interactions import interactions
from scipy.stats import norm, ttest_1samp, ttest_ind

from bciigl.learn import ActionInclusiveIGL
from bciigl.learn.diagnose import (
    DOUBTFUL,
    ActionDiagnosis,
    Verdict,
    _difference,
    _t_over_runs,
    _verdicts,
    action_told,
    diagnosed,
    leaked,
    match_rate,
    too_few_trials,
)
from bciigl.learn.evidence import Evidence, information, orientation, placebo
from bciigl.learn.mixture import Model
from bciigl.learn.search import USUAL, Found, Task


def ratios(rate, trials, seed, distance=2.0):
    """Return log-likelihood ratios of a feedback that the reward moves by `distance`."""
    rng = np.random.default_rng(seed)
    reward = rng.random(trials) < rate
    value = distance * reward + rng.standard_normal(trials)
    return norm.logpdf(value, distance) - norm.logpdf(value, 0)


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("trials", [3, 200])
def test_match_rate_is_the_most_likely_on_a_grid(rate, weighted, trials):
    ratio = ratios(rate, trials, seed=1)
    weight = np.random.default_rng(2).uniform(0.5, 1.5, trials) if weighted else np.ones(trials)
    grid = np.linspace(0.0005, 0.9995, 1000)
    likelihood = [
        # a match and a mismatch more than there were
        weight @ np.log(each * np.exp(ratio) + 1 - each) + np.log(each) + np.log(1 - each)
        for each in grid
    ]
    # the grid is 0.001 wide, and so is about what 200 steps leave
    assert match_rate(ratio, weight)[0] == pytest.approx(grid[np.argmax(likelihood)], abs=2e-3)


def test_match_rate_and_standard_error_by_hand_where_rewards_are_certain():
    ratio = np.where(np.arange(100) < 30, 50.0, -50.0)
    rate, error = match_rate(ratio, np.ones(100))
    assert rate == pytest.approx(31 / 102)
    # log(rate) of 30 trials and log(1 - rate) of 70, twice differentiated
    assert error == pytest.approx((30 / rate**2 + 70 / (1 - rate) ** 2) ** -0.5)
    assert error == pytest.approx(np.sqrt(0.3 * 0.7 / 100), rel=0.02)


def test_standard_error_of_weighted_trials_is_the_sandwich():
    ratio, weight = ratios(0.3, 200, seed=1), np.random.default_rng(2).uniform(0.1, 3, 200)
    rate, error = match_rate(ratio, weight)
    slope = (np.exp(ratio) - 1) / (rate * np.exp(ratio) + 1 - rate)
    assert error == pytest.approx(np.sqrt(weight**2 @ slope**2) / (weight @ slope**2))
    # twice the weight is not twice the trials
    assert match_rate(ratio, 2 * weight)[1] == pytest.approx(error, rel=0.05)


def test_a_match_rate_is_never_surer_than_its_trials():
    # feedback that tells nothing: anything from 0 to 1
    assert match_rate(np.zeros(50), np.ones(50)) == (0.5, 0.5)
    assert match_rate(np.full(50, 1e-3), np.ones(50))[1] == 0.5
    # none of five: the rule of three allows for 45 %
    rate, error = match_rate(np.full(5, -50.0), np.ones(5))
    assert rate == pytest.approx(1 / 7)
    assert rate + 1.96 * error > 0.45
    rate, error = match_rate(np.full(5, 50.0), np.ones(5))
    assert rate - 1.96 * error < 0.55


def test_the_interval_covers_the_truth_as_often_as_it_says():
    covered = 0
    for seed in range(300):
        rate, error = match_rate(ratios(0.3, 150, seed), np.ones(150))
        covered += abs(rate - 0.3) < 1.96 * error
    # 95 % of 300 has a standard error of 1.3 %; three of them, and 1 % for few trials
    assert covered / 300 > 0.90


def task_and_found(leak, seed=0, trials=600, one_right=True):
    """Return a task whose rewards are believed as they are, and noise that both views share."""
    rng = np.random.default_rng(seed)
    option = rng.integers(3, size=trials)
    data = interactions(trials, seed=seed + 100)
    reward = option == data.action
    context, feedback = data.context.copy(), data.feedback.copy()
    context[:, :3] += 3 * np.eye(3)[option]
    feedback[:, 0] += 3 * reward
    shared = leak * rng.standard_normal(trials)
    context[:, 3] += shared
    feedback[:, 4] += shared
    data = data._replace(context=context, feedback=feedback)
    belief = np.eye(3)[option]
    if not one_right:
        belief = belief * np.eye(3)[data.action]
    nothing = Evidence(np.full((trials, 3), 1 / 3), np.zeros(trials))
    fold, rate = np.arange(trials) * 5 // trials, np.full(trials, 1 / 3)
    task = Task(data, fold, rate, np.ones(trials), one_right)
    model = Model(*[None] * 5, one_right)  # the leak needs to know no more of it
    return task, Found(model, belief, USUAL[0], nothing, nothing.feedback, [])


@pytest.mark.parametrize("one_right", [True, False])
def test_a_planted_leak_is_found(one_right):
    correlation, t = leaked(*task_and_found(1.0, one_right=one_right))
    # half of the variance of both features is the shared noise
    assert correlation == pytest.approx(0.5, abs=0.1)
    assert t == pytest.approx(correlation * np.sqrt(600))


@pytest.mark.parametrize("one_right", [True, False])
def test_without_a_leak_none_is_found(one_right):
    # the reward itself, which moves both views, is none
    found = [leaked(*task_and_found(0.0, seed, one_right=one_right))[1] for seed in range(10)]
    # t of two halves that sought for each other; 3 in none of ten is what chance does
    assert max(found) < 3


def test_too_few_trials_leave_a_leak_open():
    assert leaked(*task_and_found(1.0, trials=15)) == (0.0, 0.0)


def test_difference_is_welchs_t():
    rng = np.random.default_rng(0)
    values, chosen = rng.standard_normal(50), rng.random(50) < 0.3
    difference, t = _difference(values, chosen)
    assert difference == pytest.approx(values[chosen].mean() - values[~chosen].mean())
    assert t == pytest.approx(ttest_ind(values[chosen], values[~chosen], equal_var=False).statistic)
    assert _difference(values, np.zeros(50, bool)) == (0.0, 0.0)


def test_t_is_over_runs_if_they_suffice_and_over_trials_if_not():
    values = np.random.default_rng(0).standard_normal(60) + 0.3
    run = np.arange(60) // 10
    means = values.reshape(6, 10).mean(axis=1)
    assert _t_over_runs(values, run) == pytest.approx(ttest_1samp(means, 0).statistic)
    assert _t_over_runs(values, run // 3) == pytest.approx(ttest_1samp(values, 0).statistic)
    assert _t_over_runs(values[:1], run[:1]) == 0


def test_a_verdict_is_one_sentence_after_another():
    assert str(Verdict(DOUBTFUL, "it is dark.", "Wait.")) == "doubtful: it is dark. Wait."
    assert str(Verdict("trust", "all is well.", "")) == "trust: all is well."


def test_a_diagnosis_can_be_written_as_json():
    data = interactions(100)
    learner = ActionInclusiveIGL().fit(data.context, data.action, data.feedback, run=data.run)
    found = json.loads(json.dumps(learner.diagnose().as_dict(), allow_nan=False))
    assert found["verdict"] == learner.diagnose().verdict
    assert [each["action"] for each in found["actions"]] == [0, 1, 2]


GOOD = {
    "information": 0.5,
    "information_t": 20.0,
    "stability": 0.95,
    "chosen": 0.8,
    "leak": 0.0,
    "leak_t": 0.0,
    "guess_told": 0.0,
    "guess_told_t": 0.0,
}


def verdict_of(task, **numbers):
    """Return the verdict that the first of all reasons leads to."""
    return Verdict(*next(_verdicts(task, SimpleNamespace(**{**GOOD, **numbers}))))


def action_with(trials=200, wrong_flip=0.0):
    return ActionDiagnosis(1, trials, 4.0, 0.3, (0.2, 0.4), 0.2, wrong_flip)


@pytest.mark.parametrize(
    ("numbers", "of_action", "verdict", "words"),
    [
        ({}, {}, "trust", "0.50 nats a trial"),
        ({"information_t": 0.9}, {}, "do not use", "does not fit the feedback of runs"),
        ({"information_t": 1.0}, {}, "doubtful", "hardly fits the feedback"),
        ({"information_t": 2.9}, {}, "doubtful", "hardly fits the feedback"),
        ({"stability": 0.74}, {}, "doubtful", "in 74 % only (75 % is enough)."),
        ({"information_t": 3.0, "stability": 0.75}, {}, "trust", "in 75 % of them"),
        ({"guess_told_t": 4.1}, {}, "doubtful", "actions can be told from the contexts"),
        ({"guess_told_t": 3.9}, {}, "trust", ""),
        ({"chosen": 0.4, "leak": 0.9, "leak_t": 9.0}, {}, "doubtful", "(r = 0.90) more than the"),
        ({"chosen": 0.4, "leak": 0.9, "leak_t": 2.9}, {}, "trust", ""),
        ({"chosen": 0.4, "leak": 0.81, "leak_t": 9.0}, {}, "doubtful", "leak into the feedback"),
        ({"chosen": 0.4, "leak": 0.79, "leak_t": 9.0}, {}, "trust", ""),
        (
            {"chosen": 0.4, "leak": 0.9, "leak_t": 9.0, "stability": 0.7},
            {},
            "doubtful",
            "leak into",
        ),
        ({"chosen": -0.1, "leak": 0.1, "leak_t": 9.0}, {}, "doubtful", "leak into the feedback"),
        ({}, {"wrong_flip": 0.21}, "doubtful", "action 1 may be confused (probability 0.21)"),
        ({}, {"wrong_flip": 0.2}, "trust", ""),
        (
            {},
            {"trials": 19},
            "doubtful",
            "action 1 was taken in 19 trials only",
        ),
        ({}, {"trials": 20}, "trust", ""),
    ],
)
def test_every_doubt_has_its_words_and_a_remedy(numbers, of_action, verdict, words):
    actions = (ActionDiagnosis(0, 200, 4.0, 0.3, (0.2, 0.4), 0.2, 0.0), action_with(**of_action))
    task = task_and_found(0.0, trials=60)[0]
    found = verdict_of(task, **numbers, actions=actions)
    assert found.verdict == verdict
    assert words in found.reason
    assert bool(found.remedy) == (verdict != "trust")


@pytest.mark.parametrize("rate", [0.5, 0.491, 0.509])
def test_a_match_rate_of_one_half_is_never_trusted(rate):
    task = task_and_found(0.0, trials=60)[0]._replace(rate=np.full(60, rate))
    found = verdict_of(task, actions=(action_with(),))
    assert found.verdict == "doubtful"
    assert "catch trials" in found.remedy
    nothing = verdict_of(task, information_t=0.9, actions=(action_with(),))
    assert nothing.verdict == "do not use"
    assert "does not fit the feedback of runs" in nothing.reason


def test_one_known_rate_far_from_one_half_is_enough_to_tell():
    rate = np.where(np.arange(60) == 0, 0.52, 0.5)
    task = task_and_found(0.0, trials=60)[0]._replace(rate=rate)
    assert verdict_of(task, actions=(action_with(),)).verdict == "trust"


def test_few_trials_are_not_to_be_used():
    found = too_few_trials(interactions(9))
    assert found.verdict == "do not use"
    assert "9 trials are too few" in found.reason
    assert found.remedy


def test_numbers_of_a_diagnosis_by_hand():
    task, found = task_and_found(0.0, trials=60)
    data, rng = task.data, np.random.default_rng(3)
    held_out = Evidence(rng.dirichlet(np.ones(3), size=60), 5 * rng.standard_normal(60))
    weights = rng.standard_normal((4, 3))
    model = Model(weights, np.zeros(3), np.zeros((5, 3)), np.zeros(3), np.ones(3) / 3, True)
    task = task._replace(weight=rng.uniform(0.5, 1.5, 60))
    numbers = diagnosed(task, found._replace(model=model, held_out=held_out))
    assert numbers.information == pytest.approx(information(held_out, data).mean())
    assert numbers.placebo == pytest.approx(placebo(held_out, data).mean())
    choice = held_out.context.argmax(axis=1)
    assert numbers.stability == np.mean(choice == (data.context @ weights).argmax(axis=1))
    reward, same = 1 / (1 + np.exp(-held_out.feedback)), choice == data.action
    assert numbers.chosen == pytest.approx(reward[same].mean() - reward[~same].mean())
    upright = np.mean(task.weight * orientation(held_out, task.rate))
    assert numbers.upright == pytest.approx(upright)
    assert (numbers.leak, numbers.leak_t) == leaked(task, found)
    for action, each in enumerate(numbers.actions):
        mine = data.action == action
        rate, error = match_rate(held_out.feedback[mine], task.weight[mine])
        assert (each.action, each.trials, each.match_rate) == (action, mine.sum(), rate)
        interval = np.clip([rate - 1.96 * error, rate + 1.96 * error], 0, 1)
        assert each.interval == pytest.approx(tuple(interval))
        assert each.wrong_flip == pytest.approx(norm.cdf((rate - 0.5) / error))


@pytest.mark.parametrize(("expected", "flipped"), [(1 / 3, False), (0.8, True)])
def test_a_rate_on_the_wrong_side_of_one_half_is_a_flip(expected, flipped):
    task, found = task_and_found(0.0, trials=300)
    task = task._replace(rate=np.full(300, expected))
    # one trial in five is surely a match
    evidence = found.held_out._replace(feedback=np.where(np.arange(300) % 5 == 0, 9.0, -9.0))
    model = Model(np.zeros((4, 3)), *np.zeros((3, 1, 3)), np.ones(3) / 3, True)
    numbers = diagnosed(task, found._replace(model=model, held_out=evidence))
    for each in numbers.actions:
        assert each.match_rate == pytest.approx(0.2, abs=0.15)
        assert each.margin == 0.5 - each.match_rate
        assert (each.wrong_flip > 0.99) if flipped else (each.wrong_flip < 0.01)


def test_an_action_never_taken_has_an_empty_line():
    task, found = task_and_found(0.0, trials=60)
    task = task._replace(data=task.data._replace(action=np.arange(60) % 2))
    model = Model(np.zeros((4, 3)), *np.zeros((3, 1, 3)), np.ones(3) / 3, True)
    never = diagnosed(task, found._replace(model=model)).actions[2]
    assert never == ActionDiagnosis(2, 0, 0.0, 0.5, (0.0, 1.0), 0.0, 0.5)


def test_guesses_that_contexts_tell_are_told():
    task, _ = task_and_found(0.0)
    told, t = action_told(task.data, task.fold)
    # uniform guesses: 600 trials have a standard error of 0.02
    assert abs(told) < 0.06
    assert abs(t) < 3
    # now most guesses are what the context shows
    shown = task.data.context[:, :3].argmax(axis=1)
    data = task.data._replace(action=np.where(np.arange(600) % 3, shown, task.data.action))
    told, t = action_told(data, task.fold)
    assert told > 0.2
    assert t > 8


def test_guesses_of_another_policy_are_not_asked_for():
    task, _ = task_and_found(0.0)
    data = task.data._replace(uniform=np.zeros(600, bool))
    assert action_told(data, task.fold) == (0.0, 0.0)


def test_options_have_their_own_names():
    found = Verdict("doubtful", "match and mismatch of action 1 may be confused.", "Add more.")
    assert found.named(None) is found
    assert "of option 'right hand' may" in str(found.named(["rest", "right hand"]))
    assert "of option '7' may" in found.named((5, 7)).reason
    assert found.named(["one"]) == found
    few = too_few_trials(interactions(9)).named(["rest", "left"])
    assert "always chooses option 'rest'." in few.reason
