"""The report of a plan."""

import numpy as np
import pytest
from plans import made, results

from bciigl.report.plan import plan_sections
from bciigl.report.plan_drawings import curves_drawing, designs_drawing, plan_drawing
from bciigl.report.plan_tables import comparison
from bciigl.study.planning import Planned


def sections_of(mine, needs, **how):
    found = results(mine, needs, **how)
    return {each.title: each for each in plan_sections(mine, found, mine.rows(found))}


def test_a_plan_has_its_sentence_curves_designs_and_justification():
    mine = made(people=40, vary={"timing.isi": [5, 7]})
    needs = np.random.default_rng(0).choice([24, 28, 32], (2, 40))
    needs[1] += 20
    found = sections_of(mine, needs.tolist())
    answer = found["The answer"].notices[0]
    assert answer.mood == "good" and "9 in 10 people reach 80 % after 32 trials" in answer.title
    assert "AI-IGL, which is told no labels" in found["The answer"].notices[0].text
    titles = ("The answer", "Person by person", "Designs compared")
    lead, curves, designs = (found[title].drawings[0] for title in titles)
    assert set(curves.columns["person"]) == set(lead.columns["person"]) == set(range(1, 41))
    assert sorted(lead.columns["hours"]) == sorted(each / 100 for each in needs[0])
    assert designs.columns["timing.isi"] == [5, 7]
    assert all(b"<svg" in each.svg for each in (lead, curves, designs))
    words, session = found["Sample-size justification"].paragraphs
    told = answer.title.removesuffix(" (timing.isi = 5 s).")
    for part in ("40 people", "timing.isi = 5", told, "noise weight of 1", "0.005"):
        assert part.replace("0.005", "99.5 %") in words
    assert "We therefore plan 0.32 scanner hours" in words and "396" not in words
    assert "pauses of 5 s" in session
    assert "--vary" in found["How to do it again"].preformatted


def test_a_plan_that_is_not_reached_says_so():
    mine = made(people=10)
    found = sections_of(mine, [[None] * 10], ceiling=60.0)
    notice = found["The answer"].notices[0]
    assert notice.mood == "bad" and "the signal" in notice.title
    assert "We therefore plan" not in found["Sample-size justification"].paragraphs[0]
    assert "Designs compared" not in found
    for title, said in (
        ("The answer", "Fewer than 9 in 10 people reach 80 % within 3 scanner hours: 0 of 10 do"),
        ("Person by person", "Most people do not reach 80 % within 3 scanner hours"),
    ):
        assert title_of(found[title].drawings[0]) == said


def title_of(drawing):
    """Return what a figure says above its axes, once it is drawn."""
    assert drawing.svg
    (axis,) = drawing.figure.axes
    shown = drawing.figure._suptitle or axis._left_title
    assert shown.get_window_extent().x1 <= drawing.figure.bbox.x1
    return " ".join(shown.get_text().split())


def planned(needs, **how):
    mine = made(people=40, **how)
    found = results(mine, needs)
    return Planned(mine, mine.rows(found), found)


def test_the_first_figure_shows_who_is_at_the_target_when():
    needs = [16] * 10 + [24] * 26 + [28] * 3 + [None]
    drawing = plan_drawing(planned([needs]))
    assert title_of(drawing) == "9 in 10 people reach 80 % after 24 trials, 0.24 scanner hours"
    (axis,) = drawing.figure.axes
    steps = {each.get_label(): each.get_xydata().tolist() for each in axis.lines}
    assert [[0.16, 25], [0.24, 90], [0.28, 97.5]] == [
        [hours, max(share for at, share in steps["at the target"] if at == hours)]
        for hours in (0.16, 0.24, 0.28)
    ]
    # Nobody needs longer to be trusted here: that would be the same line.
    assert "at the target\nand trusted" not in steps
    assert axis.get_xlim()[1] > 0.28


@pytest.mark.slow
def test_people_and_designs_are_told_apart_in_titles():
    one = planned([[16] * 10 + [24] * 26 + [28] * 4])
    said = "Half of the people reach 80 % after 0.24 scanner hours, the last after 0.28"
    assert title_of(curves_drawing(one)) == said
    missed = planned([[16] * 10 + [24] * 26 + [None] * 4])
    said = "Half of the people reach 80 % after 0.24 scanner hours, 4 of 40 not within 3"
    assert title_of(curves_drawing(missed)) == said
    long = {"timing.judgment.pause": [4.0], "timing.together": [True, False]}
    for vary in ({"timing.isi": [5, 7]}, {"agent.policy": ["uniform", "epsilon-greedy"]}, long):
        clear = planned([[24] * 40, [44] * 40], vary=vary)
        assert "clearly needs fewest scanner hours, 0.24" in title_of(designs_drawing(clear))
        alike = planned([[24, 32] * 20, [32, 24] * 20], vary=vary)
        assert title_of(designs_drawing(alike)).endswith("but the other is not clearly worse")
        neither = planned([[None] * 40] * 2, vary=vary)
        said = "No design reaches 80 % within 3 scanner hours"
        assert title_of(designs_drawing(neither)) == said


def test_designs_that_are_alike_are_said_to_be():
    mine = made(people=40, vary={"timing.isi": [5, 7]})
    found = results(mine, [[24, 32] * 20, [32, 24] * 20])
    assert comparison(mine.rows(found)) == "Not clearly worse, with 40 people: timing.isi = 7 s."
