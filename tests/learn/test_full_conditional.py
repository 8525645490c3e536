"""Full conditional independence: learned where it holds, defeated and owned up to where not."""

import warnings

import numpy as np
import pytest
from interactions import Session, example_3, interactions, session
from sklearn.base import clone

from bciigl.learn import FullConditionalIGL
from bciigl.learn.full_conditional import _diagnosed
from bciigl.learn.interactions import FEWEST_TRIALS


def exclusive(trials, distance, seed) -> tuple[Session, Session]:
    """Return Gaussian trials whose feedback depends on the reward alone, and a test session."""
    rng = np.random.default_rng(seed)
    centres = distance * np.linalg.qr(rng.standard_normal((10, 10)))[0]
    option, action = rng.integers(3, size=(2, trials + 1000))
    reward = option == action
    whole = Session(
        centres[option] + rng.standard_normal((len(option), 10)),
        action,
        np.outer(reward, centres[-1]) + rng.standard_normal((len(option), 10)),
        np.arange(len(option)) // 100,
        np.full(len(option), 1 / 3),
        np.eye(3, dtype=bool)[option],
        reward,
    )
    return whole.rows(np.arange(trials)), whole.rows(np.arange(trials, len(option)))


@pytest.mark.parametrize(("trials", "distance"), [(300, 6), (1000, 4.5)])
def test_action_exclusive_feedback_is_learned(trials, distance):
    for seed in range(3):
        told, fresh = exclusive(trials, distance, seed)
        learner = FullConditionalIGL(random_state=seed).fit(*told.seen)
        # the truth's own objective, of the trials as they came
        truth = np.mean((3 * told.reward - 1) * told.reward)
        assert learner.objective_ >= truth - 0.02
        assert fresh.accuracy(learner) > 0.97
        assert fresh.decoding(learner) > 0.97
        assert learner.diagnose().verdict == "trust"


def test_uneven_propensities_are_learned():
    told, fresh = exclusive(4000, 6, 0)
    kept = np.random.default_rng(0).random(4000) < np.array([1.0, 0.5, 0.25])[told.action]
    told = told.rows(np.flatnonzero(kept))
    propensity = np.array([4, 2, 1])[told.action] / 7
    learner = FullConditionalIGL().fit(*told.seen, propensity=propensity)
    assert fresh.accuracy(learner) > 0.97


def test_example_3_defeats_it_and_it_says_so():
    told = example_3(3000)
    learner = FullConditionalIGL().fit(*told.seen, run=told.run)
    assert told.accuracy(learner) < 0.2
    found = learner.diagnose()
    assert found.verdict == "do not use"
    assert "feedback tells the action" in found.reason
    assert "AI-IGL" in found.remedy
    assert found.objective == learner.objective_ > 0.75


def test_action_inclusive_feedback_is_not_trusted():
    told = session()
    found = FullConditionalIGL().fit(*told.seen, run=told.run).diagnose()
    assert found.verdict == "do not use"
    # codes of the actions are 3 SD long in each of 8 features: a decoder of one action is exact,
    # and a constant policy gets about 2/3 by it
    assert found.constant_objective == pytest.approx(2 / 3, abs=0.1)
    assert found.held_out_objective >= found.constant_objective


@pytest.mark.parametrize(
    "seed", [20, 21, 22, *(pytest.param(each, marks=pytest.mark.slow) for each in range(23, 30))]
)
def test_an_objective_that_chance_can_reach_is_not_trusted(seed):
    told = session(seed, trials=12)
    learner = FullConditionalIGL(n_actions=3).fit(*told.seen, run=told.run)
    assert learner.diagnose().verdict != "trust"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("held_out", "verdict", "words"),
    [
        ([0.2, 0.1, 0.0, 0.6, 0.5], "trust", "is 0.60, and no constant policy has more than 0.20"),
        ([-0.1, -0.2, -0.3, 0.4, 0.6], "trust", "no constant policy has more than 0.00"),
        ([0.3, -0.4, 0.1, 0.5, 0.1], "trust", "no constant policy has more than 0.30"),
        ([0.1, 0.2, 0.33, 0.5, 0.1], "do not use", "a constant policy has an objective of 0.33"),
        ([0.6, 0.1, 0.1, 0.5, 0.2], "do not use", "an objective of 0.60, the best one 0.60"),
        ([0.1, 0.1, 0.1, 0.21, 0.1], "trust", "is 0.21"),
        ([0.1, 0.1, 0.1, 0.19, 0.1], "doubtful", "the objective is 0.19 only"),
    ],
)
def test_the_verdict_follows_from_the_best_constant_policy(held_out, verdict, words):
    few = np.zeros((10**6, 1))
    many = interactions(10**6, context=few, feedback=few)  # chance then has no share in it
    found = _diagnosed(0.7, np.array(held_out), many)
    assert found.verdict == verdict
    assert words in found.reason
    assert bool(found.remedy) == (verdict != "trust")
    assert (found.objective, found.held_out_objective) == (0.7, max(held_out))


def poor(told):
    """Return few trials, and trials of an action that was hardly ever taken."""
    once = np.append(np.flatnonzero(told.action != 2), np.flatnonzero(told.action == 2)[0])
    few = (np.arange(count) for count in (1, 2, 3, 5, 9, 10, 12, 20))
    return [told.rows(index) for index in (*few, np.sort(once), np.flatnonzero(told.action == 0))]


@pytest.mark.parametrize("told", poor(session()), ids=lambda told: f"{len(told.action)} trials")
def test_poor_data_are_borne_and_not_trusted(told):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner = FullConditionalIGL(n_actions=3).fit(*told.seen)
        assert set(learner.predict(told.context)) <= {0, 1, 2}
        assert set(learner.decode(told.feedback)) <= {0.0, 1.0}
    assert np.isfinite(learner.policy_).all()
    assert learner.diagnose().verdict != "trust"


def test_below_ten_trials_nothing_is_learned():
    told = session(trials=FEWEST_TRIALS)
    assert FullConditionalIGL().fit(*told.seen).policy_.any()
    fewer = told.rows(np.arange(FEWEST_TRIALS - 1))
    learner = FullConditionalIGL(n_actions=3).fit(*fewer.seen)
    assert learner.policy_.tolist() == np.zeros((9, 3)).tolist()
    assert learner.decoder_.tolist() == [0] * 9
    assert learner.objective_ == 0
    assert str(learner.diagnose()).startswith("do not use: 9 trials are too few")


def test_noise_is_not_trusted():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        noise = (
            rng.standard_normal((300, 4)),
            rng.integers(3, size=300),
            rng.standard_normal((300, 4)),
        )
        assert FullConditionalIGL().fit(*noise).diagnose().verdict != "trust"


def test_decoding_needs_no_action():
    told, _ = exclusive(300, 6, 0)
    learner = FullConditionalIGL().fit(*told.seen)
    decoded = learner.decode(told.feedback)
    np.testing.assert_array_equal(decoded, learner.decode(told.feedback, told.action))
    assert set(decoded) <= {0.0, 1.0}


def test_the_same_random_state_learns_the_same():
    told = session(trials=200)
    learner = FullConditionalIGL(random_state=3)
    first, second = (clone(learner).fit(*told.seen) for _ in range(2))
    np.testing.assert_array_equal(first.policy_, second.policy_)
    np.testing.assert_array_equal(first.decoder_, second.decoder_)


def test_offsets_of_runs_do_not_matter_where_runs_are_given():
    calm, shifted = session(trials=300), session(trials=300, offset=20)
    policies = [
        FullConditionalIGL().fit(*each.seen, run=each.run).policy_ for each in (calm, shifted)
    ]
    # centring takes offsets away to rounding, which a search of 30 steps enlarges
    np.testing.assert_allclose(*policies, rtol=1e-4, atol=1e-6)


def test_a_baseline_is_ignored():
    told = session(trials=200)
    catch = np.arange(200) % 3 == 0
    policies = [FullConditionalIGL().fit(*told.seen, catch=b).policy_ for b in (None, catch)]
    np.testing.assert_array_equal(*policies)
