"""`bciigl doctor`."""

import json

import pytest

from bciigl.cli.doctor import EXTRAS, FAILED, MISSING, OK, requirements


@pytest.fixture
def checks(bciigl):
    """Return what finds all checks by their names, and the exit code."""

    def run():
        result = bciigl("doctor", "--json")
        document = json.loads(result.stdout)
        assert document["ok"] is (result.exit_code == 0)
        return {each["name"]: each for each in document["checks"]}, result.exit_code

    return run


def test_a_computer_on_which_the_tests_run_has_what_is_needed(checks, bciigl):
    found, code = checks()
    assert code == 0
    assert {each["status"] for each in found.values()} <= {OK, MISSING, FAILED}
    assert all(each["status"] == OK for each in found.values() if each["needed"])
    assert {f"extra {each}" for each in EXTRAS} <= set(found)
    assert "decoded as expected" in found["self-test"]["found"]
    text = bciigl("doctor").stdout
    assert text.startswith("Everything works that bciigl needs.")
    assert all(name in text for name in found)
    assert max(map(len, text.splitlines())) <= 80 or "pip install" in text


def test_a_browser_that_is_missing_is_told_but_no_fault(checks, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BROWSER", raising=False)
    found, code = checks()
    assert (found["browser"]["status"], code) == (MISSING, 0)
    assert found["browser"]["remedy"]


def test_a_package_that_is_too_old_is_broken_and_the_remedy_is_a_command(
    checks, bciigl, monkeypatch, tmp_path
):
    old = tmp_path / "nibabel-0.1.dist-info"
    old.mkdir()
    (old / "METADATA").write_text("Metadata-Version: 2.1\nName: nibabel\nVersion: 0.1\n")
    monkeypatch.syspath_prepend(tmp_path)
    found, code = checks()
    assert code == 1
    (broken,) = (each for each in found.values() if each["needed"] and each["status"] != OK)
    lowest = requirements()[""]["nibabel"]
    assert f"nibabel is 0.1, should be {lowest} or later" in broken["found"]
    assert "pip install" in broken["remedy"]
    assert bciigl("doctor").stdout.startswith("Broken: nibabel. See below how to mend it.")
