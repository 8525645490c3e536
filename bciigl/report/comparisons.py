"""Accuracy of controls, and of learners that a study's first figure leaves out."""

from collections.abc import Callable, Sequence
from itertools import cycle

from matplotlib.axes import Axes

from bciigl.learn.transfer import TRANSFER
from bciigl.report import style
from bciigl.report.accuracy import (
    CONTROL_STYLES,
    Line,
    accuracy_columns,
    draw_lines,
    figure_of,
    how_drawn,
    line_of,
)
from bciigl.report.drawing import Drawing
from bciigl.report.findings import (
    compared,
    controls_findings,
    further,
    learners_finding,
    noun,
    told_what,
)
from bciigl.report.methods import listed
from bciigl.report.study_tables import learner_name
from bciigl.study.controls import PERMUTED
from bciigl.study.rows import Row


def draw_controls(ax: Axes, rows: Sequence[Row]) -> Axes:
    """Draw the accuracy of a learner and of its controls; see `draw_accuracy`.

    Beside permuted rewards stands perception transfer, if it learned too: what they may reach.
    """
    return draw_lines(ax, rows, _controls(rows), controls_findings(rows)[0])


def draw_learners(ax: Axes, rows: Sequence[Row]) -> Axes:
    """Draw the accuracy of the further learners of a study beside the first one's."""
    return draw_lines(ax, rows, _learners(rows), learners_finding(rows))


def controls_drawings(rows: Sequence[Row]) -> list[Drawing]:
    """Return what `draw_controls` draws as a figure with its words, if there are controls."""
    controls = dict.fromkeys(row.control for row in rows if row.control is not None)
    if not controls:
        return []
    learner = learner_name(next(row.learner for row in rows if row.control is not None))
    words = f"Accuracy of {learner} and of its controls: {listed(list(controls))}."
    lines, said = _controls(rows), "; ".join(controls_findings(rows))
    return [_drawing("controls", draw_controls, rows, lines, f"{words} {said}.", said)]


def learners_drawings(rows: Sequence[Row]) -> list[Drawing]:
    """Return what `draw_learners` draws as a figure with its words, if there are such learners."""
    if not further(rows):
        return []
    lines, said = _learners(rows), learners_finding(rows)
    names = {row.label: noun(row.learner) for row in rows}
    others = listed([names[label] for label in further(rows)])
    words = f"Accuracy of {others} beside that of {names[compared(rows)[0]]}."
    return [_drawing("learners", draw_learners, rows, lines, words, said)]


def _drawing(
    name: str, draw: Callable, rows: Sequence[Row], lines: Sequence[Line], words: str, said: str
) -> Drawing:
    mine = [row for row in rows if row.label in {each.label for each in lines}]
    caption = f"{words} {how_drawn(mine)}"
    return Drawing(name, figure_of(rows, draw), caption, f"{said}.", accuracy_columns(mine))


def _controls(rows: Sequence[Row]) -> list[Line]:
    controlled = next(row.learner for row in rows if row.control is not None)
    plain = {row.learner: row.label for row in rows if row.control is None}
    beside = [TRANSFER.id] if any(row.control == PERMUTED for row in rows) else []
    beside = [plain[each] for each in (controlled, *beside) if each in plain]
    labels = dict.fromkeys(row.label for row in rows if row.control is not None)
    looks = zip(labels, cycle(CONTROL_STYLES), strict=False)
    controls = [line_of(rows, label, look) for label, look in looks]
    return [*_short(rows, beside), *controls]


def _learners(rows: Sequence[Row]) -> list[Line]:
    first, *others = _short(rows, [compared(rows)[0], *further(rows)])
    return [first._replace(look={**first.look, "color": style.GREY}), *others]


def _short(rows: Sequence[Row], labels: Sequence[str]) -> list[Line]:
    """Return the lines of learners, of which those that are told nothing have short names."""
    told = {row.label: told_what(row.learner) for row in rows}
    found = [line_of(rows, label) for label in labels]
    return [
        each if told[each.label] else each._replace(name=each.name.partition(",")[0])
        for each in found
    ]
