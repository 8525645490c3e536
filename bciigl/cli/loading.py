"""How commands get their protocols: checked against the brain, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from bciigl.protocol import Protocol
    from bciigl.protocol.science import Finding


def brain_findings(protocol: Protocol, folder: Path) -> list[Finding]:
    """Return what is wrong with a protocol's subject and region."""
    # Imported only once a file has passed all other checks: it takes a second.
    from bciigl.brain.check import brain_findings

    return brain_findings(protocol, folder)
