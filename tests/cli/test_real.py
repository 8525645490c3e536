"""`bciigl reproduce real`."""

import json

from real_recordings import write_recordings


def test_games_with_real_brains_are_told_in_all_forms(bciigl, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_recordings(tmp_path / "real", people=("one",))
    command = ("reproduce", "real", "--bed", "C", "--repeats", 2, "--jobs", 1)
    document = json.loads(bciigl(*command, "--json").stdout)
    text = bciigl(*command).stdout
    row = document[0]
    assert (row["bed"], row["person"], row["learner"]) == ("C", "one", "ai_igl")
    assert f"{row['accuracy']:.1f} (" in text and f"{row['share_of_ceiling']:.1f} (" in text
    assert "- not real: nobody played these games" in text
    assert max(map(len, text.splitlines())) <= 80
    assert bciigl("report", "real_brains").exit_code == 0
    page = (tmp_path / "real_brains" / "report.html").read_text()
    assert "What is not" in page and f"{row['accuracy']:.1f} (" in page
    figures = tmp_path / "real_brains" / "report_figures"
    drawn = (figures / "share_of_ceiling.tsv").read_text().splitlines()
    assert repr(row["share_of_ceiling"]) in drawn[1]


def test_recordings_that_are_not_there_are_named_in_one_line(bciigl, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = bciigl("reproduce", "real")
    assert result.exit_code == 2 and result.stderr.count("\n") == 1
    assert "real/haxby_slice.npz: no such file" in result.stderr and "--data" in result.stderr
    assert not (tmp_path / "real_brains").exists()
