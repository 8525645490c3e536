"""Where the files of a dataset are, and tables in them.

The names follow the Brain Imaging Data Structure (BIDS). What is estimated from the recording is in
one derivative dataset; the truth, which no agent and no label-free learner may see, in another.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bciigl.base import tables
from bciigl.base.errors import BciiglError
from bciigl.base.files import write_text
from bciigl.protocol import Protocol
from bciigl.protocol.schedule import run_count, session_trials

SUBJECT = "sub-01"
ESTIMATES = Path("derivatives", "bciigl")
TRUTH = Path("derivatives", "truth")
DESCRIPTION = "dataset_description.json"
JOURNAL = "journal.txt"
PROTOCOL = ESTIMATES / "protocol.yaml"
POLICY = ESTIMATES / "policy"
CALIBRATION = "calibration.npz"
CONFOUNDS = "desc-confounds_timeseries.tsv"
MOVEMENT = tuple(f"{kind}_{axis}" for kind in ("trans", "rot") for axis in "xyz")
"""Columns of the head's movement: mm and radians."""
NOTHING = "n/a"
"""What tables have where there is nothing."""
MASK = ESTIMATES / SUBJECT / "func" / f"{SUBJECT}_desc-region_mask.nii.gz"


class DatasetError(BciiglError):
    """What is wrong with a recorded dataset."""


def is_finished(folder: Path) -> bool:
    """Tell whether a folder holds a whole dataset: its description comes before all runs."""
    return (folder / DESCRIPTION).exists() and not (folder / JOURNAL).exists()


def task_label(protocol: Protocol) -> str:
    """Return the task's name as BIDS has it in file names: letters and digits alone."""
    return re.sub("[^A-Za-z0-9]", "", protocol.name)


def run_stem(protocol: Protocol, session: str, run: int, series: str = "") -> Path:
    """Return the path of the files of a run, from 1, in a dataset, without their endings."""
    digits = max(2, len(str(run_count(protocol, session_trials(protocol)[session]))))
    parts = [SUBJECT, f"ses-{session}", f"task-{task_label(protocol)}"]
    parts += [f"acq-{series}"] if series else []
    parts += [f"run-{run:0{digits}}"]
    return Path(SUBJECT, f"ses-{session}", "func", "_".join(parts))


def beside(root: Path, stem: Path, ending: str) -> Path:
    """Return the path of a file that belongs to a run."""
    return root / stem.parent / f"{stem.name}_{ending}"


def write_table(path: Path, columns: Mapping[str, Sequence[str]]) -> None:
    """Write columns of text as tab-separated values."""
    rows = [tuple(columns), *zip(*columns.values(), strict=True)]
    write_text(path, "".join("\t".join(row) + "\n" for row in rows), overwrite=True)


def read_table(path: Path, columns: Sequence[str]) -> dict[str, list[str]]:
    """Return some columns of a table as text."""
    return tables.read_table(path, columns, error=DatasetError)


def words(truths: Iterable[bool]) -> list[str]:
    """Return true and false as a table has them."""
    return ["true" if each else "false" for each in truths]
