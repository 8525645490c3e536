"""Tiny labelled recordings, as files, and protocols whose subject is made of one."""

from pathlib import Path

import nibabel
import numpy as np

from bciigl.brain.from_recording import subject_from_recording
from bciigl.brain.recorded import RecordedSubject
from bciigl.protocol import Protocol, load

TR, RUNS, BLOCK = 2.0, 6, 5
OPTIONS = ("a", "b", "c")
SHAPE = (3, 3, 2)


def write_recording(
    folder: Path, *, kinds=OPTIONS, runs: int = RUNS, seed: int = 0
) -> tuple[list[Path], list[Path]]:
    """Write runs in which each kind is shown once for a block; the first voxel never changes."""
    rng = np.random.default_rng(seed)
    patterns = {kind: rng.standard_normal(SHAPE) for kind in kinds}
    bold, events = [], []
    for run in range(1, runs + 1):
        frames = 2 * BLOCK * len(kinds) + 4
        data = 500 + rng.standard_normal((*SHAPE, frames))
        rows = ["onset\tduration\ttrial_type"]
        for place, kind in enumerate(rng.permutation(kinds)):
            first = 1 + 2 * BLOCK * place
            data[..., first + 2 : first + 2 + BLOCK] += 3 + 3 * patterns[kind][..., None]
            rows.append(f"{first * TR:g}\t{BLOCK * TR:g}\t{kind}")
        data[0, 0, 0] = 100
        bold.append(folder / f"run-{run}_bold.nii.gz")
        events.append(folder / f"run-{run}_events.tsv")
        save(bold[-1], data)
        events[-1].write_text("\n".join(rows) + "\n")
    return bold, events


def save(path: Path, data: np.ndarray, tr: float = TR) -> None:
    """Write a 4-D image."""
    image = nibabel.Nifti1Image(data.astype(np.float32), np.diag([3.0, 3.0, 3.0, 1.0]))
    image.header.set_xyzt_units("mm", "sec")
    image.header.set_zooms((3.0, 3.0, 3.0, tr))
    nibabel.save(image, path)


def make_subject(folder: Path, *, kinds=OPTIONS, **how) -> RecordedSubject:
    """Write a recording and the subject of it, which is called anna."""
    made = subject_from_recording(
        *write_recording(folder, kinds=kinds), name="anna", **{"lag": 4.0, "voxels": 8, **how}
    )
    made.save(folder / "anna")
    return made


def semi_real(folder: Path, changes=None, **how) -> Protocol:
    """Return a protocol whose subject is anna, in a file of its folder."""
    text = (
        "name: semi\ntask: {options: [a, b, c], trials: 10, trials_per_run: 4}\n"
        "evaluation: {test_trials: 5}\nbrain: {subject: anna}\ntiming: {tr: 1.5, isi: 8}\n"
    )
    (folder / "semi.yaml").write_text(text)
    return load(folder / "semi.yaml", changes=changes, **how)
