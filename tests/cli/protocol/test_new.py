"""`bciigl protocol new`."""

import json

import pytest

from bciigl.protocol import check


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_new_protocol_is_valid_and_explains_every_field(bciigl, folder):
    result = bciigl("protocol", "new", "mine")
    assert result.exit_code == 0
    report = check(folder / "mine.yaml")
    assert report.protocol.name == "mine"
    assert not report.warnings
    lines = (folder / "mine.yaml").read_text().splitlines()
    fields = [i for i, line in enumerate(lines) if line and "#" not in line]
    assert all(lines[i - 1].strip().startswith("# ") for i in fields)


def test_new_protocol_says_how_to_go_on(bciigl, folder):
    result = bciigl("protocol", "new", "mine", "--json")
    assert json.loads(result.stdout) == {"name": "mine", "file": "mine.yaml"}
    assert "#   bciigl protocol check mine.yaml\n" in (folder / "mine.yaml").read_text()


def test_suffix_may_be_given(bciigl, folder):
    bciigl("protocol", "new", "mine.yaml")
    assert [path.name for path in folder.iterdir()] == ["mine.yaml"]


def test_existing_file_is_not_overwritten(bciigl, folder):
    (folder / "mine.yaml").write_text("precious")
    result = bciigl("protocol", "new", "mine")
    assert result.exit_code == 2
    assert "mine.yaml: exists already" in result.stderr
    assert (folder / "mine.yaml").read_text() == "precious"


def test_names_of_shipped_protocols_are_taken(bciigl, folder):
    assert "shipped" in bciigl("protocol", "new", "table2").stderr
    assert not list(folder.iterdir())


def test_folder_that_cannot_be_written_to_is_told(bciigl, folder):
    folder.rmdir()
    result = bciigl("protocol", "new", "mine")
    assert result.exit_code == 2
    assert "mine.yaml: cannot be written: No such file or directory" in result.stderr


def test_names_that_are_none_are_refused(bciigl, folder):
    for name in ["a b", "../up", "", "-x", "x" * 65]:
        assert bciigl("protocol", "new", "--", name).exit_code == 2
        assert not list(folder.iterdir())
