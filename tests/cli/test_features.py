"""`bciigl reproduce features`."""

import json
import shutil
from dataclasses import asdict
from html import unescape

import pytest
from click.testing import CliRunner
from kills import digests
from labelled_files import write_csv, write_npz
from tables import text_tables

from bciigl.cli.main import cli
from bciigl.labelled import LabelledStudy, labelled_rows, learnable
from bciigl.labelled.meta_features import NAMES
from bciigl.study import open_study

IRIS = 61
SUBSETS = [*learnable.SUBSETS, learnable.ALONE, learnable.GROUPED]


@pytest.fixture(scope="module", autouse=True)
def few_trees():
    """Grow fewer trees, which are enough here."""
    with pytest.MonkeyPatch.context() as patch:
        learnable.published_forests.cache_clear()
        yield patch.setattr(learnable, "TREES", 3)
    learnable.published_forests.cache_clear()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder of two datasets, of which the paper has one, and Table 1 of it."""
    folder = tmp_path_factory.mktemp("features")
    write_npz(folder / "data" / "flowers.npz", rows=60, openml_id=IRIS)
    write_csv(folder / "data" / "letters.csv", rows=60, classes=4, seed=1)
    options = ["--data", str(folder / "data"), "--repeats", "1", "--jobs", "1"]
    options += ["--feedback", "coded"]
    arguments = ["reproduce", "table1", *options, "--out", str(folder / "table1")]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return options, folder / "table1"


@pytest.fixture(scope="module")
def document(made):
    """Return what the command prints as JSON, after Table 1."""
    options, folder = made
    before = digests(folder)
    arguments = ["reproduce", "features", *options, "--out", str(folder), "--json"]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    # Nothing was learned anew, and the meta-features are kept beside the results.
    after = digests(folder)
    assert before.items() <= after.items()
    assert set(after) - set(before) == {"features.json"}
    assert "measuring datasets: 2 of 2" in result.stderr
    return json.loads(result.stdout)


def test_json_has_our_results_and_the_published_ones(made, document):
    assert [each["results"] for each in document] == ["coded", "published", "published, all sets"]
    ours, paper, whole = document
    rows = {
        row.dataset.id: row
        for row in labelled_rows(*open_study(made[1], [LabelledStudy]))
        if row.learner == "ai_igl"
    }
    kept = json.loads((made[1] / "features.json").read_text())["features"]
    assert [each["dataset"] for each in ours["datasets"]] == [IRIS, "letters"]
    for each in ours["datasets"]:
        row = rows[each["dataset"]]
        assert each["relative"] == row.relative
        assert {name: each[name] for name in NAMES} == kept[row.dataset.digest]
    assert [each["n"] for each in ours["datasets"]] == [60, 60]
    assert [each["n_by_k"] for each in ours["datasets"]] == [20, 15]
    assert [each["dataset"] for each in paper["datasets"]] == [IRIS]
    assert paper["datasets"][0]["relative"] == pytest.approx(37.67 / 89)
    assert len(whole["datasets"]) == 271
    forests = [asdict(each) for each in learnable.published_forests()]
    assert whole["forests"] == json.loads(json.dumps(forests))
    for each in document:
        assert [one["subset"] for one in each["forests"]] == SUBSETS
    # Two datasets grow no forest, and it is said why.
    assert {one["f1"] for one in ours["forests"]} == {None}
    assert all("needs at least 2" in one["reason"] for one in ours["forests"])


def test_what_is_printed_has_a_table_for_each_of_the_results(bciigl, made, document):
    options, folder = made
    before = digests(folder)
    result = bciigl("reproduce", "features", *options, "--out", folder)
    assert (result.exit_code, digests(folder)) == (0, before)
    text = result.stdout
    heads = [line for line in text.splitlines() if line.startswith("results: ")]
    assert heads == [
        "results: coded, 2 datasets",
        "results: published, 1 dataset",
        "results: published, all sets, 271 datasets",
    ]
    tables = text_tables(text, "datasets")
    assert [table[0][3:] for table in tables] == [["F1 failures", "F1 successes", "F1 mean"]] * 3
    for table, each in zip(tables, document, strict=True):
        first = each["forests"][0]
        scores = [first[name] for name in ("f1_failure", "f1_success", "f1")]
        shown = ["-" if score is None else f"{score:.2f}" for score in scores]
        assert table[1] == ["K ≥ 3", str(first["datasets"]), str(first["successes"]), *shown]
        assert table[2] == ["published", "0.91", "0.83", "0.87"]
    assert text.count("- no forest (K>=3; ") == 2
    assert text.endswith(f"Results in {folder}\nReport:  bciigl report {folder} --open\n")


def test_missing_results_are_added(bciigl, made, document, tmp_path):
    options, folder = made
    out = shutil.copytree(folder, tmp_path / "out")
    lost, *_ = (out / "cells").iterdir()
    lost.unlink()
    result = bciigl("reproduce", "features", *options, "--out", out, "--json")
    assert json.loads(result.stdout) == document
    assert digests(out / "cells") == digests(folder / "cells")


def test_damaged_meta_features_are_named_and_left_alone(bciigl, made, document, tmp_path):
    options, folder = made
    out = shutil.copytree(folder, tmp_path / "out")
    (out / "features.json").write_text('{"bciigl": "0.1.0", "features": {"a": {}}}'[:-1])
    before = digests(out)
    for command in (["reproduce", "features", *options, "--out", out], ["report", out]):
        result = bciigl(*command)
        assert (result.exit_code, result.stdout) == (2, "")
        expected = f"{out / 'features.json'}: is damaged; delete it to have it made again"
        assert result.stderr.splitlines()[-1] == expected
        assert digests(out) == before


def test_results_are_kept_in_the_folder_of_table_1(bciigl, made, document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(made[1], tmp_path / "table1")
    assert bciigl("reproduce", "features", *made[0]).exit_code == 0
    assert [each.name for each in tmp_path.iterdir()] == ["table1"]


def test_the_folder_of_another_study_is_refused(bciigl, made, document):
    options, folder = made
    before = digests(folder)
    result = bciigl("reproduce", "features", *options, "--seed", 3, "--out", folder)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "seed is 0 there, 3 here" in result.stderr
    assert digests(folder) == before


@pytest.mark.slow
def test_the_report_says_what_is_learnable_once_it_is_measured(bciigl, made, document, tmp_path):
    out = shutil.copytree(made[1], tmp_path / "out")
    titles = [f"What makes a dataset learnable: {each['results']}" for each in document]
    result = bciigl("report", out, "--json")
    assert result.exit_code == 0
    figures = json.loads(result.stdout)["figures"]
    drawn = ["learnable_coded", "learnable_published", "importance_k_3_published_all_sets"]
    assert list(figures) == ["accuracy", *drawn]
    page = unescape((out / "report.html").read_text())
    assert all(f">{title}</h2>" in page for title in titles)
    (out / "features.json").unlink()
    figures = json.loads(bciigl("report", out, "--json").stdout)["figures"]
    assert list(figures) == ["accuracy"]
    assert "What makes a dataset learnable" not in (out / "report.html").read_text()
    # Figures of the earlier report are gone.
    assert len(list((out / "report_figures").glob("*.svg"))) == 1
