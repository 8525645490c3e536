"""Full conditional independence: learned where it holds, defeated and owned up to where not."""

import numpy as np
import pytest
from interactions import Session, example_3, session
from sklearn.base import clone

from bciigl.learn import FullConditionalIGL


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
        assert len(learner.restart_objectives_) >= 12
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
    assert "ai_igl" in found.remedy
    assert found.objective == learner.objective_ > 0.75


def test_action_inclusive_feedback_is_not_trusted():
    told = session()
    found = FullConditionalIGL().fit(*told.seen, run=told.run).diagnose()
    assert found.verdict == "do not use"
    # codes of the actions are 3 SD long in each of 8 features
    assert found.action_from_feedback > 0.9


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
    # centring takes offsets away to rounding, which a search of 40 steps enlarges
    np.testing.assert_allclose(*policies, rtol=1e-4, atol=1e-6)


def test_a_baseline_is_ignored():
    told = session(trials=200)
    catch = np.arange(200) % 3 == 0
    policies = [FullConditionalIGL().fit(*told.seen, baseline=b).policy_ for b in (None, catch)]
    np.testing.assert_array_equal(*policies)
