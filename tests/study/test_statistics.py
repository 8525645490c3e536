"""Statistics against other ways to compute them."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from studies import right_of

from bciigl.study.statistics import (
    RESAMPLES,
    Mean,
    accuracy,
    difference_of,
    failed_option,
    mean_of,
    percent,
    permutation_chance,
    within,
)

VALUES = np.random.default_rng(3).normal(80, 10, 20)


def test_mean_and_standard_error_are_scipy_s():
    found = mean_of(VALUES)
    assert found.mean == pytest.approx(np.mean(VALUES))
    assert found.standard_error == pytest.approx(stats.sem(VALUES))


@pytest.mark.parametrize("count", [5, 20])
def test_interval_is_scipy_s_percentile_bootstrap_widened_as_student_s(count):
    values = VALUES[:count]
    plain = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=50_000, random_state=1
    ).confidence_interval
    wider = np.sqrt(count / (count - 1)) * stats.t.ppf(0.975, count - 1) / stats.norm.ppf(0.975)
    expected = np.mean(values) + wider * (np.array(plain) - np.mean(values))
    # Both are drawn at random.
    np.testing.assert_allclose(mean_of(values).interval, expected, atol=0.25 * stats.sem(values))
    low, high = mean_of(values).interval
    assert low < plain.low and plain.high < high


def test_interval_of_two_repeats_is_much_wider_than_they_are_apart():
    low, high = mean_of([90.0, 70.0]).interval
    # Student's is 12.7 standard errors, of 10, to either side.
    assert 8 * 10 < 80 - low < 12.7 * 10 and high - 80 == pytest.approx(80 - low)


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3, 5, 20])
def test_interval_covers_the_truth_as_often_as_it_says(count):
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(400):
        low, high = mean_of(rng.normal(70, 15, count)).interval
        covered.append(low <= 70 <= high)
    # 400 draws tell a share to 1.1 points (one standard error).
    assert 0.91 < np.mean(covered) < 0.985


def test_one_repeat_has_no_error_and_no_interval():
    assert mean_of([70.0]) == (70.0, None, None)
    assert difference_of([70.0], [60.0]) == (10.0, None, None, None)


def test_constant_repeats_are_sure():
    assert mean_of([70.0] * 4) == (70.0, 0.0, (70.0, 70.0))
    assert difference_of([70.0] * 4, [70.0] * 4) == (0.0, 0.0, (0.0, 0.0), 1.0)


def test_order_of_repeats_does_not_change_a_bit_of_the_interval():
    others = VALUES[::-1] + np.random.default_rng(1).normal(0, 5, 20)
    order = np.random.default_rng(2).permutation(20)
    one, other = mean_of(VALUES), mean_of(VALUES[order])
    assert one.interval == other.interval
    assert one.mean == pytest.approx(other.mean, rel=1e-14)
    assert one.standard_error == pytest.approx(other.standard_error, rel=1e-12)
    ours, theirs = difference_of(VALUES, others), difference_of(VALUES[order], others[order])
    assert ours.interval == theirs.interval
    assert ours.p == pytest.approx(theirs.p, abs=0.03)


def exact_p(differences: np.ndarray) -> float:
    """Return the probability of as large a mean difference over all signs."""
    signs = np.array(list(product([-1, 1], repeat=len(differences))))
    means = np.abs((signs * differences).mean(axis=1))
    return float(np.mean(means >= abs(differences.mean()) - 1e-9))


@pytest.mark.parametrize("shift", [0.0, 0.5, 1.5])
@pytest.mark.parametrize("count", [2, 5, 10])
def test_p_is_that_of_all_signs(count, shift):
    differences = np.random.default_rng(count).normal(shift, 1, count)
    others = np.linspace(50, 60, count)
    found = difference_of(others + differences, others)
    expected = exact_p(differences)
    error = np.sqrt(expected * (1 - expected) / RESAMPLES)
    assert found.p == pytest.approx(expected, abs=5 * error + 1 / RESAMPLES)
    assert found.mean == pytest.approx(differences.mean())
    assert found.standard_error == pytest.approx(stats.sem(differences))
    assert difference_of(others, others + differences).p == found.p


def test_p_is_never_zero():
    p = difference_of(np.full(40, 90.0), np.full(40, 30.0)).p
    assert p == 1 / (RESAMPLES + 1)


def test_p_does_not_mistake_rounding_for_a_difference():
    # In floating point 0.1 + 0.2 + 0.3 depends on the order; signs that are all alike must count.
    assert difference_of([0.1, 0.2, 0.3], [0.0, 0.0, 0.0]).p == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize(
    "confusion",
    [right_of(30), right_of(12), [[5, 1, 2], [0, 9, 4], [3, 3, 3]], [[0, 7], [2, 4]]],
)
def test_chance_is_what_permuted_labels_give_on_average(confusion):
    confusion = np.array(confusion)
    total = confusion.sum()
    expected = 100 * (confusion.sum(axis=0) * confusion.sum(axis=1)).sum() / total**2
    found = permutation_chance([confusion] * 3)
    assert found.mean == pytest.approx(expected, abs=1)
    assert found.interval[0] <= found.mean <= found.interval[1]


def test_chance_has_the_law_of_labels_that_are_really_permuted():
    confusion = np.array([[5, 1, 2], [0, 9, 4], [3, 3, 3]])
    meant, chosen = (
        np.repeat(places, confusion.ravel()) for places in np.indices((3, 3)).reshape(2, -1)
    )
    rng = np.random.default_rng(0)
    shares = [100 * np.mean(rng.permutation(meant) == chosen) for _ in range(4000)]
    # One trial of 30 is 3.3 %.
    np.testing.assert_allclose(
        permutation_chance([confusion]).interval, np.percentile(shares, [2.5, 97.5]), atol=3.4
    )


def test_chance_of_a_mean_is_narrower_than_that_of_one_session():
    one, many = (permutation_chance([right_of(20)] * count).interval for count in (1, 16))
    assert (many[1] - many[0]) < 0.4 * (one[1] - one[0])


def test_the_same_repeats_give_the_same_numbers_again():
    confusions = [right_of(count) for count in (10, 20, 30)]
    assert permutation_chance(confusions) == permutation_chance(confusions)
    assert mean_of(VALUES) == mean_of(VALUES)


def test_accuracy_is_the_share_on_the_diagonal():
    assert accuracy(np.array([[3, 1], [0, 4]])) == pytest.approx(87.5)


@pytest.mark.parametrize(
    ("confusion", "failed"),
    [
        ([[9, 0, 0], [0, 9, 0], [0, 0, 9]], False),
        ([[9, 0, 0], [0, 9, 0], [9, 0, 0]], True),
        ([[9, 0, 0], [0, 9, 0], [4, 2, 3]], True),
        ([[9, 0, 0], [0, 9, 0], [4, 1, 4]], False),
        # What was never meant cannot fail.
        ([[9, 0, 0], [0, 0, 0], [0, 0, 9]], False),
    ],
)
def test_option_fails_if_it_is_recognised_no_better_than_by_guessing(confusion, failed):
    assert failed_option(np.array(confusion)) is failed


def test_percent_of_nothing_is_none():
    assert percent([True, False, True, True]) == 75
    assert percent([]) is None


@pytest.mark.parametrize(
    ("interval", "lowest", "expected"),
    [
        ((-20.0, 130.0), 0.0, (0.0, 100.0)),
        ((-20.0, 130.0), -100.0, (-20.0, 100.0)),
        ((-120.0, 90.0), -100.0, (-100.0, 90.0)),
        ((40.0, 60.0), 0.0, (40.0, 60.0)),
        ((0.0, 100.0), 0.0, (0.0, 100.0)),
    ],
)
def test_interval_ends_where_percentages_or_their_differences_do(interval, lowest, expected):
    assert within(Mean(50.0, 3.0, interval), lowest) == (50.0, 3.0, expected)


def test_one_repeat_has_no_interval_to_end():
    assert within(mean_of([70.0]), 0.0) == (70.0, None, None)


def test_difference_stays_one_within_its_ends():
    found = within(difference_of([100.0, 100.0], [0.0, 60.0]), -100.0)
    assert (found.mean, found.interval, found.p) == (70.0, (-100.0, 100.0), 0.5)
