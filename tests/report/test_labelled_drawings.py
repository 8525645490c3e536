"""Figures of labelled data: what is drawn is what the rows have."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from labelled_files import digits, rows_of, several

from bciigl.base.registry import LEARNERS as KNOWN
from bciigl.report.labelled import bandit_drawing, learners_drawing, row_columns
from bciigl.report.style import SMALL, WIDTH

LEARNERS = ["cb", "igl_full_ci", "ai_igl"]
NAMES = {"cb": "contextual bandit", "igl_full_ci": "full-CI IGL", "ai_igl": "AI-IGL"}
SEVERAL, DIGITS = several(), digits()


def points(axis):
    """Return by label where the points of a panel are."""
    return {
        each.get_label(): each.get_xydata().tolist()
        for each in axis.lines
        if not each.get_label().startswith("_")
    }


def bars(axis):
    """Return by label places, heights, and both ends of error bars."""
    found = {}
    for each in axis.containers:
        line, _, (ends,) = each.lines
        places, heights = line.get_data()
        low, high = np.array([segment[:, 1] for segment in ends.get_segments()]).T
        found[each.get_label()] = tuple(np.asarray(v, float) for v in (places, heights, low, high))
    return found


def legend(figure):
    (found,) = figure.legends
    return [text.get_text() for text in found.get_texts()]


def test_every_dataset_is_drawn_where_its_accuracies_are():
    drawing = bandit_drawing(rows_of(SEVERAL))
    assert drawing.name == "against_bandit"
    assert [axis.get_title() for axis in drawing.figure.axes] == ["action_reward", "coded"]
    for axis in drawing.figure.axes:
        mine = {
            (row.dataset.id, row.learner): row
            for row in rows_of(SEVERAL)
            if row.feedback == axis.get_title()
        }
        expected = {
            NAMES[learner]: [
                [mine[each.id, "cb"].accuracy.mean, mine[each.id, learner].accuracy.mean]
                for each in SEVERAL.datasets
            ]
            for learner in ("igl_full_ci", "ai_igl")
        }
        if axis.get_title() == "action_reward":
            expected["AI-IGL, published"] = [
                [mine[each.id, "cb"].published[0], mine[each.id, "ai_igl"].published[0]]
                for each in SEVERAL.datasets
                if each.openml_id is not None
            ]
            assert len(expected["AI-IGL, published"]) == 3
        assert points(axis) == expected
        # On the line both are the same.
        assert axis.lines[0].get_xydata().tolist() == [[0, 0], [100, 100]]
        assert (axis.get_xlim()[0], axis.get_ylim()[0]) == (0, 0)
        assert axis.get_xlim()[1] > 100 and axis.get_ylim()[1] > 100
        assert axis.get_xlabel() == "accuracy with rewards (%)"
    assert drawing.figure.axes[0].get_ylabel() == "accuracy without rewards (%)"
    assert legend(drawing.figure) == ["full-CI IGL", "AI-IGL", "AI-IGL, published"]


def test_words_say_how_many_datasets_and_how_much_of_the_bandit_is_reached():
    drawing = bandit_drawing(rows_of(SEVERAL))
    shares = [row.relative for row in rows_of(SEVERAL) if row.learner == "ai_igl"]
    assert drawing.alt == (
        f"Without rewards, AI-IGL has {100 * np.median(shares):.0f} % of the contextual bandit's "
        f"accuracy (median of 5 datasets; the worst: {100 * min(shares):.0f} %)."
    )
    assert "on 5 datasets" in drawing.caption and "Stars: " in drawing.caption
    own = [replace(row, published=None) for row in rows_of(SEVERAL)]
    assert "Stars" not in bandit_drawing(own).caption
    assert legend(bandit_drawing(own).figure) == ["full-CI IGL", "AI-IGL"]


def test_one_rule_has_one_panel_and_datasets_without_cb_are_not_drawn():
    mine = [row for row in rows_of(SEVERAL) if row.feedback == "coded"]
    missing = mine[0].dataset
    mine = [row for row in mine if (row.dataset, row.learner) != (missing, "cb")]
    drawing = bandit_drawing(mine)
    (axis,) = drawing.figure.axes
    assert len(points(axis)["AI-IGL"]) == 4 and "on 4 datasets" in drawing.caption


def test_numbers_of_figures_are_those_of_the_rows(tmp_path):
    drawing = bandit_drawing(rows_of(SEVERAL))
    assert (
        drawing.columns
        == row_columns(rows_of(SEVERAL))
        == learners_drawing(rows_of(SEVERAL)).columns
    )
    with drawing.save(tmp_path)["tsv"].open() as file:
        lines = list(csv.DictReader(file, delimiter="\t"))
    for row, line in zip(rows_of(SEVERAL), lines, strict=True):
        names = ("dataset", "name", "feedback", "learner")
        about = (str(row.dataset.id), row.dataset.name, row.feedback, row.learner)
        assert tuple(line[name] for name in names) == about
        assert (int(line["n"]), int(line["k"])) == (row.dataset.n, row.dataset.k)
        numbers = (row.accuracy.mean, row.accuracy.standard_error, *row.accuracy.interval)
        names = ("accuracy", "standard_error", "interval_low", "interval_high")
        assert tuple(float(line[name]) for name in names) == numbers
        assert (int(line["repeats"]), float(line["best_constant"])) == (2, 40)
        paper = row.published or ("n/a", "n/a")
        assert line["published"] == str(paper[0])
        assert line["published_standard_error"] == str(paper[1])


def test_learners_have_their_means_intervals_and_published_figures():
    drawing = learners_drawing(rows_of(DIGITS))
    assert drawing.name == "accuracy"
    (axis,) = drawing.figure.axes
    found = bars(axis)
    published = [f"{each}, published ± SE" for each in NAMES.values()]
    assert set(found) == {*NAMES.values(), *published}
    for learner in LEARNERS:
        mine = [row for row in rows_of(DIGITS) if row.learner == learner]
        places, heights, low, high = found[NAMES[learner]]
        assert np.round(places).tolist() == [0, 1]
        assert heights.tolist() == [row.accuracy.mean for row in mine]
        np.testing.assert_allclose(low, [row.accuracy.interval[0] for row in mine])
        np.testing.assert_allclose(high, [row.accuracy.interval[1] for row in mine])
        _, heights, low, high = found[f"{NAMES[learner]}, published ± SE"]
        assert heights.tolist() == [row.published.accuracy for row in mine]
        np.testing.assert_allclose((high - low) / 2, [row.published[1] for row in mine])
    assert [text.get_text() for text in axis.get_xticklabels()] == list(DIGITS.feedback)
    # Learners stand side by side.
    assert len({round(found[each][0][0], 3) for each in NAMES.values()}) == 3
    assert set(legend(drawing.figure)) == {*NAMES.values(), *published, "chance"}
    assert axis.get_ylabel() == "labels recognised (%)"


def test_chance_is_that_of_each_dataset():
    mine = several(3)
    drawing = learners_drawing(rows_of(mine))
    (axis,) = drawing.figure.axes
    chance = [each for each in axis.lines if each.get_label() == "chance"]
    places = [place for each in chance for place in each.get_xdata()]
    heights = [height for each in chance for height in each.get_ydata()]
    expected = [100 / each.k for each in mine.datasets for _ in range(4)]  # two rules, two ends
    assert heights == pytest.approx(expected)
    assert places == [-0.5, 0.5, 0.5, 1.5, 1.5, 2.5, 2.5, 3.5, 3.5, 4.5, 4.5, 5.5]
    assert legend(drawing.figure).count("chance") == 1


def test_alt_text_has_all_accuracies_and_captions_say_what_bars_are():
    drawing = learners_drawing(rows_of(DIGITS))
    for row in rows_of(DIGITS):
        assert f"{NAMES[row.learner]} {row.accuracy.mean:.1f} % ({row.feedback})" in drawing.alt
    assert "95 % intervals, and published figures" in drawing.caption
    own = [replace(row, published=None) for row in rows_of(DIGITS)]
    assert "published" not in learners_drawing(own).caption
    for each in (drawing, bandit_drawing(rows_of(SEVERAL))):
        assert each.caption.endswith(".") and each.alt.endswith(".")


def test_one_repeat_has_no_interval():
    mine = digits(repeats=1)
    rows = rows_of(mine)
    drawing = learners_drawing(rows)
    _, heights, low, high = bars(drawing.figure.axes[0])["AI-IGL"]
    assert heights.tolist() == low.tolist() == high.tolist()
    assert set(drawing.columns["interval_low"]) == {None}


def assert_within(drawing, texts):
    """See to it that words are large enough, and within the figure."""
    assert drawing.figure.get_size_inches()[0] == WIDTH
    for text in texts:
        box = text.get_window_extent()
        assert text.get_fontsize() >= SMALL
        assert box.x0 >= 0 and box.x1 <= drawing.figure.bbox.x1, text.get_text()
        assert box.y0 >= 0 and box.y1 <= drawing.figure.bbox.y1, text.get_text()


def renamed(rows, rule, name):
    """Return rows of other rules and datasets without a number."""
    return [
        replace(
            row,
            feedback=f"{rule}_{row.feedback}",
            dataset=replace(row.dataset, openml_id=None, name=f"{name} {row.dataset.name}"),
        )
        for row in rows
    ]


@pytest.mark.parametrize(
    ("count", "rule", "name"), [(1, "our", "a"), (3, "very_long" * 9, "$x$ " * 9)]
)
def test_names_below_columns_are_within_and_do_not_run_into_each_other(count, rule, name):
    mine = several(count)
    drawing = learners_drawing(renamed(rows_of(mine), rule, name))
    drawing.figure.draw_without_rendering()
    (axis,) = drawing.figure.axes
    labels = axis.get_xticklabels()
    assert_within(drawing, [*labels, axis.yaxis.label, *drawing.figure.legends[0].get_texts()])
    boxes = [each.get_window_extent() for each in labels]
    assert len(boxes) == 2 * count
    for left, right in zip(boxes, boxes[1:], strict=False):
        assert left.x1 <= right.x0
    assert drawing.svg


def test_names_are_not_shortened_where_there_is_room():
    (axis,) = learners_drawing(rows_of(DIGITS)).figure.axes
    assert [each.get_text() for each in axis.get_xticklabels()] == list(DIGITS.feedback)
    mine = several(3)
    (axis,) = learners_drawing(rows_of(mine)).figure.axes
    texts = [each.get_text().replace("_\n", "_") for each in axis.get_xticklabels()]
    assert texts == [
        f"{rule}\n{each.id}" for each in mine.datasets for rule in ("action_reward", "coded")
    ]


@pytest.mark.parametrize("rule", ["very_long" * 9, "$x$ & $_$"])
def test_titles_of_panels_are_within_and_do_not_run_into_each_other(rule):
    drawing = bandit_drawing(renamed(rows_of(SEVERAL), rule, "a"))
    drawing.figure.draw_without_rendering()
    axes = drawing.figure.axes
    words = [axis.title for axis in axes] + [axis.xaxis.label for axis in axes]
    assert_within(drawing, [*words, axes[0].yaxis.label, *drawing.figure.legends[0].get_texts()])
    left, right = (axis.title.get_window_extent() for axis in axes)
    assert left.x1 <= right.x0
    assert drawing.svg


def test_learners_are_drawn_as_everywhere():
    for drawing, rows in (
        (bandit_drawing(rows_of(SEVERAL)), rows_of(SEVERAL)),
        (learners_drawing(rows_of(SEVERAL)), rows_of(SEVERAL)),
    ):
        for axis in drawing.figure.axes:
            for line in axis.lines:
                if line.get_label() in KNOWN.ids:
                    style = KNOWN.get(line.get_label()).style
                    assert (line.get_color(), line.get_marker()) == (
                        style["color"],
                        style["marker"],
                    )
        assert rows
