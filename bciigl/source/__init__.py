"""Where do frames come from? From a simulated brain, a recording, or what a package adds."""

from bciigl.source.interface import Frame, Source, make_source
from bciigl.source.paced import PacedSource
from bciigl.source.recorded import RecordedSource
from bciigl.source.replay import ReplaySource
from bciigl.source.simulated import SimulatedSource

__all__ = [
    "Frame",
    "PacedSource",
    "RecordedSource",
    "ReplaySource",
    "SimulatedSource",
    "Source",
    "make_source",
]
