"""`bciigl subject from-recording`, and what commands make of a recorded subject."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from recorded import make_subject, save, semi_real, write_recording

from bciigl.recording.layout import ESTIMATES

SEMI_REAL = "semi-real: real responses, simulated task"


def options(events, out) -> list:
    return [*(part for each in events for part in ("--events", each)), "--out", out]


def test_subject_is_made_and_shown(bciigl, tmp_path):
    bold, events = write_recording(tmp_path)
    given = (*bold, *options(events, tmp_path / "anna"), "--lag", 4, "--voxels", 8)
    result = bciigl("subject", "from-recording", *given)
    assert result.exit_code == 0, result.output
    assert f"wrote {tmp_path}/anna; use it in a protocol with brain.subject" in result.stdout
    shown = bciigl("subject", "show", tmp_path / "anna")
    assert "anna: recorded, 8 voxels, TR 2 s; windows of 1 x 2 s, 4 s after onset" in shown.stdout
    assert "a 20 + 10, b 20 + 10, c 20 + 10" in shown.stdout
    assert "runs to test on: 5, 6 of 6; judgments will be added" in shown.stdout
    document = json.loads(bciigl("subject", "show", tmp_path / "anna", "--json").stdout)
    assert document["windows"]["b"] == {"train": 20, "test": 10}
    semi_real(tmp_path)
    drawn = bciigl("protocol", "draw", tmp_path / "semi.yaml")
    assert drawn.exit_code == 2
    assert "anna: is a recorded subject, without a model of its brain" in drawn.stderr


def test_bad_input_is_told_without_a_traceback_and_leaves_nothing(bciigl, tmp_path):
    bold, events = write_recording(tmp_path)
    out = tmp_path / "anna"
    for given, message in [
        ((*bold, *options(events[1:], out)), "got 6 recordings and 5 tables"),
        ((*bold, *options(events, out), "--test-runs", "5,x"), "should be numbers of runs"),
        ((*bold, *options(events, out), "--test-runs", "1,2,3,4,5"), "got 1 and 5"),
        ((*bold, *options(events, out), "--column", "kind"), "has no column kind"),
        ((*bold, *options(events, out), "--skip", "a", "--skip", "b"), "two categories or more"),
    ]:
        result = bciigl("subject", "from-recording", *given)
        assert (result.exit_code, message in result.stderr) == (2, True), result.stderr
        assert not out.exists()


@pytest.mark.slow
def test_every_output_says_that_it_is_semi_real(bciigl, tmp_path, monkeypatch):
    make_subject(tmp_path)
    semi_real(tmp_path)
    monkeypatch.chdir(tmp_path)
    changes = ["--set", "learners=[ai_igl, ceiling]", "--set", "brain.cnr=0.7"]
    result = bciigl("simulate", "semi.yaml", "--out", "out", *changes)
    assert result.exit_code == 0, result.output
    for text in (
        result.stdout,
        bciigl("learn", "out").stdout,
        bciigl("protocol", "check", "semi.yaml").stdout,
        Path("out/README.md").read_text(),
        json.loads(bciigl("learn", "out", "--json").stdout)["caveat"],
    ):
        assert SEMI_REAL in " ".join(text.split())
    checked = " ".join(bciigl("protocol", "check", "semi.yaml").stdout.split())
    assert re.search(r"region: \d+ voxels .* mm in the recording's space", checked)
    assert "an added pattern of 0.7 noise SDs" in " ".join(result.stdout.split())
    assert "real scanner" not in result.stdout
    assert "semi-real" in Path("out/participants.tsv").read_text()
    assert bciigl("report", "out").exit_code == 0
    page = (Path("out") / ESTIMATES / "report.html").read_text()
    assert SEMI_REAL in page.replace("Semi", "semi")
    assert "with an RMS of 0.7 noise SDs over voxels was added" in page
    assert "fmrisim" not in page.split("<pre")[0].split("Methods")[-1]


def test_sweep_varies_the_judgment_and_says_what_is_real(bciigl, tmp_path, monkeypatch):
    make_subject(tmp_path)
    semi_real(tmp_path)
    monkeypatch.chdir(tmp_path)
    words = "sweep semi.yaml --repeats 2 --jobs 1 --learner ceiling --out sw"
    given = words.split()
    result = bciigl(*given, "--vary", "brain.cnr=0.5,1")
    assert result.exit_code == 0, result.output
    assert " ".join(result.stdout.split()).count(SEMI_REAL) == 2
    assert "real scanner" not in result.stdout
    assert bciigl("report", "sw").exit_code == 0
    refused = bciigl(*given[:-1], "sw2", "--noise", 0.1)
    assert refused.exit_code == 2
    assert "is [1.0] for the recorded subject anna" in refused.stderr


@pytest.mark.skipif("BCIIGL_TEST_DATA" not in os.environ, reason="needs a real recording")
@pytest.mark.slow
def test_categories_can_be_told_apart_in_a_real_recording(bciigl, tmp_path, monkeypatch):
    path = Path(os.environ["BCIIGL_TEST_DATA"], "real", "haxby_slice.npz")
    if not path.exists():
        pytest.skip(f"needs {path}")
    monkeypatch.chdir(tmp_path)
    given = np.load(path)
    tr, names = float(given["tr"]), given["names"]
    bold, events = [], []
    for run in np.unique(given["run"]):
        mine = given["run"] == run
        image = np.zeros((*given["voxel"].max(axis=0) + 1, mine.sum()))
        image[tuple(given["voxel"].T)] = given["volumes"][mine].T
        bold.append(f"{run}.nii.gz")
        save(Path(bold[-1]), image, tr)
        shown = given["category"][mine]
        starts = [i for i in range(1, len(shown)) if shown[i] >= 0 > shown[i - 1]]
        rows = [f"{i * tr}\t{9 * tr}\t{names[shown[i]]}" for i in starts]
        events.append(f"{run}.tsv")
        Path(events[-1]).write_text("\n".join(["onset\tduration\ttrial_type", *rows]) + "\n")
    assert bciigl("subject", "from-recording", *bold, *options(events, "anna")).exit_code == 0
    Path("real.yaml").write_text(
        "name: real\ntask: {options: [face, house, cat], trials: 300, trials_per_run: 100}\n"
        "evaluation: {test_trials: 90}\nbrain: {subject: anna, reuse: true}\nlearners: [ceiling]\n"
    )
    found = json.loads(bciigl("simulate", "real.yaml", "--json").stdout)["learners"]["ceiling"]
    assert found["accuracy"] > 50
