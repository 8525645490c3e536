"""A scanner that loses frames: every fiftieth, and a whole trial's at the beginning of run 1."""

from bciigl.base.registry import Specification
from bciigl.source import Frame, SimulatedSource


class LossySource(SimulatedSource):
    """The simulated brain behind a bad network."""

    def begin_run(self, session, run, frames, *, elapsed=0.0):
        """Begin a run, and decide which of its frames will be lost."""
        super().begin_run(session, run, frames, elapsed=elapsed)
        self._lost = set(range(25, frames, 50)) | set(range(8, 26) if run == 1 else ())

    def read(self, stop):
        """Return the frames before `stop`, lost ones marked."""
        return [
            Frame(each.index, None, each.acquired, each.arrived, "missing")
            if each.index in self._lost
            else each
            for each in super().read(stop)
        ]


LOSSY = Specification("lossy", LossySource, "scanner that loses frames", "with lost frames")
