"""What a study found, in a sentence: the numbers of the rows decide which."""

from dataclasses import replace

import pytest
from studies import all_made_up, study

from bciigl.report.findings import (
    compared,
    controls_findings,
    finding,
    learners_finding,
    main_noise,
)
from bciigl.study import rows
from bciigl.study.controls import CONTROLS, MEAN_REMOVED, PERMUTED, SILENCED
from bciigl.study.statistics import Chance, Mean

LEVELS = (0.1, 0.5, 1.0)
BLIND = ["ai_igl", "transfer", "cb", "ceiling"]


def made(accuracies, *, reach=1.0, **arguments):
    """Return rows with accuracies by label, one for each setting; all else is chance."""
    arguments = {"study": {"noise": list(LEVELS)}, "learners": ["ai_igl", "ceiling"], **arguments}
    mine = study(**arguments)
    left = {label: iter(values) for label, values in accuracies.items()}
    found = []
    for row in rows(mine, all_made_up(mine)):
        mean = next(left.get(row.label, iter([33.0])))
        interval = None if reach is None else (mean - reach, mean + reach)
        accuracy, chance = Mean(mean, 0.5, interval), Chance(33.3, (31.0, 35.0))
        found.append(replace(row, accuracy=accuracy, chance=chance))
    return found


@pytest.mark.parametrize(
    ("blind", "told", "said"),
    [
        (
            (100, 99, 95),
            (100, 99.5, 96),
            "Without labels, AI-IGL decodes what supervised learning decodes, up to a real brain's "
            "noise",
        ),
        (
            (100, 95, 50),
            (100, 96, 90),
            "Without labels, AI-IGL keeps up with supervised learning up to noise 0.5; at a real "
            "brain's noise it decodes 50.0 instead of 90.0 %",
        ),
        (
            (100, 95, 35),
            (100, 96, 90),
            "Without labels, AI-IGL keeps up with supervised learning up to noise 0.5; at a real "
            "brain's noise it is no better than chance",
        ),
        (
            (60, 95, 50),
            (100, 96, 90),
            "Without labels, AI-IGL falls short of supervised learning: at a real brain's noise it "
            "decodes 50.0 instead of 90.0 %",
        ),
        (
            (33, 20, 35),
            (100, 96, 90),
            "Without labels, AI-IGL is no better than chance; supervised learning decodes 90.0 %",
        ),
        ((33, 33, 33), (33, 35, 34), "Not even supervised learning decodes more than chance"),
        (
            (100, 95, 33),
            (100, 95, 34),
            "Without labels, AI-IGL decodes what supervised learning decodes, up to noise 0.5; "
            "beyond, supervised learning is at chance too",
        ),
    ],
)
def test_good_results_and_bad_ones_have_other_titles(blind, told, said):
    assert finding(made({"ai_igl": blind, "ceiling": told})) == said


def test_one_level_or_one_learner_alone_has_a_finding():
    one = {"study": {"noise": [0.2]}}
    assert finding(made({"ai_igl": [90.0], "ceiling": [91.0]}, **one)) == (
        "Without labels, AI-IGL decodes what supervised learning decodes, at noise 0.2"
    )
    alone = {"learners": ["ceiling"], **one}
    assert finding(made({"ceiling": [91.0]}, **alone)) == (
        "Told the labels, supervised learning decodes 91.0 % at noise 0.2, where chance is 33.3 %"
    )
    assert finding(made({"ceiling": [34.0]}, **alone)) == (
        "Told the labels, supervised learning is no better than chance at noise 0.2"
    )


def test_a_varied_field_is_said_to_matter_or_not():
    vary = {"timing.isi": [7, 8, 9]}
    one = {"vary": vary, "learners": ["cb"], "study": {"noise": [0.05]}}

    def said(*values, **how):
        return finding(made({"cb": values}, **one, **how))

    who = "Told the rewards, a contextual bandit"
    most = f"{who} decodes most at timing.isi = 8 s: 90.0 %, against 40.0 % at 7 s (at noise 0.05"
    assert said(40.0, 90.0, 60.0) == f"{most})"
    assert said(40.0, 90.0, 60.0, reach=None) == f"{most}, one session each)"
    assert said(40.0, 42.0, 41.0, reach=10) == (
        f"{who} is no better than chance, whatever timing.isi is (at noise 0.05)"
    )
    assert said(80.0, 90.0, 85.0, reach=20) == (
        f"{who} decodes 80.0 to 90.0 %, whatever timing.isi is (at noise 0.05; 95 % intervals "
        "overlap)"
    )
    assert said(80.0, 80.0, 80.0, reach=None) == (
        f"{who} decodes 80.0 %, whatever timing.isi is (at noise 0.05)"
    )


def test_fields_are_told_of_at_the_noise_of_a_real_brain():
    mine = made({}, vary={"timing.isi": [7, 8]}, study={"noise": [0.5, 1.0, 2.0]})
    assert main_noise(mine) == 1 and "a real brain's noise" in finding(mine)
    lower = [row for row in mine if row.noise == 0.5]
    assert main_noise(lower) == 0.5 and "at noise 0.5" in finding(lower)


def test_a_study_is_about_who_is_told_nothing_and_who_is_told_most():
    for learners, expected in (
        (BLIND, ["ai_igl", "ceiling"]),
        (["cb", "transfer", "ai_igl"], ["transfer", "cb"]),
        (["cb", "ceiling"], ["cb", "ceiling"]),
        (["igl_full_ci"], ["igl_full_ci"]),
    ):
        assert compared(made({}, learners=learners)) == expected


def test_each_control_is_told_by_what_it_reaches():
    mine = made(
        {
            "ai_igl": (100, 99, 95),
            "ceiling": (100, 99, 95),
            f"ai_igl, {SILENCED}": (33, 20, 35),
            f"ai_igl, {PERMUTED}": (40, 70, 90),
            f"ai_igl, {MEAN_REMOVED}": (99, 99, 95),
        },
        controls=tuple(CONTROLS),
    )
    assert controls_findings(mine) == [
        "With judgment silenced, AI-IGL is no better than chance",
        "with rewards permuted, it decodes 40 to 90 %",
        "with region mean removed, it is as good as without",
    ]
    leaking = [
        replace(row, accuracy=Mean(50.0, 1.0, (48.0, 52.0))) if row.control == SILENCED else row
        for row in mine
    ]
    assert controls_findings(leaking)[0] == "With judgment silenced, AI-IGL decodes 50 %"


def test_further_learners_that_decode_more_are_named():
    first = {"ai_igl": (100, 99, 90), "ceiling": (100, 99, 95)}

    def said(reach=1.0, **others):
        return learners_finding(made({**first, **others}, reach=reach, learners=BLIND))

    assert said() == (
        "No further learner decodes clearly more than AI-IGL, not even one that is told the rewards"
    )
    assert said(transfer=(90, 90, 95), cb=(100, 99, 91)) == (
        "Perception transfer decodes more than AI-IGL at a real brain's noise"
    )
    # Means of few sessions may differ by chance.
    assert said(reach=10, transfer=(90, 90, 95)).startswith("No further learner decodes clearly")
    assert said(transfer=(90, 90, 95), cb=(100, 99, 93)) == (
        "Perception transfer and a contextual bandit decode more than AI-IGL at a real brain's "
        "noise"
    )
