"""Running the cells of a study: in processes here, or on a cluster; what is finished is kept."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joblib import cpu_count

from bciigl.base.progress import Notify, Progress, silent
from bciigl.study import store
from bciigl.study.example import keep_example
from bciigl.study.grid import Study, StudyError
from bciigl.study.store import AnyCell, AnyStudy, Results

if TYPE_CHECKING:
    from distributed import Client

Found = dict[str, Any] | str
"""The result of a cell, or the traceback of why it failed."""
Run = Callable[[Sequence[AnyCell]], Iterator[tuple[AnyCell, Found]]]
"""Runs cells, and yields each when it is done with what was found."""
# Seconds to wait for a scheduler to answer, and for a worker to come back before that is told.
PATIENCE, WITHOUT_WORKERS = 10, 5
# Seconds between two looks at what a cluster has finished, and at whether it has workers.
LOOK, LOOK_AT_WORKERS = 0.05, 1
NO_WORKERS = "no workers are left: waiting for one; what is finished is kept"


@dataclass(frozen=True)
class Outcome:
    """What has come of a study: finished cells by key, why others failed, what is missing, rows."""

    results: Results
    failed: list[Path]
    missing: int
    rows: list[Any]


def run_study(
    study: AnyStudy,
    out: str | os.PathLike,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    share: tuple[int, int] | None = None,
    progress: Progress = silent,
    report: Notify = silent,
    seen: Callable[[Results], None] = silent,
) -> Outcome:
    """Run the cells of a study that are not finished yet.

    Results do not depend on who runs which cell when. A cell that fails does not stop the others.
    At the end the table of what is finished is kept in ``results.json``, and one simulated session
    in ``example``, for the report.

    Parameters
    ----------
    study : Study, or LabelledStudy
    out : path-like
        A folder that is absent or empty, or that of the same study: finished cells are not run
        again.
    jobs : int, optional
        How many processes to use; by default one for each core.
    cluster : str, optional
        The address of a dask scheduler, such as ``tcp://10.0.0.1:8786``, whose workers are used
        instead.
    share : (int, int), optional
        Run only the share ``i`` of ``n``, counted from 1, such as in a job array.
    progress : function, optional
        Called with how many cells are done, and how many there are.
    report : function, optional
        Told if a cluster has no workers, or has lost them all.
    seen : function, optional
        Called with all results so far, by key, whenever there is another one.
    """
    if jobs is not None and jobs < 1:
        raise StudyError(f"jobs should be 1 or more, got {jobs}")
    part, parts = share or (1, 1)
    if not 1 <= part <= parts:
        raise StudyError(f"share should be from (1, {parts}) to ({parts}, {parts}), got {share}")
    cells = study.cells[part - 1 :: parts]
    with _workers(jobs or cpu_count(), cluster, report) as run:
        results = store.prepare_folder(study, out)
        try:
            failed = _run_all(cells, results, out, run, progress, seen)
        except BaseException:
            # So that there is a report of what is finished, however it was stopped.
            _add_up(study, out, results)
            raise
    if parts > 1:
        results = store.read_results(study, out)  # others may have finished meanwhile
    missing = sum(cell.key not in results for cell in study.cells)
    rows = _add_up(study, out, results)
    if isinstance(study, Study) and not (parts > 1 and missing):
        keep_example(study, out, results, report)
    return Outcome(results, failed, missing, rows)


def _run_all(
    cells: Sequence[AnyCell],
    results: Results,
    out: str | os.PathLike,
    run: Run,
    progress: Progress,
    seen: Callable[[Results], None],
) -> list[Path]:
    """Run the cells that have no results, and add theirs; return where it is written who failed."""
    waiting, failed = [cell for cell in cells if cell.key not in results], []
    done = len(cells) - len(waiting)
    progress(done, len(cells))
    for cell, found in run(waiting) if waiting else ():
        try:
            if isinstance(found, str):
                raise StudyError(found)
            results[cell.key] = result = store.checked(cell, found)
            store.keep_result(out, cell, result)
        except StudyError as error:
            failed.append(store.keep_failure(out, cell, f"{error}\n"))
        else:
            seen(results)
        done += 1
        progress(done, len(cells))
    return failed


def _add_up(study: AnyStudy, out: str | os.PathLike, results: Results) -> list[Any]:
    rows = list(study.rows(results)) if results else []
    if rows:
        store.keep_rows(out, results, rows)
    return rows


@contextmanager
def _workers(jobs: int, cluster: str | None, report: Notify) -> Iterator[Run]:
    """Give what runs cells: processes here, or the workers of a scheduler once it has answered."""
    if cluster is None:
        yield partial(_in_processes, jobs)
        return
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise StudyError("a cluster needs dask: install bciigl with its extra dask") from None
    try:
        get_address_host_port(cluster)
        client = Client(cluster, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise StudyError(f"no scheduler answers at {cluster!r} ({error})") from None
    with client:
        if not client.nthreads():
            report("the scheduler has no workers yet: waiting for them")
        yield partial(_on_cluster, client, report)


def _in_processes(jobs: int, cells: Sequence[AnyCell]) -> Iterator[tuple[AnyCell, Found]]:
    if jobs == 1:
        yield from ((cell, attempt(cell)) for cell in cells)
        return
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    workers = Parallel(jobs, return_as="generator_unordered", batch_size=1)
    with _interrupts_ignored():  # so that workers begin deaf to them: importing takes a while
        done = workers(delayed(_attempt_in_worker)(place, cell) for place, cell in enumerate(cells))
    try:
        for place, found in done:
            yield cells[place], found
    except TerminatedWorkerError:
        raise StudyError(
            "a worker was killed, perhaps because memory ran out; what is finished is kept: run "
            "it again, with fewer jobs"
        ) from None


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # they reach the main thread alone
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _on_cluster(
    client: Client, report: Notify, cells: Sequence[AnyCell]
) -> Iterator[tuple[AnyCell, Found]]:
    from distributed import as_completed

    futures = [client.submit(attempt, cell, key=f"bciigl-{cell.key}", pure=False) for cell in cells]
    cell_of = {future.key: cell for future, cell in zip(futures, cells, strict=True)}
    done, watch = as_completed(futures, loop=client.loop), _watched(client, report)
    while not done.is_empty():
        if not done.has_ready():
            time.sleep(LOOK)
            next(watch)
            continue
        future = next(done)
        if future.cancelled():
            raise StudyError("the scheduler was lost; what is finished is kept: run it again")
        error = future.exception()
        failure = "".join(traceback.format_exception(error)) if error else None
        yield cell_of[future.key], failure or future.result()
        future.release()


def _watched(client: Client, report: Notify) -> Iterator[None]:
    """Tell, once per loss, that a cluster has lost its workers; to be called again and again."""
    # That there are none at the beginning has been told.
    looked, gone, told = time.monotonic(), None, not client.nthreads()
    while True:
        now = time.monotonic()
        if now - looked >= LOOK_AT_WORKERS and client.status == "running":
            looked = now
            if client.nthreads():
                gone, told = None, False
            elif gone is None:
                gone = now
            if gone is not None and not told and now - gone >= WITHOUT_WORKERS:
                told = True
                report(NO_WORKERS)
        yield


def attempt(cell: AnyCell) -> Found:
    """Return the result of a cell, or the traceback of why it failed."""
    try:
        return cell.run()
    except Exception:
        return traceback.format_exc()


def _attempt_in_worker(place: int, cell: AnyCell) -> tuple[int, Found]:
    # Ctrl-C reaches all processes of a terminal; the one that was called decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return place, attempt(cell)
