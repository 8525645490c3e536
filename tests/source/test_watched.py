"""A source that is watched gives the same, and tells what happened but not what it was about."""

import numpy as np
import pytest
from recordings import Losing, small

from bciigl.brain.events import Event
from bciigl.loop import record
from bciigl.protocol.timetable import timetable
from bciigl.source import SimulatedSource
from bciigl.source.interface import Source
from bciigl.source.watched import WatchedSource
from bciigl.testing import check_source

MINE = small(brain={"region": {"size": 2}}, estimate="frame")
LENGTH = 20
LOST = {("train", 1, 3): "missing", ("train", 1, 4): "corrupt", ("train", 1, 5): "late"}
EVENTS = (Event("imagination", 3.0, "c"), Event("judgment", 7.6, True))


class Watched:
    """A watched source in its first run, with what it told."""

    def __init__(self, source: Source) -> None:
        self.lines = []
        self.source = WatchedSource(source, self.lines.append)
        self.source.begin_run("train", 1, LENGTH)

    def about(self, name: str) -> list:
        """Return what lines have under a name."""
        return [line[name] for line in self.lines if name in line]


def test_frames_and_all_else_are_the_other_source_s():
    check_source(WatchedSource(SimulatedSource(MINE), [].append), MINE)
    plain, watched = Losing(MINE, lost=LOST), Watched(Losing(MINE, lost=LOST))
    plain.begin_run("train", 1, LENGTH)
    for stop in (1, 7, 7, LENGTH):
        for ours, theirs in zip(watched.source.read(stop), plain.read(stop), strict=True):
            np.testing.assert_array_equal(ours.values, theirs.values)
            assert ours._replace(values=None) == theirs._replace(values=None)
        assert watched.source.elapsed() == plain.elapsed()
    names = ("tr", "group", "sidecar", "fingerprint", "repeatable", "n_voxels", "left_out")
    for name in names:
        assert getattr(watched.source, name) == getattr(plain, name)
    assert watched.source.participant("train", 1, 4) is None
    assert watched.source.report() == plain.report()


def test_every_frame_is_told_and_those_that_are_lost_as_faults():
    watched = Watched(Losing(MINE, lost=LOST))
    frames = watched.source.read(LENGTH)
    assert watched.lines[0] == {"session": "train", "run": 1, "begun": True}
    assert watched.about("volume") == [each for each in range(LENGTH) if each not in (3, 4)]
    assert [line["number"] for line in watched.lines if "fault" in line] == [4, 5]
    assert set(watched.about("fault")) == {"missing when it was needed"}
    late = [line["volume"] for line in watched.lines if line.get("late")]
    assert late == [5]
    for line in watched.lines:
        if "volume" in line:
            np.testing.assert_array_equal(line["values"], frames[line["volume"]].values)


def test_events_are_told_when_they_happen_without_what_they_are_about():
    watched = Watched(SimulatedSource(MINE))
    for each in EVENTS:
        watched.source.announce(each)
    watched.source.read(2)
    assert watched.about("shown") == ["imagination"]  # which is at the end of the second frame
    watched.source.read(5)
    assert watched.about("shown") == ["imagination"]
    watched.source.read(6)
    told = [line for line in watched.lines if "shown" in line]
    assert told == [
        {"session": "train", "run": 1, "shown": kind, "planned": onset, "onset": onset}
        for kind, onset, _ in EVENTS
    ]
    # What has not happened when a run ends is of no other run.
    watched.source.announce(Event("perception", 100.0, "b"))
    watched.source.begin_run("train", 2, LENGTH)
    watched.source.read(LENGTH)
    assert len(watched.about("shown")) == 2


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Give the folders of a session with and without somebody who watches, and what they heard."""
    root, lines = tmp_path_factory.mktemp("watched"), []
    record(MINE, root / "alone")
    record(MINE, root / "watched", line=lines.append)
    return root / "alone", root / "watched", lines


def test_a_session_that_is_watched_is_recorded_as_any_other(recorded):
    alone, watched, _ = recorded
    for path in alone.rglob("*.*"):
        assert path.read_bytes() == (watched / path.relative_to(alone)).read_bytes(), path.name


def test_all_of_a_session_is_told_and_nothing_that_is_true(recorded):
    *_, lines = recorded
    for session, runs in (("train", (4, 3)), ("test", (3,))):
        for run, trials in enumerate(runs, start=1):
            mine = [each for each in lines if (each["session"], each["run"]) == (session, run)]
            when = timetable(MINE, trials, session, run)
            count = lambda name, mine=mine: sum(name in each for each in mine)  # noqa: E731
            assert count("begun") == count("written") == 1
            assert count("volume") == when.frames(MINE.timing.tr)
            assert count("shown") == 3 * trials
            assert count("decision") == count("trial") == trials
    names = {name for line in lines for name in line}
    assert names == {
        *("session", "run", "begun", "written", "volume", "values", "movement", "arrived", "late"),
        *("shown", "planned", "onset", "decision", "trial"),
        *("context", "action", "propensity", "explored", "catch", "feedback"),
    }
