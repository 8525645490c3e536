"""Checks of a protocol that need the brain: whether its subject and region exist."""

from pathlib import Path

from bciigl.brain.images import ImageError
from bciigl.brain.region import RegionError, find_region
from bciigl.brain.subject import SubjectError, load_subject
from bciigl.protocol import Protocol
from bciigl.protocol.design_checks import FieldPath, Finding


def brain_findings(protocol: Protocol, folder: Path) -> list[Finding]:
    """Return why a protocol's subject or region cannot be used; empty if they can."""
    path: FieldPath = ("brain", "subject")
    try:
        subject = load_subject(protocol.brain.subject, folder)
        path = ("brain", "region", "file")
        find_region(protocol.brain.region, subject, folder)
    except RegionError as error:
        return [Finding(("brain", "region", error.field), str(error))]
    except (SubjectError, ImageError) as error:
        return [Finding(path, str(error))]
    return []
