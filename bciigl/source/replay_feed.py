"""An old session's volumes, played into a new one as they came then."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bciigl.brain.events import Event
from bciigl.brain.region import Region
from bciigl.protocol import Protocol
from bciigl.recording import Dataset
from bciigl.source.display import Display, Line, Planned
from bciigl.source.live import Arrival, LiveSource
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
        """Read all volumes of a run."""
        mine = [each for each in self._lines if (each["session"], each["run"]) == (session, run)]
        arrived = {
            each["data"]: (each["arrived"], each["volume"]) for each in mine if "volume" in each
        }
        for each in past:
            arrived.pop(each.get("data"), None)
        reader, self._to_come = VolumeReader(), []
        for path in sorted(self._folder.rglob("*")):
            try:
                wanted = path.is_file() and is_volume_name(path.name)
                volumes = reader.read(path) if wanted else []
            except VolumeError:
                continue
            for volume in volumes:
                seconds, index = arrived.pop(digest(volume), (None, None))
                if seconds is None:
                    continue
                number = index + self._protocol.live.dummies
                arrival = self._arrival(volume, number, series="", changed=0)
                if arrival is not None:
                    self._to_come.append((seconds, arrival))
        self._to_come.sort(key=lambda each: each[0])

    def expect(self, seconds: float) -> None:
        """Give the volumes that had come by a time of the run."""
        while self._to_come and self._to_come[0][0] <= seconds:
            self.take(self._to_come.pop(0)[1])

    def close(self) -> None:
        """Do nothing: there is no thread."""


class ReplayedVolumes(LiveSource):
    """A live source of an old session, with its person: the guesses shown are those of then."""

    def __init__(self, dataset: Dataset, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._dataset = dataset

    def participant(self, session: str, run: int, trials: int) -> RecordedPerson:
        """Return the person of the recording."""
        return RecordedPerson(self._dataset, session, run, trials)


class ReplayDisplay(Display):
    """Says that events were seen when they were: a recorded person's are planned at that time."""

    def show(self, event: Event, latest: float) -> None:
        """Show nothing."""

    def onset(self, planned: Planned) -> float | None:
        """Return when an event was seen; None if it was not."""
        return planned[1] if planned[1] == planned[1] else None

    def close(self) -> None:
        """Do nothing."""
