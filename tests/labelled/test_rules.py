"""Guesses about labelled data: how data are split and guessed, and what is refused."""

import re
from dataclasses import replace

import numpy as np
import pytest
from interactions import flat
from labelled_data import echo, labelled
from scipy.stats import chi2
from sklearn.decomposition import PCA

from bciigl.base.seeds import Seed
from bciigl.labelled.rules import (
    MOST_FEATURES,
    RULES,
    LabelledError,
    action_exclusive,
    action_reward,
    coded,
    find_rule,
    interactions,
    reduced,
)


def guessed(*arguments, **options):
    """Return the interactions and their truth by the names that files have for them."""
    return flat(interactions(*arguments, **options))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_majority_is_what_the_best_constant_guess_gets_right():
    assert replace(labelled(5, 2), label=np.array([0, 1, 1, 1, 0])).majority == 0.6


def numbered(examples: int = 100, classes: int = 4, **about):
    """Return data that have the number of each example as their only feature."""
    values = np.arange(float(examples))[:, None]
    return replace(labelled(examples, classes, 1, **about), features=values)


def test_a_tenth_is_for_testing_and_nothing_is_in_both_parts():
    for examples, testing in [(100, 10), (64, 6), (66, 7), (12, 1), (4, 1)]:
        found = guessed(numbered(examples, 2), action_reward, Seed(0))
        assert len(found.test_context) == len(found.test_label) == testing
        both = np.concatenate([found.context[:, 0], found.test_context[:, 0]])
        assert sorted(both) == list(range(examples))
        assert (found.label == found.context[:, 0] % 2).all()
        assert (found.test_label == found.test_context[:, 0] % 2).all()


def test_own_test_part_is_kept_and_training_is_shuffled():
    found = guessed(numbered(training=70), action_reward, Seed(0))
    assert found.test_context[:, 0].tolist() == list(range(70, 100))
    assert found.test_label.tolist() == [each % 4 for each in range(70, 100)]
    assert sorted(found.context[:, 0]) == list(range(70))
    assert found.context[:, 0].tolist() != list(range(70))


def test_samples_are_so_many_different_examples_or_as_many_as_there_are():
    few, all_of_them, more = (
        guessed(numbered(), action_reward, Seed(0), samples=samples) for samples in (20, None, 1000)
    )
    assert len(set(few.context[:, 0])) == len(few.action) == len(few.feedback) == 20
    assert (few.test_context == all_of_them.test_context).all()
    assert few.context.tolist() == all_of_them.context[:20].tolist()
    assert more.context.tolist() == all_of_them.context.tolist()
    assert len(more.action) == 90


def test_same_seed_gives_the_same_split_and_guesses_whatever_the_rule():
    found = {
        name: guessed(labelled(80, 5), rule, Seed(4), samples=50) for name, rule in RULES.items()
    }
    first = found.pop("action_reward")
    assert len(found) == 3
    for each in found.values():
        for name in ("context", "action", "reward", "label", "test_context", "test_label"):
            assert (getattr(each, name) == getattr(first, name)).all()
    again = guessed(labelled(80, 5), coded, Seed(4), samples=50)
    assert (again.feedback == found["coded"].feedback).all()


def test_another_seed_gives_another_split_and_other_guesses_and_answers():
    one, other = (guessed(numbered(), action_exclusive, Seed(seed)) for seed in (0, 1))
    assert one.test_context.tolist() != other.test_context.tolist()
    assert one.action.tolist() != other.action.tolist()
    assert one.feedback.tolist() != other.feedback.tolist()


def test_rewards_say_whether_guesses_are_right_and_guesses_are_uniform():
    found = guessed(labelled(8000, 4, 1), action_reward, Seed(0))
    assert (found.reward == (found.action == found.label)).all()
    assert (found.feedback == np.column_stack([found.action, found.reward])).all()
    assert (found.propensity, found.n_actions) == (None, 4)
    count = np.bincount(4 * found.label + found.action, minlength=16)
    assert ((count - 450) ** 2 / 450).sum() < chi2.ppf(0.999, 15)


def test_actions_are_all_classes_even_those_that_are_nowhere():
    data = replace(labelled(60, 3), classes=("a", "b", "c", "d", "e"))
    found = guessed(data, action_reward, Seed(0))
    assert found.n_actions == 5
    assert set(found.action.tolist()) == set(range(5))
    never = guessed(data, action_reward, Seed(0), policy=lambda x: np.eye(5)[[0] * len(x)])
    assert never.n_actions == 5


def by_number(examples: np.ndarray) -> np.ndarray:
    """Return a policy that depends on the context and never takes the last of four actions."""
    even = (examples[:, :1] % 2 == 0).astype(float)
    return np.hstack([0.1 + 0.5 * even, 0.7 - 0.5 * even, np.full_like(even, 0.2), 0 * even])


def test_actions_follow_a_policy_and_have_its_probabilities():
    found = guessed(numbered(10_000), action_reward, Seed(0), policy=by_number)
    probability = by_number(found.context)
    assert (found.propensity == probability[np.arange(9000), found.action]).all()
    assert found.propensity.min() > 0 and found.n_actions == 4
    for parity in (0, 1):
        mine = found.context[:, 0] % 2 == parity
        count = np.bincount(found.action[mine], minlength=4)
        assert count[3] == 0
        expected = (probability[mine].sum(axis=0))[:3]
        assert ((count[:3] - expected) ** 2 / expected).sum() < chi2.ppf(0.999, 2)


def test_policy_sees_examples_as_they_are_and_only_those_that_are_used():
    seen = []

    def policy(examples: np.ndarray) -> np.ndarray:
        seen.append(examples)
        return np.full((len(examples), 4), 0.25)

    data = labelled(100, 4, 70)
    found = guessed(data, action_reward, Seed(0), samples=30, policy=policy)
    assert seen[0].shape == (30, 70)
    assert all((data.features == each).all(axis=1).any() for each in seen[0])
    assert (found.propensity == 0.25).all()


def test_policy_that_is_certain_takes_its_action():
    def last(examples: np.ndarray) -> np.ndarray:
        return np.tile([0.0, 1.0, 0.0], (len(examples), 1))

    found = guessed(labelled(60, 3), action_reward, Seed(0), policy=last)
    assert set(found.action) == {1} and set(found.propensity) == {1.0}


BAD_POLICIES = {
    "negative": lambda x: np.tile([1.5, -0.5, 0.0], (len(x), 1)),
    "no sum of one": lambda x: np.full((len(x), 3), 0.3),
    "not a number": lambda x: np.full((len(x), 3), np.nan),
    "too few actions": lambda x: np.full((len(x), 2), 0.5),
    "too few examples": lambda x: np.full((len(x) - 1, 3), 1 / 3),
    "one row": lambda x: np.full(3, 1 / 3),
    "none": lambda x: None,
}


def test_policy_that_is_none_is_refused():
    for policy in BAD_POLICIES.values():
        with pytest.raises(
            LabelledError, match="policy should give each of 3 actions a probability"
        ):
            guessed(labelled(60, 3), action_reward, Seed(0), policy=policy)


def test_rule_of_one_s_own_is_found_by_its_name_and_answers(monkeypatch):
    monkeypatch.setitem(RULES, "mine", echo)
    assert find_rule("mine") is echo
    found = guessed(labelled(), find_rule("mine"), Seed(0))
    assert found.feedback.shape == (54, 2)
    np.testing.assert_allclose(found.feedback, found.reward[:, None] + [0, 0], atol=0.6)


def answering(value, name: str = "mine"):
    """Return a rule that answers every time with the same."""

    def rule(guesses, rng):
        return value(len(guesses.action))

    rule.__name__ = name
    return rule


BAD_ANSWERS = {
    "too few rows": lambda n: np.zeros((n - 1, 2)),
    "too many rows": lambda n: np.zeros((n + 1, 2)),
    "one number each": lambda n: np.zeros(n),
    "three dimensions": lambda n: np.zeros((n, 2, 2)),
    "missing": lambda n: np.full((n, 2), np.nan),
    "infinite": lambda n: np.full((n, 2), np.inf),
    "nothing": lambda n: None,
    "words": lambda n: [["yes"]] * n,
    "no features": lambda n: np.zeros((n, 0)),
}


def test_answers_that_cannot_be_learned_from_are_refused_by_the_rule_s_name():
    for value in BAD_ANSWERS.values():
        with pytest.raises(LabelledError, match="^rule mine: feedback must"):
            guessed(labelled(), answering(value), Seed(0))


def test_rule_without_a_name_is_shown_as_it_is():
    class Nameless:
        def __call__(self, guesses, rng):
            return None

        def __repr__(self) -> str:
            return "Nameless()"

    with pytest.raises(LabelledError, match=re.escape("rule Nameless(): feedback must")):
        guessed(labelled(), Nameless(), Seed(0))


def test_unknown_rule_is_told_the_nearest_and_all():
    with pytest.raises(LabelledError) as error:
        find_rule("action_reword")
    assert str(error.value) == (
        "unknown feedback rule 'action_reword'; did you mean 'action_reward'?; known are "
        "action_reward, coded, action_inclusive, action_exclusive"
    )
    with pytest.raises(LabelledError, match="unknown feedback rule 'xyz'; known are"):
        find_rule("xyz")


def test_few_features_are_left_as_they_are():
    values = rng().normal(size=(100, MOST_FEATURES))
    one, other = reduced(values, values[:7].astype(np.float32))
    assert (one == values).all() and other.dtype == float and other.shape == (7, 64)


def test_many_features_become_the_64_components_of_the_first_rows():
    values, others = rng(1).normal(size=(200, 70)) * np.arange(1, 71), rng(2).normal(size=(30, 70))
    one, other = reduced(values, others)
    assert one.shape == (200, 64) and other.shape == (30, 64)
    components = PCA(64, svd_solver="full").fit(values)
    np.testing.assert_allclose(np.abs(one), np.abs(components.transform(values)), atol=1e-8)
    np.testing.assert_allclose(np.abs(other), np.abs(components.transform(others)), atol=1e-8)


def test_components_do_not_know_what_they_are_applied_to():
    values, others = rng(1).normal(size=(200, 70)), rng(2).normal(size=(30, 70))
    alone = reduced(values)[0]
    assert (alone == reduced(values, others)[0]).all()
    assert (alone == reduced(values, 1000 * others)[0]).all()


def test_components_are_no_more_than_rows():
    one, other = reduced(rng().normal(size=(20, 100)), rng(1).normal(size=(5, 100)))
    assert one.shape == (20, 20) and other.shape == (5, 20)


def test_contexts_are_reduced_by_trials_alone_and_answers_too():
    data = labelled(150, 4, 80, training=100)
    far = replace(data, features=data.features.copy())
    far.features[100:] *= 1000
    one, other = (guessed(each, action_exclusive, Seed(0)) for each in (data, far))
    assert one.context.shape == one.feedback.shape == (100, 64)
    assert one.test_context.shape == (50, 64)
    assert (one.context == other.context).all() and (one.feedback == other.feedback).all()
    assert not np.allclose(one.test_context, other.test_context)


def test_images_are_of_training_examples_only():
    data = labelled(40, 4, 1)
    data = replace(data, features=np.arange(40.0)[:, None], training=30)
    found = guessed(data, action_exclusive, Seed(0))
    assert found.feedback.max() < 30
    found = guessed(data, action_exclusive, Seed(0), samples=5)
    # Trials are few, images that can answer are all that are for training.
    chosen = {
        float(each)
        for seed in range(40)
        for each in guessed(data, action_exclusive, Seed(seed), samples=5).feedback.ravel()
    }
    assert chosen == {float(each) for each in range(30) if each % 4 < 2}
