"""What a recorded subject fixes of a protocol: its frames are real, so their times are given."""

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from bciigl.base.errors import BciiglError
from bciigl.base.json_files import read_json
from bciigl.protocol.model import Protocol

ABOUT = "subject.json"


class RecordedTimes(BaseModel):
    """What subject.json of a recorded subject says about times; all else is the brain's."""

    kind: Literal["recorded"]
    tr: float = Field(ge=0.1, le=10)
    frames: int = Field(ge=1, le=1000)  # of a window, which is what an event evokes
    labelled: bool  # whether there are real judgments

    @property
    def fields(self) -> dict[str, Any]:
        """The values of a protocol's fields that follow."""
        return {
            "timing.tr": self.tr,
            "timing.event": round(self.frames * self.tr, 6),
            "timing.isi": 0.0,
            "timing.together": not self.labelled,
            "timing.decision": None,
            "timing.latency": 0.0,
            "timing.frame_lag": 0.0,
            "timing.burn_in": 0.0,
            "timing.cool_down": 0.0,
            "estimate.method": "window",
            "brain.responses": "recorded",
            "brain.noise": 1.0,
            "study.noise": [1.0],
        }


def fixed_fields(data: Any, folder: Path) -> dict[str, Any]:
    """Return the fields that the subject of a protocol, as plain data, fixes, with their values.

    There are none unless `brain.subject` is a recorded subject; its path is relative to `folder`.
    """
    brain = data.get("brain") if isinstance(data, dict) else None
    name = brain.get("subject") if isinstance(brain, dict) else None
    try:
        if not isinstance(name, str) or not (folder / name / ABOUT).is_file():
            return {}
        return read_json(folder / name / ABOUT, RecordedTimes).fields
    except (BciiglError, OSError, ValueError):  # it is another kind of subject, or says why later
        return {}


def caveat(protocol: Protocol) -> str:
    """Return what every output must say about a recorded subject; empty for a simulated one."""
    if protocol.brain.responses != "recorded":
        return ""
    parts = ["semi-real: real responses, simulated task"]
    if "judgment" in protocol.task.events:
        strength = f"{protocol.brain.cnr:g} noise SDs"
        added = f"judgments of a match are an added pattern of {strength} (RMS over voxels)"
        parts.append(added if protocol.timing.together else "judgments are real responses, too")
    parts.append(f"real responses are used {'again' if protocol.brain.reuse else 'once'}")
    return "; ".join(parts)
