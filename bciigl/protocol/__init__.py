"""What is the experiment? Protocols: their model, their files, their checks."""

from bciigl.protocol.load import (
    CheckReport,
    Problem,
    ProtocolError,
    check,
    dump,
    find,
    load,
    parse_change,
    shipped,
)
from bciigl.protocol.model import Protocol
from bciigl.protocol.population import draw

__all__ = [
    "CheckReport",
    "Problem",
    "Protocol",
    "ProtocolError",
    "check",
    "draw",
    "dump",
    "find",
    "load",
    "parse_change",
    "shipped",
]
