"""Policies and decoders fitted anew: only where features are not Gaussian, and then well."""

import warnings
from functools import cache

import numpy as np
import pytest
from interactions import Session, example_3, session

from bciigl.labelled import refit
from bciigl.labelled.agreement import Linear, fit_agreement
from bciigl.labelled.one_right import OneRightBandit, fit_one_right
from bciigl.labelled.refit import (
    RefittedIGL,
    Start,
    _better,
    _both,
    _clear,
    _policy_alone,
    _taught,
    _unseen,
    refitted,
)
from bciigl.learn import search
from bciigl.learn.evidence import Evidence, information
from bciigl.learn.interactions import Prepared, Scalings, folds, prepare
from bciigl.learn.logistic import fit_logistic
from bciigl.learn.search import FAMILIES, Found, Task, discover

LAWS = {
    "bits": lambda rng, shape: 1.0 * (rng.random(shape) < 0.5),
    "rare bits": lambda rng, shape: 1.0 * (rng.random(shape) < 0.15),
    "even": lambda rng, shape: np.sqrt(12) * rng.random(shape),
    "pixels": lambda rng, shape: rng.exponential(size=shape) * (rng.random(shape) < 0.4),
    "heavy tails": lambda rng, shape: rng.standard_t(2.5, size=shape),
    "categories": lambda rng, shape: np.eye(shape[1])[rng.integers(shape[1], size=shape[0])],
}


def chosen(seed: int = 0, law: str = "bits", *, trials: int = 1500, bits: bool = False) -> Session:
    """Return a session in which a softmax of linear scores says which of four actions is right.

    Parameters
    ----------
    law : str
        Of the contexts.
    bits : bool
        Whether feedback is bits, too; otherwise it is Gaussian.
    """
    person, rng = np.random.default_rng(2), np.random.default_rng([seed, 3])
    context = LAWS[law](rng, (trials, 8))
    weights = 3 * person.standard_normal((8, 4))
    scores = (context - context.mean(axis=0)) @ weights
    option = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    action = rng.integers(4, size=trials)
    reward = option == action
    codes = person.standard_normal((4, 12))
    shown = person.standard_normal(12) + 0.5 * person.standard_normal((4, 12))
    if bits:
        odds = codes[action] - 1.5 + 2 * reward[:, None] * shown[action]
        feedback = 1.0 * (rng.random(odds.shape) < 1 / (1 + np.exp(-odds)))
    else:
        shown *= 4 / np.linalg.norm(shown, axis=1, keepdims=True)
        feedback = 3 * codes[action] + reward[:, None] * shown[action]
        feedback += rng.standard_normal(feedback.shape)
    return Session(
        context,
        action,
        feedback,
        np.arange(trials) * 10 // trials,
        np.full(trials, 0.25),
        np.eye(4, dtype=bool)[option],
        reward,
    )


def task_of(told: Session) -> Task:
    """Return the search of a session of uniform guesses."""
    data = prepare(*told.seen, run=told.run)
    scalings = Scalings.of(data)
    units = tuple(each.scale for each in scalings)
    rate = np.full(data.trials, 1 / data.n_actions)
    return Task(
        scalings.apply(data), folds(data.run), rate, np.ones(data.trials), True, units, False
    )


def fitted(told: Session) -> RefittedIGL:
    return RefittedIGL().fit(*told.seen, run=told.run)


@pytest.fixture
def returned(monkeypatch):
    """Return what is fitted anew, of each learner in turn."""
    found = []

    def spy(task, of_model, data):
        found.append((of_model.model, refitted(task, of_model, data)))
        return found[-1][1]

    monkeypatch.setattr(refit, "refitted", spy)
    return found


@cache
def even() -> tuple[Task, Found]:
    """Return a task with contexts that are not Gaussian, and what is found in it."""
    task = task_of(chosen(0, "even"))
    return task, discover(task)


def as_bytes(linear: Linear) -> list[bytes]:
    return [each.tobytes() for each in linear]


@pytest.mark.slow
@pytest.mark.parametrize(
    "law",
    [
        {},
        {"n_actions": 5, "trials": 1000},
        {"distance": 2.5},
        {"strength": 2.0},
        {"offset": 10.0},
        {"n_actions": 10, "trials": 1500, "features": 12},
    ],
)
def test_the_model_is_kept_where_contexts_and_feedback_are_gaussian(law):
    for seed in range(2):
        task = task_of(session(seed, **law))
        found = discover(task)
        assert found.model.one_right
        assert refitted(task, found) is None


def test_a_policy_that_is_not_fitted_anew_is_that_of_the_model():
    told = session()
    model = discover(task_of(told)).model
    expected = np.vstack([model.context_weights, model.context_bias])
    np.testing.assert_array_equal(fitted(told).policy_, expected)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_other_contexts_are_learned_as_well_as_from_known_rewards(law, returned):
    told, fresh = chosen(1, law), chosen(100, law, trials=3000)
    known = OneRightBandit()
    known.fit(told.context, told.action, told.reward, run=told.run)
    learner = fitted(told)
    assert isinstance(returned[0][1], Linear)
    # 3000 fresh trials have a standard error of 0.009
    assert fresh.accuracy(learner) > fresh.accuracy(known) - 0.02
    assert fresh.accuracy(known) > 0.65
    # the diagnosis is of the model, which does not hold here; rare options give it doubts
    assert learner.diagnose().verdict != "do not use"


@pytest.mark.slow
@pytest.mark.parametrize("law", ["even", "heavy tails", "pixels"])
def test_it_is_better_than_the_model_there(law, monkeypatch):
    told, fresh = chosen(0, law), chosen(100, law, trials=3000)
    anew = fresh.accuracy(fitted(told))
    # as if the model had known that one is right, and had not been worse
    together = tuple(each for each in FAMILIES if each.one_right)
    monkeypatch.setattr(search, "FAMILIES", together)
    monkeypatch.setattr(refit, "CLEARLY", np.inf)
    assert anew > fresh.accuracy(fitted(told)) + 0.02


@pytest.mark.parametrize("law", [pytest.param("bits", marks=pytest.mark.slow), "even"])
def test_the_decoder_is_fitted_anew_where_feedback_is_not_gaussian(law, returned):
    told = chosen(0, law, trials=2000, bits=True)
    fresh = chosen(100, law, trials=3000, bits=True)
    learner = fitted(told)
    model, better = returned[0]
    assert not np.allclose(better.decoder[:-1], model.feedback_weights, atol=0.1)
    known = OneRightBandit()
    known.fit(told.context, told.action, told.reward, run=told.run)
    assert fresh.accuracy(learner) > fresh.accuracy(known) - 0.03
    assert fresh.decoding(learner) > 0.88


@pytest.mark.parametrize("bits", [False, True])
def test_decoded_probabilities_after_a_refit_are_those_of_rewards(bits):
    told = chosen(1, "even", trials=2000, bits=bits)
    fresh = chosen(101, "even", trials=3000, bits=bits)
    learner = fitted(told)
    decoded = learner.decode(fresh.feedback, fresh.action)
    rates = np.bincount(told.action, told.reward) / np.bincount(told.action)
    np.testing.assert_allclose(learner.match_rate_, rates, atol=0.04)
    assert decoded.mean() == pytest.approx(fresh.reward.mean(), abs=0.03)
    assert decoded[fresh.reward].mean() > decoded[~fresh.reward].mean() + 0.6
    sure = decoded > 0.8
    assert fresh.reward[sure].mean() == pytest.approx(decoded[sure].mean(), abs=0.1)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_is_returned_is_fitted_to_all_trials(place, monkeypatch):
    if place == 0:
        monkeypatch.setattr(refit, "CLEARLY", np.inf)
    if place == 2:
        monkeypatch.setattr(refit, "CLEARLY", -np.inf)
    model, data = even()[1].model, even()[0].data
    assert model.one_right
    alone = _policy_alone(data, Start(model, even()[1].judged.feedback))
    found = refitted(even()[0], even()[1])
    if place == 0:
        assert found is None
    else:
        expected = alone if place == 1 else fit_agreement(data, alone)
        assert as_bytes(found) == as_bytes(expected)


@pytest.mark.parametrize("clearly", [2.0, np.inf])
def test_a_model_that_does_not_know_that_one_is_right_is_always_fitted_anew(
    clearly, returned, monkeypatch
):
    monkeypatch.setattr(search, "FAMILIES", FAMILIES[-1:])
    monkeypatch.setattr(refit, "CLEARLY", clearly)
    learner = fitted(session(0))
    model, anew = returned[0]
    assert not model.one_right
    assert isinstance(anew, Linear)
    assert session(1).accuracy(learner) > 0.95


def test_example_3_is_solved():
    told = example_3(600)
    learner = fitted(told)
    # nothing is random but the guesses
    assert told.accuracy(learner) == told.decoding(learner) == 1
    assert learner.diagnose().verdict == "trust"


def test_where_several_may_be_right_nothing_is_fitted_anew(returned):
    told = chosen(0, "even")
    RefittedIGL(one_right=False).fit(*told.seen, run=told.run)
    assert not returned
    fitted(told)
    assert len(returned) == 1


def test_what_is_said_of_a_fold_is_fitted_to_the_others():
    everything = np.ones(even()[0].data.trials, bool)
    alone, both = _unseen(even()[0], even()[1], everything)
    out = np.flatnonzero(even()[0].fold == 1)
    seen = np.flatnonzero(even()[0].fold != 1)
    start = Start(even()[1].without[1], even()[1].judged.feedback[seen])
    seen = even()[0].data.rows(seen)
    first = _policy_alone(seen, start)
    for linear, evidence in ((first, alone), (fit_agreement(seen, first), both)):
        expected = linear.evidence(even()[0].data.rows(out))
        np.testing.assert_array_equal(evidence.context[out], expected.context)
        np.testing.assert_array_equal(evidence.feedback[out], expected.feedback)


@pytest.fixture
def counted(monkeypatch):
    """Return how many trials policies are fitted to, and what is said of how many is compared."""
    policies, compared = [], []

    def fit(context, *rest):
        policies.append(len(context))
        return fit_one_right(context, *rest)

    def told(evidence, data):
        assert len(evidence.feedback) == len(evidence.context) == data.trials
        compared.append(data.trials)
        return information(evidence, data)

    monkeypatch.setattr(refit, "fit_one_right", fit)
    monkeypatch.setattr(refit, "information", told)
    return policies, compared


@pytest.mark.parametrize(("most", "expected"), [(749, 500), (1499, 750), (1500, 1500)])
def test_no_more_trials_are_compared_than_decide(most, expected, counted, monkeypatch):
    policies, compared = counted
    monkeypatch.setattr(refit, "MOST_COMPARED", most)
    found = refitted(even()[0], even()[1])
    assert set(compared) == {expected}
    # five folds, each by the other four, and in the end all trials if that is better
    assert policies == [expected * 4 // 5] * 5 + [1500] * (found is not None)


def test_a_task_of_some_trials_teaches_all(monkeypatch):
    monkeypatch.setattr(search, "MOST_SEARCHED", 1000)
    part = even()[0].fewer()
    found = discover(part)
    anew = refitted(part, found, even()[0].data)
    odds = found.model.feedback_evidence(even()[0].data.feedback, even()[0].data.action)
    expected = fit_one_right(even()[0].data.context, even()[0].data.action, odds, 4)
    np.testing.assert_array_equal(anew.policy, expected)
    # the task's own trials are judged by other folds
    own = refitted(part, found)
    expected = fit_one_right(part.data.context, part.data.action, found.judged.feedback, 4)
    np.testing.assert_array_equal(own.policy, expected)


def test_more_trials_than_are_searched_are_learned_from(returned, monkeypatch):
    told, fresh = chosen(0, "even"), chosen(100, "even", trials=3000)
    expected = fresh.accuracy(fitted(told))
    monkeypatch.setattr(search, "MOST_SEARCHED", 600)
    learner = fitted(told)
    assert isinstance(returned[1][1], Linear)
    assert fresh.accuracy(learner) > expected - 0.02
    assert sum(each.trials for each in learner.diagnose().actions) == 600
    rates = np.bincount(told.action, told.reward) / np.bincount(told.action)
    np.testing.assert_allclose(learner.match_rate_, rates, atol=0.05)


def test_more_gaussian_trials_than_are_searched_are_borne(returned, monkeypatch):
    monkeypatch.setattr(search, "MOST_SEARCHED", 300)
    learner = fitted(session(0))
    assert returned[0][1] is None
    assert session(1).accuracy(learner) > 0.95


@cache
def _of_bits() -> tuple[Prepared, np.ndarray, Linear]:
    """Return trials, rewards, and a policy with a decoder that were told the rewards."""
    told = chosen(0, "even", trials=2000, bits=True)
    data, reward = task_of(told).data, told.reward
    policy = fit_one_right(data.context, data.action, np.where(reward, 9.0, -9.0), 4)
    decoder = np.array(
        [
            fit_logistic(data.feedback[mine], 1.0 * reward[mine], np.ones(mine.sum()))
            for mine in (data.action == each for each in range(4))
        ]
    ).T
    decoder[-1] += np.log(3)
    return data, reward, Linear(policy, decoder)


def of_bits() -> tuple[Prepared, np.ndarray, Linear]:
    """Return the same, with a decoder that may be changed."""
    data, reward, linear = _of_bits()
    return data, reward, Linear(linear.policy, linear.decoder.copy())


def decoded(linear: Linear, data: Prepared, reward: np.ndarray) -> list[float]:
    """Return the correlation of each action's decoding with its rewards."""
    odds = linear.evidence(data).feedback
    groups = (data.action == each for each in range(4))
    return [float(np.corrcoef(odds[mine], reward[mine])[0, 1]) for mine in groups]


@pytest.mark.parametrize("lost", [1, 3])
def test_an_action_whose_match_was_taken_for_mismatch_is_taught_by_the_others(lost):
    data, reward, start = of_bits()
    assert min(decoded(start, data, reward)) > 0.6
    start.decoder[:, lost] *= -1
    policy = fit_one_right(data.context, data.action, start.evidence(data).feedback, 4)
    start = Linear(policy, start.decoder)
    # by itself it stays so
    assert decoded(fit_agreement(data, start), data, reward)[lost] < 0
    assert min(decoded(_both(data, start), data, reward)) > 0.6


def test_where_no_action_is_lost_none_is_taught():
    data, _, start = of_bits()
    assert as_bytes(_both(data, start)) == as_bytes(fit_agreement(data, start))


def test_actions_are_taught_only_where_that_tells_more(monkeypatch):
    data, _, start = of_bits()
    # all actions count as lost: there is nobody left to teach
    monkeypatch.setattr(refit, "LOST", np.inf)
    assert as_bytes(_both(data, start)) == as_bytes(fit_agreement(data, start))


def test_an_action_never_taken_is_not_lost():
    data, _, start = of_bits()
    data = data.rows(np.flatnonzero(data.action != 3))
    # nothing can be taught where there is no trial
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = _both(data, start)
    assert as_bytes(found) == as_bytes(fit_agreement(data, start))


def test_teaching_changes_the_decoders_of_lost_actions_alone():
    data, reward, start = of_bits()
    start.decoder[:, 1] *= -1
    before = start.decoder.copy()
    taught = _taught(data, start, np.arange(4) == 1)
    np.testing.assert_array_equal(start.decoder, before)
    np.testing.assert_array_equal(taught.decoder[:, [0, 2, 3]], before[:, [0, 2, 3]])
    assert decoded(taught, data, reward)[1] > 0.5
    # what its own feedback says of the lost action teaches nothing
    start.decoder[:, 1] = 5
    again = _taught(data, start, np.arange(4) == 1)
    assert as_bytes(again) == as_bytes(taught)


def test_how_clear_differences_are_by_hand(monkeypatch):
    # a mean of 1 with an SD of 2 in 16 trials: two standard errors
    assert not _clear(np.tile([3.0, -1.0], 8))
    monkeypatch.setattr(refit, "CLEARLY", 1.99)
    assert _clear(np.tile([3.0, -1.0], 8))
    assert not _clear(np.tile([-3.0, 1.0], 8))
    assert not _clear(np.zeros(5))


def test_the_decoded_return_decides_only_where_information_does_not():
    data, rng = even()[0].data, np.random.default_rng(0)
    feedback = np.where(rng.random(data.trials) < 0.25, 6.0, -6.0)
    right = feedback > 0
    # One says which actions are right, the other nothing at all.
    knows = np.full((data.trials, 4), 0.2)
    knows[np.arange(data.trials), data.action] = np.where(right, 0.4, 0.1)
    nothing = np.full((data.trials, 4), 0.25)
    nothing[:, 0] += 1e-9
    knowing, blind = Evidence(knows, feedback), Evidence(nothing, feedback)
    assert _better(knowing, blind, even()[0])
    assert not _better(blind, knowing, even()[0])
    # The same preferences, but so weak that they have next to no information.
    timid = Evidence(0.25 + 1e-6 * (knows - 0.25), feedback + rng.normal(size=data.trials) * 1e-9)
    unsure = Evidence(nothing + 1e-6 * rng.normal(size=nothing.shape), feedback)
    gain = information(timid, data) - information(unsure, data)
    assert abs(gain.mean()) < 1e-4
    assert _better(timid, unsure, even()[0])
    assert not _better(unsure, timid, even()[0])


def test_refitting_twice_gives_the_same_bytes():
    first, second = (refitted(even()[0], even()[1]) for _ in range(2))
    assert as_bytes(first) == as_bytes(second)


def test_an_action_never_taken_is_never_chosen_after_a_refit(returned):
    told = chosen(0, "even")
    told = told.rows(np.flatnonzero(told.action != 2))
    learner = RefittedIGL(n_actions=4).fit(*told.seen, run=told.run)
    assert isinstance(returned[0][1], Linear)
    assert 2 not in learner.predict(told.context)
    assert np.isfinite(learner.decode(told.feedback, told.action)).all()
    others = told.rows(np.flatnonzero(~told.right[:, 2]))
    assert others.accuracy(learner) > 0.8
