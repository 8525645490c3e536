"""The numbers of a diagnosis: match rates, leaks, t statistics, verdicts."""

import json

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
    _verdict,
    leaked,
    match_rate,
)
from bciigl.learn.evidence import Evidence
from bciigl.learn.search import USUAL, Found, Task


def ratios(rate, trials, seed, distance=2.0):
    """Return log-likelihood ratios of a feedback that the reward moves by `distance`."""
    rng = np.random.default_rng(seed)
    reward = rng.random(trials) < rate
    value = distance * reward + rng.standard_normal(trials)
    return norm.logpdf(value, distance) - norm.logpdf(value, 0)


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("weighted", [False, True])
def test_match_rate_is_the_most_likely_on_a_grid(rate, weighted):
    ratio = ratios(rate, 200, seed=1)
    weight = np.random.default_rng(2).uniform(0.5, 1.5, 200) if weighted else np.ones(200)
    grid = np.linspace(0.0005, 0.9995, 1000)
    likelihood = [weight @ np.log(each * np.exp(ratio) + 1 - each) for each in grid]
    # the grid is 0.001 wide, and so is about what 200 steps leave
    assert match_rate(ratio, weight)[0] == pytest.approx(grid[np.argmax(likelihood)], abs=2e-3)


def test_standard_error_is_that_of_a_share_where_rewards_are_certain():
    ratio = np.where(np.arange(100) < 30, 50.0, -50.0)
    rate, error = match_rate(ratio, np.ones(100))
    assert rate == pytest.approx(0.3)
    assert error == pytest.approx(np.sqrt(0.3 * 0.7 / 100))


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
    unknown = np.zeros(trials, bool)
    task = Task(data, np.arange(trials) * 5 // trials, np.full(trials, 1 / 3), unknown, one_right)
    return task, Found(None, belief, USUAL[0], nothing)


@pytest.mark.parametrize("one_right", [True, False])
def test_a_planted_leak_is_found(one_right):
    correlation, t = leaked(*task_and_found(1.0, one_right=one_right))
    # half of the variance of both features is the shared noise
    assert correlation == pytest.approx(0.5, abs=0.1)
    assert t == pytest.approx(correlation * np.sqrt(600))


def test_without_a_leak_none_is_found():
    # the reward itself, which moves both views, is none
    found = [leaked(*task_and_found(0.0, seed=seed))[1] for seed in range(10)]
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
}


def action_with(trials=200, wrong_flip=0.0):
    return ActionDiagnosis(1, trials, 4.0, 0.3, (0.2, 0.4), 0.2, wrong_flip)


@pytest.mark.parametrize(
    ("numbers", "of_action", "verdict", "words"),
    [
        ({}, {}, "trust", "0.50 nats a trial"),
        ({"information_t": 0.9}, {}, "do not use", "nothing of the feedback"),
        ({"information_t": 2.9}, {}, "doubtful", "hardly anything"),
        ({"stability": 0.7}, {}, "doubtful", "in 70 % of its trials only."),
        ({"stability": 0.7, "leak": 0.9, "leak_t": 9.0}, {}, "doubtful", "leak into the feedback"),
        ({}, {"wrong_flip": 0.3}, "doubtful", "action 1 may be confused (probability 0.30)"),
        ({}, {"trials": 3}, "doubtful", "action 1 was taken in 3 trials only"),
    ],
)
def test_every_doubt_has_its_words_and_a_remedy(numbers, of_action, verdict, words):
    actions = (ActionDiagnosis(0, 200, 4.0, 0.3, (0.2, 0.4), 0.2, 0.0), action_with(**of_action))
    task = task_and_found(0.0, trials=60)[0]
    found = Verdict(*_verdict(task, {**GOOD, **numbers, "actions": actions}))
    assert found.verdict == verdict
    assert words in found.reason
    assert bool(found.remedy) == (verdict != "trust")


def test_a_match_rate_of_one_half_is_never_trusted():
    task = task_and_found(0.0, trials=60)[0]._replace(rate=np.full(60, 0.5))
    found = _verdict(task, {**GOOD, "actions": (action_with(),)})
    assert found[0] == "do not use"
    assert "catch trials" in found[2]
