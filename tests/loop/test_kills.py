"""Recordings that are killed; benchmarks/kills.py has many more kills."""

import os
import subprocess
import sys

import kills
import pytest


def test_difference_of_folders_is_counted_in_bytes(tmp_path):
    for name, content in {"a/x": b"12345", "b/x": b"1x3", "a/y/z": b"1", "b/w": b"22"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert kills.differing_bytes(tmp_path / "a", tmp_path / "b") == 3 + 1 + 2
    assert kills.differing_bytes(tmp_path / "a", tmp_path / "a") == 0


@pytest.mark.slow
def test_killed_recordings_that_are_resumed_end_up_the_same():
    # In a process of its own: it forks, which is safe only before any thread is started.
    done = subprocess.run(
        [sys.executable, kills.__file__, "12"],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 kills" in done.stdout
    assert "\n0 differing bytes\n" in done.stdout
