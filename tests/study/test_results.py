"""Results of labelled data on disk: what is kept comes back, and what is damaged is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from kills import digests
from labelled_data import all_made_up, describe, labelled, made_up, study
from pydantic import ValidationError
from studies import store

from bciigl.study import StudyError, open_study, run_study
from bciigl.study.results import LabelledResult, LearnerResult
from bciigl.study.store import checked, prepare_folder

MINE = study(
    describe(labelled()), describe(labelled(seed=1)), learners=("cb", "igl_full_ci", "ai_igl")
)


@pytest.fixture
def folder(tmp_path) -> Path:
    """Return the folder of a finished study."""
    prepare_folder(MINE, tmp_path / "out")
    store(tmp_path / "out", all_made_up(MINE))
    return tmp_path / "out"


def cell_file(folder: Path, place: int = 0) -> Path:
    """Return the file of a cell."""
    return folder / "cells" / f"{MINE.cells[place].key}.json"


def test_what_is_written_comes_back(folder):
    mine, results = open_study(folder)
    assert (mine, results) == (MINE, all_made_up(MINE))
    assert all(isinstance(each, LabelledResult) for each in results.values())


def test_entry_of_a_result_is_its_learner():
    result = made_up(MINE.cells[0], {"cb": 1, "igl_full_ci": 2, "ai_igl": 3})
    assert [each.entry for each in result.results] == ["cb", "igl_full_ci", "ai_igl"]
    assert [each.right for each in result.results] == [1, 2, 3]


def changed(change: Callable[[dict], object]) -> Callable[[str], str]:
    """Return what changes the document in a file."""

    def of(text: str) -> str:
        document = json.loads(text)
        change(document)
        return json.dumps(document)

    return of


def result(**changes) -> Callable[[str], str]:
    """Return what changes the first learner's result."""
    return changed(lambda document: document["results"][0].update(changes))


HARM = {
    "truncated": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "not an object": lambda text: "[]",
    "null": lambda text: "null",
    "nothing in it": lambda text: "{}",
    "no results": changed(lambda document: document.pop("results")),
    "results of nobody": changed(lambda document: document.update(results=[])),
    "results of some": changed(lambda document: document["results"].pop()),
    "results in another order": changed(lambda document: document["results"].reverse()),
    "another learner": result(learner="ceiling"),
    "a confusion": result(confusion=[[1, 0], [0, 1]]),
    "something more": changed(lambda document: document.update(more=1)),
    "more right than tested": result(right=101),
    "fewer right than none": result(right=-1),
    "nothing tested": result(right=0, tested=0),
    "half right": result(right=0.5),
    "words for numbers": result(right="7"),
    "truth for numbers": result(right=True),
    "NaN objective": result(objective=float("nan")),
    "another dataset": changed(lambda document: document.update(dataset="0")),
    "another rule": changed(lambda document: document.update(feedback="coded")),
    "another repeat": changed(lambda document: document.update(repeat=7)),
    "another seed": changed(lambda document: document.update(seed=7)),
    "other samples": changed(lambda document: document.update(samples=7)),
    "another version": changed(lambda document: document.update(bciigl="0.0")),
    "other parameters": changed(lambda d: d["learners"][0]["parameters"].update(x=1)),
}


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM)
def test_damaged_result_is_refused_by_its_file_with_advice_and_nothing_is_overwritten(folder, harm):
    path = cell_file(folder)
    path.write_text(harm(path.read_text()))
    before = digests(folder)
    for attempt in (lambda: open_study(folder), lambda: run_study(MINE, folder, jobs=1)):
        with pytest.raises(StudyError) as error:
            attempt()
        assert str(error.value).startswith(f"{path}: is ")
        assert str(error.value).endswith("; delete it to have it made again")
    assert digests(folder) == before


@pytest.mark.parametrize(("other", "name"), [(1, "repeat"), (2, "dataset")])
def test_result_of_another_cell_in_its_place_is_refused(folder, other, name):
    cell_file(folder).write_bytes(cell_file(folder, other).read_bytes())
    with pytest.raises(StudyError, match=f"{MINE.cells[0].key}.json: is of another cell: {name}"):
        open_study(folder)


def test_result_of_a_simulated_session_is_none_of_labelled_data():
    document = {**MINE.cells[0].identity, "versions": {}, "truth_objective": 0.7, "results": []}
    with pytest.raises(StudyError, match="is not a result: truth_objective: Extra inputs"):
        checked(MINE.cells[0], document)


def test_all_may_be_right_but_no_more():
    about = {"learner": "cb", "verdict": None, "objective": None}
    assert LearnerResult(right=3, tested=3, **about).right == 3
    with pytest.raises(ValidationError, match="right should be at most tested"):
        LearnerResult(right=4, tested=3, **about)
