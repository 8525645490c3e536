"""Real responses in a simulated task: frames of a recorded subject, drawn to fit each event."""

import logging
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from bciigl.base.errors import BciiglError
from bciigl.base.seeds import Seed, run_seed
from bciigl.brain.events import Event
from bciigl.brain.recorded import JUDGMENTS, judgment_pattern, load_recorded, recorded_findings
from bciigl.protocol import Protocol
from bciigl.protocol.recorded import caveat
from bciigl.protocol.schedule import frames_complete
from bciigl.recording.trial import RunId
from bciigl.source.interface import MISSING, OK, Frame, Source


class RecordedSource(Source):
    """A recorded subject (`brain.subject`), whose real responses answer what happens.

    Each event evokes a window of real frames, one after the other: imagination and perception of an
    option are answered by presentations of it in two different runs of the recording. The training
    session draws from the training runs alone, the test session from the test runs. No window is
    used twice in a session, unless `brain.reuse` allows it: when none is left that an event needs,
    the session ends, and all frames from then on are missing.

    Parameters
    ----------
    protocol : Protocol
        The experiment, loaded from a file, so that its times are those of the recording.
    folder : path-like, optional
        What the subject's path is relative to.
    """

    group = "semi-real"

    def __init__(self, protocol: Protocol, folder: str | os.PathLike | None = None) -> None:
        self.subject = load_recorded(Path(folder or "", protocol.brain.subject))
        for finding in recorded_findings(protocol, self.subject):
            raise BciiglError(f"{'.'.join(map(str, finding.path))}: {finding.message}")
        self.tr = protocol.timing.tr
        self.region = self.subject.region
        self.fingerprint = self.subject.fingerprint
        self.sidecar = {"SemiReal": caveat(protocol)}
        self._protocol = protocol
        rng = Seed(protocol.seed).rng("added judgment")
        self._pattern = judgment_pattern(protocol, self.n_voxels, rng)
        # The windows that each run used; None at its end where there were too few.
        self._used: dict[RunId, list[int | None]] = {}
        self._values = np.zeros((0, self.n_voxels), np.float32)
        self._next = 0

    def begin_run(self, session: str, run: int, frames: int, *, elapsed: float = 0.0) -> None:
        """Begin a run, with the windows that runs of the session before it have left."""
        self._place = RunId(session, run)
        self._used[self._place] = []
        self._before = [
            each
            for (name, number), windows in self._used.items()
            if name == session and number < run
            for each in windows
        ]
        self._rng = run_seed(self._protocol.seed, session, run).rng("windows")
        self._values = np.full((frames, self.n_voxels), np.nan, np.float32)
        self._next, self._imagined_in = 0, -1

    def skip_run(self, session: str, run: int, frames: int, events: Iterable[Event]) -> None:
        """Find out which windows a run used that was recorded before."""
        self.begin_run(session, run, frames)
        for event in events:
            self.announce(event)

    def announce(self, event: Event) -> None:
        """Draw the window that an event evokes, or add a judgment to what is seen."""
        first = frames_complete(event.onset, self.tr)
        frames = slice(first, first + self.subject.about.frames)
        if event.kind == "judgment" and not self.subject.about.labelled:
            if event.content:
                self._values[frames] += self._pattern.astype(np.float32)
            return
        content = JUDGMENTS[event.content] if event.kind == "judgment" else str(event.content)
        window = self._draw(content, -1 if event.kind == "imagination" else self._imagined_in)
        if window is None:
            return
        self._values[frames] = self.subject.windows[window]
        if event.kind == "imagination":
            self._imagined_in = int(self.subject.run[window])

    def _draw(self, category: str, not_in: int) -> int | None:
        """Return a window of a category that is not of a run; None when there is none any more."""
        mine = self._used[self._place]
        used = [each for each in (*self._before, *mine) if each is not None]
        if len(used) < len(self._before) + len(mine):
            return None
        pool = self.subject.pool(category, self._place.session)
        pool = pool[self.subject.run[pool] != not_in]
        left = pool[~np.isin(pool, used)]
        if not len(left) and self._protocol.brain.reuse:
            left = pool
        if not len(left):
            self._say_that_it_ends(category)
            mine.append(None)
            return None
        mine.append(int(self._rng.choice(left)))
        return mine[-1]

    def _say_that_it_ends(self, category: str) -> None:
        session, run = self._place
        logging.getLogger("bciigl").warning(
            "the %s session ends in run %d: no real response to %s is left that was not used (use "
            "fewer trials, or allow it with brain.reuse: true)",
            *(session, run, category),
        )

    def read(self, stop: int) -> list[Frame]:
        """Return the frames before `stop` that have not been read yet."""
        first, self._next = self._next, max(self._next, min(stop, len(self._values)))
        frames = []
        for index in range(first, self._next):
            values, time = self._values[index].astype(float), (index + 1) * self.tr
            there = bool(np.isfinite(values).all())
            found = (values, time, time, OK) if there else (None, time, time, MISSING)
            frames.append(Frame(index, *found))
        return frames

    def elapsed(self) -> float:
        """Return the seconds from the beginning of the run to the end of the last frame read."""
        return self._next * self.tr
