"""Labels as classes: their names and order, and labels that nothing can be learned from."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bciigl.labelled.examples import class_codes, labelled, name_and_id, natural_order
from bciigl.labelled.rules import LabelledError

X = np.arange(12.0).reshape(6, 2)


def test_labels_become_codes_of_classes_in_natural_order():
    for labels, classes, codes in [
        (np.array([10, 2, 10]), ("2", "10"), [1, 0, 1]),
        (np.array([1.0, 2.5, 1.0]), ("1", "2.5"), [0, 1, 0]),
        (np.array([-0.0, -1.0, 0.0]), ("-1", "0"), [1, 0, 1]),
        (np.array([1.5, np.nan, 0], np.float32), ("0", "1.5"), [1, -1, 0]),
        (np.array([True, False]), ("False", "True"), [1, 0]),
        (np.array(["b", "a ", "a", ""]), ("a", "b"), [1, 0, 0, -1]),
        (np.array(["10", "9", "-1"]), ("-1", "9", "10"), [2, 1, 0]),
        (np.array(["c10", "c9", "nan"]), ("c9", "c10", "nan"), [1, 0, 2]),
        (np.array([b"b", b"a"]), ("a", "b"), [1, 0]),
        (np.array([[2], [1]]), ("1", "2"), [1, 0]),
        (pd.Series(["b", None, "a"]), ("a", "b"), [1, -1, 0]),
        (pd.Series(["b", "a"], dtype="category"), ("a", "b"), [1, 0]),
    ]:
        found, names = class_codes(labels)
        assert names == classes
        np.testing.assert_array_equal(found, codes)
        assert found.dtype == np.int64


def test_files_are_ordered_as_people_count():
    names = ["10_a.npz", "2_b.npz", "b.csv", "a10.csv", "a9.csv", "2_a.npz", "9" * 5000]
    assert natural_order(names) == [
        *("2_a.npz", "2_b.npz", "10_a.npz", "9" * 5000),
        *("a9.csv", "a10.csv", "b.csv"),
    ]


def test_examples_without_a_label_are_left_out():
    labels = np.array([0, np.nan, 1, 0, np.nan, 1])
    data = labelled("set", X, labels, training=4)
    np.testing.assert_array_equal(data.features, X[[0, 2, 3, 5]])
    np.testing.assert_array_equal(data.label, [0, 1, 0, 1])
    assert data.training == 3
    assert data.notes == ("left out: 2 of 6 examples, which have no label",)


def test_classes_that_are_given_are_kept_in_their_order_even_with_no_example():
    data = labelled("set", X, np.array([0, 2, 0, 2, 0.0, np.nan]), classes=["z", "never", "a"])
    assert data.classes == ("z", "never", "a")
    np.testing.assert_array_equal(data.label, [0, 2, 0, 2, 0])


def test_labels_that_nothing_can_be_learned_from_are_refused():
    for labels, classes, message in [
        (["a"] * 6, None, "all labels are 'a': there is nothing to guess"),
        ([1] * 6, ["x", "y"], "all labels are 'y': there is nothing to guess"),
        (list("abcdef"), None, "has 6 classes in 6 examples: is the label column right"),
        ([0, 1] * 3, list("abcdefg"), "has 7 classes in 6 examples"),
        (["a", "b"], None, "has 6 examples, but 2 labels"),
        ([np.nan] * 6, None, "no examples with a label"),
        ([0, 1, 2] * 2, ["a", "b"], "from 0 to 1, got 2"),
        ([0, 1, -1] * 2, ["a", "b"], "from 0 to 1, got -1"),
        ([0, 0.5, 1] * 2, ["a", "b"], "from 0 to 1, got 0.5"),
        (["a", "b"] * 3, ["a", "b"], "indices of the 2 classes, got 'a'"),
        ([0, 1] * 3, ["a", "a"], "has 2 classes called 'a'"),
        ([0, 1] * 3, [], "has 0 classes"),
        (np.zeros((6, 2)), None, r"one number or word for each example, got .* \(6, 2\)"),
        ([1j] * 6, None, "one number or word for each example, got complex128"),
    ]:
        with pytest.raises(LabelledError, match=message):
            labelled("set", X, np.array(labels), classes=classes)


def test_more_classes_than_learners_take_are_refused():
    labels = np.arange(3000) // 2
    with pytest.raises(LabelledError, match="1,500 classes, and there can be at most 1,000: is"):
        labelled("set", np.ones((3000, 1)), labels)


def test_no_examples_are_refused():
    with pytest.raises(LabelledError, match="no examples"):
        labelled("set", np.zeros((0, 2)), np.zeros(0), classes=["a", "b"])


def test_data_of_which_all_that_is_for_testing_has_no_label_are_refused():
    with pytest.raises(LabelledError, match="4 examples for training, of 4"):
        labelled("set", X, np.array([0, 1, 0, 1, np.nan, np.nan]), training=4)


def test_the_name_of_a_file_tells_name_and_id():
    for file, name, openml_id in [
        ("61_iris.npz", "iris", 61),
        ("1466_a_b.csv", "a_b", 1466),
        ("iris.npz", "iris", None),
        ("61iris.npz", "61iris", None),
        ("61.npz", "61", None),
        ("61_.npz", "61_", None),
        ("x_61.npz", "x_61", None),
    ]:
        assert name_and_id(Path("folder", file)) == (name, openml_id)
