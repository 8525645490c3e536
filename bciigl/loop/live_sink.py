"""How a live session is kept: a disk that is full or gone is waited for; the journal stays."""

import errno
import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bciigl.base.files import write_text
from bciigl.base.progress import silent
from bciigl.estimate import Calibration
from bciigl.loop.yoked import write_condition
from bciigl.recording.journal import Journal
from bciigl.recording.layout import ESTIMATES, JOURNAL
from bciigl.recording.sink import DatasetSink
from bciigl.recording.trial import Fault, RecordedRun, RunId, Trial


class PatientJournal(Journal):
    """A journal that waits for a disk that is full, and keeps what it could not write yet."""

    clock: Callable[[], float] = staticmethod(lambda: 0.0)
    """Returns the seconds of the run."""
    heard: Callable[[dict[str, Any]], None] = staticmethod(silent)
    """Called with each line."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.faults: list[Fault] = []
        """When it had to wait, for the log of the run."""
        self._waiting: list[dict[str, Any]] = []
        self._appending = threading.Lock()

    def append(self, entry: dict[str, Any]) -> None:
        """Write one line, or keep it until it can be written."""
        with self._appending:
            self._waiting.append(entry)
            try:
                self._flush()
            except OSError as error:
                if len(self._waiting) == 1:
                    self.wait_for(error)
        self.heard(entry)

    def wait_for(self, error: OSError) -> None:
        """Say that something is waited for, here and in the log of the run."""
        _say_that_it_waits(error)
        # Without the file's name: folders may be named after people.
        what = f"the dataset could not be written for a while: {error.strerror}"
        self.faults.append(Fault(round(max(self.clock(), 0.0), 3), None, what))

    def _flush(self) -> None:
        while self._waiting:
            super().append(self._waiting[0])
            del self._waiting[0]

    def sync(self) -> None:
        """Have the disk keep all lines."""
        with self._appending:
            patiently(self._flush)
        super().sync()


class LiveSink(DatasetSink):
    """Writes a live session; a full disk is waited for, and the journal is kept."""

    _journal: PatientJournal

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._journal.clock = self._source.elapsed
        self._put_off: list[Callable[[], Any]] = []

    def past(self, place: RunId, trials: int) -> tuple[list, bool]:
        """Return what was recorded of the next run, of which the source is told, too."""
        found = super().past(place, trials)
        self._source.past = self.lines
        self.begin_trial(place.run, len(found[0]))
        return found

    begin_trial: Callable[[int, int], None] = staticmethod(silent)
    """Called with the run, from 1, and the trial, from 0, that comes next."""

    troubles: list[str] = []
    """What went wrong with the agent: it cannot say so itself, or it could reach the source."""

    def keep(self, place: RunId, number: int, trial: Trial) -> None:
        """Write a trial to the journal."""
        while self.troubles:
            self._source.fault(self.troubles.pop(0))
        super().keep(place, number, trial)
        self.begin_trial(place.run, number + 1)

    def write(self, place: RunId, run: RecordedRun) -> None:
        """Write the files of a run; where that cannot be done at once, its log says so."""
        try:
            self._write(place, run)
        except OSError as error:
            self._journal.wait_for(error)
            patiently(lambda: self._write(place, run))
        self._journal.faults.clear()
        while self._put_off:
            patiently(self._put_off[0])
            del self._put_off[0]

    def _write(self, place: RunId, run: RecordedRun) -> None:
        self._check_folder()
        faults = sorted((*run.report.faults, *self._journal.faults), key=lambda each: each.seconds)
        super().write(place, run._replace(report=run.report._replace(faults=tuple(faults))))

    def _check_folder(self) -> None:
        """Raise an error if the folder is gone: it would be made anew, without its journal."""
        if not self._journal.path.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._folder))

    def attempt(self, write: Callable[[], Any]) -> None:
        """Write something now or, if the disk is full or gone, when the run is over."""
        try:
            self._check_folder()
            write()
        except OSError as error:
            self._journal.wait_for(error)
            self._put_off.append(write)

    def write_estimates(self, place: RunId, context: np.ndarray, feedback: np.ndarray) -> None:
        """Write what learners get of a run."""
        patiently(lambda: super(LiveSink, self).write_estimates(place, context, feedback))

    def finish(self, calibration: Calibration) -> None:
        """Write what estimates were calibrated by; the journal becomes part of the dataset."""
        path = self._folder / ESTIMATES / JOURNAL
        # Without its header: that names folders, and folders may be named after people.
        lines = patiently(self._journal.path.read_bytes).partition(b"\n")[2]
        patiently(lambda: write_text(path, lines.decode(), overwrite=True))
        condition = self._journal.header.get("live", {}).get("condition")
        patiently(lambda: write_condition(self._folder, condition))
        patiently(lambda: super(LiveSink, self).finish(calibration))


def patiently(write: Callable[[], Any]) -> Any:
    """Write something; where the disk is full or gone, wait until it can be written."""
    waiting = False
    while True:
        try:
            return write()
        except OSError as error:
            if not waiting:
                _say_that_it_waits(error)
            waiting = True
            time.sleep(1.0)


def _say_that_it_waits(error: OSError) -> None:
    logging.getLogger("bciigl").warning(
        "%s: %s; nothing is lost as long as the session runs, which waits until it can be written",
        *(error.filename, error.strerror),
    )
