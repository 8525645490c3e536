"""A recorded session that the tests of reports share and do not change."""

import pytest
from recordings import reported_protocol

from bciigl.loop.session import record
from bciigl.recording import open_dataset
from bciigl.report.session import session_sections
from bciigl.tasks.sessions import learn_session, load_session


@pytest.fixture(scope="session")
def dataset(tmp_path_factory):
    """Return a short session of three runs."""
    folder = tmp_path_factory.mktemp("reported") / "dataset"
    record(reported_protocol(), folder)
    return open_dataset(folder)


@pytest.fixture(scope="session")
def recorded(dataset):
    """Return its interactions."""
    return load_session(dataset)


@pytest.fixture(scope="session")
def results(dataset, recorded):
    """Return what learners make of it."""
    return learn_session(dataset, recorded)


@pytest.fixture(scope="session")
def sections(dataset):
    """Return the sections of its report, by their titles."""
    return {each.title: each for each in session_sections(dataset)}
