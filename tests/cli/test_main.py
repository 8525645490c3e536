"""The command as a whole."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bciigl as package

HEAVY = {
    "ruamel",
    "sklearn",
    "scipy",
    "matplotlib",
    "nibabel",
    "brainiak",
    "numpy",
    "pydantic",
    "rich",
}


def python(code: str, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_help_imports_nothing_heavy():
    code = (
        "import json, sys\nfrom bciigl.cli.main import cli\n"
        "try: cli(['--help'])\n"
        "finally: print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
    )
    result = python(code)
    assert "Commands:\n  doctor" in result.stdout
    assert not HEAVY & set(json.loads(result.stderr))


def test_version(bciigl):
    assert bciigl("--version").output == f"bciigl {package.__version__}\n"


def test_installed_command_and_module_are_the_same():
    run = {"capture_output": True, "text": True, "check": True}
    module = subprocess.run([sys.executable, "-m", "bciigl", "--help"], **run)
    script = subprocess.run([f"{sys.prefix}/bin/bciigl", "--help"], **run)
    assert module.stdout == script.stdout


def test_help_is_short_too(bciigl):
    assert bciigl("protocol", "-h").output == bciigl("protocol", "--help").output


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("bciigl sim", "simulate"),
        ("bciigl reproduce tab", "table2"),
        ("bciigl simulate --no", "--noise"),
    ],
)
def test_the_shell_completes_commands_and_options(words, expected):
    place = str(len(words.split()) - 1)
    asked = {"_BCIIGL_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": place}
    script = Path(sys.executable).with_name("bciigl")
    how = {"env": {**os.environ, **asked}, "capture_output": True, "text": True, "check": True}
    done = subprocess.run([script], **how)
    assert f"plain,{expected}" in done.stdout.split()


def test_wrong_usage_exits_with_2(bciigl):
    assert bciigl("protocl").exit_code == 2
    assert bciigl("protocol", "check").exit_code == 2


@pytest.mark.slow
def test_output_that_cannot_be_written_is_told():
    for code in ("cli(['protocol', 'list'])", "cli(['protocol', 'show', 'table2'])"):
        command = [sys.executable, "-c", f"from bciigl.cli.main import cli; {code}"]
        with open(os.devnull) as read_only:
            result = subprocess.run(command, stdout=read_only, stderr=subprocess.PIPE, text=True)
        assert result.returncode == 2
        assert result.stderr.splitlines()[0] == "standard output: Bad file descriptor"
        assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_reader_that_goes_away_and_closed_output_are_no_errors():
    command = [sys.executable, "-m", "bciigl", "protocol", "show", "table2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.wait()
    closed = ["sh", "-c", f"{sys.executable} -m bciigl protocol list >&-"]
    result = subprocess.run(closed, stderr=subprocess.PIPE, check=True)
    assert result.stderr == b""


def test_options_the_terminal_cannot_show_do_not_end_the_program(write):
    path = write("name: x\ntask: {options: [a, 数, c]}\n")
    code = f"from bciigl.cli.main import cli; cli(['protocol', 'show', {str(path)!r}])"
    result = python(code, env={"PYTHONIOENCODING": "latin-1"})
    assert result.returncode == 0
    assert "\\u6570" in result.stdout
