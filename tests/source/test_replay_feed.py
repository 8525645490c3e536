"""An old session's volumes, played again: each is given when it was there, and not before."""

import math
import threading

import numpy as np
import pytest
from recordings import REGION, small

from bciigl.base.errors import BciiglError
from bciigl.brain.events import Event
from bciigl.source.live import MISSED
from bciigl.source.replay_feed import ReplayDisplay, ReplayedVolumes, ReplayFeed
from bciigl.source.volume_feed import digest
from bciigl.source.volumes import VolumeReader, write_nifti_volume

LONG = 60.0
"""Seconds that no test waits for unless it fails."""
SHAPE, TR, LENGTH = (6, 7, 10), 1.5, 12


def data_of(index: int) -> np.ndarray:
    """Return the voxels of a volume, which no other has."""
    return np.random.default_rng(index + 1).uniform(100, 200, SHAPE).astype(np.float32)


class Recorded:
    """The volumes of an old run, and its journal."""

    def __init__(self, folder, dummies: int = 0) -> None:
        self.folder, self.dummies, self.lines = folder / "volumes", dummies, []
        self.folder.mkdir()

    def volume(self, index: int, arrived: float, name: str | None = None) -> None:
        """Have a volume arrive at a time, in TRs; names count from 0, without dummies."""
        path = self.folder / (name or f"bold_{index:04}.nii")
        path.parent.mkdir(exist_ok=True)
        write_nifti_volume(path, data_of(index), REGION.affine, TR, 0.0)
        (volume,) = VolumeReader().read(path)
        self.line(volume=index, arrived=arrived * TR, data=digest(volume), values="")

    def miss(self, index: int) -> None:
        """Have a volume be missing when it was needed."""
        self.line(fault=MISSED, number=index + self.dummies + 1, seconds=0.0)

    def line(self, run: int = 1, **line: object) -> None:
        """Write a line to the journal."""
        self.lines.append({"session": "train", "run": run, **line})

    def source(self, begun: bool = True) -> ReplayedVolumes:
        """Return the session that is played again."""
        protocol = small(live={"realign": False, "dummies": self.dummies})
        feed = ReplayFeed(self.folder, self.lines, protocol, REGION, None)
        source = ReplayedVolumes(
            *(None, protocol, REGION, feed, lambda keep, elapsed: ReplayDisplay(keep)), speed=1000.0
        )
        if begun:
            source.begin_run("train", 1, LENGTH)
        return source


@pytest.fixture
def old(tmp_path):
    """Give a run whose volumes are to be told."""
    return Recorded(tmp_path)


def read(source: ReplayedVolumes, stop: int) -> list[tuple[int, str]]:
    """Return which frames are given, and how; it must not wait for any."""
    found = []
    thread = threading.Thread(target=lambda: found.extend(source.read(stop)), daemon=True)
    thread.start()
    thread.join(LONG)
    assert not thread.is_alive()
    for frame in found:
        if frame.values is not None:
            np.testing.assert_array_equal(frame.values, data_of(frame.index)[REGION.index])
    return [(each.index, each.status) for each in found]


def ok(*indices: int) -> list[tuple[int, str]]:
    return [(index, "ok") for index in indices]


@pytest.mark.parametrize("dummies", [0, 3])
def test_volumes_are_given_as_the_journal_counts_them(tmp_path, dummies):
    old = Recorded(tmp_path, dummies)
    for index in range(LENGTH):
        old.volume(index, index + 1.1)
    source = old.source()
    assert read(source, 5) == ok(*range(5))
    assert read(source, LENGTH) == ok(*range(5, LENGTH))
    assert source.report().faults == ()


def test_names_and_folders_do_not_matter(old):
    for index in range(3):
        old.volume(index, index + 1.1, name=f"{'cba'[index]}/{index:04}.nii")
    (old.folder / "a" / "broken.nii").write_bytes(b"no volume")
    (old.folder / "notes.txt").write_text("no volume")
    write_nifti_volume(old.folder / "other.nii", data_of(99), REGION.affine, TR, 0.0)
    assert read(old.source(), 3) == ok(0, 1, 2)


def test_late_volume_is_missing_first_as_it_was(old):
    for index in (0, 1, 3, 4, 5):
        old.volume(index, index + 1.1)
    old.miss(2)
    old.volume(2, 6.5)  # a decision was made at 6, without it
    for index in range(6, LENGTH):
        old.volume(index, index + 1.1)
    source = old.source()
    assert read(source, 6) == [*ok(0, 1), (2, "missing"), *ok(3, 4, 5)]
    assert read(source, 8) == [(2, "late"), *ok(6, 7)]


def test_volumes_that_were_waited_for_are_there(old):
    """The slowest of transfers held up the session, and no volume was lost."""
    for index in range(LENGTH):
        old.volume(index, index + 6)
    source = old.source()
    assert read(source, 5) == ok(*range(5))
    assert read(source, LENGTH) == ok(*range(5, LENGTH))


def test_volumes_that_are_not_there_any_more_are_missing(old):
    for index in range(LENGTH):
        old.volume(index, index + 1.1)
    for index in (0, 4, 11):
        (old.folder / f"bold_{index:04}.nii").unlink()
    found = read(old.source(), LENGTH)
    assert [index for index, status in found if status == "missing"] == [0, 4, 11]


def test_folder_without_any_of_them_is_refused(old):
    for index in range(LENGTH):
        old.volume(index, index + 1.1)
        (old.folder / f"bold_{index:04}.nii").unlink()
    with pytest.raises(BciiglError, match=f"{old.folder}: has none of the 12 volumes of run 1"):
        old.source()


def test_run_in_which_no_volume_came_is_played_too(old):
    assert read(old.source(), 2) == [(0, "missing"), (1, "missing")]


def test_runs_are_told_apart(old):
    old.volume(0, 1.1)
    old.lines[-1]["run"] = 2
    old.volume(1, 2.1)
    source = old.source()
    assert read(source, 2) == [(0, "missing"), (1, "ok")]
    source.report()
    source.begin_run("train", 2, LENGTH)
    assert read(source, 2) == [(0, "ok"), (1, "missing")]
    source.close()


def test_events_were_seen_when_the_recorded_person_saw_them(old):
    source = old.source()
    event = Event("imagination", 3.25, None)
    source.announce(event)
    assert source.onset(event) == 3.25
    assert source.onset(event._replace(onset=math.nan)) is None
