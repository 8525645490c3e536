"""Kinds of study: each is known by what it is, and none is mistaken for the other."""

import json

import pytest
import studies
from kills import digests
from labelled_data import all_made_up, describe, labelled, study
from studies import store

from bciigl.labelled.cell import run_labelled_cell
from bciigl.study import StudyError, open_study, run_study
from bciigl.study.cell import run_cell
from bciigl.study.kinds import LABELLED, SIMULATED, kind_of, read_document
from bciigl.study.results import CellResult, LabelledResult
from bciigl.study.store import STUDY, prepare_folder

MINE = study(describe(labelled()), learners=("cb", "ai_igl"))
SESSIONS = studies.study()


def test_studies_and_cells_have_the_kind_they_are_of():
    assert kind_of(MINE) is kind_of(MINE.cells[0]) is LABELLED
    assert kind_of(SESSIONS) is kind_of(SESSIONS.cells[0]) is SIMULATED
    assert (LABELLED.run, SIMULATED.run) == (run_labelled_cell, run_cell)
    assert (LABELLED.result, SIMULATED.result) == (LabelledResult, CellResult)


@pytest.mark.parametrize("mine", [MINE, SESSIONS], ids=["labelled", "simulated"])
def test_study_of_each_kind_comes_back_from_its_document(mine):
    found = read_document(json.loads(json.dumps(kind_of(mine).document(mine))))
    assert type(found) is type(mine)
    assert [cell.key for cell in found.cells] == [cell.key for cell in mine.cells]
    assert kind_of(mine).difference(found, mine) is None


@pytest.mark.parametrize(
    ("there", "here", "difference"),
    [
        (MINE, SESSIONS, "kind is labelled there, simulated here"),
        (SESSIONS, MINE, "kind is simulated there, labelled here"),
    ],
    ids=["simulated into labelled", "labelled into simulated"],
)
def test_folder_of_the_other_kind_is_refused_and_left_alone(tmp_path, there, here, difference):
    prepare_folder(there, tmp_path / "out")
    before = digests(tmp_path)
    with pytest.raises(StudyError) as error:
        run_study(here, tmp_path / "out", jobs=1)
    assert str(error.value) == (
        f"{tmp_path / 'out'}: has the results of another study: {difference}; give another folder"
    )
    assert digests(tmp_path) == before


def changed(change):
    """Return what changes the document in a file."""

    def of(text: str) -> str:
        document = json.loads(text)
        change(document)
        return json.dumps(document)

    return of


HARM = {
    "truncated": lambda text: text[: len(text) // 2],
    "not an object": lambda text: "[1]",
    "a number": lambda text: "5",
    "a word": lambda text: '"datasets"',
    "no datasets": changed(lambda document: document.pop("datasets")),
    "datasets of nobody": changed(lambda document: document.update(datasets=[])),
    "datasets are a number": changed(lambda document: document.update(datasets=5)),
    "dataset is a number": changed(lambda document: document.update(datasets=[5])),
    "twins": changed(lambda document: document["datasets"].append(document["datasets"][0])),
    "dataset without a size": changed(lambda document: document["datasets"][0].pop("n")),
    "dataset with more": changed(lambda document: document["datasets"][0].update(more=1)),
    "notes are a number": changed(lambda document: document["datasets"][0].update(notes=1)),
    "no rules": changed(lambda document: document.pop("feedback")),
    "rules are a number": changed(lambda document: document.update(feedback=1)),
    "repeats are words": changed(lambda document: document.update(repeats="many")),
    "no repeats": changed(lambda document: document.update(repeats=0)),
    "no seed": changed(lambda document: document.pop("seed")),
    "no table": changed(lambda document: document.pop("table")),
    "unknown learner": changed(lambda document: document.update(learners=["ai_ilg"])),
}


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM)
def test_damaged_description_is_refused_by_its_file_and_nothing_is_overwritten(tmp_path, harm):
    folder = tmp_path / "out"
    prepare_folder(MINE, folder)
    store(folder, all_made_up(MINE))
    path = folder / STUDY
    path.write_text(harm(path.read_text()))
    before = digests(folder)
    for attempt in (lambda: open_study(folder), lambda: run_study(MINE, folder, jobs=1)):
        with pytest.raises(StudyError) as error:
            attempt()
        assert str(error.value).startswith(f"{path}: ")
    assert digests(folder) == before
