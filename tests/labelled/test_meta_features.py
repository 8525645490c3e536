"""Meta-features: each against what is known of data made for it."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris

from bciigl.base.errors import BciiglError
from bciigl.labelled import meta_features as measured
from bciigl.labelled.meta_features import NAMES, meta_features
from bciigl.labelled.rules import Labelled


def labelled(features, label, classes=None, name="mine"):
    label = np.asarray(label)
    names = tuple(map(str, range(classes or label.max() + 1)))
    return Labelled(name, np.asarray(features), label, names)


def found(features, label, classes=None, seed=0):
    """Return meta-features, with warnings as errors and all of them finite."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = meta_features(labelled(features, label, classes), np.random.default_rng(seed))
    assert tuple(result) == NAMES
    assert all(type(each) is float and np.isfinite(each) for each in result.values())
    return result


@pytest.fixture(scope="module")
def iris():
    """Return features and labels of flowers: 150 of three kinds, as 26 of Table 4's datasets."""
    return load_iris(return_X_y=True)


def test_names_are_the_paper_s_in_its_order():
    names = (
        "1nn_accuracy best_node_accuracy feature_onehot_count instance_per_feature class_entropy_N "
        "max_fisher_discrim max_single_feature_eff mutual_XY_info_mean naive_bayes_accuracy "
        "noise_signal_ratio pca_dims_95 pca_top_1_percent n n_by_sqrt_k n_by_k"
    )
    assert list(NAMES) == names.split()


def test_known_data_have_the_values_that_are_known_of_them(iris):
    result = found(*iris)
    assert result["1nn_accuracy"] == pytest.approx(0.95, abs=0.03)
    # One node tells one kind from the two others, and guesses one of these.
    assert result["best_node_accuracy"] == pytest.approx(2 / 3, abs=0.01)
    assert result["naive_bayes_accuracy"] == pytest.approx(0.95, abs=0.02)
    # The first principal component of unscaled iris has 92.46 % of the variance, the next 5.3 %.
    assert result["pca_top_1_percent"] == pytest.approx(0.9246, abs=1e-4)
    assert result["pca_dims_95"] == 2
    # r of petal length is F (2, 147) = 1180.16 times 2 / 147.
    assert result["max_fisher_discrim"] == pytest.approx(1 / (1 + 1180.161 * 2 / 147), rel=1e-5)
    assert result["instance_per_feature"] == 4 / 150
    assert (result["n"], result["n_by_k"]) == (150, 50)
    assert result["n_by_sqrt_k"] == pytest.approx(150 / np.sqrt(3))
    assert (result["class_entropy_N"], result["feature_onehot_count"]) == (pytest.approx(1), 0)


def test_same_generator_gives_the_same_and_another_other_folds(iris):
    rng = np.random.default_rng(3)
    noisy = iris[0] + rng.normal(size=iris[0].shape)
    assert found(noisy, iris[1], seed=1) == found(noisy, iris[1], seed=1)
    first, second = (found(noisy, iris[1], seed=seed) for seed in (1, 2))
    assert first["1nn_accuracy"] != second["1nn_accuracy"]
    assert first["max_fisher_discrim"] == second["max_fisher_discrim"]


def test_units_matter_to_principal_components_alone(iris):
    scale = 2.0 ** np.array([20, -20, 2, 0])  # exact, as nearest neighbours are often tied
    plain, scaled = found(*iris), found(iris[0] * scale, iris[1])
    different = {name for name in NAMES if plain[name] != pytest.approx(scaled[name], rel=1e-9)}
    assert different == {"pca_dims_95", "pca_top_1_percent"}
    assert scaled["pca_top_1_percent"] == pytest.approx(1)


def test_features_with_two_values_are_counted_whatever_their_coding():
    rng = np.random.default_rng(0)
    bits = rng.integers(2, size=(40, 3))
    numbers = rng.integers(3, size=40)
    constant = np.ones(40)
    columns = [bits, 2.5 - 7 * bits[:, :1], numbers[:, None], constant[:, None]]
    result = found(np.hstack(columns), rng.integers(3, size=40))
    assert result["feature_onehot_count"] == 4


def test_share_that_is_not_zero_and_entropy_of_classes_are_as_counted():
    features = [[0, 1], [0, 2], [0, 0], [5, 6]]
    result = found(features, [0, 0, 0, 1], classes=4)
    assert result["max_single_feature_eff"] == 4 / 8
    entropy = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    assert result["class_entropy_N"] == pytest.approx(entropy / np.log(4))
    assert (result["n_by_k"], result["n_by_sqrt_k"]) == (1, 2)


def test_information_and_noise_are_those_of_the_frequencies():
    label = np.tile([0, 1], 20)
    told, untold = label.astype(float), np.repeat([0.0, 1.0], 20)
    result = found(np.column_stack([told, untold]), label)
    # One bit each of entropy; the first has all of the label's, the second nothing of it.
    assert result["mutual_XY_info_mean"] == pytest.approx(np.log(2) / 2)
    assert result["noise_signal_ratio"] == pytest.approx(1)


def test_noise_without_signal_has_a_ratio_that_ends():
    label = np.tile([0, 1], 20)
    result = found(np.repeat([[0.0], [1.0]], 20, axis=0), label)
    assert result["mutual_XY_info_mean"] == pytest.approx(0, abs=1e-12)
    assert result["noise_signal_ratio"] == pytest.approx(np.log(2) / measured.LEAST_INFORMATION)


def test_rare_values_are_told_from_frequent_ones_on_either_side():
    """Most values are 0, as in images: no quantile but 0 is left to cut at."""
    rng = np.random.default_rng(0)
    label = np.r_[np.zeros(190, int), np.ones(10, int)]
    some = np.r_[np.zeros(190), 1 + rng.random(10)]
    entropy = -(0.95 * np.log(0.95) + 0.05 * np.log(0.05))
    for column in (some, -some):
        result = found(column[:, None], label)
        assert result["mutual_XY_info_mean"] == pytest.approx(entropy)


def test_many_values_are_cut_into_ten_bins_of_equal_numbers():
    values = np.random.default_rng(0).permutation(200.0 ** np.linspace(0, 2, 200))
    label = np.repeat([0, 1], 100)
    entropy, _ = measured.feature_information(values[:, None], label, np.random.default_rng(0))
    assert entropy == pytest.approx(np.log(10))
    # Sorted, five bins have one label and five the other: all that there is to know.
    result = found(np.sort(values)[:, None], label)
    assert result["mutual_XY_info_mean"] == pytest.approx(np.log(2))
    assert result["noise_signal_ratio"] == pytest.approx(np.log(5) / np.log(2))


def test_feature_that_tells_the_classes_apart_alone_has_a_discriminant_of_0():
    rng = np.random.default_rng(0)
    label = rng.integers(3, size=60)
    noise = rng.normal(size=(60, 2))
    told = found(np.column_stack([noise, label]), label)
    assert told["max_fisher_discrim"] == pytest.approx(0, abs=1e-12)
    assert found(noise, label)["max_fisher_discrim"] > 0.8


def test_landmarks_of_noise_are_at_chance_and_of_clusters_at_1():
    rng = np.random.default_rng(0)
    label = np.arange(400) % 4
    noise = rng.normal(size=(400, 5))
    apart = noise + 50 * np.eye(5)[label]
    for name in ("1nn_accuracy", "naive_bayes_accuracy"):
        assert found(noise, label)[name] == pytest.approx(0.25, abs=0.09)
        assert found(apart, label)[name] == 1
    assert found(apart, label)["best_node_accuracy"] == pytest.approx(0.5, abs=0.01)


def test_folds_spread_classes_evenly_whatever_their_size():
    label = np.r_[np.zeros(50, int), np.ones(7, int), [2]]
    fold = measured.folds_of(label, np.random.default_rng(0))
    counts = np.array([np.bincount(label[fold == each], minlength=3) for each in range(5)])
    assert (np.ptp(counts, axis=0) <= 1).all()
    assert counts.sum() == 58


TINY = {
    "27 rows, 7 classes, some with one example": (27, 4, np.r_[np.arange(7), np.arange(20) % 4], 7),
    "100 classes, 16 rows": (16, 3, np.arange(0, 96, 6), 100),
    "more classes than half the rows": (30, 3, np.arange(30) % 25, 25),
    "one feature": (27, 1, np.arange(27) % 7, 7),
    "more features than rows": (12, 40, np.arange(12) % 3, 3),
    "two rows": (2, 2, np.arange(2), 2),
    "one label only": (9, 2, np.zeros(9, int), 3),
}


def test_tiny_data_have_finite_meta_features():
    for rows, columns, label, classes in TINY.values():
        features = np.random.default_rng(0).normal(size=(rows, columns))
        assert found(features, label, classes)["n"] == rows
        # Nothing varies; then one column, in one row.
        features[:] = 3
        constant = found(features, label, classes)
        assert (constant["pca_dims_95"], constant["pca_top_1_percent"]) == (0, 0)
        assert (constant["max_fisher_discrim"], constant["noise_signal_ratio"]) == (1, 0)
        features[-1, 0] = 4
        assert found(features, label, classes)["pca_top_1_percent"] == pytest.approx(1)


def test_extreme_numbers_have_finite_meta_features():
    for size in [1.7e308, 1e200, 1e-200, 5e-324]:
        features = np.array([[size, 1], [-size, 1], [0, 1]] * 5)
        result = found(features, np.arange(15) % 3)
        assert result["1nn_accuracy"] == result["naive_bayes_accuracy"] == 1


def test_where_nothing_varies_the_most_frequent_class_is_guessed():
    result = found(np.ones((20, 2)), np.r_[np.ones(15, int), np.zeros(5, int)])
    for name in ("1nn_accuracy", "best_node_accuracy", "naive_bayes_accuracy"):
        assert result[name] == 0.75


def test_large_data_are_sampled_and_counted_in_full(monkeypatch):
    monkeypatch.setattr(measured, "MOST_ROWS", 200)
    rng = np.random.default_rng(0)
    label = rng.integers(3, size=3000)
    features = rng.normal(size=(3000, 4)) + label[:, None]
    features[:, 3] = features[:, 3] > 0
    features[:, 2] = 0
    features[-1, 2] = 7  # seldom in a sample: two values in all
    features[:, 1] = features[:, 3]
    features[-2, 1] = 9  # a third value
    result = found(features, label)
    assert (result["n"], result["feature_onehot_count"]) == (3000, 2)
    assert result["max_single_feature_eff"] == np.count_nonzero(features) / features.size
    # Accuracies are shares of the 200 that were drawn.
    assert result["1nn_accuracy"] * 200 == pytest.approx(round(result["1nn_accuracy"] * 200))
    monkeypatch.setattr(measured, "MOST_ROWS", 5000)
    whole = found(features, label)
    assert whole["1nn_accuracy"] == pytest.approx(result["1nn_accuracy"], abs=0.1)
    assert whole["max_fisher_discrim"] == pytest.approx(result["max_fisher_discrim"], abs=0.1)


def test_wide_data_are_measured_in_fewer_rows_and_columns(monkeypatch):
    rng = np.random.default_rng(0)
    assert len(measured.drawn_rows(1_000_000, 50, rng)) == 5000
    assert len(measured.drawn_rows(70_000, 784, rng)) == 5000
    assert len(measured.drawn_rows(70_000, 5_000, rng)) == 1000
    assert len(measured.drawn_rows(70_000, 100_000, rng)) == 500
    rows = measured.drawn_rows(6_000, 2, rng)
    assert len(np.unique(rows)) == 5000 and rows.max() > 5000
    monkeypatch.setattr(measured, "INFORMATION_COLUMNS", 5)
    result = found(rng.integers(2, size=(60, 30)), rng.integers(3, size=60))
    assert result["feature_onehot_count"] == 30


def test_whole_numbers_and_single_precision_are_taken(iris):
    result = found((10 * iris[0]).round().astype(np.int16), iris[1])
    again = found((10 * iris[0]).round().astype(np.float32), iris[1])
    assert result == pytest.approx(again)


def test_data_with_nothing_to_measure_are_refused():
    for shape in [(1, 3), (0, 3), (5, 0), (5,)]:
        data = Labelled("mine", np.zeros(shape), np.zeros(shape[0], int), ("a", "b"))
        with pytest.raises(BciiglError, match="'mine'.*at least 2 examples with 1 feature"):
            meta_features(data, np.random.default_rng(0))
