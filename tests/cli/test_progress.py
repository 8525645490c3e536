"""Progress on standard error."""

import os
import pty
import subprocess
import sys

CODE = (
    "from bciigl.cli.progress import steps\n"
    "with steps() as report:\n"
    "    report('thinking')\n"
    "    report('writing')\n"
    "print('result')\n"
)


def run(stderr) -> str:
    command = [sys.executable, "-c", CODE]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=stderr, check=True)
    assert result.stdout == b"result\n"
    return (result.stderr or b"").decode()


def test_steps_are_plain_lines_where_there_is_no_terminal():
    assert run(subprocess.PIPE) == "thinking ...\nwriting ...\n"


def test_steps_show_their_time_on_a_terminal():
    ours, terminal = pty.openpty()
    run(terminal)
    os.close(terminal)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    for words in ("thinking", "writing", "0:00:00", "\x1b["):
        assert words in shown
