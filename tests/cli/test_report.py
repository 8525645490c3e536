"""`bciigl report`."""

import json
import shutil

import pytest
from kills import digests
from recordings import small

from bciigl.loop.session import record


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


def test_report_and_figures_are_among_the_derivatives(bciigl, dataset, recorded):
    result = bciigl("report", dataset)
    assert result.exit_code == 0
    place = dataset / "derivatives" / "bciigl"
    assert result.stdout.splitlines() == [
        f"wrote {place / 'report.html'}",
        f"wrote 6 figures with their numbers to {place / 'report_figures'}",
    ]
    assert "learning with ai_igl ..." in result.stderr
    assert "<h1>small: report of a session</h1>" in (place / "report.html").read_text()
    assert len(list((place / "report_figures").glob("*.svg"))) == 6
    assert len(list((place / "report_figures").glob("*.tsv"))) == 6
    # Nothing else was touched, and a second report takes the place of the first.
    first = digests(dataset)
    assert bciigl("report", dataset).exit_code == 0
    assert digests(dataset) == first
    (place / "report.html").unlink()
    shutil.rmtree(place / "report_figures")
    assert digests(dataset) == digests(recorded)


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
    assert "is not a dataset of bciigl" in refusal(bciigl, tmp_path)
    (dataset / "journal.txt").touch()
    assert "is not finished; bciigl simulate --resume" in refusal(bciigl, dataset)


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
