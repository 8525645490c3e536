"""Accuracy against noise or a varied field: what is drawn is what the rows say."""

from dataclasses import replace
from operator import itemgetter

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from studies import all_made_up, made_up, right_of, study

from bciigl.report.accuracy import accuracy_columns, accuracy_drawing, draw_accuracy
from bciigl.report.comparisons import controls_drawings, learners_drawings
from bciigl.report.findings import controls_findings, finding, learners_finding
from bciigl.report.panels import across
from bciigl.report.style import WIDTH, learner_style
from bciigl.study import Study, rows
from bciigl.study.controls import CONTROLS, SILENCED

LEARNERS = ["ai_igl", "ai_igl_paper", "transfer", "igl_full_ci", "cb", "ceiling"]
NAMES = {"ai_igl": "AI-IGL,\nno labels", "ceiling": "supervised,\ntold the labels"}
IN_PAPER = "AI-IGL in\nthe paper, ± SE"


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


def panels(drawing):
    """Return the axes in which something is drawn."""
    return [axis for axis in drawing.figure.axes if axis.containers]


def assert_drawn(axis, mine, names=NAMES, against="noise"):
    """Compare the lines of a panel, by the ids of their learners, with the columns of its rows."""
    columns, ticks, found = accuracy_columns(mine), levels(axis), bars(axis)
    lines = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    for label in dict.fromkeys(columns["learner"]):
        of_label = sorted(
            (each for each in lines if each["learner"] == label), key=itemgetter(against)
        )
        places, heights, low, high = found[names[label]]
        assert [ticks[round(place)] for place in places] == [each[against] for each in of_label]
        assert heights.tolist() == [each["accuracy"] for each in of_label]
        for name, end in (("interval_low", low), ("interval_high", high)):
            expected = [each["accuracy"] if each[name] is None else each[name] for each in of_label]
            np.testing.assert_allclose(end, expected)
    for place, level in ticks.items():
        if level in columns[against]:
            first = next(each for each in lines if each[against] == level)
            assert band(axis)[place] == pytest.approx((first["chance_low"], first["chance_high"]))


def words_at_ends(axis):
    """Return the names of lines that stand in a panel, by what they say."""
    return {each.get_text(): each for each in axis.texts}


def lead_rows(mine, labels=tuple(NAMES)):
    return [row for row in mine if row.label in labels]


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


def test_the_first_figure_has_no_labels_told_the_labels_and_published(paper):
    drawing = accuracy_drawing(paper)
    (axis,) = drawing.figure.axes
    assert set(bars(axis)) == {*NAMES.values(), IN_PAPER}
    assert_drawn(axis, lead_rows(paper))
    assert drawing.columns == accuracy_columns(lead_rows(paper))
    known = [row for row in paper if row.label == "ai_igl" and row.published]
    assert [row.noise for row in known] == [0.05, 0.1]
    _, heights, low, high = bars(axis)[IN_PAPER]
    assert heights.tolist() == [row.published.accuracy for row in known]
    errors = [row.published.standard_error for row in known]
    np.testing.assert_allclose((high - low) / 2, errors)
    assert list(levels(axis).values()) == [0.05, 0.1, 0.3]
    assert axis.get_ylim()[0] == 0 and axis.get_ylim()[1] > 100
    assert "Stars are the figures of the paper" in drawing.caption


def test_studies_of_no_table_have_two_lines():
    mine = table(learners=["ai_igl", "ceiling"], study={"noise": [0.05, 0.1]})
    drawing = accuracy_drawing(mine)
    assert set(bars(drawing.figure.axes[0])) == set(NAMES.values())
    assert "Stars" not in drawing.caption


def test_lines_are_named_at_their_ends_and_the_title_is_the_finding(paper):
    drawing = accuracy_drawing(paper)
    assert drawing.svg  # drawn, so that there are places
    (axis,) = drawing.figure.axes
    assert drawing.figure.legends == [] and axis.get_legend() is None
    title = axis._left_title
    assert " ".join(title.get_text().split()) == finding(paper)
    words = words_at_ends(axis)
    assert set(words) == {*NAMES.values(), IN_PAPER, "chance"}
    boxes = {name: Text.get_window_extent(each) for name, each in words.items()}
    whole = drawing.figure.bbox
    for name, box in boxes.items():
        # Published figures end before the last noise level, within the axes.
        assert bool(box.x0 >= axis.bbox.x1) is (name != IN_PAPER), name
        assert whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0
        others = [each for other, each in boxes.items() if other != name]
        assert not any(box.overlaps(each) for each in others), name
    assert title.get_window_extent().x1 <= whole.x1


def test_lines_differ_without_colours_too(paper):
    drawings = [accuracy_drawing(paper), *controls_drawings(paper), *learners_drawings(paper)]
    assert [each.name for each in drawings] == ["accuracy", "controls", "learners"]
    for each in drawings:
        lines = [container[0] for container in each.figure.axes[0].containers]
        assert len({line.get_marker() for line in lines}) == len(lines)
    (axis,) = drawings[0].figure.axes
    lines = {each.get_label(): each[0] for each in axis.containers}
    for learner, name in NAMES.items():
        assert to_hex(lines[name].get_color()) == to_hex(learner_style(learner)["color"])
        assert lines[name].get_marker() == learner_style(learner)["marker"]


def test_controls_and_further_learners_have_figures_of_their_own(paper):
    (controls,), (learners,) = controls_drawings(paper), learners_drawings(paper)
    names = {"ai_igl": "AI-IGL", "transfer": "perception transfer"}
    names |= {f"ai_igl, {name}": "\n".join(name.rsplit(" ", 1)) for name in CONTROLS}
    assert set(bars(controls.figure.axes[0])) == set(names.values())
    assert_drawn(controls.figure.axes[0], lead_rows(paper, names), names)
    names = {
        "ai_igl": "AI-IGL",
        "ai_igl_paper": "plain AI-IGL",
        "transfer": "perception transfer",
        "igl_full_ci": "full-CI IGL",
        "cb": "contextual bandit,\ntold the rewards",
    }
    assert set(bars(learners.figure.axes[0])) == set(names.values())
    assert_drawn(learners.figure.axes[0], lead_rows(paper, names), names)
    for each, said in (
        (controls, controls_findings(paper)[0]),
        (learners, learners_finding(paper)),
    ):
        assert " ".join(each.figure.axes[0].get_title("left").split()) == said
        assert "_" not in each.caption + each.alt
    plain = table(learners=["ai_igl", "ceiling"])
    assert controls_drawings(plain) == learners_drawings(plain) == []


def test_axes_of_others_can_be_drawn_on():
    vary = {"timing.isi": [7, 8, 9]}
    mine = table(vary=vary, learners=["cb", "ceiling"], study={"noise": [0.05, 0.3]})
    for axis in (Figure().subplots(2, 2)[1, 0], Figure().add_axes((0.1, 0.2, 0.4, 0.5))):
        box, before = axis.get_position(), len(axis.figure.axes)
        assert draw_accuracy(axis, mine) is axis
        assert " ".join(axis.get_title("left").split()) == finding(mine)
        made = axis.figure.axes[before:]
        assert len(made) == 2 and all(each.containers for each in made)
        for each in made:
            inner = each.get_position()
            assert box.x0 - 1e-9 <= inner.x0 and inner.x1 <= box.x1 + 1e-9
            assert box.y0 - 1e-9 <= inner.y0 and inner.y1 < box.y1
    axis = Figure().subplots()
    draw_accuracy(axis, [row for row in mine if row.noise == 0.3])
    assert axis.containers and len(axis.figure.axes) == 1


def test_one_repeat_is_drawn_without_interval(tmp_path):
    mine = table(learners=["ai_igl", "ceiling"], study={"noise": [0.05, 0.3], "repeats": 1})
    drawing = accuracy_drawing(mine)
    for name in ("standard_error", "interval_low", "interval_high"):
        assert drawing.columns[name] == [None] * 4
    assert_drawn(drawing.figure.axes[0], mine)
    assert "one session each" in drawing.caption and "intervals" not in drawing.caption
    head, *lines = drawing.save(tmp_path)["tsv"].read_text().splitlines()
    place = head.split("\t").index("interval_low")
    assert [line.split("\t")[place] for line in lines] == ["n/a"] * 4


@pytest.mark.parametrize("noise", [[0.4], [0.0], [0.0, 1.0], [1.0, 0.0]])
def test_any_noise_levels_can_be_drawn(noise):
    mine = table(learners=["ai_igl", "ceiling"], study={"noise": noise})
    (axis,) = accuracy_drawing(mine).figure.axes
    assert_drawn(axis, mine)
    assert list(levels(axis).values()) == sorted(noise)
    left, right = axis.get_xlim()
    for places, *_ in bars(axis).values():
        assert (left < places).all() and (places < right).all()
    assert min(band(axis)) == left and max(band(axis)) == right


def test_a_control_that_is_missing_at_a_level_is_drawn_at_the_others(paper):
    mine = [row for row in paper if (row.noise, row.control) != (0.1, SILENCED)]
    (axis,) = controls_drawings(mine)[0].figure.axes
    assert len(bars(axis)["judgment\nsilenced"][0]) == 2
    assert len(bars(axis)["rewards\npermuted"][0]) == 3


def test_where_controls_are_all_there_is_they_are_drawn(paper):
    mine = [row for row in paper if row.control == SILENCED]
    for drawing in (accuracy_drawing(mine), *controls_drawings(mine)):
        assert set(bars(drawing.figure.axes[0])) == {"judgment\nsilenced"}
    assert "judgment silenced" in finding(mine)


def test_a_varied_number_is_on_the_x_axis_and_every_noise_has_its_panel():
    vary = {"timing.isi": [7.0, 9.0, 8.0], "evaluation.test_trials": [12]}
    noise = {"noise": [0.05, 0.1, 0.3]}
    mine = table(vary=vary, learners=["ai_igl", "ceiling"], study=noise)
    drawing = accuracy_drawing(mine)
    axes = panels(drawing)
    for noise, axis in zip((0.05, 0.1, 0.3), axes, strict=True):
        title = " ".join(axis.get_title().split())
        assert title == f"noise {noise:g}, evaluation.test_trials = 12"
        of_panel = [row for row in mine if row.noise == noise]
        assert len(of_panel) == 6
        assert_drawn(axis, of_panel, against="timing.isi")
        assert levels(axis) == {0: 7, 1: 8, 2: 9}
    assert drawing.columns["timing.isi"] == [row.varied["timing.isi"] for row in mine]
    # The lowest panel of each column says what the values are, with the unit of the model.
    assert [axis.get_xlabel() for axis in axes] == ["", *["timing.isi (s)"] * 2]
    assert [axis.xaxis.get_tick_params()["labelbottom"] for axis in axes] == [False, True, True]
    assert [bool(axis.get_ylabel()) for axis in axes] == [True, False, True]
    # Lines are named once, at the right.
    assert [set(words_at_ends(axis)) for axis in axes] == [
        set(),
        {*NAMES.values(), "chance"},
        set(),
    ]
    assert "against timing.isi." in drawing.caption and "evenly spaced" not in drawing.caption
    assert drawing.svg
    titles = [axis.title.get_window_extent() for axis in axes]
    (above,) = (each for each in drawing.figure.axes if each.get_title("left"))
    assert all(each.y1 <= above._left_title.get_window_extent().y0 for each in titles)


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
    mine = table(vary={"agent.policy": policies}, learners=["ai_igl", "ceiling"])
    (axis,) = accuracy_drawing(mine).figure.axes
    assert [each.get_text() for each in axis.get_xticklabels()] == policies
    for learner, name in NAMES.items():
        (container,) = (each for each in axis.containers if each.get_label() == name)
        expected = [row.accuracy.mean for row in mine if row.label == learner]
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
    titles = [axis.get_title().split()[1] for axis in panels(drawing)]
    assert titles == [f"{each:g}," for each in drawn]
    assert said in drawing.caption and "are in the table" in drawing.caption
    assert len(drawing.columns["noise"]) == len(isi) * len(values) * len(noise)


@pytest.mark.parametrize("missing", [(7.0, 0.05), (8.0, 0.05), (8.0, 0.3)])
def test_panels_without_a_value_leave_the_others_as_they_are(missing):
    """As in a sweep that was stopped."""
    vary, learners = {"timing.isi": [7.0, 8.0]}, ["ai_igl", "ceiling"]
    mine = table(vary=vary, learners=learners, study={"noise": [0.05, 0.3]})
    mine = [row for row in mine if (row.varied["timing.isi"], row.noise) != missing]
    axes = {axis.get_title(): axis for axis in panels(accuracy_drawing(mine))}
    for noise in (0.05, 0.3):
        axis = axes[f"noise {noise:g}"]
        assert_drawn(axis, [row for row in mine if row.noise == noise], against="timing.isi")
        assert levels(axis) == {0: 7, 1: 8}


def test_unknown_learners_and_many_controls_are_drawn_too(paper):
    more = [
        replace(row, learner=f"mine_{number}" if number < 3 else row.learner, control=control)
        for row in paper
        if row.label == "ai_igl"
        for number, control in enumerate([None, None, None, *"abcdef"])
    ]
    assert {"mine_0", "mine_0 in\nthe paper, ± SE"} == set(
        bars(accuracy_drawing(more).figure.axes[0])
    )
    (axis,) = controls_drawings(more)[0].figure.axes
    assert set(bars(axis)) == set("abcdef")
    (axis,) = learners_drawings(more)[0].figure.axes
    assert set(bars(axis)) == {"mine_0", "mine_1", "mine_2"}


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
    axes, whole = panels(drawing), drawing.figure.bbox
    assert drawing.figure.get_size_inches()[0] == WIDTH
    left, right = (axis.title.get_window_extent() for axis in axes)
    assert 0 <= left.x0 and left.x1 <= right.x0 and right.x1 <= whole.x1
    ticks = [tick.get_window_extent() for axis in axes for tick in axis.get_xticklabels()]
    assert 0 <= min(tick.x0 for tick in ticks) and 0 <= min(tick.y0 for tick in ticks)
    (above,) = (each for each in drawing.figure.axes if each.get_title("left"))
    title = above._left_title.get_window_extent()
    assert title.x1 <= whole.x1 and title.y1 <= whole.y1
    assert drawing.columns["source.path"] == values * 2


def test_means_of_sessions_are_drawn_in_percent():
    mine = study(learners=["ceiling"])
    results = {
        cell.key: made_up(cell, [right_of(right)])
        for cell, right in zip(mine.cells, (15, 30), strict=True)
    }
    (axis,) = accuracy_drawing(rows(mine, results)).figure.axes
    ((_, heights, low, high),) = bars(axis).values()
    assert heights.tolist() == [75]
    # The interval of two sessions is wider than accuracies can be.
    assert (low.tolist(), high.tolist()) == ([0], [100])
