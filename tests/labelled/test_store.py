"""Studies of labelled data on disk: what is kept comes back, and what is damaged is refused."""

from pathlib import Path

import pytest
import studies
from kills import digests
from labelled_data import all_made_up, describe, labelled, made_up, study
from pydantic import ValidationError
from studies import assert_refused, changed, result, store

from bciigl.labelled.study import LabelledResult, LabelledStudy, LearnerResult
from bciigl.study import Study, StudyError, open_study, run_study
from bciigl.study.store import STUDY, checked, prepare_folder

MINE = study(
    describe(labelled()), describe(labelled(seed=1)), learners=("cb", "igl_full_ci", "ai_igl")
)


def opened(folder: Path):
    return open_study(folder, [Study, LabelledStudy])


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
    mine, results = opened(folder)
    assert (mine, results) == (MINE, all_made_up(MINE))
    assert all(isinstance(each, LabelledResult) for each in results.values())


def test_entry_of_a_result_is_its_learner():
    result = made_up(MINE.cells[0], {"cb": 1, "igl_full_ci": 2, "ai_igl": 3})
    assert [each.entry for each in result.results] == ["cb", "igl_full_ci", "ai_igl"]
    assert [each.right for each in result.results] == [1, 2, 3]


HARM = {
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


def test_damaged_result_is_refused_by_its_file_with_advice_and_nothing_is_overwritten(folder):
    attempts = (lambda: opened(folder), lambda: run_study(MINE, folder, jobs=1))
    assert_refused(cell_file(folder), HARM, *attempts)
    # A result of another cell in its place.
    for other, name in ((1, "repeat"), (2, "dataset")):
        cell_file(folder).write_bytes(cell_file(folder, other).read_bytes())
        with pytest.raises(
            StudyError, match=f"{MINE.cells[0].key}.json: is of another cell: {name}"
        ):
            opened(folder)


def test_result_of_a_simulated_session_is_none_of_labelled_data():
    document = {**MINE.cells[0].identity, "versions": {}, "truth_objective": 0.7, "results": []}
    with pytest.raises(StudyError, match="is not a result: truth_objective: unknown key"):
        checked(MINE.cells[0], document)


def test_all_may_be_right_but_no_more():
    about = {"learner": "cb", "verdict": None, "objective": None}
    assert LearnerResult(right=3, tested=3, **about).right == 3
    with pytest.raises(ValidationError, match="right should be at most tested"):
        LearnerResult(right=4, tested=3, **about)


STUDY_HARM = {
    "no datasets": changed(lambda document: document.pop("datasets")),
    "datasets of nobody": changed(lambda document: document.update(datasets=[])),
    "datasets are a number": changed(lambda document: document.update(datasets=5)),
    "dataset is a number": changed(lambda document: document.update(datasets=[5])),
    "twins": changed(lambda document: document["datasets"].append(document["datasets"][0])),
    "dataset without a size": changed(lambda document: document["datasets"][0].pop("n")),
    "dataset with more": changed(lambda document: document["datasets"][0].update(more=1)),
    "notes are a number": changed(lambda document: document["datasets"][0].update(notes=1)),
    "another kind": changed(lambda document: document.update(kind="simulated")),
    "no kind": changed(lambda document: document.pop("kind")),
    "n is a word": changed(lambda document: document["datasets"][0].update(n="60")),
    "id is half": changed(lambda document: document["datasets"][0].update(openml_id=0.5)),
    "majority above 1": changed(lambda document: document["datasets"][0].update(majority=2.0)),
    "table is a number": changed(lambda document: document.update(table=1)),
    "samples are none": changed(lambda document: document.update(samples=0)),
    "endless repeats": changed(lambda document: document.update(repeats=10**9)),
    "no rules": changed(lambda document: document.pop("feedback")),
    "rules are a number": changed(lambda document: document.update(feedback=1)),
    "repeats are words": changed(lambda document: document.update(repeats="many")),
    "no repeats": changed(lambda document: document.update(repeats=0)),
    "no seed": changed(lambda document: document.pop("seed")),
    "no table": changed(lambda document: document.pop("table")),
    "unknown learner": changed(lambda document: document.update(learners=["ai_ilg"])),
}


def test_damaged_description_is_refused_by_its_file_and_nothing_is_overwritten(folder):
    attempts = (lambda: opened(folder), lambda: run_study(MINE, folder, jobs=1))
    harms = {name: harm for name, harm in STUDY_HARM.items() if name != "another kind"}
    assert_refused(folder / STUDY, harms, *attempts)
    assert_refused(folder / STUDY, STUDY_HARM, lambda: opened(folder))


def test_a_kind_that_is_not_asked_for_is_refused(folder):
    with pytest.raises(StudyError, match="should be a study of the kind simulated"):
        open_study(folder)


def test_folder_of_the_other_kind_is_refused_and_left_alone(tmp_path):
    simulated = studies.study()
    prepare_folder(simulated, tmp_path / "out")
    before = digests(tmp_path)
    with pytest.raises(StudyError) as error:
        run_study(MINE, tmp_path / "out", jobs=1)
    assert str(error.value) == (
        f"{tmp_path / 'out'}: has the results of another study: kind is simulated there, labelled "
        "here; give another folder"
    )
    assert digests(tmp_path) == before
    assert opened(tmp_path / "out")[0] == simulated
