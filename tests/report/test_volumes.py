"""How volumes of a live session came, and what reports and results say of such a session."""

import json
import shutil

import numpy as np
import pytest
from live_recordings import record_participant, short, write_live
from recordings import small, write_made_up
from rehearsals import scanning

from bciigl.loop.live import record_live
from bciigl.loop.yoked import CONDITION
from bciigl.recording import DatasetError, open_dataset
from bciigl.recording.layout import CONFOUNDS, ESTIMATES, TRUTH
from bciigl.report.page import page_text
from bciigl.report.session import session_sections
from bciigl.report.session_words import about, lead
from bciigl.report.views import learned
from bciigl.report.volumes import (
    finding,
    read_volumes,
    volume_sentences,
    volumes_drawing,
    volumes_table,
)
from bciigl.study.session_results import RESULTS, learn_and_keep

TRIALS = {"trials": 12, "trials_per_run": 6}
NOT_OF_PEOPLE = ("simulated", "noise 0.05", "fmrisim (Ellis", "bciigl simulate", "ses-test")
"""What the report of a participant does not say."""


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    """Return a live dataset of two runs with 116 volumes each, which tests do not change."""
    folder = tmp_path_factory.mktemp("volumes") / "made up"
    return write_live(folder, small(task=TRIALS, live={"dummies": 4}, learners=["ai_igl"]))


@pytest.fixture
def own(made_up, tmp_path):
    """Return a copy of it that may be changed."""
    return open_dataset(shutil.copytree(made_up.folder, tmp_path / "own"))


@pytest.fixture(scope="module")
def participant(tmp_path_factory):
    """Return a session recorded from volumes of somebody who is not said to be simulated."""
    dataset = record_participant(short(), tmp_path_factory.mktemp("participant"))
    learn_and_keep(dataset)
    return dataset


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory):
    """Return a session with a simulated scanner, and the folder of its volumes."""
    folder = tmp_path_factory.mktemp("rehearsed")
    timing = {"tr": 1.0, "event": 1.0, "isi": 1.0}
    protocol = short(timing=timing, live={"realign": True}, learners=["ai_igl", "cb"])
    with scanning(protocol, folder / "volumes"):
        record_live(protocol, folder / "volumes", folder / "out")
    learn_and_keep(open_dataset(folder / "out"))
    return open_dataset(folder / "out"), folder / "volumes"


def text_of(view):
    return page_text("t", session_sections(view), lead=lead(view))


def titled(dataset):
    return {each.title: each for each in session_sections(learned(dataset))}


def test_volumes_are_read_run_by_run(made_up):
    volumes = read_volumes(made_up)
    assert [each.run for each in volumes.runs] == [1, 2]
    assert (volumes.count, volumes.lost, volumes.with_status("late")) == (232, 2, 2)
    assert (volumes.trials, volumes.missed) == (12, 2)
    for each in volumes.runs:
        assert each.status[:4].tolist() == ["ok", "missing", "late", "ok"]
        np.testing.assert_allclose(each.delay[[0, 2, 3]], [0.15, 3.15, 0.15], atol=1e-3)
        assert np.isnan(each.delay[1])
        # 0.1 mm, and 0.002 radians on a sphere of 50 mm
        np.testing.assert_allclose(each.displacement[3:], 0.2, atol=1e-6)
        assert np.isnan(each.displacement[:3]).all()


def test_sessions_without_a_scanner_have_no_volumes(tmp_path):
    write_made_up(tmp_path / "out", small())
    assert read_volumes(open_dataset(tmp_path / "out")) is None


def test_damaged_confounds_are_named(own):
    path = next(own.folder.rglob(f"*run-02_{CONFOUNDS}"))
    lines = path.read_text().splitlines(keepends=True)
    for content, reason in {
        "".join(lines[:-1]): "should have 116 rows, got 115",
        "".join(lines).replace("0.200000", "x"): "could not convert",
    }.items():
        path.write_text(content)
        with pytest.raises(DatasetError, match=f"{path.name}: {reason}"):
            read_volumes(own)


def test_volumes_in_words_and_in_a_table(made_up):
    volumes = read_volumes(made_up)
    text = " ".join(volume_sentences(made_up, volumes))
    for words in (
        "a run began with its first volume. The first 4 volumes of each run had been discarded.",
        "realigned to a reference volume",
        "displacement (Power et al., 2012) was 0.20 mm on average, 0.20 mm at most",
        "232 volumes, of which the session missed 2 and got 2 too late for the guess",
        "No guess was shown in 2 of 12 trials, and 0 more had",
    ):
        assert words in text
    table = volumes_table(volumes)
    row = ["116", "1", "1", "0.15 s", "3.15 s", "0.20 mm", "0.20 mm"]
    assert [[*each] for each in table.rows] == [["1", *row], ["2", *row]]


def test_the_drawing_has_the_numbers_and_marks_what_went_wrong(made_up):
    drawing = volumes_drawing(learned(made_up))
    columns = {name: np.array(values) for name, values in drawing.columns.items()}
    assert {len(each) for each in columns.values()} == {232}
    assert columns["run"].tolist() == [1] * 116 + [2] * 116
    assert columns["minutes"][-1] == pytest.approx(231.5 * 1.5 / 60)
    assert (columns["status"] == "late").sum() == (columns["status"] == "missing").sum() == 2
    _, moves, arrivals = drawing.figure.axes
    labels = [line.get_label() for line in arrivals.lines]
    assert all(labels.count(each) == 2 for each in ("in time", "late", "missing"))
    late = next(line for line in arrivals.lines if line.get_label() == "late")
    np.testing.assert_allclose(late.get_ydata(), [3.15], atol=1e-3)
    assert moves.get_ylabel() == "framewise\ndisplacement (mm)"
    assert "waits 1 TR at most" in drawing.caption
    assert finding(read_volumes(made_up)) == (
        "The head moved 0.20 mm from volume to volume on average; of 232 volumes, 2 were missing "
        "and 2 came late"
    )


@pytest.mark.slow
def test_a_head_that_was_not_followed_is_not_drawn(participant):
    volumes = read_volumes(participant)
    drawing = volumes_drawing(learned(participant))
    assert len([axis for axis in drawing.figure.axes if axis.axison]) == 1
    assert "Above" not in drawing.caption and "head" not in finding(volumes)
    assert len(volumes_table(volumes).head) == 6
    assert "Volumes were not realigned." in volume_sentences(participant, volumes)


@pytest.mark.slow
def test_a_participant_is_not_said_to_be_simulated(participant):
    assert participant.group == "participant"
    view = learned(participant)
    text = text_of(view)
    before_protocol = text.split('<h2 id="protocol">')[0]
    assert [each for each in NOT_OF_PEOPLE if each in before_protocol] == []
    assert about(view) == "Live session of a participant, 6 trials, 3 options, uniform guesses."
    assert lead(view) == (
        "Without labels, AI-IGL learned from 6 trials (0.0 h in the scanner), but how well cannot "
        "be known."
    )
    sections = titled(participant)
    assert "Region and patterns" not in sections
    assert [each.name for each in sections["Head movement and arrivals"].drawings] == ["volumes"]
    (methods,) = sections["Methods"].paragraphs
    assert methods.startswith("We ran a closed-loop fMRI")
    assert "a participant imagined one of 3 options (a, b and c)" in methods
    assert "that of a region of 8 voxels of the participant's brain" in methods
    assert sections["How to do it again"].preformatted == "bciigl learn ."
    assert "cannot be done again" in sections["How to do it again"].paragraphs[0]


def test_what_only_simulated_people_do_is_not_said_of_others(tmp_path):
    lapses = {"human": {"judgment_lapse": 0.1}, "population": {"brain.cnr": [0.3, 0.8]}}
    told = {}
    for group in ("participant", "simulated"):
        dataset = write_live(
            tmp_path / group, small(task=TRIALS, learners=["ai_igl"], **lapses), group
        )
        learn_and_keep(dataset)
        told[group] = titled(dataset)["Methods"].paragraphs[0]
    for words in ("vice versa", "People differed", "autoregressive noise", "peaked at"):
        assert words in told["simulated"]
        assert words not in told["participant"]


def test_a_rehearsal_is_said_to_be_one(rehearsed, bciigl):
    dataset, _ = rehearsed
    assert about(learned(dataset)) == (
        "Rehearsal with a simulated person, noise 0.05 (1 is a real brain), 6 trials, 3 options, "
        "uniform guesses, seed 0."
    )
    sections = titled(dataset)
    (methods,) = sections["Methods"].paragraphs
    assert methods.startswith("We rehearsed a closed-loop")
    assert "a simulated person imagined one of" in methods
    assert "realigned to the first volume of the session" in methods
    assert "copy derivatives/truth from there" in sections["At a glance"].notices[-1].text
    again = sections["How to do it again"].preformatted
    assert again.startswith(
        "bciigl scan derivatives/bciigl/protocol.yaml --to volumes &\nbciigl run"
    )
    assert bciigl("report", dataset.folder).exit_code == 0
    text = (dataset.folder / ESTIMATES / "report.html").read_text()
    assert "<h1>small: report of a rehearsal</h1>" in text


def test_a_rehearsal_can_be_scored_with_the_truth_beside_its_volumes(rehearsed, tmp_path):
    dataset, volumes = rehearsed
    folder = shutil.copytree(dataset.folder, tmp_path / "copy")
    shutil.copytree(volumes / TRUTH, folder / TRUTH)
    (folder / ESTIMATES / RESULTS).unlink()
    scored = open_dataset(folder)
    learn_and_keep(scored)
    found = learned(scored)
    assert found.has_truth and found.kept.matches_by_run
    statistics = " ".join(titled(scored)["Statistics"].paragraphs)
    assert "The agent guessed uniformly: " in statistics


def test_methods_tell_of_conditions_but_not_which(own):
    learn_and_keep(own)
    told = []
    for condition in ('{"yoked": null}', '{"yoked": "other"}'):
        (own.folder / CONDITION).write_text(condition)
        told.append(titled(own)["Methods"].paragraphs[0])
    assert told[0] == told[1]
    assert "The agent of the real condition guessed uniformly" in told[0]
    assert "In the control condition the guesses of another session" in told[0]


@pytest.mark.slow
def test_results_of_a_participant_have_no_simulated_noise(bciigl, participant, rehearsed):
    told = bciigl("learn", participant.folder).stdout
    assert "small: a participant, uniform guesses\n" in told
    assert "In the scanner, as planned: 0.0 h" in told
    found = json.loads(bciigl("learn", participant.folder, "--json").stdout)
    assert (found["group"], found["live"]) == ("participant", True)
    assert "noise" not in found
    told = bciigl("learn", rehearsed[0].folder).stdout
    assert "small: a rehearsal, noise 0.05 (real brain: 1), seed 0, uniform guesses\n" in told
