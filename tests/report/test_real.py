"""The report of games from real recordings."""

from bciigl.base.registry import LEARNERS
from bciigl.report.real import NEAR, real_tables, share_drawing, share_finding
from bciigl.study.real import Setting
from bciigl.study.real_study import RealRow
from bciigl.study.statistics import mean_of

SHARES = {"ai_igl": (97.0, 62.0), "transfer": (40.0, 99.0), "cb": (101.0, 98.0)}
SETTINGS = Setting("A", 3, 0.5), Setting("A", 5, 0.5)


def row(setting, learner, share):
    accuracies = [share / 2, share / 2 + 1]
    how = {"accuracy": mean_of(accuracies), "accuracies": accuracies}
    verdict = {"trusted": None, "right": None}
    if not LEARNERS.get(learner).told:
        verdict = {"trusted": {"judgment": 1}, "right": 1}
    return RealRow(setting=setting, learner=learner, share=mean_of([share] * 2), **how, **verdict)


ROWS = [
    row(setting, learner, share)
    for learner, shares in {**SHARES, "ceiling": (100.0, 100.0)}.items()
    for setting, share in zip(SETTINGS, shares, strict=True)
]


def test_the_title_counts_settings_where_labels_are_hardly_needed():
    said = f"Without labels, AI-IGL has at least {NEAR} % of supervised learning's accuracy in 1 of"
    assert share_finding(ROWS) == f"{said} 2 settings"
    drawing = share_drawing(ROWS)
    assert drawing.alt == f"{share_finding(ROWS)}."
    assert drawing.columns["share"] == [each for shares in SHARES.values() for each in shares]


def test_learners_have_plain_names():
    names = {line[0].strip() for table in real_tables(ROWS) for line in table.rows}
    assert {"AI-IGL", "perception transfer", "contextual bandit", "supervised"} <= names
    (legend,) = share_drawing(ROWS).figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {
        "AI-IGL", "perception transfer", "contextual bandit", "chance"
    }  # fmt: skip
