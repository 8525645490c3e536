"""`bciigl rehearse`: what it refuses, and that nothing stays behind; see tests/live, too."""

import socket
import subprocess
import sys
from contextlib import closing

import pytest


def check_refused(done, words: str) -> None:
    assert done.exit_code == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--speed", "0"], "--speed should be above 0, got 0"),
        (["--speed", "-1"], "--speed should be above 0, got -1"),
        (["--speed", "inf"], "--speed should be above 0, got inf"),
        (["--speed", "nan"], "--speed should be above 0, got nan"),
        (["--out", "nowhere/out"], "--out: there is no folder "),
        (["nothing_like_it"], "nothing_like_it"),
        (["--set", "timing.isis=8"], "did you mean 'isi'?"),
        (["--trials", "0"], "task.trials"),
        (["--port", "70000"], "70000 is not in the range"),
    ],
)
def test_what_cannot_be_rehearsed_is_refused_at_once(bciigl, tmp_path, monkeypatch, given, words):
    monkeypatch.chdir(tmp_path)
    check_refused(bciigl("rehearse", *given), words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_what_is_found_out_later_leaves_nothing_behind(tmp_path):
    """In a process of its own, as it takes over signals; of its scanner nothing stays, either."""
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        (tmp_path / "taken").mkdir()
        (tmp_path / "taken" / "file").write_text("precious")
        for given, words in [
            (["--port", str(port)], f"port {port}: Address already in use"),
            (["--out", "taken", "--port", "0", "--start"], "is not an empty folder"),
            (["--set", "recording=separate"], "a scanner gives one series of volumes"),
        ]:
            call = [sys.executable, "-m", "bciigl.cli.main", "rehearse", *given]
            done = subprocess.run(
                call, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True
            )
            assert (done.returncode, done.stdout) == (2, "")
            assert words in done.stderr
            assert "Traceback" not in done.stderr
            assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    assert (tmp_path / "taken" / "file").read_text() == "precious"
