"""Live sessions for tests: of a participant, of a simulated person, and made-up ones."""

import threading
from pathlib import Path

import numpy as np
from recordings import REGION, made_up_estimates, made_up_run, places, small

from bciigl.loop.live import Watching, record_live
from bciigl.loop.scanner import SimulatedScanner
from bciigl.protocol import Protocol
from bciigl.recording import Dataset, open_dataset
from bciigl.recording.bids import write_description, write_estimates, write_run
from bciigl.recording.trial import Fault, RecordedRun, RunReport, Trial

SHORT = {"tr": 0.2, "event": 0.1, "isi": 0.1, "burn_in": 0.3, "frame_lag": 0.0}
"""Times of events in a session that takes as long as it says."""


def short(**sections) -> Protocol:
    """Return an experiment of two runs that is over in a few seconds of real time."""
    return small(
        timing={**SHORT, **sections.pop("timing", {})},
        task={"trials": 6, "trials_per_run": 3, **sections.pop("task", {})},
        brain={"region": {"size": 2}},
        live={"realign": False, **sections.pop("live", {})},
        **{"estimate": "frame", "learners": ["ai_igl", "cb"], **sections},
    )


def record_participant(protocol: Protocol, folder: Path, **how) -> Dataset:
    """Record volumes that nobody says are simulated, in real time."""
    volumes = folder / "volumes"
    scanner = SimulatedScanner(protocol, volumes)
    volumes.mkdir()
    thread = threading.Thread(target=scanner.serve, kwargs={"alone": True}, daemon=True)
    # Files that were there before are of no session.
    watching = Watching(begin=lambda source: thread.start())
    record_live(protocol, volumes, folder / "out", watching=watching, **how)
    thread.join(60)
    return open_dataset(folder / "out")


def write_live(folder: Path, protocol: Protocol, group: str = "participant") -> Dataset:
    """Write a live dataset that nobody recorded: in each run a volume is missing, and one late."""
    folder.mkdir(parents=True)
    write_description(folder, protocol, REGION, group)
    rng = np.random.default_rng(0)
    for place, trials in places(protocol).items():
        if place.session == "train":
            run = live_run(protocol, trials, rng)
            write_run(folder, protocol, REGION, place, run)
            write_estimates(folder, protocol, place, *made_up_estimates(run))
    return open_dataset(folder)


def live_run(protocol: Protocol, trials: int, rng: np.random.Generator) -> RecordedRun:
    """Return a run of noise; its second volume is missing, its third late, and its head moves."""
    run, tr = made_up_run(protocol, trials, rng), protocol.timing.tr
    arrived = {index: (index + 1.1) * tr for index in range(len(run.frames)) if index != 1}
    arrived[2] += 2 * tr
    moves = np.cumsum(np.full((len(run.frames), 6), [0.1, 0, 0, 0.002, 0, 0]), axis=0)
    moves[1] = np.nan
    report = RunReport(arrived, moves, (Fault(1.0, 2, "missing when it was needed"),))
    done = [each._replace(catch=False, propensity=1 / 3) for each in run.trials[:-1]]
    done.append(Trial.missed(len(REGION)))
    status = {1: "missing", 2: "late"}
    return run._replace(trials=done, truth=None, status=status, report=report)
