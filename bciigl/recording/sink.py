"""Where a session goes while it runs: to memory, or to a dataset that survives a crash."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from bciigl.base.files import remove_unfinished
from bciigl.protocol import Protocol
from bciigl.recording.bids import write_description, write_run
from bciigl.recording.dataset import session_of_runs
from bciigl.recording.journal import Journal, JournalError
from bciigl.recording.trial import RecordedRun, RunId, Trial
from bciigl.recording.truth import Session


@dataclass
class MemorySink:
    """Keeps runs in memory."""

    runs: dict[RunId, RecordedRun] = field(default_factory=dict)

    def past(self, place: RunId, trials: int) -> tuple[list[Trial], bool]:
        """Return that nothing was recorded before."""
        return [], False

    def keep(self, place: RunId, number: int, trial: Trial) -> None:
        """Do nothing: trials come with their run."""

    def write(self, place: RunId, run: RecordedRun) -> None:
        """Keep a run."""
        # Frames are as large as all else together, and nobody needs them any more.
        self.runs[place] = run._replace(frames={})

    def finish(self) -> None:
        """Do nothing."""

    def sessions(self, protocol: Protocol) -> dict[str, Session]:
        """Return what happened in each session."""
        runs: dict[str, dict[int, RecordedRun]] = {}
        for place, run in self.runs.items():
            runs.setdefault(place.session, {})[place.run] = run
        return {name: session_of_runs(protocol, mine) for name, mine in runs.items()}


class DatasetSink:
    """Writes a BIDS dataset run by run, and every trial to a journal before the next begins."""

    def __init__(self, journal: Journal, protocol: Protocol, source: Any) -> None:
        self._folder, self._journal = journal.path.parent, journal
        self._protocol, self._source = protocol, source
        remove_unfinished(self._folder)
        write_description(self._folder, protocol, source.region, source.group)
        self._known = _known(journal)
        self._digests: dict[str, str] | None = None

    def past(self, place: RunId, trials: int) -> tuple[list[Trial], bool]:
        """Return what was recorded of the next run, and whether its files are whole and intact."""
        known, past, self._digests = next(self._known, (None, [], None))
        fits = len(past) == trials if self._digests is not None else len(past) <= trials
        if known not in (None, place) or not fits:
            raise JournalError(f"{self._journal.path}: its runs are not in order")
        paths = {self._folder / name: each for name, each in (self._digests or {}).items()}
        intact = all(path.is_file() and _digest(path) == each for path, each in paths.items())
        return past, self._digests is not None and intact

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

    def finish(self) -> None:
        """Delete the journal: the dataset is complete."""
        self._journal.remove()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _known(journal: Journal) -> Iterator[tuple[RunId, list[Trial], dict[str, str] | None]]:
    """Yield what the journal has, run by run: trials, and digests of its files if they are written.

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
            yield place, trials, lines[-1].get("written")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise JournalError(f"{journal.path}: is not a journal of a session") from error
