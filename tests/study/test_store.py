"""The folder of a study: whose it is, and what is wrong with its files."""

from pathlib import Path

import pytest
from kills import digests
from studies import (
    all_made_up,
    assert_refused,
    changed,
    result,
    store,
    study,
    tiny,
    write_mask,
)

from bciigl.study import Study, StudyError, open_study, run_study
from bciigl.study.controls import PERMUTED
from bciigl.study.store import (
    STUDY,
    checked,
    failure_path,
    is_study,
    keep_failure,
    keep_result,
    prepare_folder,
    read_results,
)

MINE = study(learners=["igl_full_ci", "ceiling"])


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
    assert results == all_made_up(MINE)
    assert (mine.protocol, mine.entries) == (MINE.protocol, MINE.entries)
    assert [each.key for each in mine.cells] == [each.key for each in MINE.cells]


def test_study_comes_back_with_everything_it_is_made_of(tmp_path):
    write_mask(tmp_path / "mask.nii.gz")
    region = {"shape": "mask", "file": "mask.nii.gz"}
    vary = {"timing.isi": [7.0, 9], "task.options": [[1, 2, 3], ["a", "b", "c"]]}
    mine = Study(
        tiny(brain={"region": region}, learners=["ai_igl"]),
        str(tmp_path),
        vary,
        (PERMUTED,),
        "table2",
    )
    prepare_folder(mine, tmp_path / "out")
    found, results = open_study(tmp_path / "out")
    assert found == mine
    assert [each.key for each in found.cells] == [each.key for each in mine.cells]
    assert results == {}


def test_results_that_are_kept_take_away_the_failure(folder):
    cell, result = MINE.cells[0], all_made_up(MINE)[MINE.cells[0].key]
    keep_failure(folder, cell, "why")
    assert failure_path(folder, cell).read_text() == "why"
    before = digests(folder)
    keep_result(folder, cell, result)
    assert not failure_path(folder, cell).exists()
    after = digests(folder)
    assert {**after, f"failed/{cell.key}.txt": before[f"failed/{cell.key}.txt"]} == before


def test_files_that_are_not_of_its_cells_do_not_matter(folder):
    for name in ("cells/other.json", f"cells/.12.tmp.{MINE.cells[0].key}.json", "notes.txt"):
        (folder / name).write_text("half of a fi")
    prepare_folder(MINE, folder)
    assert read_results(MINE, folder) == all_made_up(MINE)


HARM = {
    "no results": changed(lambda document: document.pop("results")),
    "results of nobody": changed(lambda document: document.update(results=[])),
    "results of one": changed(lambda document: document["results"].pop()),
    "results in another order": changed(lambda document: document["results"].reverse()),
    "another learner": result(learner="ai_igl"),
    "a control": result(control=PERMUTED),
    "something more": changed(lambda document: document.update(more=1)),
    "wrong types": result(confusion="all right"),
    "words for counts": result(confusion=[["1", "0"], ["0", "1"]]),
    "negative counts": result(confusion=[[4, 0, 0], [0, -1, 0], [0, 0, 4]]),
    "half counts": result(confusion=[[4, 0, 0], [0, 0.5, 0], [0, 0, 4]]),
    "not square": result(confusion=[[4, 0, 0], [0, 1, 0]]),
    "ragged": result(confusion=[[4, 0, 0], [0, 1], [0, 0, 4]]),
    "one option": result(confusion=[[4]]),
    "no counts": result(confusion=[[0, 0], [0, 0]]),
    "NaN objective": result(objective=float("nan")),
    "infinite truth": changed(lambda document: document.update(truth_objective=float("inf"))),
    "NaN in the protocol": changed(lambda d: d["protocol"]["timing"].update(isi=float("nan"))),
    "changed protocol": changed(lambda d: d["protocol"]["timing"].update(isi=7.5)),
    "changed version": changed(lambda document: document.update(bciigl="0.0")),
    "changed brain": changed(lambda document: document.update(brain="0")),
    "changed parameters": changed(lambda d: d["learners"][0]["parameters"].update(x=1)),
}


def test_damaged_result_is_refused_by_its_file_and_nothing_is_overwritten(folder):
    attempts = (lambda: open_study(folder), lambda: run_study(MINE, folder))
    assert_refused(cell_file(folder), HARM, *attempts)


def test_bytes_that_are_no_text_are_refused_by_their_file(folder):
    cell_file(folder).write_bytes(b"\xff\xfe{")
    with pytest.raises(StudyError, match=f"{MINE.cells[0].key}.json: is not JSON"):
        open_study(folder)


def test_result_of_another_cell_in_its_place_is_refused(folder):
    cell_file(folder, 1).write_bytes(cell_file(folder, 0).read_bytes())
    before = digests(folder)
    with pytest.raises(StudyError, match=f"{MINE.cells[1].key}.json: is of another cell: protocol"):
        run_study(MINE, folder)
    assert digests(folder) == before


def test_what_run_cell_gives_is_checked_as_well():
    with pytest.raises(StudyError, match="is not a result: repeat: is required"):
        checked(MINE.cells[0], {**MINE.cells[0].identity, "results": None})


STUDY_HARM = {
    "no protocol": changed(lambda document: document.pop("protocol")),
    "no table": changed(lambda document: document.pop("table")),
    "wrong protocol": changed(lambda document: document["protocol"].update(seed="x")),
    "impossible protocol": changed(lambda document: document["protocol"]["timing"].update(isi=-1)),
    "vary is a list": changed(lambda document: document.update(vary=[1])),
    "vary has a number": changed(lambda document: document.update(vary={"timing.isi": 5})),
    "vary is forbidden": changed(lambda document: document.update(vary={"seed": [5]})),
    "vary is impossible": changed(lambda document: document.update(vary={"timing.isi": [-5]})),
    "folder is a number": changed(lambda document: document.update(folder=5)),
    "table is a number": changed(lambda document: document.update(table=5)),
    "something more": changed(lambda document: document.update(more=5)),
    "an unknown kind": changed(lambda document: document.update(kind="x")),
    "kind is a number": changed(lambda document: document.update(kind=5)),
    "controls are a number": changed(lambda document: document.update(controls=5)),
    "unknown control": changed(lambda document: document.update(controls=["x"])),
}


def test_damaged_description_is_refused_by_its_file_and_nothing_is_overwritten(folder):
    attempts = (lambda: open_study(folder), lambda: run_study(MINE, folder))
    harms = {name: harm for name, harm in STUDY_HARM.items() if name != "an unknown kind"}
    assert_refused(folder / STUDY, harms, *attempts)
    assert_refused(folder / STUDY, STUDY_HARM, attempts[0])


def test_folder_of_another_study_is_refused_by_what_differs_and_left_alone(folder):
    before = digests(folder)
    others = {
        "seed": (study(learners=["igl_full_ci", "ceiling"], seed=4), "seed is 0 there, 4 here"),
        "field": (
            study(learners=["igl_full_ci", "ceiling"], timing={"isi": 8.0}),
            "timing.isi is 7.0 there, 8.0 here",
        ),
        "trials": (study(task={"trials": 25}), "task.trials is 24 there, 25 here"),
        "table": (
            Study(MINE.protocol, table="table2"),
            "table is none there, table2 here",
        ),
        "controls": (
            Study(MINE.protocol, controls=(PERMUTED,)),
            f"controls is none there, {PERMUTED} here",
        ),
    }

    for other, difference in others.values():
        with pytest.raises(StudyError) as error:
            run_study(other, folder)
        assert f"{folder}: has the results of another study: {difference}" in str(error.value)
    assert digests(folder) == before


def test_same_study_may_grow(folder):
    cells = digests(folder / "cells")
    for grown in (
        study(learners=["igl_full_ci", "ceiling"], study={"repeats": 3}),
        study(learners=["igl_full_ci", "ceiling"], study={"noise": [0.05, 0.3]}),
        study(learners=["igl_full_ci", "ceiling"], vary={"timing.isi": [7.0, 8.0]}),
        study(learners=["ceiling"]),
        study(learners=["igl_full_ci", "ceiling"], description="other words"),
    ):
        prepare_folder(grown, folder)
        assert digests(folder / "cells") == cells
        assert open_study(folder)[0] == grown


def test_what_is_not_a_folder_for_a_study_is_refused_and_left_alone(tmp_path):
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "mine.txt").write_text("x")
    (tmp_path / "file").write_text("x")
    before = digests(tmp_path)
    message = "exists already and is not an empty folder|cannot be made"
    for out in ("file", "foreign", "file/below"):
        with pytest.raises(OSError, match=message):
            run_study(MINE, tmp_path / out)
    assert digests(tmp_path) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "foreign"]


def test_folder_without_a_study_cannot_be_opened(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    for name in ("absent", "empty", "file"):
        assert not is_study(tmp_path / name)
        with pytest.raises(StudyError, match="is not a study: it has no study.json"):
            open_study(tmp_path / name)


def test_empty_folder_will_do_and_so_will_one_far_below(tmp_path):
    (tmp_path / "empty").mkdir()
    for out in (tmp_path / "empty", tmp_path / "far" / "below"):
        prepare_folder(MINE, out)
        assert sorted(path.name for path in out.iterdir()) == ["cells", "failed", STUDY]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "far"]
