"""A recorded session and a study that the tests of reports share and do not change."""

import pytest
from recordings import reported_protocol
from studies import study

from bciigl.loop.session import record
from bciigl.recording import open_dataset
from bciigl.report.session import session_sections
from bciigl.report.study import study_sections
from bciigl.study import run_study
from bciigl.study.controls import PERMUTED, SILENCED
from bciigl.study.example import open_example
from bciigl.study.learning import learn_session, load_sessions


@pytest.fixture(scope="session")
def dataset(tmp_path_factory):
    """Return a short session of three runs."""
    folder = tmp_path_factory.mktemp("reported") / "dataset"
    record(reported_protocol(), folder)
    return open_dataset(folder)


@pytest.fixture(scope="session")
def recorded(dataset):
    """Return what was recorded, training and test."""
    return load_sessions(dataset)


@pytest.fixture(scope="session")
def results(dataset, recorded):
    """Return what learners make of it."""
    return learn_session(dataset.protocol, recorded)


@pytest.fixture(scope="session")
def sections(dataset):
    """Return the sections of its report, by their titles."""
    return {each.title: each for each in session_sections(dataset)}


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
