"""Rehearsals in one process: a simulated scanner in a thread, a live session in the test."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bciigl.loop.live import record_live
from bciigl.loop.scanner import SimulatedScanner
from bciigl.protocol import Protocol, load
from bciigl.source.channel import ADDRESS_FILE

SPEED = 200.0
SHORT = {
    "task.trials": 4,
    "task.trials_per_run": 2,
    "evaluation.test_trials": 1,
    "brain.region.size": 2,
    "timing.isi": 3.0,
    "live.realign": False,
    "seed": 7,
}


def short(**changes: object) -> Protocol:
    """Return an experiment of two runs of two trials, in a region of eight voxels."""
    given = {name.replace("__", "."): value for name, value in changes.items()}
    return load("number_guessing", changes=SHORT | given)


@contextmanager
def scanning(
    protocol: Protocol, folder: Path, kind: str = "nifti", **how
) -> Iterator[threading.Thread]:
    """Let a simulated scanner serve in a thread, and wait for it in the end."""
    scanner = SimulatedScanner(protocol, folder, kind, **{"speed": SPEED, **how})
    thread = threading.Thread(target=scanner.serve, daemon=True)
    thread.start()
    while not (folder / ADDRESS_FILE).exists():
        thread.join(0.01)
    yield thread
    thread.join(30.0)
    assert not thread.is_alive(), "the scanner does not end"


def rehearse(protocol: Protocol, root: Path, kind: str = "nifti", **how) -> Path:
    """Return the folder of a rehearsed session; its volumes are in root / "volumes"."""
    with scanning(protocol, root / "volumes", kind, **how):
        record_live(protocol, root / "volumes", root / "out")
    return root / "out"
