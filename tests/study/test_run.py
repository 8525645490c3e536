"""Running cells: once each, the same by anyone, whatever fails or is killed."""

import json
import multiprocessing
import os
import signal
import socket
from pathlib import Path

import pytest
from kills import digests
from studies import study, tiny, write_mask

from bciigl.study import Study, StudyError, open_study, rows, run, run_study
from bciigl.study.controls import SILENCED
from bciigl.study.example import open_example
from bciigl.study.store import failure_path, prepare_folder, read_rows

MINE = study(
    learners=["ai_igl", "ceiling"], controls=(SILENCED,), study={"noise": [0.05, 0.3], "repeats": 2}
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """Return the folder of a study that one process ran without a stop."""
    out = tmp_path_factory.mktemp("finished") / "out"
    outcome = run_study(MINE, out, jobs=1)
    assert (outcome.failed, outcome.missing) == ([], 0)
    return out


def stamps(out: Path) -> dict[str, tuple[int, int]]:
    """Return which file each cell has, and when it was written."""
    files = (out / "cells").iterdir()
    return {each.name: (each.stat().st_ino, each.stat().st_mtime_ns) for each in files}


def told(mine: Study, out: Path, **how) -> list[tuple[int, int]]:
    """Run a study and return how progress was reported."""
    found: list[tuple[int, int]] = []
    run_study(mine, out, **{"jobs": 1, **how}, progress=lambda *each: found.append(each))
    return found


def test_each_cell_has_a_file_that_is_whole(finished):
    assert set(stamps(finished)) == {f"{cell.key}.json" for cell in MINE.cells}
    for cell in MINE.cells:
        text = (finished / "cells" / f"{cell.key}.json").read_text()
        assert json.loads(text)["repeat"] == cell.repeat
    assert list((finished / "failed").iterdir()) == []
    mine, results = open_study(finished)
    assert len(results) == 8
    # The table is kept, and one session at the highest noise.
    assert read_rows(mine, finished, results) == rows(MINE, results)
    cell, dataset = open_example(mine, finished)
    assert (cell.setting.noise, cell.repeat, cell.entries[0].control) == (0.3, 0, None)
    assert dataset.protocol == cell.protocol
    with pytest.raises(StudyError, match="results.json: is not of what is finished now; run the"):
        read_rows(mine, finished, {})


def test_finished_cells_are_never_run_again(finished):
    before, files = stamps(finished), digests(finished)
    # Only what is there already is told: no cell was done.
    assert told(MINE, finished) == [(8, 8)]
    assert (stamps(finished), digests(finished)) == (before, files)


def test_only_the_cell_that_is_missing_is_run(finished):
    before, files = stamps(finished), digests(finished)
    name = f"{MINE.cells[3].key}.json"
    (finished / "cells" / name).unlink()
    assert told(MINE, finished) == [(7, 8), (8, 8)]
    after = stamps(finished)
    assert {each for each in after if after[each] != before[each]} == {name}
    assert digests(finished) == files


@pytest.mark.slow
def test_more_repeats_levels_and_values_keep_what_is_there_and_a_changed_setting_reuses_nothing(
    tmp_path,
):
    out = tmp_path / "out"
    run_study(study(), out)
    before = stamps(out)
    grown = study(study={"repeats": 3, "noise": [0.05, 0.5]}, vary={"timing.isi": [7.0, 8.0]})
    assert told(grown, out)[0] == (2, 12)
    assert before.items() <= stamps(out).items()
    assert len(stamps(out)) == 12
    changed = study(vary={"timing.isi": [9.0]})
    assert told(changed, out) == [(0, 2), (1, 2), (2, 2)]
    fewer = run_study(study(), out)
    assert set(fewer.results) == {each.removesuffix(".json") for each in before}


@pytest.mark.slow
def test_shares_are_disjoint_and_together_everything(finished, tmp_path):
    out, done = tmp_path / "out", []
    for part in (3, 1, 2):
        before = set(stamps(out)) if out.exists() else set()
        outcome = run_study(MINE, out, share=(part, 3))
        done.append(set(stamps(out)) - before)
        assert outcome.missing == 8 - len(stamps(out))
    assert [len(each) for each in done] == [2, 3, 3]
    assert set.union(*done) == set(stamps(finished))
    assert digests(out / "cells") == digests(finished / "cells")


def test_share_may_be_empty(tmp_path):
    outcome = run_study(study(), tmp_path / "out", share=(5, 9))
    assert (outcome.results, outcome.failed, outcome.missing) == ({}, [], 2)


@pytest.mark.slow
def test_shares_that_begin_at_the_same_moment_make_one_folder(tmp_path):
    """What an array of jobs does."""
    context, together = multiprocessing.get_context("fork"), 6
    gate = context.Barrier(together)
    outs = [tmp_path / str(number) for number in range(20)]

    def prepare_all():
        try:
            for out in outs:
                gate.wait()
                prepare_folder(MINE, out)
        except BaseException:
            gate.abort()  # or the others would wait for ever
            raise

    jobs = [context.Process(target=prepare_all) for _ in range(together)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert [job.exitcode for job in jobs] == [0] * together
    assert sorted(tmp_path.iterdir()) == sorted(outs)
    assert all(open_study(out)[0] == MINE for out in outs)


@pytest.fixture
def masked(tmp_path) -> Study:
    """Return a study of two regions, each in a mask file."""
    names = ["one.nii.gz", "other.nii.gz"]
    for place, name in enumerate(names):
        write_mask(tmp_path / name, at=(14 + place, 41, 30))
    vary = {"brain.region": [{"shape": "mask", "file": name} for name in names]}
    mine = Study(tiny(study={"repeats": 1}), str(tmp_path), vary)
    assert len(mine.cells) == 2  # looked at while the files are there
    return mine


@pytest.mark.slow
def test_cell_that_fails_says_why_and_does_not_stop_the_others(masked, tmp_path):
    jobs = 2
    lost, kept = tmp_path / "one.nii.gz", tmp_path / "kept.nii.gz"
    lost.rename(kept)
    out, cell = tmp_path / "out", masked.cells[0]
    outcome = run_study(masked, out, jobs=jobs)
    assert outcome.failed == [failure_path(out, cell)]
    assert (outcome.missing, set(outcome.results)) == (1, {masked.cells[1].key})
    why = outcome.failed[0].read_text()
    assert why.startswith("Traceback (most recent call last)")
    assert "one.nii.gz" in why.strip().splitlines()[-1]
    assert set(stamps(out)) == {f"{masked.cells[1].key}.json"}
    assert [row.varied["brain.region"]["file"] for row in rows(masked, outcome.results)] == [
        "other.nii.gz"
    ]
    kept.rename(lost)
    before = stamps(out)
    outcome = run_study(masked, out)
    assert (outcome.failed, outcome.missing) == ([], 0)
    assert list((out / "failed").iterdir()) == []
    assert before.items() <= stamps(out).items()


@pytest.mark.slow
def test_two_processes_give_the_same_bytes(finished, tmp_path):
    outcome = run_study(MINE, tmp_path / "out", jobs=2)
    assert (outcome.failed, outcome.missing) == ([], 0)
    assert digests(tmp_path / "out") == digests(finished)
    assert outcome.results == open_study(finished)[1]


@pytest.mark.slow
def test_worker_that_is_killed_is_told_and_what_is_finished_is_kept(finished, tmp_path):
    parent = os.getpid()
    before = children(parent)

    def kill_a_worker(done: int, total: int) -> None:
        if done == 1:
            workers = [each for each in children(parent) - before if "loky" in command(each)]
            os.kill(max(workers), signal.SIGKILL)

    many = study(
        learners=["ai_igl", "ceiling"],
        controls=(SILENCED,),
        study={"noise": [0.05, 0.3], "repeats": 6},
    )
    # A worker that waits for this test's others would not be new.
    shut_down_workers()
    with pytest.raises(StudyError, match="a worker was killed, perhaps because memory ran out"):
        run_study(many, tmp_path / "out", jobs=2, progress=kill_a_worker)
    assert 1 <= len(stamps(tmp_path / "out")) < len(many.cells)
    run_study(MINE, tmp_path / "out")
    known = digests(tmp_path / "out" / "cells")
    assert digests(finished / "cells").items() <= known.items()


def shut_down_workers() -> None:
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)


def children(parent: int) -> set[int]:
    """Return the processes that a process has started."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rpartition(")")[2].split()[1]) == parent:
                found.add(int(path.parent.name))
        except OSError:
            pass  # it has ended
    return found


def command(process: int) -> str:
    """Return how a process was called."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


def local_cluster(workers: int):
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=workers,
        threads_per_worker=2,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=50,
    )


@pytest.fixture(scope="module")
def cluster():
    """Return a dask cluster of two processes on this machine."""
    with local_cluster(2) as found:
        yield found


@pytest.mark.slow
def test_lost_workers_are_told_once_and_a_new_one_finishes(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "WITHOUT_WORKERS", 1)
    monkeypatch.setattr(run, "LOOK_AT_WORKERS", 0.2)
    told = []
    with local_cluster(1) as lonely:

        def lose_it(done: int, total: int) -> None:
            if done == 1 and lonely.workers:
                lonely.scale(0)

        def come_back(words: str) -> None:
            told.append(words)
            lonely.scale(1)

        outcome = run_study(
            MINE,
            tmp_path / "out",
            cluster=lonely.scheduler_address,
            progress=lose_it,
            report=come_back,
        )
    assert told == [run.NO_WORKERS]
    assert (outcome.failed, outcome.missing) == ([], 0)
    assert digests(tmp_path / "out") == digests(finished)


@pytest.mark.slow
def test_cluster_gives_the_same_bytes(cluster, finished, tmp_path):
    """Its workers have two threads each, in which cells must not disturb each other."""
    out = tmp_path / "out"
    assert told(MINE, out, cluster=cluster.scheduler_address)[-1] == (8, 8)
    assert digests(out) == digests(finished)
    assert told(MINE, out, cluster=cluster.scheduler_address) == [(8, 8)]


@pytest.mark.slow
def test_cell_that_fails_on_a_cluster_says_why(cluster, masked, tmp_path):
    (tmp_path / "one.nii.gz").unlink()
    outcome = run_study(masked, tmp_path / "out", cluster=cluster.scheduler_address)
    assert outcome.failed == [failure_path(tmp_path / "out", masked.cells[0])]
    assert "one.nii.gz" in outcome.failed[0].read_text()
    assert outcome.missing == 1


@pytest.mark.slow
def test_worker_of_a_cluster_that_is_killed_costs_nothing_but_time(cluster, finished, tmp_path):
    out, killed = tmp_path / "out", []

    def kill_a_worker(done: int, total: int) -> None:
        if done == 1:
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    outcome = run_study(MINE, out, cluster=cluster.scheduler_address, progress=kill_a_worker)
    assert killed
    assert (outcome.failed, outcome.missing) == ([], 0)
    assert digests(out) == digests(finished)


def test_address_that_is_none_is_refused_at_once_and_leaves_no_folder(tmp_path):
    for address in ("nonsense", "tcp://", "http://127.0.0.1:80", "tcp://a:b", ""):
        with pytest.raises(StudyError, match="no scheduler answers at") as error:
            run_study(study(), tmp_path / "out", cluster=address)
        assert len(str(error.value).splitlines()) == 1
        assert not (tmp_path / "out").exists()


def test_scheduler_that_does_not_answer_is_told(tmp_path, monkeypatch):
    assert run.PATIENCE <= 15
    monkeypatch.setattr(run, "PATIENCE", 0.5)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and nobody listens there
        address = f"tcp://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(StudyError, match=f"no scheduler answers at '{address}'"):
            run_study(study(), tmp_path / "out", cluster=address)
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_is_refused_before_a_folder_is_made(tmp_path):
    for how, message in (
        ({"jobs": 0}, "jobs should be 1 or more"),
        ({"share": (0, 3)}, r"from \(1, 3\) to \(3, 3\)"),
    ):
        with pytest.raises(StudyError, match=message):
            run_study(MINE, tmp_path / "out", **how)
        assert not (tmp_path / "out").exists()


def test_a_mask_that_changes_after_its_study_was_made_fails_its_cells(tmp_path):
    write_mask(tmp_path / "mask.nii.gz")
    region = {"shape": "mask", "file": "mask.nii.gz"}
    mine = Study(tiny(brain={"region": region}), str(tmp_path))
    assert mine.cells
    write_mask(tmp_path / "mask.nii.gz", at=(15, 41, 30))
    outcome = run_study(mine, tmp_path / "out", jobs=1)
    assert (len(outcome.failed), outcome.results) == (2, {})
    assert "source differs" in outcome.failed[0].read_text()
