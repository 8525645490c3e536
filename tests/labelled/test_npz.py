"""Labelled arrays in NPZ files: both forms, what is optional, and what is missing or wrong."""

import os
from pathlib import Path

import numpy as np
import pytest

from bciigl.labelled.arrays import read_npz
from bciigl.labelled.rules import LabelledError

X = np.arange(12.0).reshape(6, 2)
Y = np.array([0, 1, 2] * 2)
IMAGES = {
    "x_train": np.arange(32, dtype=np.uint8).reshape(8, 2, 2),
    "y_train": np.array([0, 1] * 4, np.uint8),
    "x_test": np.full((2, 2, 2), 9, np.uint8),
    "y_test": np.array([1, 0], np.uint8),
}


def test_features_and_labels_are_read(tmp_path):
    np.savez(tmp_path / "61_iris.npz", X=X, y=Y, note="ignored", source=np.array("ignored"))
    data = read_npz(tmp_path / "61_iris.npz")
    np.testing.assert_array_equal(data.features, X)
    np.testing.assert_array_equal(data.label, Y)
    assert (data.name, data.openml_id, data.classes) == ("iris", 61, ("0", "1", "2"))
    assert data.training is None
    assert data.notes == ()


def test_what_the_file_says_goes_before_its_name(npz):
    data = read_npz(npz(X=X, y=Y, classes=np.array(["c", "b", "a"]), openml_id=np.array(7)))
    assert (data.name, data.openml_id, data.classes) == ("arrays", 7, ("c", "b", "a"))


def test_training_and_test_part_follow_each_other(npz):
    data = read_npz(npz(**IMAGES))
    assert data.features.shape == (10, 4)
    assert data.features.dtype == np.uint8
    assert data.training == 8
    np.testing.assert_array_equal(data.features[8:], 9)
    np.testing.assert_array_equal(data.label, [0, 1] * 4 + [1, 0])


def test_the_case_of_names_does_not_matter(npz):
    data = read_npz(npz(**{name.replace("x", "X"): array for name, array in IMAGES.items()}))
    assert data.training == 8


def test_missing_numbers_are_filled_and_told(npz):
    data = read_npz(npz(X=np.where(X == 4, np.nan, X), y=Y))
    assert data.features[2, 0] == pytest.approx((0 + 2 + 6 + 8 + 10) / 5)
    assert data.notes == (
        "missing: 1 of 12 numbers, filled with the mean of their column over all rows",
    )


def test_files_with_other_arrays_are_refused(npz):
    for arrays, message in [
        ({"X": X}, "array y is missing; needed are X and y, or x_train.* found are x"),
        ({"y": Y}, "array x is missing"),
        ({}, "array x is missing; .* found are none"),
        ({**IMAGES, "y_test": None}, "array y_test is missing"),
        ({"X": X, "y": Y[:3]}, "has 6 examples, but 3 labels"),
        ({"X": X, "y": np.array(1)}, "array y should have a row for each example"),
        ({"X": X.astype(str), "y": Y}, "features must be numbers"),
        ({"X": X, "y": Y, "openml_id": np.array([1, 2])}, "openml_id should be one whole number"),
        ({"X": X, "y": Y, "classes": np.array("a")}, "classes should be a list of names"),
        ({"X": X, "y": Y, "classes": np.array(["a", "b"])}, "from 0 to 1, got 2"),
        ({**IMAGES, "y_train": Y}, "x_train has 8 examples, and y_train 6 labels"),
        ({**IMAGES, "x_test": np.zeros((2, 3), "u1")}, r"one shape, got \(2, 2\) .* \(3,\) in x_t"),
        ({**IMAGES, "y_test": np.array(["1", "0"])}, "y_train and y_test should both be numbers"),
        ({**IMAGES, "x_test": X[:0], "y_test": Y[:0]}, "x_test has 0 examples"),
    ]:
        with pytest.raises(LabelledError, match=message):
            read_npz(npz(**arrays))


def test_a_file_with_objects_in_it_is_refused(npz):
    with pytest.raises(LabelledError, match="^is not readable as arrays of numbers"):
        read_npz(npz(X=X, y=np.array([None] * 6, object)))


def real(*names: str) -> Path:
    return Path(os.environ["BCIIGL_TEST_DATA"], *names)


@pytest.mark.skipif("BCIIGL_TEST_DATA" not in os.environ, reason="needs real datasets")
def test_real_datasets_are_read_whole():
    paths = sorted(real("openml").glob("*.npz"))
    sets = [read_npz(path) for path in paths]
    assert len(sets) == 24
    for data, path in zip(sets, paths, strict=True):
        assert path.stem == f"{data.openml_id}_{data.name}"
        assert np.isfinite(data.features).all()
        assert set(data.label.tolist()) == set(range(len(data.classes)))
        assert data.notes == ()


@pytest.mark.skipif("BCIIGL_TEST_DATA" not in os.environ, reason="needs real datasets")
def test_mnist_is_read_with_its_test_part():
    data = read_npz(real("mnist", "mnist.npz"))
    assert data.features.shape == (70_000, 784)
    assert data.training == 60_000
    assert data.classes == tuple("0123456789")
    np.testing.assert_array_equal(data.label[:3], [5, 0, 4])
    np.testing.assert_array_equal(data.label[60_000:60_003], [7, 2, 1])
