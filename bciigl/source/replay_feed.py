"""An old session's volumes, played into a new one as they came then."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bciigl.base.errors import BciiglError
from bciigl.brain.events import Event
from bciigl.brain.region import Region
from bciigl.protocol import Protocol
from bciigl.recording import Dataset
from bciigl.source.display import Display, Line, Planned
from bciigl.source.interface import Frame
from bciigl.source.live import MISSED, Arrival, LiveSource
from bciigl.source.replay import RecordedPerson
from bciigl.source.volume_feed import VolumeFeed, digest
from bciigl.source.volumes import Volume, VolumeError, VolumeReader, is_volume_name


class ReplayFeed(VolumeFeed):
    """Gives the volumes that a session took, read again from their files, when it got them.

    Parameters
    ----------
    folder : path-like
        Where the volumes are.
    lines : sequence of dict
        The session's journal.
    protocol, region, reference
        As in `VolumeFeed`.
    """

    def __init__(
        self,
        folder: Path,
        lines: Sequence[Line],
        protocol: Protocol,
        region: Region,
        reference: Volume | None,
    ) -> None:
        super().__init__(protocol, region, reference)
        self._folder, self._lines = folder, lines
        self._to_come: list[tuple[float, Arrival]] = []

    def begin_run(self, session: str, run: int, past: Sequence[Line]) -> None:
        """Read all volumes of a run; there is no past, as replays are not resumed."""
        known = self._known((session, run))
        count, reader, self._to_come = len(known), VolumeReader(), []
        for path in sorted(self._folder.rglob("*")):
            try:
                wanted = path.is_file() and is_volume_name(path.name)
                volumes = reader.read(path) if wanted else []
            except VolumeError:
                continue
            for volume in volumes:
                seconds, number = known.pop(digest(volume), (0.0, None))
                if number is None:
                    continue
                if (self._region.voxels.max(axis=0) >= volume.data.shape).any():
                    raise BciiglError("the region is not of these volumes: give --region as then")
                arrival = self._arrival(volume, number, series="", changed=0)
                if arrival is not None:
                    self._to_come.append((seconds, arrival))
        if count and len(known) == count:
            raise BciiglError(f"{self._folder}: has none of the {count} volumes of run {run}")
        self._to_come.sort(key=lambda each: each[0])

    def _known(self, place: tuple[str, int]) -> dict[str, tuple[float, int]]:
        """Return when each volume of a run is expected at the earliest, and its number, from 0."""
        found, missed = {}, set()
        live, tr = self._protocol.live, self._protocol.timing.tr
        for line in self._lines:
            if (line["session"], line["run"]) != place:
                continue
            if line.get("fault") == MISSED:
                missed.add(line["number"])
            elif "volume" in line:
                number = line["volume"] + live.dummies
                # One that was not missed was there when it was needed, however slow it was.
                late = number + 1 in missed
                when = line["arrived"] + live.deadline * tr if late else (line["volume"] + 1) * tr
                found[line["data"]] = when, number
        return found

    def expect(self, seconds: float) -> None:
        """Give the volumes that were there when the session waited until a time of the run."""
        while self._to_come and self._to_come[0][0] <= seconds:
            self.take(self._to_come.pop(0)[1])

    def close(self) -> None:
        """Do nothing: there is no thread."""


class ReplayedVolumes(LiveSource):
    """A live source of an old session, with its person: the guesses shown are those of then."""

    feed: ReplayFeed

    def __init__(self, dataset: Dataset, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._dataset = dataset

    def participant(self, session: str, run: int, trials: int) -> RecordedPerson:
        """Return the person of the recording."""
        return RecordedPerson(self._dataset, session, run, trials)

    def read(self, stop: int) -> list[Frame]:
        """Return the frames before `stop`, as far as they had come then."""
        self.feed.expect((stop + self.protocol.live.deadline) * self.tr)
        return super().read(stop)

    def _left(self, *_: float) -> float:
        """Wait for nothing: what is expected comes at once."""
        return 0.0


class ReplayDisplay(Display):
    """Says that events were seen when they were: a recorded person's are planned at that time."""

    def show(self, event: Event, latest: float) -> None:
        """Show nothing."""

    def onset(self, planned: Planned) -> float | None:
        """Return when an event was seen; None if it was not."""
        return planned[1] if planned[1] == planned[1] else None

    def close(self) -> None:
        """Do nothing."""
