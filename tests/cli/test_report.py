"""`bciigl report`."""

import json
import shutil

import pytest
from kills import digests
from recordings import small
from studies import all_made_up, store, study

from bciigl.loop.session import record
from bciigl.study import rows, run_study
from bciigl.study.example import keep_example
from bciigl.study.store import keep_rows, prepare_folder


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Record a session once for all tests; they copy it."""
    folder = tmp_path_factory.mktemp("recorded") / "dataset"
    record(small(), folder)
    return folder


@pytest.fixture
def dataset(recorded, tmp_path):
    """Return a copy of the session that may be changed."""
    return shutil.copytree(recorded, tmp_path / "dataset")


@pytest.mark.slow
def test_report_and_figures_are_among_the_derivatives(bciigl, dataset, recorded):
    result = bciigl("report", dataset)
    assert result.exit_code == 0
    place = dataset / "derivatives" / "bciigl"
    assert result.stdout.splitlines() == [
        f"wrote {place / 'report.html'}",
        f"wrote 5 figures with their numbers to {place / 'report_figures'}",
    ]
    assert "learning with AI-IGL, no labels ..." in result.stderr
    assert "<h1>small: report of a session</h1>" in (place / "report.html").read_text()
    assert len(list((place / "report_figures").glob("*.svg"))) == 5
    assert len(list((place / "report_figures").glob("*.tsv"))) == 5
    # Nothing else was touched, and a second report takes the place of the first.
    first = digests(dataset)
    assert bciigl("report", dataset).exit_code == 0
    assert digests(dataset) == first
    (place / "report.html").unlink()
    shutil.rmtree(place / "report_figures")
    # What was learned is kept besides.
    assert digests(recorded).items() <= digests(dataset).items()


def test_json_names_what_was_written(bciigl, dataset, tmp_path):
    result = bciigl("report", dataset, "--out", tmp_path / "mine.html", "--json")
    document = json.loads(result.stdout)
    assert document["report"] == str(tmp_path / "mine.html")
    assert document["figures"]["region"] == {
        "svg": str(tmp_path / "mine_figures" / "region.svg"),
        "tsv": str(tmp_path / "mine_figures" / "region.tsv"),
    }
    for files in document["figures"].values():
        for path in files.values():
            assert (tmp_path / path).is_file()


def refusal(bciigl, *arguments):
    result = bciigl("report", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    return line


def test_what_is_no_recorded_session_is_refused(bciigl, tmp_path, dataset):
    assert refusal(bciigl, tmp_path / "nothing") == f"{tmp_path / 'nothing'}: no such folder"
    (tmp_path / "file").touch()
    assert refusal(bciigl, tmp_path / "file") == f"{tmp_path / 'file'}: is not a folder"
    assert "is neither a dataset nor a study" in refusal(bciigl, tmp_path)
    (dataset / "journal.txt").touch()
    assert "is not finished; resume it with bciigl simulate --resume" in refusal(bciigl, dataset)


def test_targets_that_cannot_be_written_are_refused_before_all_work(bciigl, tmp_path, dataset):
    def refused(path):
        return refusal(bciigl, dataset, "--out", path)

    before = digests(tmp_path)
    assert "there is no folder" in refused(tmp_path / "none" / "x.html")
    assert "should end in .html" in refused(tmp_path / "x.pdf")
    (tmp_path / "thesis.html").write_text("my thesis")
    assert "is no report of bciigl; it is left alone" in refused(tmp_path / "thesis.html")
    assert (tmp_path / "thesis.html").read_text() == "my thesis"
    (tmp_path / "thesis.html").unlink()
    (tmp_path / "x_figures").touch()
    assert refused(tmp_path / "x.html") == f"{tmp_path / 'x_figures'}: File exists"
    (tmp_path / "x_figures").unlink()
    assert digests(tmp_path) == before


def test_a_report_that_fails_leaves_nothing(bciigl, dataset):
    interactions = next(dataset.glob("derivatives/bciigl/sub-01/ses-train/func/*.npz"))
    interactions.write_bytes(b"broken")
    before = digests(dataset)
    result = bciigl("report", dataset)
    assert result.exit_code == 2
    assert interactions.name in result.stderr
    assert not (dataset / "derivatives" / "bciigl" / "report_figures").exists()
    assert digests(dataset) == before


STUDY = study(study={"noise": [0.05, 0.4], "repeats": 1})
STUDY_FIGURES = ["accuracy", "learning_curve", "time_course", "region", "patterns"]


@pytest.fixture
def studied(tmp_path):
    """Return the folder of a finished study."""
    folder = tmp_path / "studied"
    prepare_folder(STUDY, folder)
    results = all_made_up(STUDY)
    store(folder, results)
    keep_rows(folder, results, rows(STUDY, results))
    return folder


def test_the_report_of_a_study_is_in_its_folder_and_json_names_it(bciigl, studied):
    keep_example(STUDY, studied, all_made_up(STUDY))
    before = digests(studied)
    result = bciigl("report", studied, "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["report"] == str(studied / "report.html")
    assert document["figures"] == {
        name: {end: str(studied / "report_figures" / f"{name}.{end}") for end in ("svg", "tsv")}
        for name in STUDY_FIGURES
    }
    text = (studied / "report.html").read_text()
    assert "<title>tiny: report of a study</title>" in text
    assert "A study of 2 settings, each with 1 simulated session." in text
    names = sorted(path.name for path in (studied / "report_figures").iterdir())
    assert names == sorted(f"{name}.{end}" for name in STUDY_FIGURES for end in ("svg", "tsv"))
    # The study is as it was, and can be resumed.
    after = digests(studied)
    assert {path: after[path] for path in before} == before
    assert all("report" in str(path) for path in set(after) - set(before))
    assert run_study(STUDY, studied, jobs=1).missing == 0


def test_tables_that_are_missing_or_of_other_sessions_are_refused(bciigl, studied):
    again = "run the command that made the study again"
    path = studied / "results.json"
    next(studied.glob("cells/*.json")).unlink()
    assert refusal(bciigl, studied) == f"{path}: is not of what is finished now; {again}"
    path.write_text("{}")
    assert refusal(bciigl, studied) == f"{path}: is damaged; {again}"
    path.unlink()
    assert refusal(bciigl, studied) == f"{path}: is missing; {again}"


def test_studies_need_no_folder(bciigl, studied):
    assert refusal(bciigl, studied, "--folder", studied) == (
        "--folder is for sessions: a study knows where its protocol was"
    )


def test_studies_without_results_are_refused(bciigl, tmp_path):
    prepare_folder(STUDY, tmp_path / "new")
    before = digests(tmp_path)
    expected = f"{tmp_path / 'new'}: there are no sessions to report: none is finished yet"
    assert refusal(bciigl, tmp_path / "new") == expected
    assert digests(tmp_path) == before
    assert not (tmp_path / "new" / "report_figures").exists()


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\x00", b'{"bciigl": 1}', None])
def test_damaged_results_are_named_and_left_alone(bciigl, studied, damage):
    first, second = sorted(studied.glob("cells/*.json"))
    # None: the result of another cell.
    first.write_bytes(second.read_bytes() if damage is None else damage)
    before = digests(studied)
    line = refusal(bciigl, studied)
    assert line.startswith(f"{first}: is ") and line.endswith("; delete it to have it made again")
    assert digests(studied) == before
    assert not (studied / "report_figures").exists()


def test_damaged_studies_are_refused(bciigl, studied):
    (studied / "study.json").write_text('{"protocol": []}')
    assert refusal(bciigl, studied) == (
        f"{studied / 'study.json'}: does not describe a study of this version of bciigl"
    )


def test_what_is_no_report_in_a_study_is_left_alone(bciigl, studied):
    (studied / "report.html").write_text("my thesis")
    before = digests(studied)
    line = refusal(bciigl, studied)
    assert line == (
        f"{studied / 'report.html'}: exists already and is no report of bciigl; it is left alone"
    )
    assert digests(studied) == before
    assert not (studied / "report_figures").exists()


def test_results_of_another_version_are_not_taken_for_none(bciigl, studied):
    for cell in (studied / "cells").iterdir():
        cell.rename(cell.with_name(f"{'0' * 60}{cell.name[:4]}.json"))
    assert "its results are of another version or grid" in refusal(bciigl, studied)
