"""What each rule answers to guesses about labelled data, against its formula."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from labelled_data import guesses, labelled, uniform_guesses
from scipy.stats import chi2, kstest

from bciigl.base.seeds import Seed
from bciigl.labelled.rules import (
    CODE_FEATURES,
    CODE_SHIFT,
    CODE_SPREAD,
    LabelledError,
    action_exclusive,
    action_inclusive,
    action_reward,
    coded,
    interactions,
    pictures,
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_action_and_reward_are_answered_as_two_numbers():
    # Examples of the labels 2, 0, 1; the guesses are right, wrong, right.
    mine = guesses([2, 0, 1], [0, 1, 2], [2, 2, 1], 3)
    assert action_reward(mine, rng()).tolist() == [[2, 1], [2, 0], [1, 1]]


def shown_by(rule, classes: int) -> dict[tuple[int, int], set[int]]:
    """Return the classes that are shown for each action and reward."""
    mine = uniform_guesses(200 * classes, classes)
    shown = mine.label[rule(mine, rng())[:, 0].astype(int)]
    found: dict[tuple[int, int], set[int]] = {}
    for action, reward, digit in zip(mine.action, mine.reward, shown, strict=True):
        found.setdefault((int(action), int(reward)), set()).add(int(digit))
    assert len(found) == 2 * classes
    return found


def test_action_inclusive_shows_an_image_of_the_paper_s_digit():
    for classes in [4, 5, 7, 10, 12]:
        for (action, reward), digits in shown_by(action_inclusive, classes).items():
            assert digits == {(action + 6 * reward - 3) % classes}


def test_action_inclusive_of_digits_is_three_below_or_above():
    found = shown_by(action_inclusive, 10)
    assert (found[0, 0], found[0, 1], found[5, 0], found[9, 1]) == ({7}, {3}, {2}, {2})


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_action_inclusive_is_refused_where_right_and_wrong_look_the_same(classes):
    with pytest.raises(LabelledError, match=f"^action_inclusive: with {classes} classes"):
        action_inclusive(uniform_guesses(60, classes), rng())
    with pytest.raises(LabelledError, match=f"^action_inclusive: with {classes} classes"):
        interactions(labelled(60, classes), action_inclusive, Seed(0))


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_action_exclusive_shows_an_image_of_the_reward(classes):
    for (_, reward), digits in shown_by(action_exclusive, classes).items():
        assert digits == {reward}


def groups(feedback: np.ndarray, mine) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean answer to wrong and to right guesses, (actions, features), and what is left.

    What is left is scaled for the means that are taken from the same answers.
    """
    place = 2 * mine.action + mine.reward
    count = np.bincount(place)
    means = np.array([feedback[place == each].mean(axis=0) for each in range(len(count))])
    left = (feedback - means[place]) / np.sqrt(1 - 1 / count[place])[:, None]
    return means[::2], means[1::2], left


@pytest.fixture(scope="module")
def many_coded():
    """Return coded answers to 40,000 guesses of 4 labels, and the guesses."""
    mine = uniform_guesses(40_000, 4)
    return coded(mine, rng(1)), mine


def test_code_has_16_numbers_in_noise_of_unit_variance(many_coded):
    feedback, mine = many_coded
    assert feedback.shape == (40_000, 16) == (40_000, CODE_FEATURES)
    left = groups(feedback, mine)[2]
    # Of 640,000 numbers; a standard error of the variance is 0.0018.
    assert left.var() == pytest.approx(1, abs=0.009)
    assert kstest(left[:2000].ravel(), "norm").pvalue > 0.001
    # No number says anything about another.
    assert np.abs(np.corrcoef(left.T) - np.eye(16)).max() < 0.03


def test_reward_moves_a_code_by_four_along_a_unit_direction(many_coded):
    wrong, right, _ = groups(*many_coded)
    lengths = np.linalg.norm(right - wrong, axis=1)
    # A mean of 2,500 right answers has a standard error of 0.02 in each direction.
    np.testing.assert_allclose(lengths, 4, atol=0.09)
    assert CODE_SHIFT == 4


def test_directions_of_actions_half_resemble_and_codes_have_a_spread_of_two():
    directions, codes = [], []
    for seed in range(40):
        mine = uniform_guesses(2_000, 5, seed)
        wrong, right, _ = groups(coded(mine, rng(seed)), mine)
        directions.append((right - wrong) / CODE_SHIFT)
        codes.append(wrong)
    cosines = np.array([(each @ each.T)[np.triu_indices(5, 1)] for each in directions])
    # 10 cosines of each draw spread by about 1/8 around a half.
    assert cosines.mean() == pytest.approx(0.5, abs=0.03)
    assert 0.05 < cosines.std() < 0.25
    # 40 x 5 x 16 codes; a standard error of their spread is 0.025, their own noise adds 0.0003.
    assert np.std(codes) == pytest.approx(2, abs=0.1)
    assert np.mean(codes) == pytest.approx(0, abs=0.15)
    assert CODE_SPREAD == 2


def test_codes_are_drawn_anew_by_each_generator_and_the_same_by_the_same():
    mine = uniform_guesses(500, 3)
    one, again, other = coded(mine, rng(1)), coded(mine, rng(1)), coded(mine, rng(2))
    assert (one == again).all()
    distance = np.linalg.norm(groups(one, mine)[0] - groups(other, mine)[0], axis=1)
    # Independent codes are 2 sqrt(2 * 16) = 11 apart.
    assert (distance > 5).all()


def test_codes_of_one_generator_differ_from_draw_to_draw():
    mine, one = uniform_guesses(500, 3), rng(1)
    first, second = (groups(coded(mine, one), mine)[0] for _ in range(2))
    assert (np.linalg.norm(first - second, axis=1) > 5).all()


@st.composite
def small_guesses(draw):
    """Draw labels of few examples, contexts and shown classes."""
    classes = draw(st.integers(2, 5))
    label = draw(st.lists(st.integers(0, classes - 1), min_size=1, max_size=12))
    trials = draw(st.integers(1, 12))
    row = draw(st.lists(st.integers(0, len(label) - 1), min_size=trials, max_size=trials))
    shown = draw(st.lists(st.integers(0, classes - 1), min_size=trials, max_size=trials))
    return guesses(label, row, shown, classes), np.array(shown)


@given(small_guesses(), st.integers(0, 2**32 - 1))
def test_image_is_of_the_class_that_is_shown_and_never_the_context(drawn, seed):
    mine, shown = drawn
    others = [
        np.sum((mine.label == digit) & (np.arange(len(mine.label)) != row))
        for row, digit in zip(mine.row, shown, strict=True)
    ]
    if min(others) == 0:
        with pytest.raises(LabelledError, match="an answer shows another example of a class"):
            pictures(shown, mine, rng(seed))
        return
    chosen = pictures(shown, mine, rng(seed))[:, 0].astype(int)
    assert (mine.label[chosen] == shown).all()
    assert (chosen != mine.row).all()


@given(small_guesses())
def test_every_other_image_of_the_class_can_be_shown(drawn):
    mine, shown = drawn
    row, digit = int(mine.row[0]), int(shown[0])
    allowed = {int(each) for each in np.flatnonzero(mine.label == digit) if each != row}
    assume(allowed)
    many = guesses(mine.label, [row] * 400, [digit] * 400, mine.n_actions)
    chosen = pictures(np.full(400, digit), many, rng())[:, 0].astype(int)
    # One of 11 is not drawn in 400 times once in 10^16 tests.
    assert set(chosen.tolist()) == allowed


@pytest.mark.parametrize("own", [True, False])
def test_image_is_drawn_uniformly_among_those_allowed(own):
    label = rng(3).permutation(np.repeat([0, 1, 2], [9, 7, 5]))
    digit, draws = 1, 30_000
    of_class = np.flatnonzero(label == digit)
    row = int(of_class[3] if own else np.flatnonzero(label == 2)[0])
    allowed = of_class[of_class != row]
    mine = guesses(label, [row] * draws, [digit] * draws, 3)
    chosen = pictures(np.full(draws, digit), mine, rng(5))[:, 0].astype(int)
    count = np.bincount(chosen, minlength=len(label))
    assert count.sum() == count[allowed].sum()
    expected = draws / len(allowed)
    distance = ((count[allowed] - expected) ** 2 / expected).sum()
    assert distance < chi2.ppf(0.999, len(allowed) - 1)


def test_class_of_one_example_that_is_its_own_context_is_refused():
    with pytest.raises(LabelledError, match="class 1 has 1$"):
        pictures(np.array([1]), guesses([0, 1, 0], [1], [1], 2), rng())
    with pytest.raises(LabelledError, match="class 2 has 0$"):
        pictures(np.array([2]), guesses([0, 1, 0], [0], [1], 3), rng())
    # It may answer for others.
    assert pictures(np.array([1]), guesses([0, 1, 0], [0], [1], 2), rng()).tolist() == [[1.0]]
