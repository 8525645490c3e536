"""Features from arrays and tables: what is kept, filled, split up, left out and refused."""

import warnings

import numpy as np
import pandas as pd
import pytest

from bciigl.labelled import examples
from bciigl.labelled.examples import matrix_features, table_features
from bciigl.labelled.rules import LabelledError

ROWS = 60
WAVE = np.sin(np.arange(ROWS))


def table(**more) -> pd.DataFrame:
    return pd.DataFrame({"wave": WAVE, **more})


def test_numbers_stay_as_they_are():
    features, notes = table_features(table(count=np.arange(ROWS) % 7))
    np.testing.assert_array_equal(
        features, np.column_stack([WAVE, np.arange(ROWS) % 7]).astype("f")
    )
    assert features.dtype == np.float32
    assert notes == []


def test_a_nominal_column_becomes_one_column_for_each_value():
    colour = ["red", "blue", " red", None] * 15
    features, notes = table_features(table(colour=colour))
    np.testing.assert_array_equal(
        features[:4, 1:], [[0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], "blue, red, missing"
    )
    assert notes == [
        "nominal: 1 column, made 3 columns of 0 and 1",
        "missing: 15 of 60 nominal values, taken as one more value",
    ]


@pytest.mark.parametrize(
    "column",
    [
        [True, False] * 30,
        pd.Categorical(["b", "a"] * 30, categories=["a", "b", "never seen"]),
        ["b", "a"] * 30,
    ],
    ids=["truth values", "categories", "text"],
)
def test_two_values_are_two_columns_of_0_and_1(column):
    features, _ = table_features(table(column=column))
    np.testing.assert_array_equal(features[:2, 1:], [[0, 1], [1, 0]])
    assert features.shape == (ROWS, 3)


def test_missing_numbers_become_the_mean_of_their_column_over_all_rows():
    features, notes = table_features(table(gaps=[1.0, np.nan, 4.0, 7.0, np.nan, 0.0] * 10))
    np.testing.assert_array_equal(features[:6, 1], [1, 3, 4, 7, 3, 0])
    assert notes == [
        "missing: 20 of 120 numbers, filled with the mean of their column over all rows"
    ]


def test_columns_that_never_vary_are_left_out():
    features, notes = table_features(
        table(one=1, gap=[2.0, np.nan] * 30, none=np.nan, word="a", void=[None] * ROWS)
    )
    assert features.shape == (ROWS, 1)
    assert notes == ["left out: columns that never vary: one, gap, none, word, void"]


def test_columns_that_only_tell_rows_apart_are_left_out():
    features, notes = table_features(
        table(name=[f"row {i}" for i in range(ROWS)], id=np.arange(1, ROWS + 1))
    )
    assert features.shape == (ROWS, 1)
    assert notes == ["left out: columns that only tell rows apart: name, id"]


@pytest.mark.parametrize(("values", "width"), [(100, 101), (101, 1)])
def test_a_name_for_more_than_half_of_the_rows_is_an_identifier(values, width):
    names = pd.DataFrame({"x": np.arange(200) % 3, "name": [f"v{i % values}" for i in range(200)]})
    assert table_features(names)[0].shape == (200, width)


def test_a_text_column_with_few_values_or_rows_is_no_identifier():
    many = pd.DataFrame({"half": [f"v{i % 60}" for i in range(200)], "x": np.arange(200) % 3})
    assert table_features(many)[0].shape == (200, 61)
    few = pd.DataFrame({"name": [f"v{i}" for i in range(50)], "x": np.arange(50) % 3})
    assert table_features(few)[0].shape == (50, 51)


def test_columns_with_the_same_name_are_different_columns():
    twice = pd.DataFrame(np.column_stack([WAVE, WAVE**2]), columns=["x", "x"])
    assert table_features(twice)[0].shape == (ROWS, 2)


def test_long_lists_of_columns_are_cut_short():
    _, notes = table_features(table(**{f"c{i}": 0 for i in range(8)}))
    assert notes == ["left out: columns that never vary: c0, c1, c2, c3, c4 and 3 more"]


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e200])
def test_an_infinite_number_is_refused_by_column_and_row(value):
    with pytest.raises(LabelledError, match=r"column 'x' should have finite .* in row 3"):
        table_features(table(x=[1.0, 2.0, value] + [0.0] * (ROWS - 3)))


def test_a_table_with_nothing_to_tell_labels_by_is_refused():
    with pytest.raises(LabelledError, match="no features to tell labels by; left out: .*: one"):
        table_features(pd.DataFrame({"one": [1] * ROWS}))
    with pytest.raises(LabelledError, match="no features"):
        table_features(pd.DataFrame(index=range(ROWS)))


def test_a_table_that_would_be_far_too_wide_is_refused(monkeypatch):
    monkeypatch.setattr(examples, "MOST_NUMBERS", 1000)
    with pytest.raises(LabelledError, match="would have 31 features in 60 examples"):
        table_features(table(word=[f"v{i % 30}" for i in range(ROWS)]))


def test_whole_numbers_too_large_for_single_precision_are_kept_exactly():
    large = 2**24 + 1 + 2 * (np.arange(ROWS) % 5)
    features, _ = table_features(table(large=large))
    np.testing.assert_array_equal(features[:, 1], large)
    features, _ = matrix_features(large[:, None])
    np.testing.assert_array_equal(features[:, 0], large)
    assert matrix_features(-large[:, None])[0].dtype == np.float64


def test_arrays_are_kept_in_a_small_type():
    for given, kept in [
        (np.uint8, np.uint8),
        (bool, np.uint8),
        (np.int64, np.float32),
        (np.float64, np.float32),
    ]:
        features, notes = matrix_features(np.eye(3, dtype=given))
        np.testing.assert_array_equal(features, np.eye(3))
        assert features.dtype == kept
        assert notes == []


def test_images_are_flattened():
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    np.testing.assert_array_equal(matrix_features(images)[0], np.arange(24).reshape(2, 12))


def test_missing_numbers_of_an_array_are_filled_and_empty_columns_left_out():
    values = np.array([[1, np.nan, np.nan], [3, np.nan, 2], [np.nan, np.nan, 4]], np.float32)
    features, notes = matrix_features(values, ["a", "b", "c"])
    np.testing.assert_array_equal(features, [[1, 3], [3, 2], [2, 4]])
    assert notes == [
        "left out: columns that have no numbers: 'b'",
        "missing: 2 of 6 numbers, filled with the mean of their column over all rows",
    ]


def test_arrays_that_are_no_features_are_refused():
    for values, message in [
        (np.array([["a"]]), "must be numbers, got <U1"),
        (np.array([[1j]]), "must be numbers, got complex"),
        (np.zeros(3), r"shape \(examples, features\), got \(3,\)"),
        (np.zeros((3, 0)), r"shape \(examples, features\), got \(3, 0\)"),
        (np.full((3, 2), np.nan), "all missing"),
        (
            np.array([[0, np.inf]], np.float32),
            "column 2 should have finite numbers, got inf in row 1",
        ),
        (np.array([[np.nan, 1], [-np.inf, 1]]), "column 1 should have .* got -inf in row 2"),
    ]:
        with warnings.catch_warnings(), pytest.raises(LabelledError, match=message):
            warnings.simplefilter("error")
            matrix_features(values)


def test_the_name_of_a_column_is_told_where_it_is_known():
    with pytest.raises(LabelledError, match="column 'height' should"):
        matrix_features(np.array([[0.0, np.inf]]), ["age", "height"])
