"""Running studies of labelled data: the same by anyone, resumed, grown, whatever fails."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import studies
from kills import digests
from labelled_data import echo, labelled, study, written

from bciigl.labelled.rows import labelled_rows
from bciigl.labelled.rules import RULES
from bciigl.labelled.study import LabelledStudy, describe
from bciigl.study import StudyError, open_study, run_study
from bciigl.study.store import RESULTS, failure_path, read_rows

ONE, OTHER = describe(labelled()), describe(labelled(seed=1))
MINE = study(ONE, OTHER, feedback=("coded",), learners=("cb", "ai_igl"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """Return the folder of a study that one process ran without a stop."""
    out = tmp_path_factory.mktemp("finished") / "out"
    outcome = run_study(MINE, out, jobs=1)
    assert (outcome.failed, outcome.missing, len(outcome.results)) == ([], 0, 4)
    return out


def stamps(out: Path) -> dict[str, tuple[int, int]]:
    """Return which file each cell has, and when it was written."""
    files = (out / "cells").iterdir()
    return {each.name: (each.stat().st_ino, each.stat().st_mtime_ns) for each in files}


def told(mine: LabelledStudy, out: Path, **how) -> list[tuple[int, int]]:
    """Run a study and return how progress was reported."""
    found: list[tuple[int, int]] = []
    run_study(mine, out, **{"jobs": 1, **how}, progress=lambda *each: found.append(each))
    return found


@pytest.mark.slow
def test_finished_study_is_opened_as_it_was_run(finished, tmp_path):
    mine, results = open_study(finished, [LabelledStudy])
    assert mine == MINE
    assert set(results) == {cell.key for cell in MINE.cells}
    assert results == run_study(MINE, finished, jobs=1).results
    # Data are told apart: their repeats differ; and the table is kept.
    rows = labelled_rows(mine, results)
    assert len({row.accuracies[0] for row in rows}) > 1
    assert read_rows(mine, finished, results) == rows
    for damage in ("", "[]", json.dumps({"cells": "0", "rows": []})):
        out = shutil.copytree(finished, tmp_path / (damage or "empty").replace('"', ""))
        (out / RESULTS).write_text(damage)
        with pytest.raises(StudyError, match="run the command that made the study again"):
            read_rows(mine, out, results)


def test_cells_that_are_missing_are_made_again_and_no_others(finished):
    before, files = stamps(finished), digests(finished)
    name = f"{MINE.cells[3].key}.json"
    (finished / "cells" / name).unlink()
    assert told(MINE, finished) == [(3, 4), (4, 4)]
    after = stamps(finished)
    assert {each for each in after if after[each] != before[each]} == {name}
    assert digests(finished) == files


def test_folder_of_another_study_is_refused_by_what_differs_and_left_alone(finished):
    before = digests(finished)
    for other, difference in (
        (replace(MINE, seed=1), "seed is 0 there, 1 here"),
        (replace(MINE, table="table1"), "table is none there, table1 here"),
        (replace(MINE, samples=30), "samples is none there, 30 here"),
        (studies.study(), "kind is labelled there, simulated here"),
    ):
        with pytest.raises(StudyError) as error:
            run_study(other, finished, jobs=1)
        assert str(error.value) == (
            f"{finished}: has the results of another study: {difference}; give another folder"
        )
    assert digests(finished) == before


def test_more_is_added_and_what_is_there_is_not_run_again(tmp_path):
    for number, more in enumerate(
        (
            {"repeats": 3},
            {"datasets": (describe(labelled(seed=2)), ONE)},
            {"feedback": ("action_exclusive", "action_reward")},
        )
    ):
        out, small = tmp_path / str(number), study(ONE)
        run_study(small, out, jobs=1)
        before = stamps(out)
        grown = replace(small, **more)
        count = len(grown.cells)
        assert told(grown, out) == [(done, count) for done in range(2, count + 1)]
        assert before.items() <= stamps(out).items()
        assert open_study(out, [LabelledStudy])[0] == grown
        # And the smaller one finds its own again.
        assert told(small, out) == [(2, 2)]


def test_other_learners_are_run_beside(tmp_path):
    out = tmp_path / "out"
    run_study(study(ONE), out, jobs=1)
    assert told(study(ONE, learners=("cb", "ceiling")), out) == [(0, 2), (1, 2), (2, 2)]
    assert told(study(ONE), out) == [(2, 2)]


def test_dataset_that_was_moved_is_not_learned_from_again(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    one = describe(written(tmp_path / "mine.npz", labelled()))
    other = describe(written(tmp_path / "elsewhere" / "other.npz", labelled()))
    run_study(study(one), tmp_path / "out", jobs=1)
    assert told(study(other), tmp_path / "out") == [(2, 2)]


def test_data_that_changed_fail_their_cells_with_the_reason_and_no_others(tmp_path):
    jobs = 1
    source = written(tmp_path / "mine.npz", labelled(seed=2))
    mine, out = study(describe(source), ONE), tmp_path / "out"
    written(tmp_path / "mine.npz", labelled(seed=3))
    outcome = run_study(mine, out, jobs=jobs)
    assert set(outcome.failed) == {failure_path(out, cell) for cell in mine.cells[:2]}
    assert set(outcome.results) == {cell.key for cell in mine.cells[2:]}
    assert outcome.missing == 2
    for path in outcome.failed:
        last = path.read_text().strip().splitlines()[-1]
        assert last.endswith("mine: the data have changed since the study began")
    written(tmp_path / "mine.npz", labelled(seed=2))
    outcome = run_study(mine, out, jobs=jobs)
    assert (outcome.failed, outcome.missing) == ([], 0)
    assert list((out / "failed").iterdir()) == []


def test_data_that_are_gone_and_rules_that_are_unknown_fail_with_the_reason(tmp_path):
    source = written(tmp_path / "mine.npz", labelled(seed=4))
    mine = study(describe(source), ONE, feedback=("action_reward", "coded", "code"), repeats=1)
    (tmp_path / "mine.npz").unlink()
    outcome = run_study(mine, tmp_path / "out", jobs=1)
    reasons = [path.read_text().strip().splitlines()[-1] for path in outcome.failed]
    assert ["mine.npz: no such file" in each for each in reasons] == [True, True, False, False]
    assert all("unknown feedback rule 'code'; did you mean 'coded'?" in x for x in reasons[2:])
    assert set(outcome.results) == {cell.key for cell in mine.cells[3:5]}


def test_study_that_was_opened_can_be_read_and_goes_on_only_where_its_data_are(tmp_path):
    out = tmp_path / "out"
    run_study(study(ONE), out, jobs=1)
    opened = open_study(out, [LabelledStudy])[0]
    assert told(opened, out) == [(2, 2)]
    outcome = run_study(replace(opened, repeats=3), out, jobs=1)
    assert "where the data are is not known" in outcome.failed[0].read_text()
    assert len(outcome.results) == 2


@pytest.mark.slow
def test_rule_of_one_s_own_is_known_to_other_processes(tmp_path, monkeypatch):
    def local(guesses, rng):
        return 1 - echo(guesses, rng)

    monkeypatch.setitem(RULES, "of a module", echo)
    monkeypatch.setitem(RULES, "local", local)
    mine = study(ONE, feedback=("of a module", "local"), learners=("ai_igl",), repeats=1)
    here = run_study(mine, tmp_path / "here", jobs=1)
    there = run_study(mine, tmp_path / "there", jobs=2)
    assert (there.failed, there.missing) == ([], 0)
    assert here.results == there.results
    assert digests(tmp_path / "here") == digests(tmp_path / "there")


@pytest.mark.slow
def test_cluster_gives_the_same_bytes(finished, tmp_path):
    """Its worker has two threads, in which cells must not disturb each other."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=50,
    ) as cluster:
        outcome = run_study(MINE, tmp_path / "out", cluster=cluster.scheduler_address)
    assert (outcome.failed, outcome.missing) == ([], 0)
    assert digests(tmp_path / "out") == digests(finished)
