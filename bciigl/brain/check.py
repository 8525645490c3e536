"""Checks of a protocol that need the brain: whether its subject and region exist."""

from pathlib import Path
from typing import Any

from bciigl.base.errors import BciiglError
from bciigl.brain.recorded import is_recorded, load_recorded, recorded_findings
from bciigl.brain.region import RegionError, describe, find_region
from bciigl.brain.subject import load_subject
from bciigl.protocol import Protocol
from bciigl.protocol.design_checks import FieldPath, Finding


def brain_findings(protocol: Protocol, folder: Path) -> list[Finding]:
    """Return why a protocol's subject or region cannot be used; empty if they can."""
    path: FieldPath = ("brain", "subject")
    try:
        if is_recorded(folder / protocol.brain.subject):
            recorded = load_recorded(folder / protocol.brain.subject)
            return list(recorded_findings(protocol, recorded))
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


def region_facts(protocol: Protocol, folder: Path) -> dict[str, Any]:
    """Return the shape, size and place of the region of a protocol that can be used."""
    settings = protocol.brain
    if is_recorded(folder / settings.subject):
        return {"shape": "recorded", **describe(load_recorded(folder / settings.subject).region)}
    subject = load_subject(settings.subject, folder)
    region = find_region(settings.region, subject, folder)
    return {"shape": settings.region.shape, **describe(region, subject.registration)}
