"""Progress on standard error."""

import os
import pty
import re
import subprocess
import sys

from bciigl.cli.progress import _left

STEPS = (
    "from bciigl.cli.progress import steps\n"
    "with steps() as report:\n"
    "    report('thinking')\n"
    "    report('writing')\n"
    "print('result')\n"
)
BAR = (
    "from bciigl.cli.progress import bar\n"
    "with bar('counting') as report:\n"
    "    for number in range(1, 31):\n"
    "        report(number, 30)\n"
    "print('result')\n"
)


def run(code, stderr) -> str:
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=stderr, check=True)
    assert result.stdout == b"result\n"
    return (result.stderr or b"").decode()


def run_on_terminal(code) -> str:
    ours, terminal = pty.openpty()
    run(code, terminal)
    os.close(terminal)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    return shown


def test_steps_are_plain_lines_where_there_is_no_terminal():
    assert run(STEPS, subprocess.PIPE) == "thinking ...\nwriting ...\n"


def test_steps_show_their_time_on_a_terminal():
    shown = run_on_terminal(STEPS)
    for words in ("thinking", "writing", "0:00:00", "\x1b["):
        assert words in shown


def test_a_bar_is_ten_plain_lines_where_there_is_no_terminal():
    lines = run(BAR, subprocess.PIPE).splitlines()
    assert lines == [f"counting: {number} of 30" for number in range(3, 31, 3)]


def test_a_bar_moves_on_a_terminal():
    shown = run_on_terminal(BAR)
    for words in ("counting", "30/30", "\x1b["):
        assert words in shown


def test_a_bar_shows_no_count_before_it_knows_one():
    shown = run_on_terminal(BAR.replace("range(1, 31)", "()"))
    assert "counting" in shown
    assert "0:00:00" in shown
    assert "?" not in re.sub(r"\x1b\[\?", "", shown)


def test_time_left_is_told_from_a_minute_on():
    assert _left(seconds=60, done=10, to_do=90) == ", about 9 min left"
    assert _left(seconds=5, done=10, to_do=90) == ""
    assert _left(seconds=0, done=0, to_do=90) == ""
