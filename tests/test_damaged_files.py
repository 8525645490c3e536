"""Damaged files of every kind are refused with a message, or are still good."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "damaged_files.py"


@pytest.mark.slow
def test_no_damaged_file_ends_in_a_traceback():
    command = [sys.executable, BENCHMARK, "60", "0"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
