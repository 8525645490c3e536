"""`bciigl reproduce`."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from kills import digests
from studies import all_made_up, store

from bciigl.study import open_study, rows
from bciigl.study.controls import CONTROLS
from bciigl.study.store import prepare_folder
from bciigl.study.table2 import table2

LEARNERS = ["ai_igl", "ai_igl_paper", "transfer", "igl_full_ci", "cb", "ceiling"]
LABELS = [*LEARNERS, *(f"ai_igl, {each}" for each in CONTROLS)]
PUBLISHED = {
    (float(line["noise"]), line["learner"]): line
    for line in csv.DictReader(
        (Path(__file__).parents[2] / "data" / "table2.csv").read_text().splitlines()
    )
}


def test_table2_stands_beside_the_published_figures(bciigl, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for kind, folder in (([], "table2"), (["--separate"], "table2_separate")):
        # Results are made up, so that nothing is left to be simulated but the table.
        made = table2(noise=(0.05,), repeats=1, separate=bool(kind))
        prepare_folder(made, folder)
        store(Path(folder), all_made_up(made))
        Path(folder, "example").mkdir()
        arguments = ["reproduce", "table2", "--noise", 0.05, "--repeats", 1, "--jobs", 1, *kind]
        document = json.loads(bciigl(*arguments, "--json").stdout)
        assert document == plain(rows(*open_study(folder)))
        assert_beside_published(document)
        before = digests(Path(folder))
        text = bciigl(*arguments, "-v").stdout
        assert digests(Path(folder)) == before
        assert f"{document[0]['accuracy']:.1f}" in text and "76.60 ± 4.09" in text
        for control in CONTROLS:
            assert f"- {control}: should be " in text
        assert "- learners: the paper's text has a linear model" in text
        assert max(map(len, text.splitlines())) <= 80
        assert ("- recording: one BOLD series" in text) is not bool(kind)
        assert "in a real scanner: " in text and "()" not in text


def plain(table) -> list[dict]:
    return json.loads(json.dumps([row.as_dict() for row in table]))


def assert_beside_published(document: list[dict]) -> None:
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", [[], ["--separate"]], ids=["shared", "separate"])
def test_table2_is_simulated_and_learned(bciigl, tmp_path, kind):
    arguments = ["reproduce", "table2", "--noise", 0.05, "--repeats", 1, "--jobs", 1, *kind]
    document = json.loads(bciigl(*arguments, "--json", "--out", tmp_path / "out").stdout)
    assert document == plain(rows(*open_study(tmp_path / "out")))
    accuracy = {each["learner"]: each["accuracy"] for each in document}
    assert accuracy["ai_igl"] > 95 and accuracy["ceiling"] > 95


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


@pytest.mark.slow
def test_released_arrays_have_a_table(bciigl, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = released(tmp_path / "released")
    before = digests(tmp_path)
    arguments = ("reproduce", "table2", "--released", folder, "--repeats", 2)
    text = bciigl(*arguments, "-v").stdout
    assert "- training on runs 0 to 39, testing on runs 40 to 49" in text
    assert "\naccuracy in percent, of one recording a noise level" in text
    document = json.loads(bciigl(*arguments, "--json").stdout)
    assert [(each["learner"], each["repeats"]) for each in document] == [
        ("ai_igl", 1),
        ("ai_igl_paper", 1),
        ("igl_full_ci", 1),
        ("transfer", 1),
        ("ceiling", 1),
        ("ai_igl, rewards permuted", 2),
        ("ai_igl, region mean removed", 1),
    ]
    assert document[0]["published"] == 76.6
    assert f"{document[0]['accuracy']:.1f}" in text
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
