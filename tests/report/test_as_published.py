"""Table 2 as the authors ran it: its command, tables, figure and page say the same."""

import html
import json
from dataclasses import replace

import pytest
from released_files import packed
from tables import html_tables, text_tables

from bciigl.report.as_published import (
    attribution,
    finding,
    outcome_tables,
    published_tables,
    story,
)
from bciigl.study import as_published
from bciigl.study.as_published import ARMS, KEPT, PublishedRow
from bciigl.study.published import published
from bciigl.study.statistics import mean_of

FEW = {"epochs": 20, "rate": 1e-2, "hidden": (8,)}


def row(values, arm="published", control=None, noise=0.05, became=()):
    """Return a row of given accuracies."""
    learner = ARMS[arm].learner
    paper = published("table2", learner, noise)
    given = (arm, noise, learner, control, mean_of(values), values, paper)
    numbers, nothing = list(range(1, len(values) + 1)), [[]] * len(values)
    return PublishedRow(*given, numbers, [list(became)] * len(values), nothing, nothing, nothing)


ROWS = [
    row([100.0, 66.0, 33.0, 99.0], became=["kept", "kept", "moved"]),
    row([100.0, 99.0, 98.0, 100.0], control=KEPT, became=["kept", "kept", "moved"]),
    row([32.0, 33.0], arm="full_ci"),
    row([99.9], arm="robust"),
    row([50.0, 60.0], arm="own"),
]


def test_the_finding_is_told_only_where_it_is_one():
    told = finding(ROWS)
    assert "reaches 74.5 % at noise 0.05 (published 76.60)" in told
    assert "Most of what it misses it had found" in told and "99.2 to 99.2 %" in told
    no_better = row([75.0, 60.0, 33.0, 99.0], control=KEPT)
    assert "Most" not in finding([ROWS[0], no_better])
    assert "has not been run" in finding(ROWS[2:])


def test_tables_have_the_means_beside_the_published_ones():
    released, own = published_tables(ROWS)
    cells = dict(zip(("mean", "published", "kept"), released.rows[:3], strict=True))
    assert cells["mean"][1].startswith("74.5 ± ") and cells["mean"][1].endswith("(4)")
    assert cells["published"][1] == "76.60 ± 4.09"
    assert cells["kept"][0].strip() == KEPT and cells["kept"][1].startswith("99.2 ± ")
    assert [line[0] for line in released.rows[3:]] == [
        "full-CI IGL by the released code's procedure: as published",
        "  published",
        "AI-IGL: this package's AI-IGL",
    ]
    assert len(own.rows) == 2


def test_outcomes_are_shares_of_repeats_and_of_options():
    table, by_place = outcome_tables(ROWS)
    shares = {line[0]: line[1] for line in table.rows}
    assert [shares[name] for name in shares if "repeats" in name] == ["50 %", "25 %", "25 %", "0 %"]
    assert shares["options that were found and kept"] == "67 %"
    assert shares["options that were found, and moved while others were trained"] == "33 %"
    assert [line[1] for line in by_place.rows] == ["0 of 4", "0 of 4", "4 of 4"]
    assert outcome_tables(ROWS[2:]) == []


def test_shares_of_repeats_add_up_wherever_they_end():
    values = [0.0, 45.0, 45.1, 54.9, 55.0, 79.9, 80.0, 89.9, 90.0, 100.0]
    shares = [line[1] for line in outcome_tables([row(values, became=["not found"] * 3)])[0].rows]
    assert shares[:4] == ["20 %", "30 %", "20 %", "30 %"]


def test_what_is_the_method_the_optimiser_and_the_data_is_told_of_the_arms_that_are_there():
    linear = row([43.0, 40.0, 41.0], arm="linear")
    short = row([90.0, 57.0, 23.0, 90.0], arm="short")
    split = row([100.0, 65.0, 35.0, 99.5], arm="split")
    method, optimiser, data, about = attribution([*ROWS, linear, short, split])
    assert method == (
        "What is the method: this package's AI-IGL: 99.9 % at noise 0.05; each option's network"
        " kept as its own training left it: 99.2 % at noise 0.05."
    )
    # By hand: of -10, -9, -10, -9; and of 0, -1, 2, 0.5, whose mean is 0.4.
    assert "; 500 epochs, not 4000: -9.5 ± 0.3 at noise 0.05" in optimiser
    assert "runs: no difference seen at noise 0.05 (± 0.6)" in data
    # A linear network has other first weights: means are 74.5 +- 15.9 and 41.3 +- 0.9.
    assert "; linear, as in the text: -33.2 ± 16.0 at noise 0.05; 500" in optimiser
    assert "centred" not in optimiser and "12 s" not in data
    assert "two standard errors" in about
    assert attribution([row([50.0], arm="split"), row([60.0])]) == []


def test_repeats_are_paired_by_their_numbers():
    some = replace(row([60.0, 30.0], arm="short"), numbers=[2, 3])
    assert some.minus(ROWS[0]) == pytest.approx((-4.5, 1.5))
    assert replace(some, numbers=[8, 9]).minus(ROWS[0]) is None


def test_every_repeat_is_a_dot():
    (drawing,) = story(ROWS)
    found = list(zip(drawing.columns["what"], drawing.columns["accuracy"], strict=True))
    assert [value for what, value in found if what == "in the end"] == ROWS[0].accuracies
    assert len(found) == 4 + 4 + 1
    assert story(ROWS[2:]) == []


@pytest.fixture
def fast(monkeypatch):
    """Train small networks for a moment."""
    small = {
        name: ARMS[name]._replace(parameters=FEW if "network" in ARMS[name].learner else {})
        for name in ("published", "full_ci", "robust")
    }
    monkeypatch.setattr(as_published, "ARMS", small)


def test_command_json_and_page_have_the_same_numbers(fast, bciigl, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = packed(tmp_path / "released")
    command = ["reproduce", "table2", "--as-published", "--released", folder, "--noise", 0.05]
    command += ["--repeats", 2, "--jobs", 1]
    document = json.loads(bciigl(*command, "--json").stdout)
    assert [(each["arm"], each["control"]) for each in document] == [
        ("published", None),
        ("published", KEPT),
        ("full_ci", None),
        ("robust", None),
    ]
    kept = as_published.read_table("table2_as_published/table.csv")
    assert json.loads(json.dumps([each.as_dict() for each in kept])) == document
    text = bciigl(*command).stdout
    assert max(map(len, text.splitlines())) <= 80
    (printed,) = (each for each in text_tables(text, "noise") if "(2)" in each[1][1])
    shown = [f"{each['accuracy']:.1f}" for each in document]
    assert [line[1].split(" ")[0] for line in printed[1:] if "(" in line[1]] == shown
    assert bciigl("report", "table2_as_published").exit_code == 0
    page = (tmp_path / "table2_as_published" / "report.html").read_text()
    in_page = next(each for each in html_tables(page) if "(2)" in str(each))
    assert [line[1].split(" ")[0] for line in in_page[1:] if "(" in line[1]] == shown
    assert "ai_igl_network" not in page
    told = [" ".join(each.split()) for each in (text, html.unescape(page))]
    assert attribution(kept) and all(said in each for said in attribution(kept) for each in told)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--arm", "linear"], "--arm goes with --as-published"),
        (["--as-published", "--separate"], "--as-published needs no --separate"),
        (["--as-published", "--arm", "linaer"], "did you mean 'linear'?"),
        (["--as-published", "--arm", "linear"], "need --released"),
    ],
)
def test_what_does_not_go_together_is_refused(bciigl, arguments, message):
    result = bciigl("reproduce", "table2", *arguments)
    assert result.exit_code == 2 and message in result.stderr
