"""Sweeps and plans in Python."""

import matplotlib
import matplotlib.pyplot as plt
import pytest

import bciigl
from bciigl.base.errors import BciiglError

matplotlib.use("Agg")
SMALL = {"evaluation.test_trials": 46, "brain.region.size": 2}
HOW = {"repeats": 2, "trials": 46, "learners": ["ai_igl", "ceiling"], "changes": SMALL, "jobs": 1}


@pytest.fixture(scope="module")
def study():
    return bciigl.sweep(noise=[0.05, 1], vary={"timing.isi": [5.0, 7.0]}, **HOW)


def test_a_row_for_each_setting_and_learner(study):
    table = study.to_dataframe()
    assert len(table) == 2 * 2 * 2
    assert set(table["timing.isi"]) == {5.0, 7.0}
    assert (table.sessions == 2).all()
    assert ((table.low <= table.accuracy) & (table.accuracy <= table.high)).all()


def test_one_noise_level_may_be_a_number(tmp_path):
    found = bciigl.sweep(noise=0.05, out=tmp_path / "kept", **HOW)
    assert set(found.to_dataframe().noise) == {0.05}
    again = bciigl.open_study(tmp_path / "kept")
    assert again.to_dataframe().equals(found.to_dataframe())


@pytest.mark.slow
def test_figures_reports_and_tables(study, tmp_path):
    figure, ax = plt.subplots()
    study.plot(ax=ax)
    figure.canvas.draw()
    assert study.plot() is not None
    plt.close("all")
    assert study.report(tmp_path / "study.html").exists()
    assert "ai_igl" not in repr(study) + study._repr_html_()


def test_folders_that_are_no_studies_are_refused(tmp_path):
    with pytest.raises(BciiglError):
        bciigl.open_study(tmp_path)


@pytest.mark.slow
def test_a_plan_answers_in_words_and_is_drawn():
    changes = {"evaluation.test_trials": 46}
    found = bciigl.plan("number_guessing", noise=0.1, people=3, hours=0.3, jobs=1, changes=changes)
    assert str(found) in found._repr_html_()
    figure, ax = plt.subplots()
    found.plot(ax=ax)
    figure.canvas.draw()
    plt.close("all")
