"""AI-IGL learns without labels what can be learned, and says so where it cannot."""

import warnings
from functools import cache

import numpy as np
import pytest
from interactions import Session, example_3, interactions, session
from sklearn.base import clone

from bciigl.learn import (
    ActionInclusiveIGL,
    Diagnosis,
    FullConditionalIGL,
    InputError,
    SupervisedCeiling,
)

CATCH = np.arange(600) % 3 == 0


def fitted(told, *, propensity=None, catch=None, **parameters):
    return ActionInclusiveIGL(**parameters).fit(
        *told.seen, run=told.run, propensity=propensity, catch=catch
    )


@cache
def usual():
    """Return a learner of the usual session; not to be changed."""
    return fitted(session())


def share_of_the_oracle(learner, told, fresh):
    """Return the learner's accuracy over that of a classifier with all labels, on fresh trials."""
    ceiling = SupervisedCeiling().fit(told.context, told.right.argmax(axis=1), run=told.run)
    return fresh.accuracy(learner, run=fresh.run) / fresh.accuracy(ceiling, run=fresh.run)


@pytest.mark.slow
@pytest.mark.parametrize(
    "law",
    [
        {},
        {"n_actions": 5, "trials": 1000},
        {"offset": 10.0},
        {"lapse": 0.1},
        {"leak": 1.0},
        {"distance": 2.5, "trials": 1200},
        {"subject": 1},
    ],
)
def test_it_is_as_good_as_a_classifier_with_all_labels(law):
    told, fresh = session(0, **law), session(1, **law)
    learner = fitted(told)
    assert share_of_the_oracle(learner, told, fresh) >= 0.95
    assert learner.diagnose().verdict == "trust", learner.diagnose()


def test_rewards_are_decoded():
    learner, fresh = usual(), session(1)
    # 4 SD between match and mismatch: 2.3 % errors are unavoidable
    assert fresh.decoding(learner) > 0.95
    probability = learner.decode(fresh.feedback, fresh.action)
    assert ((probability >= 0) & (probability <= 1)).all()
    # three standard errors of a share of 200 are 0.1
    np.testing.assert_allclose(learner.match_rate_, 1 / 3, atol=0.1)


@pytest.mark.parametrize("parameters", [{}, {"one_right": False}, {"method": "paper"}])
def test_learning_twice_gives_the_same_bytes(parameters):
    told = session(trials=200)
    learner = ActionInclusiveIGL(**parameters)
    first, second = (clone(learner).fit(*told.seen, run=told.run) for _ in range(2))
    for name in ("policy_", "decoder_", "match_rate_"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()
    assert first.diagnose() == second.diagnose()


def test_the_robust_method_draws_nothing():
    told = session(trials=200)
    first, second = (fitted(told, random_state=seed) for seed in (0, 1))
    np.testing.assert_array_equal(first.policy_, second.policy_)


def test_the_papers_method_starts_at_random():
    told = session(trials=200)
    first, second = (fitted(told, method="paper", random_state=seed) for seed in (0, 1))
    assert not np.array_equal(first.decoder_, second.decoder_)


def test_the_papers_method_learns_clear_rewards_and_is_never_trusted():
    told, fresh = session(0, distance=6, strength=6), session(1, distance=6, strength=6)
    learner = fitted(told, method="paper")
    assert fresh.accuracy(learner) > 0.9
    assert learner.diagnose().verdict == "doubtful"
    assert "robust" in learner.diagnose().remedy


def test_offsets_of_runs_do_not_matter_where_runs_are_given():
    calm, shifted = session(), session(offset=20)
    first, second = usual(), fitted(shifted)
    # centring takes offsets away to rounding
    np.testing.assert_allclose(first.policy_, second.policy_, rtol=1e-6, atol=1e-8)
    chosen = first.predict(calm.context, run=calm.run)
    np.testing.assert_array_equal(second.predict(shifted.context, run=shifted.run), chosen)


def test_units_and_origin_of_features_do_not_matter():
    told = session()
    moved = told._replace(context=1e6 * told.context + 1e3, feedback=1e-6 * told.feedback - 5)
    np.testing.assert_array_equal(
        usual().predict(told.context), fitted(moved).predict(moved.context)
    )


def test_names_of_runs_do_not_matter():
    told = session()
    renamed = ActionInclusiveIGL().fit(*told.seen, run=10 * told.run + 3.5)
    np.testing.assert_array_equal(usual().policy_, renamed.policy_)


@pytest.mark.parametrize("one_right", [True, False])
def test_two_options_without_baseline_are_never_trusted(one_right):
    for seed in range(2):
        found = fitted(session(seed, n_actions=2), one_right=one_right).diagnose()
        assert found.verdict == "doubtful"
        assert "catch" in found.remedy


@pytest.mark.slow
@pytest.mark.parametrize("match_rate", [0.8, 0.2, (0.8, 0.8)])
@pytest.mark.parametrize("one_right", [True, False])
def test_catch_trials_tell_match_from_mismatch_of_two_options(match_rate, one_right):
    law = {"n_actions": 2, "catch": CATCH, "match_rate": np.mean(match_rate)}
    for seed in range(3):
        told = session(seed, **law)
        learner = fitted(told, catch=CATCH, match_rate=match_rate, one_right=one_right)
        assert share_of_the_oracle(learner, told, session(9, n_actions=2)) >= 0.95
        assert learner.diagnose().verdict == "trust", learner.diagnose()
        rates = [each.match_rate for each in learner.diagnose().actions]
        # of 200 catch trials, 100 of each action: three standard errors are 0.12
        np.testing.assert_allclose(rates, match_rate, atol=0.15)


def test_a_match_rate_without_baseline_is_that_of_all_trials():
    everywhere = np.ones(600, bool)
    for match_rate in (0.8, 0.2):
        told = session(n_actions=2, catch=everywhere, match_rate=match_rate)
        learner = fitted(told, match_rate=match_rate)
        assert session(9, n_actions=2).accuracy(learner) > 0.95


def test_the_match_rate_is_expected_of_baseline_trials_or_of_all():
    some = np.arange(80) < 40
    data = interactions(80, 2, action=np.arange(80) % 2, catch=some)
    learner = ActionInclusiveIGL(match_rate=[0.8, 0.1])
    rate = learner._expectation(data)[0]
    assert rate[:2].tolist() == [0.8, 0.1]
    assert set(rate[~some]) == {0.5}
    everywhere = data._replace(catch=np.zeros(80, bool))
    assert learner._expectation(everywhere)[0].tolist() == [0.8, 0.1] * 40
    assert set(ActionInclusiveIGL()._expectation(everywhere)[0]) == {0.5}


def test_decoded_probabilities_are_calibrated():
    law = {"n_actions": 5, "trials": 2000, "strength": 2.0, "distance": 5.0}
    told, fresh = session(0, **law), session(1, **law)
    decoded = fitted(told).decode(fresh.feedback, fresh.action)
    for low, high in ((0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1)):
        bin_ = (decoded > low) & (decoded <= high)
        # bins have 100 trials or more: three standard errors are at most 0.15
        assert fresh.reward[bin_].mean() == pytest.approx(decoded[bin_].mean(), abs=0.15)
    assert decoded.mean() == pytest.approx(fresh.reward.mean(), abs=0.03)


def test_each_action_may_have_a_match_rate_of_its_own():
    # action 0 is mostly right, action 1 mostly wrong: among its trials, 1 of 5 is a match
    told = session(0, n_actions=2, trials=2000)
    rate = np.array([0.8, 0.2])[told.action]
    kept = np.random.default_rng(0).random(2000) < np.where(told.reward, rate, 1 - rate)
    told = told.rows(np.flatnonzero(kept))
    learner = fitted(told, match_rate=[0.8, 0.2], one_right=False)
    assert session(9, n_actions=2).decoding(learner) > 0.9


def test_a_policy_that_is_mostly_right_is_not_taken_for_one_that_is_mostly_wrong():
    for seed in range(2):
        told = session(seed, epsilon=0.3)
        assert told.reward.mean() > 0.75
        learner = fitted(told, propensity=told.propensity)
        assert share_of_the_oracle(learner, told, session(9)) >= 0.95
        assert (learner.match_rate_ > 0.5).all()
        assert learner.diagnose().verdict == "trust", learner.diagnose()
        # as a uniform policy would have had it; 10 % of the trials are the mismatches
        rates = [each.match_rate for each in learner.diagnose().actions]
        np.testing.assert_allclose(rates, 1 / 3, atol=0.15)


def test_several_actions_may_be_right():
    law = {"several": True, "trials": 1200}
    told, fresh = session(0, **law), session(1, **law)
    learner = fitted(told, one_right=False)
    # where no action is right, nobody can choose one
    assert fresh.accuracy(learner) >= 0.95 * fresh.right.any(axis=1).mean()
    assert fresh.decoding(learner) > 0.93
    assert learner.diagnose().verdict == "trust", learner.diagnose()


@pytest.mark.slow
def test_example_3_is_solved():
    told = example_3(3000)
    learner = fitted(told)
    assert told.accuracy(learner) > 0.95
    assert told.decoding(learner) > 0.95
    assert learner.diagnose().verdict == "trust", learner.diagnose()


@pytest.mark.slow
@pytest.mark.parametrize("one_right", [True, False])
def test_noise_is_not_trusted(one_right):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        noise = (
            rng.standard_normal((300, 6)),
            rng.integers(3, size=300),
            rng.standard_normal((300, 6)),
        )
        learner = ActionInclusiveIGL(one_right=one_right).fit(*noise, run=np.arange(300) // 30)
        assert learner.diagnose().verdict != "trust"


@pytest.mark.slow
def test_feedback_that_tells_the_action_alone_is_not_trusted():
    for seed in range(5):
        assert fitted(session(seed, strength=0)).diagnose().verdict != "trust"


@pytest.mark.slow
@pytest.mark.parametrize(("one_right", "seeds"), [(True, 15), (False, 5)])
def test_noise_that_context_and_feedback_share_is_not_trusted(one_right, seeds):
    for seed in range(seeds):
        told = session(seed, strength=0, leak=1.0)
        assert fitted(told, one_right=one_right).diagnose().verdict != "trust"


@pytest.mark.parametrize("one_right", [True, False])
def test_one_tiny_propensity_does_not_turn_anything_upside_down(one_right):
    told = session()
    propensity = np.where(np.arange(600) == 0, 1e-9, 1 / 3)
    learner = fitted(told, propensity=propensity, one_right=one_right)
    assert session(1).accuracy(learner) > 0.9


def rare(told, count):
    """Return the trials without action 2 but for the first few."""
    kept = np.append(np.flatnonzero(told.action != 2), np.flatnonzero(told.action == 2)[:count])
    return told.rows(np.sort(kept))


def constant(told):
    return told._replace(context=np.full_like(told.context, 0.1))


def silent(told):
    return told._replace(feedback=np.zeros_like(told.feedback))


POOR = {
    "never taken": lambda told: rare(told, 0),
    "taken once": lambda told: rare(told, 1),
    "taken three times": lambda told: rare(told, 3),
    "12 trials": lambda told: told.rows(np.arange(12)),
    "10 trials": lambda told: told.rows(np.arange(10)),
    "9 trials": lambda told: told.rows(np.arange(9)),
    "3 trials": lambda told: told.rows(np.arange(3)),
    "2 trials": lambda told: told.rows(np.arange(2)),
    "1 trial": lambda told: told.rows(np.arange(1)),
    "one action only": lambda told: told.rows(np.flatnonzero(told.action == 0)),
    "constant context": constant,
    "no feedback": silent,
    "nothing varies": lambda told: silent(constant(told)),
    "action alone": lambda told: told._replace(feedback=np.eye(3)[told.action]),
}


@pytest.mark.slow
@pytest.mark.parametrize("poor", POOR)
@pytest.mark.parametrize("parameters", [{}, {"one_right": False}, {"method": "paper"}])
def test_poor_data_are_borne_and_not_trusted(poor, parameters):
    told = POOR[poor](session())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner = fitted(told, n_actions=3, **parameters)
        learner.predict(told.context)
        decoded = learner.decode(told.feedback, told.action)
    assert np.isfinite(decoded).all()
    assert np.isfinite(learner.policy_).all()
    assert learner.diagnose().verdict != "trust"


@pytest.mark.parametrize("parameters", [{}, {"one_right": False}, {"method": "paper"}])
def test_below_ten_trials_nothing_is_learned(parameters):
    told = session(trials=10)
    assert fitted(told, **parameters).policy_.any()
    learner = fitted(told.rows(np.arange(9)), n_actions=3, **parameters)
    assert learner.policy_.tolist() == np.zeros((9, 3)).tolist()
    assert learner.decode(told.feedback, told.action).tolist() == [0.5] * 10
    assert learner.match_rate_.tolist() == [1 / 3] * 3
    assert str(learner.diagnose()).startswith("do not use: 9 trials are too few")


@pytest.mark.parametrize("parameters", [{}, {"one_right": False}, {"method": "paper"}])
def test_an_action_never_taken_is_never_chosen(parameters):
    told = rare(session(), 0)
    learner = fitted(told, n_actions=3, **parameters)
    assert 2 not in learner.predict(session().context)


def test_a_rare_action_does_not_spoil_the_others():
    told = rare(session(), 3)
    learner = fitted(told)
    fresh = session(1)
    others = fresh.rows(np.flatnonzero(~fresh.right[:, 2]))
    assert others.accuracy(learner) > 0.9


def test_one_run_and_few_runs_are_enough():
    told, fresh = session(0), session(1)
    for run in (None, told.run // 5):
        learner = ActionInclusiveIGL().fit(*told.seen, run=run)
        assert fresh.accuracy(learner) > 0.95
        assert learner.diagnose().verdict == "trust", learner.diagnose()


def test_features_that_do_not_vary_or_repeat_are_borne():
    told = session()
    context = np.hstack([told.context, told.context, np.full((600, 1), 0.1)])
    wide = told._replace(context=context)
    assert wide.accuracy(fitted(wide)) > 0.95


def test_the_diagnosis_has_a_line_for_each_action():
    told = session()
    found = usual().diagnose()
    assert isinstance(found, Diagnosis)
    assert [each.trials for each in found.actions] == np.bincount(told.action).tolist()
    for each in found.actions:
        assert each.match_rate == pytest.approx(1 / 3, abs=0.1)
        assert each.information_t > 3


REFUSED = {
    "method must be robust or paper, got 'robus'; did you mean 'robust'": ({"method": "robus"}, {}),
    "match_rate must be given where there are catch trials": ({}, {"catch": CATCH}),
    "match_rate must be one or 3 numbers between 0 and 1, got 1.5": ({"match_rate": 1.5}, {}),
    "match_rate must be one or 3 numbers between 0 and 1, got 0": ({"match_rate": 0}, {}),
    r"match_rate must be one or 3 numbers .* got \[0.2, 0.3\]": ({"match_rate": [0.2, 0.3]}, {}),
    "propensity must be above 0 .* got 0 to 0": ({}, {"propensity": np.zeros(600)}),
    "context must have|context must be .* got": ({}, {"context": np.ones(600)}),
    "match_rate must be one or 3 numbers .* got 'abc'": ({"match_rate": "abc"}, {}),
    "match_rate must be one or 3 numbers .* got {}": ({"match_rate": {}}, {}),
    "n_actions must be a whole number of 2 or more, got '3'": ({"n_actions": "3"}, {}),
    "n_actions must be a whole number of 2 or more, got 3.0": ({"n_actions": 3.0}, {}),
    "catch must be a mask": ({"match_rate": 0.2}, {"catch": np.arange(600)}),
    "context must be numbers": ({}, {"context": np.full((600, 2), 1j)}),
    "context must be numbers, got .*None": ({}, {"context": None}),
    r"context must be finite numbers, got 1e\+200": ({}, {"context": np.full((600, 2), 1e200)}),
    r"feedback must be finite numbers, got nan at \(0, 0\)": (
        {},
        {"feedback": np.full((600, 2), np.nan)},
    ),
    "there can be at most 1000 actions": ({}, {"action": np.full(600, 1e12)}),
    "action must be from 0 to 2, got -1": ({}, {"action": np.arange(600) % 4 - 1}),
    "action must be from 0 to 1, got 0 to 2": ({"n_actions": 2}, {}),
    "run must have one row for each of 600 trials, got 3": ({}, {"run": [0, 0, 1]}),
}


@pytest.mark.parametrize("message", REFUSED)
def test_bad_input_is_refused_in_words(message):
    parameters, arrays = REFUSED[message]
    told = session()
    given = {"context": told.context, "action": told.action, "feedback": told.feedback, **arrays}
    with pytest.raises(InputError, match=message):
        ActionInclusiveIGL(**parameters).fit(**given)


def test_decoding_refuses_actions_that_there_are_not():
    told, learner = session(), usual()
    with pytest.raises(InputError, match="action must be from 0 to 2, got 1 to 3"):
        learner.decode(told.feedback, told.action + 1)
    with pytest.raises(InputError, match="action must have one row for each of 600 trials, got 5"):
        learner.decode(told.feedback, told.action[:5])


def test_another_number_of_features_is_refused_by_the_name_of_the_array():
    told, learner = session(), usual()
    with pytest.raises(InputError, match="context must have 8 features, got 3"):
        learner.predict(told.context[:, :3])
    with pytest.raises(InputError, match="feedback must have 8 features, got 3"):
        learner.decode(told.feedback[:, :3], told.action)


@pytest.mark.parametrize("seed", range(2))
def test_better_guesses_without_their_propensities_are_refused_or_not_trusted(seed):
    told = session(seed, epsilon=0.3)
    for learner in (ActionInclusiveIGL(), ActionInclusiveIGL(method="paper"), FullConditionalIGL()):
        with pytest.raises(InputError, match="actions can be told from contexts.* give propensity"):
            learner.fit(*told.seen, run=told.run)
    # Where they are said to have been uniform
    uniform = np.full(len(told.action), 1 / 3)
    learner = ActionInclusiveIGL().fit(*told.seen, run=told.run, propensity=uniform)
    assert learner.diagnose().verdict != "trust"


def test_uniform_guesses_and_catch_trials_need_no_propensities():
    caught = np.arange(600) % 2 == 0
    told = session(catch=caught, match_rate=0.9)
    ActionInclusiveIGL(match_rate=0.9).fit(*told.seen, run=told.run, catch=caught)
    with pytest.raises(InputError, match="action must start at 0, got 1 to 3: subtract 1"):
        ActionInclusiveIGL().fit(told.context, told.action + 1, told.feedback)


def one_after_the_other(first, then, mine):
    """Return the trials that are `mine` of one session, and all others of another."""
    return Session(
        *(
            np.where(mine.reshape(-1, *[1] * (a.ndim - 1)), a, b)
            for a, b in zip(first, then, strict=True)
        )
    )


@pytest.mark.parametrize(("runs", "uniform"), [(10, [0, 5]), (3, [0])])
def test_few_uniform_runs_before_a_better_policy_will_do(runs, uniform):
    first, then = session(0, runs=runs), session(1, runs=runs, epsilon=0.3)
    told = one_after_the_other(first, then, np.isin(first.run, uniform))
    learner = ActionInclusiveIGL(n_actions=3).fit(
        *told.seen, propensity=told.propensity, run=told.run
    )
    assert session(9).accuracy(learner) > 0.95


def test_a_better_policy_after_uniform_guesses_in_one_run_will_do():
    first, then = session(0, runs=1), session(1, runs=1, epsilon=0.3)
    told = one_after_the_other(first, then, np.arange(600) < 120)
    learner = ActionInclusiveIGL(n_actions=3).fit(*told.seen, propensity=told.propensity)
    assert session(9).accuracy(learner) > 0.95
