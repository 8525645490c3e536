"""`bciigl reproduce theory`."""

import json
from functools import partial

import pytest

from bciigl.study import theory

SMALL = {
    "sample_errors": {"arms": [("ai_igl", True)], "options": (3, 4), "trials": (50, 200)},
    "learned_example": {"learners": ["igl_full_ci"], "trials": 200},
    "match_rate_region": {"match_rates": (0.2, 0.8), "trials": (50,)},
}


@pytest.fixture
def small(monkeypatch):
    for name, how in SMALL.items():
        monkeypatch.setattr(theory, name, partial(getattr(theory, name), **how))


@pytest.mark.slow
def test_the_theory_is_told_in_all_forms(bciigl, small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    document = json.loads(bciigl("reproduce", "theory", "--repeats", 1, "--json").stdout)
    assert document == json.loads((tmp_path / "theory" / theory.RESULTS).read_text())
    assert document["example"]["constant_psi_1"] == 0.8
    text = bciigl("reproduce", "theory", "--repeats", 1).stdout
    assert "Full-CI's objective is 0 for the optimal policy" in text
    assert "AI-IGL, judgments alike" in text and "Report:  theory/report.html" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "region_of_failure" in (tmp_path / "theory" / "report.html").read_text()


def test_other_settings_need_another_folder(bciigl, small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    theory.theory("mine", repeats=1)
    result = bciigl("reproduce", "theory", "--repeats", 1, "--seed", 1, "--out", "mine")
    assert result.exit_code == 2 and "seed 0 and 1 repeats; give another folder" in result.stderr
