"""Frames of a simulated brain, which answers what happens to it."""

import os

import numpy as np

from bciigl.base.errors import BciiglError
from bciigl.base.registry import Specification
from bciigl.brain import Brain, Event, Scanner
from bciigl.protocol import Protocol
from bciigl.protocol.schedule import session_trials, trials_per_run
from bciigl.source.interface import Frame, Source
from bciigl.source.recorded import RecordedSource


class SimulatedSource(Source):
    """The brain that a protocol describes, simulated; its paths are relative to `folder`."""

    group = "simulated"

    def __init__(self, protocol: Protocol, folder: str | os.PathLike | None = None) -> None:
        self.brain = Brain(protocol, folder)
        self.tr = protocol.timing.tr
        self.region = self.brain.region
        self.fingerprint = self.brain.fingerprint
        self.sidecar = {"Manufacturer": "simulated", "NoiseWeight": protocol.brain.noise}
        self._scanner: Scanner | None = None

    def begin_run(self, session: str, run: int, frames: int, *, elapsed: float = 0.0) -> None:
        """Begin a run; its noise is that of the protocol's seed."""
        protocol = self.brain.protocol
        trials = trials_per_run(protocol, session_trials(protocol)[session])[run - 1]
        self._scanner = self.brain.scan(session, run, trials=trials)

    def announce(self, event: Event) -> None:
        """Let the brain respond to an event."""
        self._running.announce(event)

    def read(self, stop: int) -> list[Frame]:
        """Return the frames before `stop` that have not been read yet."""
        scanner = self._running
        first = scanner.taken
        # Rounded to 32 bits, as recordings keep them: what is estimated now is what would be
        # estimated from the recording.
        values = scanner.until(stop * self.tr).astype(np.float32).astype(float)
        return [
            Frame(index, each, (index + 1) * self.tr, (index + 1) * self.tr)
            for index, each in enumerate(values, start=first)
        ]

    def elapsed(self) -> float:
        """Return the seconds from the beginning of the run to the end of the last frame read."""
        return 0.0 if self._scanner is None else self._scanner.time

    @property
    def _running(self) -> Scanner:
        if self._scanner is None:
            raise BciiglError("no run has begun; call begin_run first")
        return self._scanner


def brain_source(protocol: Protocol, folder: str | os.PathLike | None = None) -> Source:
    """Return the source of the brain that a protocol describes: a simulated or a recorded one."""
    recorded = protocol.brain.responses == "recorded"
    return (RecordedSource if recorded else SimulatedSource)(protocol, folder)


SIMULATED = Specification("simulated", brain_source, "simulated brain", "by the model of fmrisim")
