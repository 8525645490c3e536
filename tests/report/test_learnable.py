"""What makes a dataset learnable: what is drawn is what forests and datasets have."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex

from bciigl.labelled.learnable import Forest, published_points
from bciigl.report.learnable import STYLES, forest_table, importance_drawing, scatter_drawing
from bciigl.report.style import SMALL, WIDTH

FOREST = Forest(
    "N/K<=1000", 155, 17, 0.923, 0.5, 0.7115, {"n": 0.2, "max_fisher_discrim": 0.5, "n_by_k": 0.3},
    published=(0.95, 0.46, 0.71), folds=10,
)  # fmt: skip
POINTS = [
    {"n_by_k": 10.0, "pca_dims_95": 3.0, "class_entropy_N": 0.9, "relative": 0.2},
    {"n_by_k": 1000.0, "pca_dims_95": 5.0, "class_entropy_N": 0.8, "relative": 0.7},
    {"n_by_k": 90000.0, "pca_dims_95": 4.0, "class_entropy_N": 0.7, "relative": 1.2},
    {"n_by_k": 60.0, "pca_dims_95": 9.0, "class_entropy_N": 1.0, "relative": 0.69},
]
PUBLISHED = [{"n_by_k": 50.0, "relative": 0.4}, {"n_by_k": 3e5, "relative": 0.99}]


def drawn(axis):
    """Return by label where its points are, in order."""
    return {each.get_label(): each.get_offsets().tolist() for each in axis.collections}


def visible(drawing):
    return [axis for axis in drawing.figure.axes if axis.get_visible()]


def test_bars_are_the_importances_with_the_longest_at_the_top():
    drawing = importance_drawing(FOREST)
    (axis,) = drawing.figure.axes
    names = [each.get_text() for each in axis.get_yticklabels()]
    assert names == ["max_fisher_discrim", "n_by_k", "n"] == drawing.columns["feature"]
    widths = [each.get_width() for each in axis.patches]
    assert widths == [0.5, 0.3, 0.2] == drawing.columns["importance"]
    bottom, top = axis.get_ylim()
    assert top < 0 < 2 < bottom  # the first is the highest
    assert [each.get_text() for each in axis.texts] == ["0.50", "0.30", "0.20"]


def test_words_of_bars_say_which_datasets_and_what_is_highest():
    drawing = importance_drawing(FOREST)
    assert drawing.name == "importance_n_k_1000"
    assert drawing.alt == (
        "Of 3 meta-features, max_fisher_discrim tells most about where AI-IGL succeeds, with an "
        "importance of 0.50."
    )
    assert "155 datasets (N/K ≤ 1000), 17 of them successes" in drawing.caption


def test_bars_are_as_wide_as_a_page_and_as_high_as_they_are_many():
    many = replace(FOREST, importances={f"feature {each}": 1 / 15 for each in range(15)})
    width, height = importance_drawing(many).figure.get_size_inches()
    assert width == WIDTH
    assert height > importance_drawing(FOREST).figure.get_size_inches()[1]


def test_numbers_beside_bars_are_within_the_figure():
    drawing = importance_drawing(replace(FOREST, importances={"n": 0.98, "n_by_sqrt_k": 0.02}))
    assert drawing.svg  # drawn, so that there are places
    (axis,) = drawing.figure.axes
    assert all(
        each.get_window_extent().x1 <= drawing.figure.bbox.x1 and each.get_fontsize() >= SMALL
        for each in axis.texts
    )


def test_importances_that_are_all_zero_are_drawn():
    drawing = importance_drawing(replace(FOREST, importances={"n": 0.0, "n_by_k": 0.0}))
    assert drawing.svg and drawing.columns["importance"] == [0, 0]


def test_every_dataset_is_drawn_where_its_numbers_are():
    drawing = scatter_drawing(POINTS, ["n_by_k", "class_entropy_N"], PUBLISHED)
    first, second = visible(drawing)
    assert drawn(first) == {
        "published": [[50, 0.4], [3e5, 0.99]],
        "failure": [[10, 0.2], [60, 0.69]],
        "success": [[1000, 0.7], [90000, 1.2]],
    }
    # The paper has no entropy of its datasets.
    assert drawn(second) == {
        "failure": [[0.9, 0.2], [1, 0.69]],
        "success": [[0.8, 0.7], [0.7, 1.2]],
    }
    assert [axis.get_xlabel() for axis in (first, second)] == ["n_by_k", "class_entropy_N"]
    assert [bool(axis.get_ylabel()) for axis in (first, second)] == [True, False]


def test_columns_are_a_line_for_each_dataset(tmp_path):
    drawing = scatter_drawing(POINTS, ["n_by_k", "class_entropy_N"], PUBLISHED)
    assert drawing.columns == {
        "n_by_k": [50, 3e5, 10, 60, 1000, 90000],
        "class_entropy_N": [None, None, 0.9, 1, 0.8, 0.7],
        "relative": [0.4, 0.99, 0.2, 0.69, 0.7, 1.2],
        "drawn_as": ["published"] * 2 + ["failure"] * 2 + ["success"] * 2,
    }
    lines = drawing.save(tmp_path)["tsv"].read_text().splitlines()
    assert lines[1] == "50.0\tn/a\t0.4\tpublished"


def test_successes_and_failures_differ_in_colour_and_marker():
    looks = [(style["c"], style["marker"]) for style in STYLES.values()]
    assert len(set(colour for colour, _ in looks)) == len(set(mark for _, mark in looks)) == 3
    (axis,) = visible(scatter_drawing(POINTS, ["n_by_k"]))
    collections = {each.get_label(): each for each in axis.collections}
    assert set(collections) == {"failure", "success"}
    assert to_hex(collections["success"].get_facecolor()[0]) == STYLES["success"]["c"]
    (legend,) = axis.figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == ["success from 0.7", "failure", "success"]


def test_line_is_where_success_begins_and_all_points_are_within_the_axes():
    low = {**POINTS[0], "relative": 0.0}
    for axis in visible(scatter_drawing([*POINTS, low], ["n_by_k", "pca_dims_95"])):
        (line,) = axis.lines
        assert set(line.get_ydata()) == {0.7}
        bottom, top = axis.get_ylim()
        assert bottom < 0 and top > 1.2


@pytest.mark.parametrize(
    ("name", "values", "scale"),
    [
        ("n_by_k", [10, 1e5], "log"),
        ("n_by_k", [10, 50], "linear"),
        ("feature_onehot_count", [0, 500], "symlog"),
        ("feature_onehot_count", [0, 0], "linear"),
        ("max_fisher_discrim", [0.001, 0.9], "linear"),
    ],
)
def test_axis_is_logarithmic_where_counts_are_far_apart(name, values, scale):
    points = [{name: float(each), "relative": 0.5} for each in values]
    drawing = scatter_drawing(points, [name])
    assert visible(drawing)[0].get_xscale() == scale
    assert drawing.svg


def test_panels_are_two_across_and_as_wide_as_a_page():
    names = ["n_by_k", "pca_dims_95", "class_entropy_N"]
    drawing = scatter_drawing(POINTS, names)
    assert [axis.get_xlabel() for axis in visible(drawing)] == names
    assert len(drawing.figure.axes) == 4
    assert drawing.figure.get_size_inches()[0] == WIDTH
    assert drawing.svg
    for axis in visible(drawing):
        assert axis.xaxis.label.get_fontsize() >= SMALL
        assert axis.xaxis.label.get_window_extent().x1 <= drawing.figure.bbox.x1


def test_published_datasets_can_be_drawn_alone():
    published = published_points()
    drawing = scatter_drawing([], ["n_by_k", "n"], published)
    for axis in visible(drawing):
        assert len(drawn(axis)["published"]) == 271
    np.testing.assert_allclose(
        drawing.columns["relative"], [each["relative"] for each in published]
    )
    assert "271 published" in drawing.caption


def test_words_of_points_say_how_many_are_successes():
    drawing = scatter_drawing(POINTS, ["n_by_k"], PUBLISHED)
    assert drawing.alt == "AI-IGL succeeds on 2 of 4 datasets: relative accuracy against n_by_k."
    assert (
        drawing.figure.get_suptitle()
        == "AI-IGL succeeds on 2\N{NO-BREAK SPACE}of 4\N{NO-BREAK SPACE}datasets"
    )
    assert "Grey points are 2 published datasets" in drawing.caption
    assert "Grey" not in scatter_drawing(POINTS, ["n_by_k"]).caption


def test_table_has_our_scores_with_the_published_ones_below():
    alone = replace(FOREST, subset="K>=3, n_by_k alone", published=(None, None, 0.79))
    table = forest_table([FOREST, alone, replace(FOREST, published=None)])
    assert table.rows == [
        ["N/K ≤ 1000", "155", "17", "0.92", "0.50", "0.71"],
        ["  published", "", "", "0.95", "0.46", "0.71"],
        ["K ≥ 3, n_by_k alone", "155", "17", "0.92", "0.50", "0.71"],
        ["  published", "", "", "-", "-", "0.79"],
        ["N/K ≤ 1000", "155", "17", "0.92", "0.50", "0.71"],
    ]
    assert {len(row) for row in table.rows} == {len(table.head)}
    assert table.as_text().splitlines()[2].split() == ["published", "0.95", "0.46", "0.71"]


def test_table_says_once_why_scores_are_missing():
    lacking = [Forest(name, 3, 0, reason="has 0 successes") for name in ("K>=3", "N/K<=200")]
    table = forest_table([FOREST, *lacking])
    assert table.rows[-1] == ["N/K ≤ 200", "3", "0", "-", "-", "-"]
    assert table.caption.endswith("not seen. K ≥ 3; N/K ≤ 200: has 0 successes.")
