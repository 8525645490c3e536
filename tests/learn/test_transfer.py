"""Perception transfer: as good as imagining resembles seeing, and it says that it cannot tell."""

import json

import numpy as np
import pytest
from interactions import interactions, planted

from bciigl.base.registry import LEARNERS
from bciigl.learn import (
    InputError,
    PerceptionTransfer,
    SupervisedCeiling,
    Verdict,
    load_learner,
    save_learner,
)

LAW = {"trials": 276, "imagined": 4.0, "n_actions": 3}


def fitted(data, **parameters):
    return PerceptionTransfer(**parameters).fit(
        data.context, data.action, data.feedback, run=data.run
    )


def fresh(told, trials=1500):
    """Return new contexts of the same person, and the options imagined."""
    rng = np.random.default_rng(99)
    actions, features = told.patterns.shape
    option = rng.integers(actions, size=trials)
    return told.patterns[option] + rng.standard_normal((trials, features)), option


def accuracy(told):
    return fitted(told.data).score(*fresh(told))


@pytest.mark.parametrize("alike", [1.0, 0.9])
def test_it_decodes_where_imagining_is_like_seeing(alike):
    for seed in range(3):
        told = planted(seed, **LAW, alike=alike)
        ceiling = SupervisedCeiling().fit(
            told.data.context, told.right.argmax(axis=1), run=told.data.run
        )
        # what is seen is twice as strong as what is imagined
        assert accuracy(told) > ceiling.score(*fresh(told)) - 0.05


def test_it_is_at_chance_where_imagining_is_unlike_seeing():
    found = [accuracy(planted(seed, **LAW)) for seed in range(12)]
    # patterns of 64 features are alike by chance, by 1/8: single subjects differ by much
    assert np.mean(found) == pytest.approx(1 / 3, abs=3 * np.std(found, ddof=1) / np.sqrt(12))
    assert abs(np.mean(found) - 1 / 3) < 0.15


def test_it_is_wrong_where_imagining_is_the_opposite_of_seeing():
    for seed in range(3):
        assert accuracy(planted(seed, **LAW, alike=-0.9)) < 0.1


def test_it_reads_no_judgment():
    loud, silent = (planted(0, **LAW, alike=0.7, judged=judged) for judged in (6.0, 0.0))
    np.testing.assert_array_equal(loud.data.context, silent.data.context)
    # a judgment is noise to it, which leaves it about as good
    assert accuracy(silent) > 0.8
    assert accuracy(loud) == pytest.approx(accuracy(silent), abs=0.1)
    # and the same choices follow if every judgment is turned round
    data = loud.data
    turned = data._replace(feedback=data.feedback + np.outer(1 - 2 * loud.reward, loud.direction))
    context, _ = fresh(loud)
    same = fitted(data).predict(context) == fitted(turned).predict(context)
    assert same.mean() > 0.9


@pytest.mark.parametrize("features", [(4, 5), (5, 4), (1, 64)])
def test_other_features_are_refused(features):
    rng = np.random.default_rng(0)
    context, feedback = (rng.standard_normal((60, count)) for count in features)
    words = f"must have the same features, the same voxels.*got {features[0]} and {features[1]}$"
    with pytest.raises(InputError, match=words):
        PerceptionTransfer().fit(context, np.arange(60) % 3, feedback)


@pytest.mark.parametrize("alike", [1.0, 0.0])
def test_it_is_always_in_doubt(alike):
    found = fitted(planted(0, **LAW, alike=alike).data).diagnose()
    assert type(found) is Verdict
    assert found.verdict == "doubtful"
    assert "reads no judgment" in found.reason
    assert "AI-IGL" in found.remedy


@pytest.mark.parametrize("n_actions", [None, 5])
def test_every_trial_is_decoded_alike(n_actions):
    told = planted(0, **LAW, alike=0.9)
    learner = fitted(told.data, n_actions=n_actions)
    decoded = learner.decode(told.data.feedback, told.data.action)
    assert decoded.tolist() == [1 / (n_actions or 3)] * 276
    with pytest.raises(InputError, match="feedback must be finite"):
        learner.decode(np.full((2, 64), np.nan), np.zeros(2, int))


def test_an_action_never_taken_is_never_chosen():
    told = planted(0, **LAW, alike=0.9)
    learner = fitted(told.data, n_actions=4)
    assert learner.policy_.shape == (65, 4)
    assert set(learner.predict(fresh(told)[0])) == {0, 1, 2}


def test_offsets_of_runs_do_not_matter_where_runs_are_given():
    told = planted(0, **LAW, alike=0.9)
    calm, rng = told.data, np.random.default_rng(1)
    context, feedback = 20 * rng.standard_normal((2, 6, 64))
    moved = calm._replace(
        context=calm.context + context[calm.run], feedback=calm.feedback + feedback[calm.run]
    )
    np.testing.assert_allclose(fitted(calm).policy_, fitted(moved).policy_, atol=1e-9)
    chosen = fitted(moved).predict(moved.context, run=moved.run)
    np.testing.assert_array_equal(chosen, fitted(calm).predict(calm.context, run=calm.run))


@pytest.mark.filterwarnings("error")
def test_features_that_do_not_vary_and_few_trials_are_borne():
    told = planted(0, **LAW, alike=0.9)
    for view in (told.data.context, told.data.feedback):
        view[:, :3] = 0.1
    assert fitted(told.data).score(told.data.context, told.right.argmax(axis=1)) > 0.8
    for trials in (2, 5, 12):
        few = told.data.rows(np.arange(trials))
        assert np.isfinite(fitted(few, n_actions=3).policy_).all()


def test_it_comes_back_from_disk_as_it_was(tmp_path):
    told = planted(0, **LAW, alike=0.9)
    learner = fitted(told.data, n_actions=4)
    save_learner(learner, tmp_path / "learner")
    assert json.loads((tmp_path / "learner" / "learner.json").read_text())["learner"] == "transfer"
    found = load_learner(tmp_path / "learner")
    assert type(found) is PerceptionTransfer
    assert found.get_params() == {"n_actions": 4}
    assert found.diagnose() == learner.diagnose()
    context, _ = fresh(told)
    np.testing.assert_array_equal(found.predict_proba(context), learner.predict_proba(context))
    decoded = found.decode(told.data.feedback, told.data.action)
    np.testing.assert_array_equal(decoded, np.full(276, 0.25))


def test_it_is_registered_as_needing_the_same_features():
    learner = LEARNERS.get("transfer")
    assert isinstance(learner.make(), PerceptionTransfer)
    assert learner.same_features
    assert "transfer" in LEARNERS.own_ids


def test_pure_noise_is_learned_without_complaint():
    data = interactions(60, feedback=np.random.default_rng(2).standard_normal((60, 4)))
    assert set(fitted(data).predict(data.context)) <= {0, 1, 2}
