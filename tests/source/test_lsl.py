"""LSL: region vectors arrive as they were sent, on this machine alone; what is wrong is told."""

import os
import queue
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from live_recordings import short

from bciigl.base.errors import BciiglError
from bciigl.brain.region import Region
from bciigl.loop import record
from bciigl.loop.live import Watching, record_live
from bciigl.loop.scanner import SimulatedScanner
from bciigl.recording import open_dataset
from bciigl.recording.trial import RunId
from bciigl.source.channel import ADDRESS_FILE
from bciigl.source.lsl import KIND, LslFeed, check_stream, load_pylsl, lsl_writer

pylsl = pytest.importorskip("pylsl")
VOXELS = 3
WAIT = 20.0
"""Seconds after which a test has failed; a sample takes a millisecond."""


@pytest.fixture
def name() -> str:
    return f"test {uuid.uuid4()}"


def outlet(name: str, voxels: int = VOXELS, kind: str = KIND):
    """Return a stream as a site may send it."""
    load_pylsl()
    return pylsl.StreamOutlet(pylsl.StreamInfo(name, kind, 2 + voxels, 0.5, "float32", name))


class Heard:
    """What a feed tells, in order."""

    def __init__(self, feed: LslFeed) -> None:
        self.feed, self._queue = feed, queue.Queue()
        feed.take = self._queue.put
        feed.fault = lambda *fault: self._queue.put(fault)

    def begin_run(self, past=()) -> None:
        """Begin a run, or resume it."""
        self.feed.begin_run("train", 1, past)

    def next(self):
        """Return the next volume, or what is wrong."""
        return self._queue.get(timeout=WAIT)


@contextmanager
def hearing(name: str, **how) -> Iterator[Heard]:
    """Listen to a stream."""
    feed = LslFeed(name, VOXELS, **how)
    yield Heard(feed)
    feed.close()
    assert not feed._thread.is_alive()


def send(stream, run: float, number: float, values=(1.0, 2.0, 3.0), acquired: float = 0.0) -> None:
    assert stream.wait_for_consumers(WAIT)
    stream.push_sample([run, number, *values], acquired)


def test_volumes_arrive_to_the_last_bit_whichever_are_lost(name):
    rng, stream = np.random.default_rng(0), outlet(name)
    with hearing(name) as heard:
        heard.begin_run()
        for number in (1, 2, 5, 4, 4):
            values = rng.standard_normal(VOXELS).astype(np.float32)
            send(stream, 1, number, values, acquired=100.0 + number)
            arrival = heard.next()
            assert arrival.number == number - 1
            np.testing.assert_array_equal(arrival.values, values)
            assert (arrival.movement, arrival.acquired) == (None, 100.0 + number)
            assert arrival.about == {"series": "run 1"}


def test_a_new_run_number_is_a_new_series_and_one_of_a_run_before_is_not(name):
    stream = outlet(name)
    with hearing(name, old={"run 1"}) as heard:
        heard.begin_run()
        send(stream, 1, 9)
        assert heard.next() == ("is of another series", 9)
        send(stream, 2, 1)
        assert heard.next().about == {"series": "run 2"}
        send(stream, 3, 1)
        assert heard.next() == ("is of another series", 1)
        heard.feed.end_run()
        send(stream, 2, 2)  # the scanner goes on for a while
        send(stream, 3, 2)
        heard.begin_run()
        assert heard.next() == ("is of another series", 2)
        arrival = heard.next()
        assert (arrival.number, arrival.about) == (1, {"series": "run 3"})


def test_a_run_that_is_resumed_takes_the_rest_of_its_series(name):
    stream = outlet(name)
    with hearing(name) as heard:
        heard.begin_run([{"zero": 0.0}, {"volume": 0, "series": "run 2"}])
        send(stream, 1, 50)
        assert heard.next() == ("is of another series", 50)
        send(stream, 2, 50)
        assert heard.next().number == 49


def test_a_session_does_not_join_a_run_in_its_middle_unless_it_is_resumed(name):
    stream = outlet(name)
    with hearing(name, dummies=2) as heard:
        heard.begin_run()
        send(stream, 1, 23)
        assert heard.next() == ("is of a series that was begun before", 23)
        send(stream, 1, 22)  # the first ones may be lost
        assert heard.next().number == 21
        heard.begin_run([{"zero": 0.0}])
        send(stream, 2, 23)
        assert heard.next().number == 22


@pytest.mark.parametrize("number", [0, -1, 1.5, np.nan, np.inf, 2.0**25])
def test_a_volume_without_a_number_or_a_run_is_told_of(name, number):
    stream = outlet(name)
    with hearing(name) as heard:
        heard.begin_run()
        send(stream, 1, number)
        assert heard.next() == ("has no number, or no run", None)
        send(stream, number, 1)
        assert heard.next() == ("has no number, or no run", 1)
        send(stream, 1, 1, [1.0, np.nan, 3.0])
        assert heard.next() == ("has values that are not finite", 1)
        send(stream, 1, 1)
        assert heard.next().number == 0


def test_another_number_of_voxels_is_told_of(name):
    stream = outlet(name, voxels=5)
    with hearing(name) as heard:
        heard.begin_run()
        send(stream, 1, 4, range(5))
        assert heard.next() == ("has 5 voxels, but the region has 3", 4)


def test_streams_of_another_type_are_not_ours(name):
    others = outlet(name, kind="EEG")
    stream = outlet(name)
    with hearing(name) as heard:
        heard.begin_run()
        assert not others.have_consumers()
        send(stream, 1, 1)
        assert heard.next().number == 0


def test_a_stream_may_go_and_come_back(name):
    stream = outlet(name)
    with hearing(name) as heard:
        heard.begin_run()
        send(stream, 1, 1)
        heard.next()
        del stream
        assert heard.next() == ("the LSL stream is gone; waiting for it", None)
        stream = outlet(name)
        send(stream, 1, 2)
        assert heard.next().number == 1


def test_what_the_simulated_scanner_sends_is_what_arrives(name):
    rng = np.random.default_rng(2)
    region = Region(np.array([[0, 1, 1], [1, 0, 0], [1, 1, 1]]), np.eye(4))
    write = lsl_writer(name, region, tr=2.0)
    with hearing(name) as heard:
        heard.begin_run()
        first = None
        for number in (1, 2, 4):
            volume = rng.standard_normal((2, 2, 2)).astype(np.float32)
            write(RunId("train", 7), number, volume)
            arrival = heard.next()
            first = first or arrival
            assert arrival.about == {"series": "run 7"}
            np.testing.assert_array_equal(arrival.values, volume[region.index])
            # By the scanner's clock, however fast it is.
            assert arrival.acquired - first.acquired == pytest.approx(2.0 * (number - 1))
    (info,) = pylsl.resolve_byprop("name", name, 1, 1.0)
    assert (info.type(), info.channel_count(), info.nominal_srate()) == (KIND, 5, 0.5)


@pytest.mark.parametrize("wrong", ["", "it's", "a\nb"])
def test_a_name_that_cannot_be_looked_for_is_refused(wrong):
    with pytest.raises(BciiglError, match="name of an LSL stream"):
        check_stream(wrong)
    with pytest.raises(BciiglError, match="name of an LSL stream"):
        LslFeed(wrong, VOXELS)


def test_without_pylsl_a_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pylsl", None)
    with pytest.raises(BciiglError, match=r"LSL needs pylsl: pip install 'bciigl\[lsl\]'"):
        load_pylsl.__wrapped__()


SOCKETS = """
import os, sys
from pathlib import Path
from bciigl.source.lsl import LslFeed

feed = LslFeed(sys.argv[1], 3)
mine = {os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.exists()}
for kind in ("tcp", "tcp6", "udp", "udp6"):
    for line in Path("/proc/net", kind).read_text().splitlines()[1:]:
        here, there, inode = (line.split()[each] for each in (1, 2, 9))
        if f"socket:[{inode}]" in mine:
            print(kind, here.split(":")[0], there.split(":")[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_session_listens_to_nobody_and_talks_to_this_machine_alone(name):
    stream = outlet(name)
    environment = {key: value for key, value in os.environ.items() if key != "LSLAPICFG"}
    command = [sys.executable, "-c", SOCKETS, name]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    local = "0100007F"  # 127.0.0.1
    assert set(found.stdout.splitlines()) == {f"tcp {local} {local}"}
    assert found.stderr == ""  # liblsl is silent
    del stream


def serve(scanner: SimulatedScanner, folder: Path, **how) -> threading.Thread:
    thread = threading.Thread(target=scanner.serve, kwargs=how, daemon=True)
    thread.start()
    while not how and not (folder / ADDRESS_FILE).exists():
        thread.join(0.01)
    return thread


def test_a_rehearsal_over_lsl_is_the_session_in_one_process(name, tmp_path):
    protocol = short(timing={"tr": 2.0, "event": 2.0, "isi": 2.0, "burn_in": 4.0})
    record(protocol, tmp_path / "plain")
    scanner = SimulatedScanner(protocol, tmp_path / "scanner", speed=1000.0, lsl=name)
    thread = serve(scanner, tmp_path / "scanner")
    record_live(protocol, tmp_path / "scanner", tmp_path / "live", lsl=name)
    thread.join(WAIT)
    assert not [*(tmp_path / "scanner").glob("*.nii")]
    plain, live = (open_dataset(tmp_path / each) for each in ("plain", "live"))
    assert live.group == "simulated"
    for run in (1, 2):
        assert live.shown("train", run) == plain.shown("train", run)
        frames = live.frames("train", run), plain.frames("train", run)
        np.testing.assert_array_equal(*frames)
    mine, other = (each.sessions["train"].interactions for each in (live, plain))
    np.testing.assert_array_equal(mine.context, other.context)
    np.testing.assert_array_equal(mine.feedback, other.feedback)


@pytest.mark.slow
def test_a_session_at_a_scanner_needs_no_folder_of_volumes(name, tmp_path):
    protocol = short(task={"trials": 3}, live={"deadline": 20.0})
    scanner = SimulatedScanner(protocol, tmp_path / "scanner", lsl=name)
    thread, seen = serve(scanner, tmp_path / "scanner", alone=True), []
    watching = Watching(draw=lambda event: seen.append(event.kind))
    record_live(protocol, None, tmp_path / "live", lsl=name, watching=watching)
    thread.join(WAIT)
    assert "imagination" in seen
    dataset = open_dataset(tmp_path / "live")
    assert (dataset.group, dataset.run_truth("train", 1)) == ("participant", None)
    assert len(dataset.arrivals("train", 1)) == len(dataset.frames("train", 1))
