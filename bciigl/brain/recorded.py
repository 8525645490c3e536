"""A recorded subject: real responses to each option, cut out of a labelled recording."""

import hashlib
import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel

from bciigl.base.arrays import read_arrays
from bciigl.base.errors import did_you_mean
from bciigl.base.files import written_folder
from bciigl.base.json_files import read_json
from bciigl.brain.images import read_image, write_image
from bciigl.brain.region import Region
from bciigl.brain.subject import SubjectError
from bciigl.protocol import Protocol
from bciigl.protocol.design_checks import Finding
from bciigl.protocol.model import Brain
from bciigl.protocol.recorded import ABOUT, RecordedTimes

JUDGMENTS: dict[object, str] = {True: "match", False: "mismatch"}
"""The categories of real judgments."""
FEWEST_RUNS = 2
"""Runs that each category needs, to learn from and again to test on: a trial takes two."""

_WINDOWS, _MASK = "windows.npz", "mask.nii.gz"
# All else in the section is about simulated responses.
_USED = ("subject", "responses", "reuse", "cnr", "noise")


class File(BaseModel):
    """A file that the subject was made of."""

    name: str
    sha256: str


class About(RecordedTimes):
    """What subject.json says."""

    version: Literal[1] = 1
    name: str
    lag: float  # from onset to the first frame of a window, in seconds
    runs: list[int]
    test_runs: list[int]
    categories: list[str]
    files: list[File]


@dataclass(frozen=True, eq=False)
class RecordedSubject:
    """A person's real responses, as windows of frames in SDs of their run.

    Attributes
    ----------
    about : About
        Where it comes from, and its times.
    region : Region
        The voxels.
    windows : array, (windows, frames, voxels)
        What each presentation evoked.
    category, run : array of int, (windows,)
        Of which of the categories each is, and in which run it was recorded.
    """

    about: About
    region: Region
    windows: np.ndarray
    category: np.ndarray
    run: np.ndarray

    def pool(self, category: str, session: str) -> np.ndarray:
        """Return which windows of a category a session may use: never those of the other."""
        if category not in self.about.categories:
            return np.zeros(0, int)
        tests = np.isin(self.run, self.about.test_runs)
        mine = self.category == self.about.categories.index(category)
        return np.flatnonzero(mine & (tests == (session == "test")))

    @property
    def fingerprint(self) -> str:
        """A digest of all that frames depend on."""
        digest = hashlib.sha256(self.about.model_dump_json().encode())
        arrays = (self.region.voxels, self.region.affine, self.windows, self.category, self.run)
        for array in arrays:
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def most_trials(self, protocol: Protocol, session: str) -> int:
        """Return how many trials a session can have at most if each window is used once."""
        options = sum(len(self.pool(str(each), session)) for each in protocol.task.options)
        kinds = set(protocol.task.events)
        most = options // len(kinds - {"judgment"})
        if self.about.labelled and "judgment" in kinds:
            judgments = sum(len(self.pool(each, session)) for each in JUDGMENTS.values())
            most = min(most, judgments)
        return most

    def save(self, folder: str | os.PathLike) -> None:
        """Write the subject as a new folder: subject.json, windows.npz and mask.nii.gz."""
        with written_folder(folder) as temporary:
            self.write_files(temporary)

    def write_files(self, folder: Path) -> None:
        """Write the subject's files into a folder that exists; `save` makes one."""
        about = json.dumps(self.about.model_dump(mode="json"), indent=2) + "\n"
        (folder / ABOUT).write_text(about, encoding="utf-8")
        np.savez(folder / _WINDOWS, windows=self.windows, category=self.category, run=self.run)
        mask = np.zeros(self.region.voxels.max(axis=0) + 1, np.uint8)
        mask[self.region.index] = 1
        write_image(folder / _MASK, mask, self.region.affine)


def is_recorded(folder: str | os.PathLike) -> bool:
    """Tell whether a folder holds a recorded subject, and not a fitted one."""
    path = Path(folder, ABOUT)
    if not path.is_file():
        return False
    found = read_json(path, error=SubjectError)
    return isinstance(found, dict) and found.get("kind") == "recorded"


def load_recorded(folder: str | os.PathLike) -> RecordedSubject:
    """Return the recorded subject in a folder; `SubjectError` if it is damaged."""
    folder = Path(folder)
    about = read_json(folder / ABOUT, About, error=SubjectError)
    arrays, mask = read_arrays(folder / _WINDOWS), read_image(folder / _MASK)
    region = Region(np.argwhere(mask.data > 0), mask.affine)
    found = [arrays.get(name, np.zeros(0)) for name in ("windows", "category", "run")]
    windows, category, run = found
    right = windows.dtype == np.float32 and category.dtype.kind == run.dtype.kind == "i"
    right &= windows.shape == (len(run), about.frames, len(region)) and len(run) > 0
    right &= category.shape == run.shape == (len(run),)
    if not right or not np.isfinite(windows).all() or not _counted(about, category, run):
        raise SubjectError(f"{folder}/{_WINDOWS}: does not fit {ABOUT} and {_MASK}; make it again")
    return RecordedSubject(about, region, windows, category, run)


def _counted(about: About, category: np.ndarray, run: np.ndarray) -> bool:
    known = ((category >= 0) & (category < len(about.categories))).all()
    return bool(known and set(run.tolist()) | set(about.test_runs) <= set(about.runs))


def recorded_findings(protocol: Protocol, subject: RecordedSubject) -> Iterator[Finding]:
    """Yield why a protocol cannot be run with a recorded subject."""
    data, name = protocol.model_dump(mode="json"), subject.about.name
    for field, value in subject.about.fields.items():
        section, key = field.split(".")
        if (got := data[section][key]) != value:
            words = f"is {json.dumps(value)} for the recorded subject {name}, whose frames are real"
            yield Finding((section, key), f"{words}; leave it out, got {json.dumps(got)}")
    unused = f"does not go with the recorded subject {name}, whose responses are real"
    for key, default in Brain().model_dump().items():
        if key not in _USED and getattr(protocol.brain, key) != getattr(Brain(), key):
            yield Finding(("brain", key), f"{unused}: leave it out (default {default})")
    for field in protocol.population:
        section, key, *_ = field.split(".")
        if section == "brain" and (key not in _USED or field in subject.about.fields):
            yield Finding(("population", field), f"{unused}: leave it out")
    if protocol.recording != "shared":
        yield Finding(("recording",), f"should be shared for the recorded subject {name}")
    if protocol.task.events[1:] == ("judgment",) and not subject.about.labelled:
        words = "should have perception: the recording has no judgments (match, mismatch), so one"
        yield Finding(("task", "events"), f"{words} is added to what seeing the guess evokes")
    known = [each for each in subject.about.categories if each not in _judgments(subject)]
    for place, option in enumerate(protocol.task.options):
        if str(option) not in known:
            near = did_you_mean(str(option), known)
            message = f"{option!r} is not among what {name} was shown: {', '.join(known)}{near}"
            yield Finding(("task", "options", place), message)
            return
    if not protocol.brain.reuse:
        yield from _too_many(protocol, subject)


def _judgments(subject: RecordedSubject) -> tuple[str, ...]:
    return tuple(JUDGMENTS.values()) if subject.about.labelled else ()


def _too_many(protocol: Protocol, subject: RecordedSubject) -> Iterator[Finding]:
    wanted = {"train": ("task", "trials"), "test": ("evaluation", "test_trials")}
    for session, path in wanted.items():
        got = getattr(getattr(protocol, path[0]), path[1])
        most = subject.most_trials(protocol, session)
        if got > most:
            tests = set(subject.about.test_runs)
            runs = [each for each in subject.about.runs if (each in tests) == (session == "test")]
            yield Finding(
                path,
                f"should be at most {most}, got {got}: no real response is used twice, and runs "
                f"{', '.join(map(str, runs))} have no more of these options; use fewer trials, or "
                "allow it with brain.reuse: true",
            )


def judgment_pattern(protocol: Protocol, voxels: int, rng: np.random.Generator) -> np.ndarray:
    """Return what a judged match adds to a frame, (voxels,): its RMS is `brain.cnr`."""
    drawn = rng.standard_normal(voxels)
    return drawn * protocol.brain.cnr * math.sqrt(voxels) / np.linalg.norm(drawn)
