"""`bciigl monitor`: recorded sessions watched again."""

import re
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import closing
from types import SimpleNamespace

import pytest
from page_clients import Client
from recordings import small, write_made_up

from bciigl.loop import record
from bciigl.recording import open_dataset
from bciigl.recording.layout import JOURNAL


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """Give the folder of a short session."""
    folder = tmp_path_factory.mktemp("recorded") / "out"
    record(small(brain={"region": {"size": 2}}, estimate="frame", task={"trials": 4}), folder)
    return folder


def check_refused(done, words: str) -> None:
    assert (done.exit_code, done.stdout) == (2, "")
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1  # a clear line, and no traceback


@pytest.mark.parametrize("speed", ["0", "-3", "inf", "nan"])
def test_speeds_that_cannot_be_are_refused(bciigl, dataset, speed):
    done = bciigl("monitor", dataset, "--speed", speed)
    check_refused(done, f"--speed should be above 0, got {float(speed):g}")


def test_what_is_no_finished_dataset_is_refused(bciigl, dataset, tmp_path):
    check_refused(bciigl("monitor", tmp_path / "nothing"), "is not a dataset of bciigl")
    check_refused(bciigl("monitor", tmp_path), "is not a dataset of bciigl")
    half, empty = tmp_path / "half", tmp_path / "empty"
    for folder in (half, empty):
        shutil.copytree(dataset, folder)
    (half / JOURNAL).touch()
    check_refused(bciigl("monitor", half), "is not finished; resume it with bciigl simulate")
    for path in empty.rglob("*_interactions.npz"):
        path.unlink()
    check_refused(bciigl("monitor", empty), "has no recorded session")


def test_separate_recordings_are_refused(bciigl, tmp_path):
    write_made_up(tmp_path / "out", small(recording="separate"))
    done = bciigl("monitor", tmp_path / "out")
    check_refused(done, "out: has several series; only sessions with one can be watched")


def test_a_port_that_is_taken_is_refused(bciigl, dataset):
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        done = bciigl("monitor", dataset, "--port", port)
    words = f"pages cannot be served at 127.0.0.1, port {port}: Address already in use"
    check_refused(done, words)
    done = bciigl("monitor", dataset, "--port", 70_000)
    assert done.exit_code == 2
    assert "70000 is not in the range" in done.stderr


@pytest.mark.slow
def test_a_session_is_played_to_its_end_and_stays_until_it_is_stopped(dataset):
    before = {path: path.stat().st_mtime_ns for path in dataset.rglob("*")}
    call = [sys.executable, "-m", "bciigl.cli.main", "monitor", str(dataset)]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    call += ["--port", "0", "--speed", "2000"]
    with subprocess.Popen(call, text=True, **pipes) as process:
        links = {}
        while not links:  # nobody takes part: there is no link to a screen
            found = re.search(r"http://\S+/(screen|monitor)$", process.stderr.readline().strip())
            links |= {} if found is None else {found[1]: found[0]}
        assert list(links) == ["monitor"]
        with Client(SimpleNamespace(link=links.get, _host="127.0.0.1"), "monitor") as page:
            state = page.wait_for(lambda each: each["phase"] == "over")
        told = next(line for line in process.stderr if "played" in line)
        process.send_signal(signal.SIGINT)
        try:
            shown, rest = process.communicate(timeout=30)
        finally:
            process.kill()  # one that Ctrl-C does not end would be waited for without an end
        told += rest
    assert process.returncode == 0
    assert shown == ""
    assert "played; Ctrl-C ends the monitor" in told
    assert "Traceback" not in told
    assert (state["kind"], state["controls"]) == ("recording", [])
    options = [str(each) for each in open_dataset(dataset).protocol.task.options]
    places = [("train", 1), ("test", 1)]
    shown = [each for place in places for each in open_dataset(dataset).shown(*place)]
    guesses = [each["option"] for each in state["guesses"]]
    assert guesses == [options[each.action] for each in shown]
    assert {path: path.stat().st_mtime_ns for path in dataset.rglob("*")} == before
