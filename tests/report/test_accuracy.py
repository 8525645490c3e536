"""Accuracy against noise: what is drawn is what the rows say."""

from dataclasses import replace
from operator import itemgetter

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from studies import all_made_up, made_up, right_of, study

from bciigl.report.accuracy import accuracy_columns, accuracy_drawing, accuracy_figure, across
from bciigl.report.style import learner_style
from bciigl.study import Study, rows
from bciigl.study.controls import CONTROLS, PERMUTED, SILENCED
from bciigl.study.statistics import Mean

PUBLISHED = ", published ± SE"
LEARNERS = ["ai_igl", "ai_igl_paper", "igl_full_ci", "cb", "ceiling"]


def table(*, name=None, **arguments):
    """Return the rows of a study with results that differ in everything."""
    mine = study(**arguments)
    mine = Study(mine.protocol, vary=mine.vary, controls=mine.controls, table=name)
    return rows(mine, all_made_up(mine))


@pytest.fixture(scope="module")
def paper():
    """Return rows of which some have published figures: of two noise levels in three."""
    noise = {"noise": [0.05, 0.1, 0.3], "repeats": 3}
    return table(name="table2", learners=LEARNERS, controls=tuple(CONTROLS), study=noise)


def bars(axis):
    """Return by label what is drawn of it: places, heights, and the ends of its intervals."""
    found = {}
    for each in axis.containers:
        assert isinstance(each, ErrorbarContainer)
        line, _, (ends,) = each
        low, high = np.array([segment[:, 1] for segment in ends.get_segments()]).T
        assert each.get_label() not in found
        found[each.get_label()] = (*line.get_data(orig=False), low, high)
    return found


def band(axis):
    """Return the corners of the band of chance as pairs of height by place, lowest first."""
    (area,) = (each for each in axis.collections if isinstance(each, PolyCollection))
    corners = {}
    for place, height in area.get_paths()[0].vertices.tolist():
        corners.setdefault(place, set()).add(height)
    return {place: (min(heights), max(heights)) for place, heights in corners.items()}


def levels(axis):
    """Return the noise levels, or numbers of a field, at its ticks, by their places."""
    ticks = axis.get_xticks()
    labels = axis.xaxis.get_major_formatter().format_ticks(ticks)
    return dict(zip(ticks, map(float, labels), strict=True))


def visible(figure):
    return [axis for axis in figure.axes if axis.get_visible()]


def assert_drawn(axis, mine, against="noise"):
    """Compare what is in a panel with the columns of its rows."""
    columns, ticks, found = accuracy_columns(mine), levels(axis), bars(axis)
    lines = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    for label in dict.fromkeys(columns["learner"]):
        of_label = sorted(
            (each for each in lines if each["learner"] == label), key=itemgetter(against)
        )
        places, heights, low, high = found.pop(label)
        assert [ticks[round(place)] for place in places] == [each[against] for each in of_label]
        expected = [each["accuracy"] for each in of_label]
        assert heights.tolist() == expected
        ends = [
            [
                height if each[f"interval_{end}"] is None else each[f"interval_{end}"]
                for height, each in zip(expected, of_label, strict=True)
            ]
            for end in ("low", "high")
        ]
        np.testing.assert_allclose([low, high], ends)
    for label, (places, heights, low, high) in found.items():
        assert label.endswith(PUBLISHED)
        of_label = [
            each
            for each in lines
            if each["learner"] == label.removesuffix(PUBLISHED) and each["published"] is not None
        ]
        assert [ticks[round(place)] for place in places] == [each[against] for each in of_label]
        assert heights.tolist() == [each["published"] for each in of_label]
        np.testing.assert_allclose(
            (high - low) / 2, [each["published_standard_error"] for each in of_label]
        )
    for place, level in ticks.items():
        if level in columns[against]:
            first = next(each for each in lines if each[against] == level)
            assert band(axis)[place] == pytest.approx((first["chance_low"], first["chance_high"]))


def test_columns_are_the_numbers_of_the_rows(paper):
    columns = accuracy_columns(paper)
    assert {len(column) for column in columns.values()} == {len(paper)}
    for place, row in enumerate(paper):
        line = {name: column[place] for name, column in columns.items()}
        published = row.published or (None, None)
        assert line == {
            "noise": row.noise,
            "learner": row.label,
            "accuracy": row.accuracy.mean,
            "standard_error": row.accuracy.standard_error,
            "interval_low": row.accuracy.interval[0],
            "interval_high": row.accuracy.interval[1],
            "repeats": 3,
            "published": published[0],
            "published_standard_error": published[1],
            "chance": row.chance.mean,
            "chance_low": row.chance.interval[0],
            "chance_high": row.chance.interval[1],
        }
    # A figure of the paper's beside some of them, or the test would say little.
    assert None in columns["published"] and 76.6 in columns["published"]


def test_what_is_drawn_is_what_the_columns_have(paper):
    (axis,) = accuracy_figure(paper).axes
    assert_drawn(axis, paper)
    assert list(levels(axis).values()) == [0.05, 0.1, 0.3]
    top = axis.get_ylim()[1]
    assert axis.get_ylim()[0] == 0 and top > 100


def test_published_figures_are_where_there_are_some(paper):
    (axis,) = accuracy_figure(paper).axes
    found = bars(axis)
    for learner in LEARNERS:
        mine = [row for row in paper if row.label == learner]
        known = [row.noise for row in mine if row.published]
        # The paper's procedure has the same figure as ai_igl: it is drawn once.
        drawn = bool(known) and learner != "ai_igl_paper"
        assert (learner + PUBLISHED in found) is drawn
        if drawn:
            assert known == [0.05, 0.1]
            assert len(found[learner + PUBLISHED][0]) == 2
            # It stands above or below the point that it belongs to.
            np.testing.assert_allclose(found[learner + PUBLISHED][0], found[learner][0][:2])
    assert "ai_igl" + PUBLISHED in found
    assert "Stars are published" in accuracy_drawing(paper).caption


def test_studies_of_no_table_have_no_stars():
    mine = table(learners=["ai_igl", "cb"], study={"noise": [0.05, 0.1]})
    drawing = accuracy_drawing(mine)
    assert set(bars(drawing.figure.axes[0])) == {"ai_igl", "cb"}
    assert set(drawing.columns["published"]) == {None}
    assert "Stars" not in drawing.caption


def test_learners_look_as_in_all_figures_and_controls_look_different(paper):
    (axis,) = accuracy_figure(paper).axes
    lines = {each.get_label(): each[0] for each in axis.containers}
    for learner in LEARNERS:
        assert to_hex(lines[learner].get_color()) == to_hex(learner_style(learner)["color"])
        assert lines[learner].get_marker() == learner_style(learner)["marker"]
    looks = {(to_hex(line.get_color()), line.get_marker()) for line in lines.values()}
    assert len(looks) == len(lines)
    (legend,) = axis.figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {*lines, "chance, 95 %"}


def test_words_say_how_many_there_are_and_what_ai_igl_reaches(paper):
    drawing = accuracy_drawing(paper)
    (hardest,) = (row for row in paper if (row.label, row.noise) == ("ai_igl", 0.3))
    assert drawing.alt == (
        "Accuracy of 8 learners and controls at 3 noise levels; ai_igl has "
        f"{hardest.accuracy.mean:.1f} % at noise 0.3."
    )
    assert (drawing.name, drawing.caption[-1]) == ("accuracy", ".")


def test_one_repeat_is_drawn_without_interval(tmp_path):
    mine = table(learners=["ai_igl", "ceiling"], study={"noise": [0.05, 0.3], "repeats": 1})
    drawing = accuracy_drawing(mine)
    for name in ("standard_error", "interval_low", "interval_high"):
        assert drawing.columns[name] == [None] * 4
    assert_drawn(drawing.figure.axes[0], mine)
    for _, heights, low, high in bars(drawing.figure.axes[0]).values():
        assert heights.tolist() == low.tolist() == high.tolist()
    head, *lines = drawing.save(tmp_path)["tsv"].read_text().splitlines()
    place = head.split("\t").index("interval_low")
    assert [line.split("\t")[place] for line in lines] == ["n/a"] * 4


@pytest.mark.parametrize("noise", [[0.4], [0.0], [0.0, 1.0], [1.0, 0.0]])
def test_any_noise_levels_can_be_drawn(noise):
    mine = table(learners=["ai_igl", "ceiling"], study={"noise": noise})
    (axis,) = accuracy_figure(mine).axes
    assert_drawn(axis, mine)
    assert list(levels(axis).values()) == sorted(noise)
    left, right = axis.get_xlim()
    for places, *_ in bars(axis).values():
        assert (left < places).all() and (places < right).all()
    assert min(band(axis)) == left and max(band(axis)) == right


def test_learner_that_is_missing_at_a_level_is_drawn_at_the_others(paper):
    mine = [row for row in paper if (row.noise, row.control) != (0.1, SILENCED)]
    (axis,) = accuracy_figure(mine).axes
    assert_drawn(axis, mine)
    assert len(bars(axis)[f"ai_igl, {SILENCED}"][0]) == 2
    assert len(accuracy_columns(mine)["noise"]) == len(paper) - 1


def test_a_varied_number_is_on_the_x_axis_and_every_noise_has_its_panel():
    vary = {"timing.isi": [7.0, 9.0, 8.0], "evaluation.test_trials": [12]}
    mine = table(vary=vary, learners=["cb", "ceiling"], study={"noise": [0.05, 0.1, 0.3]})
    drawing = accuracy_drawing(mine)
    axes = visible(drawing.figure)
    for noise, axis in zip((0.05, 0.1, 0.3), axes, strict=True):
        title = " ".join(axis.get_title().split())
        assert title == f"noise {noise:g}, evaluation.test_trials = 12"
        of_panel = [row for row in mine if row.noise == noise]
        assert len(of_panel) == 6
        assert_drawn(axis, of_panel, "timing.isi")
        assert levels(axis) == {0: 7, 1: 8, 2: 9}
    assert drawing.columns["timing.isi"] == [row.varied["timing.isi"] for row in mine]
    # The lowest panel of each column says what the values are, with the unit of the model.
    assert [axis.get_xlabel() for axis in axes] == ["", *["timing.isi (s)"] * 2]
    assert [axis.xaxis.get_tick_params()["labelbottom"] for axis in axes] == [False, True, True]
    assert [bool(axis.get_ylabel()) for axis in axes] == [True, False, True]
    assert drawing.caption.startswith("Accuracy against timing.isi: means")
    assert "evenly spaced" not in drawing.caption


def test_the_title_says_where_the_first_learner_is_worst_and_best():
    mine = table(vary={"timing.isi": [7, 8, 9]}, learners=["cb", "ceiling"])
    with_ends = {7: (40.0, (38.0, 42.0)), 8: (90.0, (88.0, 92.0)), 9: (60.0, (41.0, 79.0))}

    def told(**intervals):
        found = []
        for row in mine:
            mean, interval = with_ends[row.varied["timing.isi"]]
            interval = intervals.get("all", interval)
            found.append(replace(row, accuracy=Mean(mean, 1.0, interval)))
        return accuracy_drawing(found)

    drawing = told()
    words = "cb at noise 0.05: from 40.0 % (timing.isi = 7 s) to 90.0 % (8 s), with 95 % intervals "
    assert " ".join(drawing.figure.get_suptitle().split()) == f"{words}that do not overlap"
    assert drawing.alt.endswith(f"at 3 values of timing.isi; {words}that do not overlap.")
    assert told(all=(0.0, 100.0)).alt.endswith(f"{words}that overlap.")
    assert told(all=None).alt.endswith("to 90.0 % (8 s), of one session each.")


def test_the_field_of_numbers_with_most_values_is_on_the_x_axis():
    number, more = {"timing.isi": [7, 8]}, {"brain.cnr": [0.5, 0.7, 1.0]}
    word = {"agent.policy": ["uniform", "epsilon-greedy", "explore-then-commit"]}
    for vary, expected in (
        ({}, "noise"),
        ({"timing.isi": [7]}, "noise"),
        (number | more, "brain.cnr"),
        (word | number, "timing.isi"),
        (word, "agent.policy"),
    ):
        assert across(table(vary=vary, study={"noise": [0.05, 0.3]})) == expected


def test_words_are_on_the_x_axis_in_their_order_and_not_connected():
    policies = ["uniform", "explore-then-commit", "epsilon-greedy"]
    mine = table(vary={"agent.policy": policies}, learners=["cb", "ceiling"])
    (axis,) = accuracy_figure(mine).axes
    assert [each.get_text() for each in axis.get_xticklabels()] == policies
    for container in axis.containers:
        expected = [row.accuracy.mean for row in mine if row.label == container.get_label()]
        assert container[0].get_ydata().tolist() == expected
        assert container[0].get_linestyle() == "None"


@pytest.mark.parametrize(
    ("isi", "values", "noise", "drawn", "said"),
    [
        (
            [7, 8, 9],
            [0.5, 0.7],
            [0.1, 0.3, 1.0, 2.0],
            [0.3, 1.0, 2.0] * 2,
            "Of 8 panels the 6 at noise 0.3, 1",
        ),
        (
            range(7, 15),
            range(1, 8),
            [0.1, 0.3],
            [0.3] * 6,
            "Of 14 panels the first 6 at noise 0.3 are drawn",
        ),
    ],
)
def test_of_many_panels_those_with_most_noise_are_drawn(isi, values, noise, drawn, said):
    vary = {"timing.isi": list(isi), "brain.cnr": list(values)}
    drawing = accuracy_drawing(table(vary=vary, study={"noise": noise, "repeats": 1}))
    titles = [axis.get_title().split()[1] for axis in visible(drawing.figure)]
    assert titles == [f"{each:g}," for each in drawn]
    assert said in drawing.caption and "are in the table" in drawing.caption
    assert len(drawing.columns["noise"]) == len(isi) * len(values) * len(noise)


@pytest.mark.parametrize("missing", [(7.0, 0.05), (8.0, 0.05), (8.0, 0.3)])
def test_panels_without_a_value_leave_the_others_as_they_are(missing):
    """As in a sweep that was stopped."""
    mine = table(
        vary={"timing.isi": [7.0, 8.0]}, learners=["cb", "ceiling"], study={"noise": [0.05, 0.3]}
    )
    mine = [row for row in mine if (row.varied["timing.isi"], row.noise) != missing]
    axes = {axis.get_title(): axis for axis in visible(accuracy_figure(mine))}
    for noise in (0.05, 0.3):
        axis = axes[f"noise {noise:g}"]
        assert_drawn(axis, [row for row in mine if row.noise == noise], "timing.isi")
        assert levels(axis) == {0: 7, 1: 8}
        left, right = axis.get_xlim()
        for places, *_ in bars(axis).values():
            assert (left < places).all() and (places < right).all()


def test_controls_look_the_same_in_all_panels():
    mine = table(
        vary={"timing.isi": [7.0, 8.0]},
        study={"noise": [0.05, 0.3]},
        learners=["ai_igl"],
        controls=tuple(CONTROLS),
    )
    mine = [row for row in mine if (row.noise, row.control) != (0.05, SILENCED)]
    figure = accuracy_figure(mine)
    first, second = (
        {each.get_label(): to_hex(each[0].get_color()) for each in axis.containers}
        for axis in figure.axes
    )
    assert set(second) - set(first) == {f"ai_igl, {SILENCED}"}
    assert first == {label: second[label] for label in first}
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {*second, "chance, 95 %"}


def test_unknown_learners_and_many_controls_are_drawn_too(paper):
    more = [
        replace(row, learner=f"mine_{number}" if number < 3 else row.learner, control=control)
        for row in paper
        if row.label == "ai_igl"
        for number, control in enumerate([None, None, None, PERMUTED, *"abcdef"])
    ]
    (axis,) = accuracy_figure(more).axes
    assert_drawn(axis, more)
    assert {"mine_0", "mine_0" + PUBLISHED, "ai_igl, f"} <= set(bars(axis))


def test_long_names_and_formulas_fit():
    values = ["$x$ & $_$ " + "of many words " * 20, "short"]
    one = table(learners=["ceiling"], study={"noise": [0.05, 0.3]})
    mine = [
        replace(row, varied={"source.path": value, "brain.subject": values[0]})
        for row in one
        for value in values
    ]
    drawing = accuracy_drawing(mine)
    assert drawing.svg  # drawn, so that there are places
    left, right = (axis.title.get_window_extent() for axis in visible(drawing.figure))
    assert 0 <= left.x0 and left.x1 <= right.x0 and right.x1 <= drawing.figure.bbox.x1
    ticks = [
        tick.get_window_extent() for axis in drawing.figure.axes for tick in axis.get_xticklabels()
    ]
    assert 0 <= min(tick.x0 for tick in ticks) and 0 <= min(tick.y0 for tick in ticks)
    assert max(left.y1, right.y1) <= drawing.figure.bbox.y1
    assert drawing.columns["source.path"] == values * 2


def test_means_of_sessions_are_drawn_in_percent():
    mine = study(learners=["ceiling"])
    results = {
        cell.key: made_up(cell, [right_of(right)])
        for cell, right in zip(mine.cells, (15, 30), strict=True)
    }
    (axis,) = accuracy_figure(rows(mine, results)).axes
    ((_, heights, low, high),) = bars(axis).values()
    assert heights.tolist() == [75]
    # The interval of two sessions is wider than accuracies can be.
    assert (low.tolist(), high.tolist()) == ([0], [100])
