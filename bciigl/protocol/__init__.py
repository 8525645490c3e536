"""What is the experiment? Protocols: their model, their files, their checks."""

from bciigl.protocol.load import (
    Problem,
    ProtocolError,
    Report,
    check,
    dump,
    find,
    load,
    parse_change,
    shipped,
)
from bciigl.protocol.model import Protocol

__all__ = [
    "Problem",
    "Protocol",
    "ProtocolError",
    "Report",
    "check",
    "dump",
    "find",
    "load",
    "parse_change",
    "shipped",
]
