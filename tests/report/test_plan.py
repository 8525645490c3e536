"""The report of a plan."""

import numpy as np
from plans import made, results

from bciigl.report.plan import plan_sections
from bciigl.report.plan_tables import comparison


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
    curves, designs = (
        found[title].drawings[0]
        for title in ("Accuracy and trust against scanner hours", "Designs compared")
    )
    assert set(curves.columns["person"]) == set(range(1, 41))
    assert designs.columns["timing.isi"] == [5, 7] and b"<svg" in curves.svg and designs.svg
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
    assert found["Accuracy and trust against scanner hours"].drawings[0].svg


def test_designs_that_are_alike_are_said_to_be():
    mine = made(people=40, vary={"timing.isi": [5, 7]})
    found = results(mine, [[24, 32] * 20, [32, 24] * 20])
    assert comparison(mine.rows(found)) == "Not clearly worse, with 40 people: timing.isi = 7 s."
