"""Where a session goes while it runs: to memory, or to a dataset that survives a crash."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from bciigl.base.files import remove_unfinished
from bciigl.estimate import Calibration
from bciigl.protocol import Protocol
from bciigl.protocol.timetable import Timetable
from bciigl.recording.bids import write_description, write_estimates, write_run
from bciigl.recording.calibration import write_calibration
from bciigl.recording.dataset import Dataset, joined_session
from bciigl.recording.journal import Journal, JournalError
from bciigl.recording.layout import CALIBRATION, ESTIMATES
from bciigl.recording.trial import (
    NOT_ESTIMATED,
    Frames,
    RecordedRun,
    RunId,
    Shown,
    Trial,
    run_arrays,
)
from bciigl.recording.truth import Session


@dataclass
class MemorySink:
    """Keeps runs in memory."""

    runs: dict[RunId, RecordedRun] = field(default_factory=dict)
    estimates: dict[RunId, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    whitening: np.ndarray | None = None

    def past(self, place: RunId, trials: int) -> tuple[list[Trial], bool]:
        """Return that nothing was recorded before."""
        return [], False

    decided: ClassVar[Mapping[int, tuple[np.ndarray, Shown]]] = MappingProxyType({})
    """Guesses that were decided on in trials that had not ended: none."""

    def decide(self, place: RunId, number: int, context: np.ndarray, shown: Shown) -> None:
        """Do nothing: guesses come with their run."""

    def keep(self, place: RunId, number: int, trial: Trial) -> None:
        """Do nothing: trials come with their run."""

    def write(self, place: RunId, run: RecordedRun) -> None:
        """Keep a run."""
        self.runs[place] = run

    def frames(self, place: RunId) -> Frames:
        """Return the frames of a run that has no final estimates yet."""
        return self.runs[place].frames

    def when(self, place: RunId) -> Timetable | None:
        """Return the times of a run."""
        return self.runs[place].when

    def write_estimates(self, place: RunId, context: np.ndarray, feedback: np.ndarray) -> None:
        """Keep what learners get of a run."""
        self.estimates[place] = context, feedback
        # Frames are as large as all else together, and nobody needs them any more.
        self.runs[place] = self.runs[place]._replace(frames={})

    def finish(self, calibration: Calibration) -> None:
        """Keep what estimates were made with."""
        self.whitening = calibration.whitening

    def sessions(self, protocol: Protocol) -> dict[str, Session]:
        """Return what happened in each session."""
        found = {}
        for name in dict.fromkeys(place.session for place in self.runs):
            runs = {place: run for place, run in self.runs.items() if place.session == name}
            arrays = {
                place.run: run_arrays(run.trials, *self.estimates[place])
                for place, run in runs.items()
            }
            truths = [each.truth for each in runs.values()]
            found[name] = joined_session(protocol, arrays, truths, self.whitening)
        return found


class DatasetSink:
    """Writes a BIDS dataset run by run, and every trial to a journal before the next begins."""

    def __init__(self, journal: Journal, protocol: Protocol, source: Any) -> None:
        self._folder, self._journal = journal.path.parent, journal
        self._protocol, self._source = protocol, source
        self._dataset = Dataset(self._folder, protocol)
        remove_unfinished(self._folder)
        write_description(self._folder, protocol, source.region, source.group)
        self._known = _known(journal)
        self._digests: dict[str, str] | None = None
        self.lines: list[dict[str, Any]] = []
        """What the journal has of the present run, from before it was resumed."""

    def past(self, place: RunId, trials: int) -> tuple[list[Trial], bool]:
        """Return what was recorded of the next run, and whether its files are whole and intact."""
        known, past, self.lines = next(self._known, (None, [], []))
        self._digests = self.lines[-1].get("written") if self.lines else None
        fits = len(past) == trials if self._digests is not None else len(past) <= trials
        if known not in (None, place) or not fits:
            raise JournalError(f"{self._journal.path}: its runs are not in order")
        paths = {self._folder / name: each for name, each in (self._digests or {}).items()}
        intact = all(path.is_file() and _digest(path) == each for path, each in paths.items())
        return past, self._digests is not None and intact

    def frames(self, place: RunId) -> Frames:
        """Return the frames of a run whose files are whole."""
        return self._dataset.frames(*place)

    def when(self, place: RunId) -> Timetable:
        """Return the times of a run whose files are whole."""
        return self._dataset.timetable(*place)

    @property
    def decided(self) -> dict[int, tuple[np.ndarray, Shown]]:
        """Contexts and guesses that were decided on in the present run before it was resumed."""
        found = {}
        for line in self.lines:
            if "decision" in line:
                trial = Trial.from_dict(line | {"feedback": []})
                found[line["decision"]] = trial.context, trial.shown
        return found

    def decide(self, place: RunId, number: int, context: np.ndarray, shown: Shown) -> None:
        """Write a guess to the journal, before it is shown."""
        line = Trial(context, *shown, NOT_ESTIMATED).as_dict()
        self._journal.append({**place._asdict(), "decision": number, **line})

    def keep(self, place: RunId, number: int, trial: Trial) -> None:
        """Write a trial to the journal; when this returns, the program may be killed."""
        self._journal.append({**place._asdict(), "trial": number, **trial.as_dict()})

    def write(self, place: RunId, run: RecordedRun) -> None:
        """Write the files of a run."""
        region, sidecar = self._source.region, self._source.sidecar
        written = write_run(self._folder, self._protocol, region, place, run, sidecar)
        if self._digests is None:
            digests = {str(path.relative_to(self._folder)): _digest(path) for path in written}
            self._journal.append({**place._asdict(), "written": digests})
            self._journal.sync()

    def write_estimates(self, place: RunId, context: np.ndarray, feedback: np.ndarray) -> None:
        """Write what learners get of a run."""
        write_estimates(self._folder, self._protocol, place, context, feedback)

    def finish(self, calibration: Calibration) -> None:
        """Write what estimates were calibrated by, and delete the journal: all is complete."""
        write_calibration(self._folder / ESTIMATES / CALIBRATION, calibration)
        self._journal.remove()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _known(journal: Journal) -> Iterator[tuple[RunId, list[Trial], list[dict[str, Any]]]]:
    """Yield what the journal has, run by run: trials, and all lines.

    Each run is read to its end, and one line further, before anything is appended to it; so what is
    appended is not taken for the past.
    """
    try:
        entries = journal.entries()
        for place, group in groupby(entries, lambda each: RunId(each["session"], each["run"])):
            lines = list(group)
            trials = [Trial.from_dict(each) for each in lines if "trial" in each]
            numbers = [each["trial"] for each in lines if "trial" in each]
            if numbers != list(range(len(trials))):
                raise JournalError(f"{journal.path}: its trials are not in order")
            yield place, trials, lines
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise JournalError(f"{journal.path}: is not a journal of a session") from error
