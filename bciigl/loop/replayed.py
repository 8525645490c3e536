"""An old live session, played again from its volumes: it must come out as it did."""

import os
from contextlib import closing
from pathlib import Path

from bciigl.base.errors import BciiglError
from bciigl.base.json_files import parse_json
from bciigl.base.progress import Progress, silent
from bciigl.loop.agent import Agent
from bciigl.loop.live import given_reference, read_reference, region_of
from bciigl.loop.live_sink import LiveSink, PatientJournal
from bciigl.loop.session import session_runs
from bciigl.recording import Dataset, open_dataset
from bciigl.recording.layout import ESTIMATES, JOURNAL
from bciigl.source.display import Line
from bciigl.source.replay_feed import ReplayDisplay, ReplayedVolumes, ReplayFeed

SPEED = 1000.0
"""How many times as fast as a scanner: nobody waits for volumes that never came."""


def replay_live(
    recorded: str | os.PathLike,
    volumes: str | os.PathLike,
    out: str | os.PathLike,
    *,
    region: str | os.PathLike | None = None,
    folder: str | os.PathLike | None = None,
    progress: Progress = silent,
) -> None:
    """Play the volumes of an old live session again, and record what comes of it.

    They are read and realigned anew, and given when they had arrived; guesses and the times of
    events are those of then. Contexts are the same as they were.

    Parameters
    ----------
    recorded : path-like
        The dataset of that session.
    volumes : path-like
        The folder of its volumes.
    out : path-like
        A folder that is absent or empty.
    region, folder, progress
        As in `bciigl.loop.live.record_live`.
    """
    dataset = open_dataset(recorded)
    protocol, place = dataset.protocol, region_of(dataset.protocol, region, folder)[0]
    reference = read_reference(recorded) or given_reference(region)
    feed = ReplayFeed(Path(volumes), _journal(dataset), protocol, place, reference)
    source = ReplayedVolumes(
        *(dataset, protocol, place, feed, lambda keep, elapsed: ReplayDisplay(keep)),
        group="replayed",
        speed=SPEED,
    )
    header = {"protocol": protocol.model_dump(mode="json"), "replayed": True}
    with closing(PatientJournal.create(Path(os.path.abspath(out)), header)) as journal:
        sink, agent = LiveSink(journal, protocol, source), Agent(len(protocol.task.options))
        for _ in session_runs(protocol, source, agent, sink, ("train",), progress=progress):
            pass


def _journal(dataset: Dataset) -> list[Line]:
    path = dataset.folder / ESTIMATES / JOURNAL
    if not path.exists():
        raise BciiglError(f"{dataset.folder}: has no {ESTIMATES / JOURNAL}: it was not live")
    lines = [parse_json(line.partition(" ")[2]) for line in path.read_text().splitlines()]
    if any("volume" in line and "data" not in line for line in lines):
        raise BciiglError(f"{dataset.folder}: came over LSL: there are no volumes to read again")
    return lines
