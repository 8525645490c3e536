"""A recorded session and a study that the tests of reports share and do not change."""

import shutil

import pytest
from recordings import LEARNERS, LEARNS, reported_protocol, small
from studies import study

from bciigl.loop.session import record
from bciigl.protocol import load
from bciigl.recording import open_dataset
from bciigl.recording.layout import ESTIMATES, TRUTH
from bciigl.report.session import session_sections
from bciigl.report.study import study_sections
from bciigl.report.views import learned
from bciigl.study import run_study
from bciigl.study.controls import PERMUTED, SILENCED
from bciigl.study.example import open_example
from bciigl.study.session_results import RESULTS


@pytest.fixture(scope="session")
def dataset(tmp_path_factory):
    """Return a short session of three runs."""
    folder = tmp_path_factory.mktemp("reported") / "dataset"
    record(reported_protocol(), folder)
    return open_dataset(folder)


@pytest.fixture(scope="session")
def view(dataset):
    """Return it with what was learned from it, which is kept there."""
    return learned(dataset)


@pytest.fixture(scope="session")
def without_truth(view, tmp_path_factory):
    """Return the same session with its truth removed, learned from without it."""
    folder = tmp_path_factory.mktemp("without") / "dataset"
    shutil.copytree(view.dataset.folder, folder)
    shutil.rmtree(folder / TRUTH)
    (folder / ESTIMATES / RESULTS).unlink()
    return learned(open_dataset(folder))


@pytest.fixture(scope="session")
def adaptive(tmp_path_factory):
    """Return a session, with what was learned from it, of an agent that learns meanwhile."""
    folder = tmp_path_factory.mktemp("adaptive") / "dataset"
    record(small(**LEARNS), folder)
    return learned(open_dataset(folder))


@pytest.fixture(scope="session")
def hopeless(tmp_path_factory):
    """Return a session, with what was learned from it, that is almost noise alone."""
    folder = tmp_path_factory.mktemp("hopeless") / "dataset"
    changes = {"brain.noise": 5.0, "evaluation.test_trials": 200}
    changes |= {"task.trials": 46, "learners": LEARNERS}
    record(load("number_guessing", changes=changes), folder)
    return learned(open_dataset(folder))


@pytest.fixture(scope="session")
def sections(view):
    """Return the sections of its report, by their titles."""
    return {each.title: each for each in session_sections(view)}


@pytest.fixture(scope="session")
def finished_study(tmp_path_factory):
    """Return a study of two noise levels, its results, its table and its example."""
    mine = study(
        learners=["ai_igl", "cb", "ceiling"],
        controls=(SILENCED, PERMUTED),
        study={"noise": [0.05, 0.4], "repeats": 2},
    )
    out = tmp_path_factory.mktemp("studied") / "out"
    outcome = run_study(mine, out, jobs=1)
    assert (outcome.failed, outcome.missing) == ([], 0)
    return mine, outcome.results, outcome.rows, open_example(mine, out)


@pytest.fixture(scope="session")
def study_parts(finished_study):
    """Return the sections of its report, by their titles."""
    return {each.title: each for each in study_sections(*finished_study)}
