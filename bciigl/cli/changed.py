"""A protocol as commands take it: a file or a name, with changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bciigl.cli.output import warn

if TYPE_CHECKING:
    from bciigl.protocol import Protocol


def protocol_of(source: str, changes: dict[str, Any]) -> Protocol:
    """Return the protocol with its changes; warnings go to standard error."""
    from bciigl.brain.check import brain_findings
    from bciigl.protocol import ProtocolError, check

    report = check(source, brain_findings, changes)
    if report.protocol is None:
        raise ProtocolError(report.problems)
    for warning in report.warnings:
        warn(str(warning))
    return report.protocol
