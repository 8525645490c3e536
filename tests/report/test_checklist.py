"""The CRED-nf checklist: all of its items, and answers that are true of the session."""

import re

import pytest
from live_recordings import write_live
from recordings import small, write_made_up

from bciigl.loop.yoked import CONDITION
from bciigl.recording import open_dataset
from bciigl.report.checklist import (
    DOMAINS,
    TO_FILL_IN,
    checklist,
    checklist_section,
    checklist_text,
)
from bciigl.report.views import load
from bciigl.study.session_results import learn_and_keep

NUMBERS = "1a 1b 2a 2b 2c 2d 2e 3a 3b 3c 3d 3e 4a 4b 4c 4d 4e 5a 5b 5c 6a 6b 7a".split()
TASK = {"trials": 12, "trials_per_run": 6}


def session(folder, group="participant", **sections):
    dataset = write_live(folder, small(**{"task": TASK, "learners": ["ai_igl"], **sections}), group)
    learn_and_keep(dataset)
    return load(dataset)


def answers(view):
    return {each.number: each for each in checklist(view)}


@pytest.fixture(scope="module")
def view(tmp_path_factory):
    """Return a live session of a participant, which tests do not change."""
    return session(tmp_path_factory.mktemp("checklist") / "out")


def test_all_items_are_there_and_none_is_empty(view):
    found = checklist(view)
    assert [each.number for each in found] == NUMBERS
    assert {each.number[0] for each in found} == set(DOMAINS)
    assert all(each.known or each.left for each in found)
    assert all(re.fullmatch(r"\w.*\.", each.known or "A.", re.DOTALL) for each in found)
    # What no program can know is left to people, whatever else is said.
    left = {each.number for each in found if each.left}
    assert left == set(NUMBERS) - {"4d"}


def test_the_dataset_answers_what_it_knows(view):
    found = answers(view)
    assert view.dataset.protocol.content_hash in found["1a"].known
    assert "12 trials and 0.1 h" in found["1b"].known
    assert "232 volumes, of which the session missed 2" in found["3d"].known
    assert "0.20 mm" in found["3e"].known
    assert "generalised least squares" in found["4a"].known
    assert "guessed uniformly at random" in found["4b"].known
    assert "shown for 2 s" in found["4c"].known
    assert found["4e"].known.startswith("bciigl ")
    assert found["5a"].known.startswith("AI-IGL, without labels, says of itself: ")
    assert "BIDS 1." in found["7a"].known
    assert not found["6a"].known


def test_controls_are_told_and_the_condition_is_not(tmp_path, view):
    plain = answers(view)
    assert "not run in one of several conditions" in plain["2a"].known
    assert not plain["2b"].known
    with_controls = {
        "task": {**TASK, "catch": {"share": 0.25}},
        "agent": {"policy": "epsilon-greedy"},
        "human": {"key_press": True},
    }
    view = session(tmp_path / "out", **with_controls)
    assert "not run in one of several conditions" in answers(view)["2a"].known
    told = []
    for condition in ('{"yoked": null}', '{"yoked": "other"}'):
        (view.dataset.folder / CONDITION).write_text(condition)
        told.append(answers(view))
    assert told[0] == told[1]
    assert "those of another session (yoked)" in told[0]["2a"].known
    assert "neither printed nor logged" in told[0]["2b"].known
    assert "probabilities of guesses can tell" in told[0]["2c"].known
    assert "given by key" in told[0]["6a"].known
    assert "catch trials (25 % of all)" in told[0]["2a"].known


def test_a_rehearsal_says_that_its_scanner_was_simulated(tmp_path):
    found = answers(session(tmp_path / "out", "simulated"))
    assert "the simulated scanner of bciigl scan" in found["4e"].known


def test_a_simulated_session_has_a_checklist_too(tmp_path):
    write_made_up(tmp_path / "out", small(task=TASK | {"catch": {"share": 0.5}}))
    learn_and_keep(open_dataset(tmp_path / "out"))
    found = answers(load(open_dataset(tmp_path / "out")))
    assert list(found) == NUMBERS
    assert not found["3d"].known


def test_in_the_report_it_is_a_table_that_cites_its_source(view):
    section = checklist_section(view)
    assert [row[0] for row in section.tables[0].rows] == NUMBERS
    assert "doi:10.1093/brain/awaa009" in section.references[0]
    assert TO_FILL_IN in section.tables[0].rows[0][2]


def test_as_markdown_it_is_to_be_completed(view):
    text = checklist_text(view)
    assert re.findall(r"^\*\*(\d\w)\. ", text, re.MULTILINE) == NUMBERS
    assert re.findall(r"^## (\d)\. ", text, re.MULTILINE) == list(DOMAINS)
    assert text.count(f"- [ ] {TO_FILL_IN}: ") == len(NUMBERS) - 1
    assert "doi:10.1093/brain/awaa009" in text


def test_the_command_writes_it_and_never_over_another(bciigl, tmp_path, view):
    path = tmp_path / "cred-nf.md"
    done = bciigl("report", view.dataset.folder, "--checklist", path)
    assert done.exit_code == 0
    assert f"wrote the CRED-nf checklist to {path}" in done.stdout
    assert path.read_text() == checklist_text(view)
    path.write_text("filled in")
    again = bciigl("report", view.dataset.folder, "--checklist", path)
    assert (again.exit_code, path.read_text()) == (2, "filled in")
    assert "exists already, and may be filled in" in again.stderr
    nowhere = bciigl("report", view.dataset.folder, "--checklist", tmp_path / "no" / "where.md")
    assert (nowhere.exit_code, "there is no folder" in nowhere.stderr) == (2, True)
