"""The numbers of a diagnosis on unseen runs, and the verdict in words."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from interactions import interactions, planted, session
from scipy.special import softmax
from scipy.stats import norm

from bciigl.learn import ActionInclusiveIGL, Diagnosis
from bciigl.learn.diagnose import (
    DOUBTFUL,
    LAPSES,
    ActionDiagnosis,
    Verdict,
    action_told,
    diagnosed,
    estimated_accuracy,
    match_rate,
    too_few_trials,
    verdict_of,
)
from bciigl.learn.evidence import Evidence, contrast_t, information
from bciigl.learn.interactions import Scalings, folds, prepare
from bciigl.learn.search import Task, discover, expectation


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
    # the grid is 0.001 wide, and so is about what 100 steps leave
    assert match_rate(ratio, weight) == pytest.approx(grid[np.argmax(likelihood)], abs=2e-3)


def test_a_match_rate_is_never_surer_than_its_trials():
    certain = np.where(np.arange(100) < 30, 50.0, -50.0)
    assert match_rate(certain, np.ones(100)) == pytest.approx(31 / 102)
    assert match_rate(np.full(5, -50.0), np.ones(5)) == pytest.approx(1 / 7)
    # feedback that tells nothing
    assert match_rate(np.zeros(50), np.ones(50)) == 0.5


def answered(seed=0, trials=1000, n_actions=3, *, lapse=0.0, learned=0.0):
    """Return evidence as good decoders have it, interactions, and the options meant.

    A share `lapse` of judgments is wrong. A policy that has learned is right that often.
    """
    rng = np.random.default_rng([seed, 5])
    option, action = rng.integers(n_actions, size=(2, trials))
    exploits = rng.random(trials) < learned
    action = np.where(exploits, option, action)
    scores = 2 * np.eye(n_actions)[option] + np.sqrt(2) * rng.standard_normal((trials, n_actions))
    match = (option == action) ^ (rng.random(trials) < lapse)
    value = 3 * match + rng.standard_normal(trials)
    propensity = (1 - learned) / n_actions + learned * (option == action)
    data = prepare(
        rng.standard_normal((trials, 4)),
        action,
        rng.standard_normal((trials, 4)),
        propensity=propensity,
        n_actions=n_actions,
    )
    return Evidence(softmax(scores, axis=1), 3 * value - 4.5), data, option


def estimated(evidence, data):
    """Return the estimated accuracy of what the contexts' own evidence favours."""
    return estimated_accuracy(evidence.context.argmax(axis=1), evidence.feedback, data)


@pytest.mark.parametrize(
    "law", [{}, {"n_actions": 5}, {"trials": 150}, {"learned": 0.5}, {"lapse": 0.15}]
)
def test_the_true_accuracy_is_in_the_interval(law):
    covered = 0
    for seed in range(20):
        evidence, data, option = answered(seed, **law)
        accuracy, (low, high) = estimated(evidence, data)
        covered += low <= np.mean(evidence.context.argmax(axis=1) == option) <= high
        assert low < accuracy < high
    # 95 % of 20, and 16 or fewer in 1 % of cases
    assert covered >= 17


def test_the_estimated_accuracy_is_the_true_one_if_judgments_lapse_as_often_as_is_assumed():
    bias = 0.0
    for lapse, prior in LAPSES:
        for seed in range(20):
            evidence, data, option = answered(seed, lapse=lapse)
            true = np.mean(evidence.context.argmax(axis=1) == option)
            bias += prior * (estimated(evidence, data)[0] - true) / 20
    # SDs of single sessions are 0.03 without lapses to 0.08: three standard errors of the mean
    assert abs(bias) < 0.02


def test_the_interval_of_more_trials_is_narrower():
    widths = [np.ptp(estimated(*answered(0, trials)[:2])[1]) for trials in (100, 1000)]
    assert widths[1] < widths[0] / 2


def test_feedback_that_tells_nothing_leaves_the_accuracy_open():
    evidence, data, _ = answered()
    low, high = estimated(evidence._replace(feedback=np.zeros(1000)), data)[1]
    assert high - low > 0.9


def task_of(data, one_right=True):
    scalings = Scalings.of(data)
    units = tuple(each.scale for each in scalings)
    rate = np.full(data.trials, 1 / data.n_actions)
    fold = folds(data.run)
    return Task(scalings.apply(data), fold, rate, np.ones(data.trials), one_right, units)


def test_guesses_that_contexts_tell_are_told():
    told = planted(0, trials=600, features=8, imagined=4.0)
    task = task_of(told.data)
    share, t = action_told(task.data, task.fold)
    # uniform guesses: 600 trials have a standard error of 0.02
    assert abs(share) < 0.06
    assert abs(t) < 3
    # now two guesses of three are what the context shows
    option = told.right.argmax(axis=1)
    data = task.data._replace(action=np.where(np.arange(600) % 3, option, task.data.action))
    share, t = action_told(data, task.fold)
    assert share > 0.2
    assert t > 8


def test_guesses_of_another_policy_are_not_asked_for():
    task = task_of(planted(0)[0])
    data = task.data._replace(uniform=np.zeros(138, bool))
    assert action_told(data, task.fold) == (0.0, 0.0)


def learned(told):
    data = told.data
    return ActionInclusiveIGL(n_actions=data.n_actions).fit(
        data.context, data.action, data.feedback, run=data.run
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_learner_that_is_trusted_says_how_good_it_is(seed):
    told = planted(seed, trials=276)
    learner = learned(told)
    found = learner.diagnose()
    assert found.verdict == "trust"
    rng = np.random.default_rng(9)
    option = rng.integers(3, size=2000)
    context = told.patterns[option] + rng.standard_normal((2000, 64))
    low, high = found.interval
    # the interval is for what the other folds lead to, which is a little less than all trials do
    assert low - 0.03 < np.mean(learner.predict(context) == option) < high + 0.03
    assert low < found.accuracy < high
    assert f"{100 * found.accuracy:.0f} %" in found.reason
    assert f"({100 * low:.0f} to {100 * high:.0f} %)" in found.reason
    assert found.remedy == ""


@cache
def improved(seed, share):
    """Return a session whose guesses became better, and a learner of it."""
    told = planted(seed, trials=552, runs=12, imagined=4.0, judged=5.0, learned=share)
    data, known = told.data, share * told.data.run / 11
    propensity = (1 - known) / 3 + known * told.reward
    learner = ActionInclusiveIGL().fit(
        data.context, data.action, data.feedback, propensity=propensity, run=data.run
    )
    right = np.mean(learner.predict(data.context) == told.right.argmax(axis=1))
    return told, learner, right


@pytest.mark.parametrize("seed", range(2))
def test_a_learner_is_trusted_where_guesses_became_better(seed):
    # centring by run takes away more where guesses match more often
    _, learner, right = improved(seed, 0.6)
    found = learner.diagnose()
    assert right > 0.95
    assert found.verdict == "trust"
    assert found.accuracy == pytest.approx(right, abs=0.1)


@pytest.mark.parametrize("seed", range(2))
def test_the_estimated_accuracy_holds_where_nearly_all_guesses_match(seed):
    told, _, right = improved(seed, 0.9)
    # match rates of better guesses are not known
    uniform = np.full(3, 1 / 3)
    rate, weight = expectation(told.data, uniform, uniform)
    task = task_of(told.data)._replace(rate=rate, weight=weight)
    found = discover(task)
    choice = found.judged.context.argmax(axis=1)
    accuracy, _ = estimated_accuracy(choice, found.unseen.feedback, task.data)
    assert right > 0.95
    assert accuracy == pytest.approx(right, abs=0.1)


def test_a_learner_is_trusted_where_nearly_all_guesses_match():
    for seed in range(2):
        assert improved(seed, 0.9)[1].diagnose().verdict == "trust"


SILENT = {
    "leak": {"leak": 2.0},
    "strong leak": {"leak": 6.0},
    "arousal": {"arousal": 2.0},
    "strong arousal": {"arousal": 6.0},
    "both": {"leak": 2.0, "arousal": 2.0},
}


def silent(seed, leak=0.0, arousal=0.0):
    """Return interactions without any judgment, whose views share noise.

    A leak is a copy of some of the context in the feedback; arousal moves all features of both.
    """
    told = planted(seed, trials=276, imagined=3.0, judged=0.0)
    rng = np.random.default_rng([seed, 9])
    data = told.data
    if leak:
        data.feedback[:, :8] += leak * data.context[:, :8] @ rng.standard_normal((8, 8)) / 3
    shared = arousal * rng.standard_normal(276)
    for view in (data.context, data.feedback):
        view += np.outer(shared, rng.standard_normal(64)) / 8
    return told


# Seeds that would be trusted if leaks were not taken out.
@pytest.mark.parametrize(("kind", "seed"), [("leak", 2), ("arousal", 1)])
def test_noise_that_both_views_share_is_not_trusted_where_no_judgment_is(kind, seed):
    found = learned(silent(seed, **SILENT[kind])).diagnose()
    assert found.verdict != "trust"
    assert found.accuracy is None


def test_judgments_about_exchanged_options_are_doubted():
    for seed, order in enumerate([(1, 0, 2), (1, 2, 0)]):
        told = planted(seed, trials=276, imagined=3.0, alike=0.9)
        match = np.array(order)[told.right.argmax(axis=1)] == told.data.action
        told.data.feedback[:] += np.outer(1.0 * match - told.reward, told.direction)
        found = learned(told).diagnose()
        assert found.verdict == "doubtful"
        assert "options were exchanged" in found.remedy


@pytest.mark.parametrize("half", [0, 1])
def test_contexts_that_tell_something_in_one_half_only_are_doubted(half):
    told = planted(half, trials=552, imagined=4.0, judged=5.0)
    silent = np.arange(552) * 2 // 552 == half
    told.data.context[silent] -= told.patterns[told.right.argmax(axis=1)][silent]
    found = learned(told).diagnose()
    assert found.verdict == "doubtful"
    assert "one half" in found.reason


@pytest.mark.slow
@pytest.mark.parametrize("kind", SILENT)
def test_noise_that_both_views_share_is_hardly_ever_trusted(kind):
    verdicts = [learned(silent(seed, **SILENT[kind])).diagnose().verdict for seed in range(12)]
    assert verdicts.count("trust") <= 1


def test_without_trust_nothing_is_said_that_holds_only_with_it():
    for seed in range(2):
        found = learned(planted(seed, imagined=0.0, judged=0.0)).diagnose()
        assert found.verdict != "trust"
        assert (found.accuracy, found.interval) == (None, None)
        assert found.remedy


def test_a_mirror_image_is_clearly_worse_where_the_match_rate_is_known():
    # one in five matches: exchanged, four of five would
    told = planted(0, n_actions=5, imagined=4.0, judged=5.0, trials=300)
    assert learned(told).diagnose().mirrored_t > 3


@pytest.fixture(scope="module")
def discovered():
    """Return a task and what is found in it."""
    task = task_of(planted(0, trials=276).data)
    return task, discover(task)


@pytest.fixture(scope="module")
def trusted(discovered):
    """Return a task and the diagnosis of what is found in it."""
    task, search = discovered
    return task, diagnosed(task, search)


def test_numbers_of_a_diagnosis_are_those_of_unseen_evidence(discovered, trusted):
    task, found = trusted
    search = discovered[1]
    evidence, choice = search.unseen, search.judged.context.argmax(axis=1)
    told = information(evidence, task.data)
    assert found.information == pytest.approx(told.mean())
    t = told.mean() / told.std(ddof=1) * np.sqrt(276)
    assert found.information_t == pytest.approx(t)
    accuracy = estimated_accuracy(choice, evidence.feedback, task.data)
    assert (found.accuracy, found.interval) == accuracy
    assert found.contrast_t == contrast_t(evidence, task.data, task.fold)
    for half, rows in zip(found.halves, (np.arange(138), np.arange(138, 276)), strict=True):
        part = estimated_accuracy(choice[rows], evidence.feedback[rows], task.data.rows(rows))
        assert half == part[1]
    assert found.mirrored_t == search.mirrored_t()
    assert found.alike_t == search.search.resemblance_t(evidence)
    assert (found.alike, found.confusion) == search.search.resemblance(search.belief)
    assert found.clusters_t == search.search.clusters_t(evidence)
    assert found.rests_on == "judgment"
    assert (found.guess_told, found.guess_told_t) == action_told(task.data, task.fold)
    for action, each in enumerate(found.actions):
        mine = task.data.action == action
        rate = match_rate(evidence.feedback[mine], np.ones(mine.sum()))
        assert (each.action, each.trials, each.match_rate) == (action, mine.sum(), rate)


# Far beyond any threshold, whose places are a matter of benchmarks.
DOUBTS = {
    "no sign": ({"information_t": -2.0, "contrast_t": 0.5}, "no sign that the brain's answers"),
    "told": ({"guess_told_t": 30.0}, "guesses can be told from the contexts"),
    "no contrast": ({"contrast_t": 0.5}, "hardly fits"),
    "mirrored": ({"mirrored_t": -9.0}, "match and mismatch may be confused"),
    "contrary": ({"mirrored_t": 5.0, "alike_t": -9.0}, "match and mismatch may be confused"),
    "confusion": ({"confusion": 20.0}, "resembles seeing another one"),
    "few right": ({"interval": (0.2, 0.5)}, "hardly more often than by chance"),
    "hardly any right": ({"accuracy": 0.45}, "hardly more often than by chance"),
    "first half": ({"halves": ((0.4, 0.6), (0.8, 0.9))}, "right more often in one half"),
    "second half": ({"halves": ((0.8, 0.9), (0.4, 0.6))}, "right more often in one half"),
}


@pytest.mark.parametrize("doubt", DOUBTS)
def test_every_doubt_has_its_words_and_a_remedy(doubt, trusted):
    task, found = trusted
    numbers, words = DOUBTS[doubt]
    verdict, reason, remedy, rests_on = verdict_of(task, replace(found, **numbers))
    assert rests_on == ""
    assert verdict == ("do not use" if doubt == "no sign" else "doubtful")
    assert words in reason
    assert remedy


# What holds in spite of a number that would be doubted.
HOLDS = {
    "told of the option alone": {"information_t": -2.0, "contrast_t": 9.0},
    "less contrast and alike": {"contrast_t": 4.6, "alike_t": 9.0},
    "mirrored and alike": {"mirrored_t": 0.0, "alike_t": 9.0},
    "little contrast and clusters": {"information_t": -1.0, "contrast_t": 0.5, "clusters_t": 9.0},
    "halves that overlap": {"halves": ((0.7, 0.9), (0.85, 0.95))},
    "a small change": {"halves": ((0.7, 0.8), (0.85, 0.95))},
}


@pytest.mark.parametrize("numbers", HOLDS.values(), ids=HOLDS)
def test_what_another_source_says_too_is_not_doubted(numbers, trusted):
    task, found = trusted
    verdict, reason, remedy, rests_on = verdict_of(task, replace(found, **numbers))
    assert (verdict, remedy) == ("trust", "")
    assumed = {"mirrored_t", "clusters_t"} & set(numbers)
    assert rests_on == ("resemblance" if assumed else "judgment")
    assert ("imagining an option resembles seeing it" in reason) == bool(assumed)
    assert ("no sign that the brain's answers" in reason) == ("clusters_t" in numbers)


def test_clusters_do_not_help_where_answers_contradict_them(trusted):
    task, found = trusted
    numbers = {"information_t": -2.0, "contrast_t": -4.0, "clusters_t": 9.0}
    assert verdict_of(task, replace(found, **numbers))[0] == "do not use"


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"trials": 3}, "action 1 was guessed in 3 trials only"),
        ({"information_t": -9.0}, "action 1 contradict"),
        ({"match_rate": 0.01}, "no guess of action 1"),
    ],
)
def test_doubts_about_one_action_name_it(numbers, words, trusted):
    task, found = trusted
    first, second, third = found.actions
    actions = first, replace(second, **numbers), third
    verdict, reason, *_ = verdict_of(task, replace(found, actions=actions))
    assert verdict == "doubtful"
    assert words in reason
    named = Verdict(verdict, reason, "").named(["left hand", "right hand", "rest"])
    assert "option 'right hand'" in named.reason
    assert "action 1" not in named.reason


def test_a_match_rate_of_one_half_is_not_trusted_where_nothing_can_be_compared():
    told = session(n_actions=2)
    context, action, feedback = told.seen
    found = ActionInclusiveIGL().fit(context, action, feedback[:, :-1], run=told.run).diagnose()
    assert found.verdict == "doubtful"
    assert "catch trials" in found.remedy
    assert (found.accuracy, found.halves) == (None, ())


def test_a_match_rate_of_one_half_is_trusted_where_imagining_resembles_seeing():
    for seed in range(3):
        told = planted(seed, n_actions=2, trials=276, alike=0.9)
        learner = learned(told)
        assert learner.diagnose().verdict == "trust"
        assert "rests on the assumption" in learner.diagnose().reason
        assert np.mean(learner.predict(told.data.context) == told.right.argmax(axis=1)) > 0.8


def test_a_match_rate_of_one_half_is_not_trusted_where_imagining_is_unlike_seeing():
    found = [learned(planted(seed, n_actions=2, trials=276)).diagnose() for seed in range(8)]
    # patterns of 64 features have 1/8 in common by chance, which says nothing
    assert [each.verdict for each in found].count("trust") <= 1


def test_an_action_never_taken_has_an_empty_line():
    data = planted(0).data
    data = data.rows(np.flatnonzero(data.action != 2))
    task = task_of(data)
    never = diagnosed(task, discover(task)).actions[2]
    assert never == ActionDiagnosis(2, 0, 0.5, 0.0)


def test_a_verdict_is_one_sentence_after_another():
    assert str(Verdict(DOUBTFUL, "it is dark.", "Wait.")) == "doubtful: it is dark. Wait."
    assert str(Verdict("trust", "all is well.", "")) == "trust: all is well."


def test_a_diagnosis_can_be_written_as_json():
    learner = learned(planted(0))
    assert isinstance(learner.diagnose(), Diagnosis)
    found = json.loads(json.dumps(learner.diagnose().as_dict(), allow_nan=False))
    assert found["verdict"] == learner.diagnose().verdict
    assert [each["action"] for each in found["actions"]] == [0, 1, 2]


def test_few_trials_are_not_to_be_used():
    found = too_few_trials(interactions(9))
    assert found.verdict == "do not use"
    assert "9 trials are too few" in found.reason
    assert found.remedy


def test_options_have_their_own_names():
    found = Verdict("doubtful", "match and mismatch of action 1 may be confused.", "Add more.")
    assert found.named(None) is found
    assert "of option 'right hand' may" in str(found.named(["rest", "right hand"]))
    assert "of option '7' may" in found.named((5, 7)).reason
    assert found.named(["one"]) == found
    few = too_few_trials(interactions(9)).named(["rest", "left"])
    assert "always chooses option 'rest'." in few.reason
