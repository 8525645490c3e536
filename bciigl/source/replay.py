"""Frames of a recorded dataset, played back: what was estimated online can be computed again."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bciigl.base.errors import BciiglError
from bciigl.base.registry import Specification
from bciigl.brain.images import read_image
from bciigl.brain.region import Region
from bciigl.protocol import Protocol
from bciigl.protocol.schedule import series
from bciigl.recording import Dataset
from bciigl.recording.layout import MASK
from bciigl.recording.trial import KeyPress, Shown
from bciigl.recording.truth import Truth
from bciigl.source.interface import MISSING, OK, Frame, Participant, Source


class ReplaySource(Source):
    """A recorded session, with its frames, its guesses and, if it is known, its truth.

    Frames that the recording lacks or marks as missing are missing again. The guesses shown are
    those recorded: an agent only observes.

    Parameters
    ----------
    protocol : Protocol
        The experiment that was recorded. `source.path` is the folder of the dataset: one of
        bciigl, or another BIDS dataset with the same sessions, runs and event columns.
    folder : path-like, optional
        What that path is relative to.
    """

    group = "replayed"

    def __init__(self, protocol: Protocol, folder: str | os.PathLike | None = None) -> None:
        if protocol.source.path is None:
            raise BciiglError("source.path: should be the folder of the dataset to play back")
        if len(series(protocol)) > 1:
            raise BciiglError("a replay has one series of frames: use recording: shared")
        self.tr = protocol.timing.tr
        self._dataset = Dataset(Path(folder or "", protocol.source.path), protocol)
        self.region = _region(self._dataset)
        self._values: np.ndarray = np.zeros((0, self.n_voxels))
        self._next = self._length = 0

    def begin_run(self, session: str, run: int, frames: int, *, elapsed: float = 0.0) -> None:
        """Begin a run that was recorded."""
        self._values = np.asarray(self._dataset.frames(session, run, self.region))
        self._next, self._length = 0, frames

    def read(self, stop: int) -> list[Frame]:
        """Return the frames before `stop` that have not been read yet."""
        first, self._next = self._next, max(self._next, min(stop, self._length))
        frames = []
        for index in range(first, self._next):
            rows, time = self._values[index : index + 1], (index + 1) * self.tr
            there = len(rows) and np.isfinite(rows).all()
            values, status = (rows[0], OK) if there else (None, MISSING)
            frames.append(Frame(index, values, time, time, status))
        return frames

    def elapsed(self) -> float:
        """Return the seconds from the beginning of the run to the end of the last frame read."""
        return self._next * self.tr

    def participant(self, session: str, run: int, trials: int) -> "RecordedPerson":
        """Return the person of the recording."""
        return RecordedPerson(self._dataset, session, run, trials)


class RecordedPerson(Participant):
    """The participant of a recorded run: what was shown is known, and perhaps what was true."""

    def __init__(self, dataset: Dataset, session: str, run: int, trials: int) -> None:
        super().__init__(dataset.protocol, trials, session, run)
        self.when = dataset.timetable(session, run)
        self._shown = dataset.shown(session, run)
        self._truth = dataset.run_truth(session, run)
        self._keys = dataset.keys(session, run)
        if len(self._shown) != trials:
            raise BciiglError(
                f"{dataset.folder}: run {run} of ses-{session} has {len(self._shown)} trials, "
                f"but the protocol plans {trials}"
            )

    def shown(self, trial: int) -> Shown:
        """Return the guess that was shown."""
        return self._shown[trial]

    def key(self, trial: int, guess: int) -> KeyPress | None:
        """Return the key that was pressed."""
        return self._keys[trial] if self._keys else None

    def truth(self, actions: Sequence[int]) -> Truth | None:
        """Return what was true, if the recording has it."""
        return self._truth


def _region(dataset: Dataset) -> Region:
    """Return the voxels of a recording: those of its mask, or all that vary."""
    if (dataset.folder / MASK).exists():
        return dataset.region
    path = dataset.bold("train", 1)
    image = read_image(path)
    if image.data.ndim != 4:
        raise BciiglError(f"{path}: should be a series of volumes")
    return Region(np.argwhere(np.ptp(np.nan_to_num(image.data), axis=3) > 0), image.affine)


REPLAY = Specification("replay", ReplaySource, "recording, played back", "from a recording")
