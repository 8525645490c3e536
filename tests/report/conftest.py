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
from bciigl.study.session_results import learn_and_keep, read_results


@pytest.fixture(scope="session")
def learned(tmp_path_factory):
    """Return a short session of three runs, and what was learned from it and kept there."""
    folder = tmp_path_factory.mktemp("reported") / "dataset"
    record(reported_protocol(), folder)
    dataset = open_dataset(folder)
    return dataset, *learn_and_keep(dataset)


@pytest.fixture(scope="session")
def dataset(learned):
    """Return the session."""
    return learned[0]


@pytest.fixture(scope="session")
def recorded(learned):
    """Return what was recorded, training and test."""
    return learned[1]


@pytest.fixture(scope="session")
def results(learned):
    """Return what learners make of it."""
    return learned[2]


@pytest.fixture(scope="session")
def kept(dataset):
    """Return the results that are kept beside it."""
    return read_results(dataset)[0]


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
