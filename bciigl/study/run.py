"""Running the cells of a study: in processes here, or on a cluster; what is finished is kept."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joblib import cpu_count

from bciigl.base.progress import Notify, Progress, silent
from bciigl.study.grid import StudyError
from bciigl.study.kinds import AnyCell, AnyStudy, kind_of
from bciigl.study.store import (
    Results,
    checked,
    failure_path,
    keep_failure,
    keep_result,
    prepare_folder,
)

if TYPE_CHECKING:
    from distributed import Client

Found = dict[str, Any] | str
"""The result of a cell, or the traceback of why it failed."""
Run = Callable[[Sequence[AnyCell]], Iterator[tuple[AnyCell, Found]]]
"""Runs cells, and yields each when it is done with what was found."""
# Seconds to wait for a scheduler to answer.
PATIENCE = 10


@dataclass(frozen=True)
class Outcome:
    """What has come of a study.

    Attributes
    ----------
    results : dict
        Of the finished cells, by key.
    failed : list of Path
        Where it is written why cells failed.
    missing : int
        How many cells are not finished, failed ones included.
    """

    results: Results
    failed: list[Path]
    missing: int


def run_study(
    study: AnyStudy,
    out: str | os.PathLike,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    share: tuple[int, int] | None = None,
    progress: Progress = silent,
    report: Notify = silent,
) -> Outcome:
    """Run the cells of a study that are not finished yet.

    Results do not depend on who runs which cell when. A cell that fails does not stop the others.

    Parameters
    ----------
    study : Study or LabelledStudy
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
        Told if a cluster has no workers yet.

    Raises
    ------
    StudyError
        If the folder is of another study, a file in it is damaged, or the scheduler cannot be
        reached.
    """
    if jobs is not None and jobs < 1:
        raise StudyError(f"jobs should be 1 or more, got {jobs}")
    part, parts = share or (1, 1)
    if not 1 <= part <= parts:
        raise StudyError(f"share should be from (1, {parts}) to ({parts}, {parts}), got {share}")
    cells = study.cells[part - 1 :: parts]
    with _workers(jobs or cpu_count(), cluster, report) as run:
        results = prepare_folder(study, out)
        waiting = [cell for cell in cells if cell.key not in results]
        done = len(cells) - len(waiting)
        progress(done, len(cells))
        failed = []
        for cell, found in run(waiting) if waiting else ():
            try:
                if isinstance(found, str):
                    raise StudyError(found)
                results[cell.key] = result = checked(cell, found)
                keep_result(out, cell, result)
            except StudyError as error:
                keep_failure(out, cell, f"{error}\n")
                failed.append(failure_path(out, cell))
            done += 1
            progress(done, len(cells))
    missing = sum(cell.key not in results for cell in study.cells)
    return Outcome(results, failed, missing)


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
        if not client.scheduler_info()["workers"]:
            report("the scheduler has no workers yet: waiting for them")
        yield partial(_on_cluster, client)


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


def _on_cluster(client: Client, cells: Sequence[AnyCell]) -> Iterator[tuple[AnyCell, Found]]:
    from distributed import as_completed

    futures = [client.submit(attempt, cell, key=f"bciigl-{cell.key}", pure=False) for cell in cells]
    cell_of = {future.key: cell for future, cell in zip(futures, cells, strict=True)}
    for future in as_completed(futures, loop=client.loop):
        if future.cancelled():
            raise StudyError("the scheduler was lost; what is finished is kept: run it again")
        error = future.exception()
        failure = "".join(traceback.format_exception(error)) if error else None
        yield cell_of[future.key], failure or future.result()
        future.release()


def attempt(cell: AnyCell) -> Found:
    """Run a cell; return its result, or the traceback of why it failed."""
    try:
        return kind_of(cell).run(cell)
    except Exception:
        return traceback.format_exc()


def _attempt_in_worker(place: int, cell: AnyCell) -> tuple[int, Found]:
    # Ctrl-C reaches all processes of a terminal; the one that was called decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return place, attempt(cell)
