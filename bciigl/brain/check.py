"""Checks of a protocol that need the brain: whether its subject and region exist."""

from pathlib import Path

from bciigl.base.errors import BciiglError
from bciigl.brain.recorded import is_recorded, load_recorded, recorded_findings
from bciigl.brain.region import RegionError, find_region
from bciigl.brain.subject import load_subject
from bciigl.protocol import Protocol
from bciigl.protocol.design_checks import FieldPath, Finding


def brain_findings(protocol: Protocol, folder: Path) -> list[Finding]:
    """Return why a protocol's subject or region cannot be used; empty if they can."""
    path: FieldPath = ("brain", "subject")
    try:
        if is_recorded(folder / protocol.brain.subject):
            subject = load_recorded(folder / protocol.brain.subject)
            return list(recorded_findings(protocol, subject))
        subject = load_subject(protocol.brain.subject, folder)
        path = ("brain", "region", "file")
        find_region(protocol.brain.region, subject, folder)
    except RegionError as error:
        return [Finding(("brain", "region", error.field), str(error))]
    except BciiglError as error:  # of the arrays of a recorded subject
        return [Finding(path, str(error))]
    if protocol.brain.responses == "recorded":
        words = "is for recorded subjects, but brain.subject is a simulated one; leave it out"
        return [Finding(("brain", "responses"), words)]
    return []
