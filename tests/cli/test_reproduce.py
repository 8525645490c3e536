"""`bciigl reproduce`."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from kills import digests

from bciigl.study import open_study, rows
from bciigl.study.controls import CONTROLS

LEARNERS = ["ai_igl", "ai_igl_paper", "igl_full_ci", "cb", "ceiling"]
LABELS = [*LEARNERS, *(f"ai_igl, {each}" for each in CONTROLS)]
SLOW = pytest.mark.slow
PUBLISHED = {
    (float(line["noise"]), line["learner"]): line
    for line in csv.DictReader(
        (Path(__file__).parents[2] / "data" / "table2.csv").read_text().splitlines()
    )
}


@pytest.mark.parametrize(
    "kind",
    [pytest.param([], id="shared"), pytest.param(["--separate"], id="separate", marks=SLOW)],
)
def test_table2_stands_beside_the_published_figures(bciigl, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    arguments = ["reproduce", "table2", "--noise", 0.05, "--repeats", 1, "--jobs", 1, *kind]
    result = bciigl(*arguments, "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    (folder,) = tmp_path.iterdir()
    assert folder.name == ("table2_separate" if kind else "table2")
    study, results = open_study(folder)
    assert document == json.loads(json.dumps([row.as_dict() for row in rows(study, results)]))
    assert [each["learner"] for each in document] == LABELS
    for each in document:
        paper = {"ai_igl_paper": "ai_igl"}.get(each["learner"], each["learner"])
        line = PUBLISHED.get((0.05, paper))
        if line is None:
            assert each["published"] is each["difference"] is None
        else:
            assert each["published"] == float(line["accuracy"])
            assert each["published_standard_error"] == float(line["standard_error"])
            assert each["difference"] == pytest.approx(each["accuracy"] - each["published"])
    accuracy = {each["learner"]: each["accuracy"] for each in document}
    assert accuracy["ai_igl"] > 95 and accuracy["ceiling"] > 95
    before = digests(folder)
    text = bciigl(*arguments).stdout
    assert digests(folder) == before
    assert f"{accuracy['ai_igl']:.1f}" in text and "76.60 ± 4.09" in text
    for control in CONTROLS:
        assert f"- {control}: should be " in text
    assert "- learners: the paper's text has a linear model" in text
    assert ("- recording: one BOLD series" in text) is not bool(kind)
    assert "in a real scanner: " in text


def released(folder: Path) -> Path:
    """Write made-up arrays of 50 runs, under their original names."""
    rng, trials = np.random.default_rng(0), 150
    folder.mkdir()
    for name, array in {
        "imagination": rng.normal(size=(trials, 4)),
        "action": rng.integers(3, size=trials),
        "feedback": rng.normal(size=(trials, 4)),
        "imagination_test": rng.normal(size=(trials, 4)),
        "context_test": rng.integers(3, size=trials),
    }.items():
        np.save(folder / f"data_{name}_combined_noise_level_0.05.npy", array)
    return folder


def test_released_arrays_have_a_table(bciigl, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = released(tmp_path / "released")
    before = digests(tmp_path)
    arguments = ("reproduce", "table2", "--released", folder, "--repeats", 2)
    document = json.loads(bciigl(*arguments, "--json").stdout)
    assert [(each["learner"], each["repeats"]) for each in document] == [
        ("ai_igl", 1),
        ("ai_igl_paper", 1),
        ("igl_full_ci", 1),
        ("ceiling", 1),
        ("ai_igl, rewards permuted", 2),
        ("ai_igl, region mean removed", 1),
    ]
    assert document[0]["published"] == 76.6
    text = bciigl(*arguments).stdout
    assert f"{document[0]['accuracy']:.1f}" in text
    assert "- training on runs 0 to 39, testing on runs 40 to 49" in text
    assert digests(tmp_path) == before


def test_what_cannot_be_reproduced_is_refused_and_leaves_nothing(bciigl, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments, message in (
        (["--noise", "-1"], "study.noise[0]: should be greater than or equal to 0, got -1.0"),
        (["--repeats", "0"], "study.repeats: should be greater than or equal to 1, got 0"),
        (["--jobs", "0"], "0 is not in the range x>=1"),
        (["--cell", "2/1"], "'2/1' should be a share such as 3/10"),
        (["--jobs", "1", "--cluster", "tcp://127.0.0.1:1"], "give one"),
        (["--cluster", "nonsense"], "no scheduler answers at 'nonsense'"),
        (["--released", "nothing"], "nothing: is not a folder with the released arrays"),
        (["--released", "."], ".: has neither files such as noise_0.05.npz"),
        (["--released", ".", "--separate"], "--released takes no --separate"),
        (["--released", ".", "--out", "x"], "--released takes no --out"),
        (["--released", ".", "--noise", "0.1"], "--released takes no --noise"),
        (["--released", ".", "--seed", "0"], "--released takes no --seed"),
        (["--released", ".", "--jobs", "1"], "--released takes no --jobs"),
        (["--released", ".", "--cluster", "a:1"], "--released takes no --cluster"),
        (["--released", ".", "--cell", "1/2"], "--released takes no --cell"),
        (["--released", ".", "--repeats", "0"], "--repeats should be 1 or more, got 0"),
    ):
        result = bciigl("reproduce", "table2", *arguments)
        assert (result.exit_code, result.stdout) == (2, ""), arguments
        assert message in result.stderr
        assert list(tmp_path.iterdir()) == []


def test_unknown_table_is_refused(bciigl):
    result = bciigl("reproduce", "table9")
    assert (result.exit_code, "No such command 'table9'" in result.stderr) == (2, True)
