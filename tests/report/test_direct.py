"""Names at the ends of lines, and titles: nothing overlaps, nothing is cut off."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from bciigl.report.direct import EndLabel, darker, label_ends, say, say_above
from bciigl.report.style import WIDTH, divided, new_figure

HEIGHTS = [[50.0], [95, 95.5, 96], [0, 1, 2, 3], [100, 99, 98, 97, 50, 49], [10, 90]]


@pytest.mark.parametrize("heights", HEIGHTS)
def test_names_are_apart_in_the_order_of_their_lines_and_within_the_figure(heights):
    figure = new_figure(3.8)
    axis = figure.subplots()
    axis.set(xlim=(0, 10), ylim=(0, 104))
    say(axis, "A finding that takes two lines of a title, as most of those of studies do")
    label_ends(axis, [EndLabel(9.8, y, f"a name,\nno {y:g}", "black") for y in heights])
    figure.draw_without_rendering()
    boxes = [Text.get_window_extent(each) for each in axis.texts]  # without lines
    for upper, lower in zip(*_neighbours(heights, boxes), strict=True):
        assert upper.y0 >= lower.y1
    title = axis._left_title.get_window_extent()
    for box in boxes:
        assert box.x0 >= axis.bbox.x1 and box.x1 <= figure.bbox.x1
        assert box.y0 >= 0 and box.y1 <= title.y0
    assert title.x1 <= figure.bbox.x1 and title.y1 <= figure.bbox.y1


def _neighbours(heights, boxes):
    down = [boxes[place] for place in np.argsort(heights)[::-1]]
    return down[:-1], down[1:]


def test_a_line_that_ends_early_has_its_name_right_there():
    axis = new_figure(3).subplots()
    axis.set(xlim=(0, 10), ylim=(0, 104))
    label_ends(axis, [EndLabel(4, 60, "early", "black"), EndLabel(9, 60, "late", "black")])
    axis.figure.draw_without_rendering()
    early, late = (Text.get_window_extent(each) for each in axis.texts)
    x, y = axis.transData.transform((4, 60))
    assert 0 < early.x0 - x < 30 and early.y0 < y < early.y1
    assert late.x0 >= axis.bbox.x1


def test_words_are_dark_enough_to_be_read_on_white():
    """A contrast of 4.5 to 1, as the guidelines on accessible pages ask for."""
    for color in ("#d55e00", "#cc79a7", "#009e73", "#0072b2", "#6c757d", "#7a5c00", "#882255"):
        linear = [
            each / 12.92 if each < 0.04 else ((each + 0.055) / 1.055) ** 2.4
            for each in darker(color)
        ]
        luminance = np.dot(linear, (0.2126, 0.7152, 0.0722))
        assert 1.05 / (luminance + 0.05) >= 4.5, color
        assert to_rgb(color) != darker(color)


def test_titles_are_never_formulas():
    axis = new_figure(3, WIDTH).subplots()
    say(axis, "of $x$ and $y_1$ at 3 s")
    assert axis.get_title("left") == "of \\$x\\$ and \\$y_1\\$ at 3\N{NO-BREAK SPACE}s"
    axis.figure.draw_without_rendering()


def test_a_title_over_several_panels_has_room_above_and_takes_none_beside():
    words = "A finding that is wider than the first of three panels, and is above all of them"
    figure = new_figure(3)
    ax = figure.subplots()
    axes = divided(ax, 1, 3)[0]
    say(axes[0], words, over=ax)
    figure.draw_without_rendering()
    (title,) = axes[0].texts
    assert " ".join(title.get_text().split()) == words
    box = Text.get_window_extent(title)
    assert box.y0 > axes[0].bbox.y1 and box.y1 <= figure.bbox.y1 and box.x1 <= figure.bbox.x1
    widths = [axis.bbox.width for axis in axes]
    assert widths == pytest.approx([widths[0]] * 3)


def test_a_title_of_a_whole_figure_is_above_its_panels():
    figure = new_figure(3)
    axes = figure.subplots(1, 2)
    say_above(figure, "A finding that takes two lines of a title, as most of those of studies do")
    figure.draw_without_rendering()
    box = figure._suptitle.get_window_extent()
    assert box.y0 >= max(axis.bbox.y1 for axis in axes)
    assert box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1
