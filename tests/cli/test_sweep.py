"""`bciigl sweep`."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from kills import digests
from studies import TINY_OPTIONS, write_mask

from bciigl.cli.main import cli
from bciigl.study import open_study, rows
from bciigl.study import run as module

LONG = [*TINY_OPTIONS, "--repeats", "40"]


def processes_of(group: int) -> list[int]:
    """Return the processes of a group that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, member = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue  # it has just ended
        if int(member) == group and state != "Z":
            found.append(int(path.parent.name))
    return found


def start(out: Path, *arguments: object, cells: int = 1) -> subprocess.Popen:
    """Begin a sweep in a process group of its own, and return when so many cells are finished."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bciigl", "sweep", *map(str, arguments), "--out", out],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # In the background of a shell without job control, interrupts would be ignored.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    while len(list(out.glob("cells/[0-9a-f]*.json"))) < cells:
        assert process.poll() is None
        time.sleep(0.005)
    return process


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """Sweep once for all tests; return folder and document."""
    folder = tmp_path_factory.mktemp("swept") / "out"
    arguments = ["sweep", *TINY_OPTIONS, "--noise", "0.4", "--repeats", "2"]
    arguments += ["--vary", "timing.isi=7,8", "--learner", "cb", "--jobs", "1", "--json"]
    result = CliRunner().invoke(cli, [*arguments, "--out", str(folder)], catch_exceptions=False)
    assert result.exit_code == 0
    return folder, json.loads(result.stdout), result.stderr


def test_json_is_one_document_with_the_rows(swept):
    folder, document, shown = swept
    study, results = open_study(folder)
    assert len(results) == 8
    assert document == json.loads(json.dumps([row.as_dict() for row in rows(study, results)]))
    assert [(each["varied"], each["noise"], each["learner"]) for each in document] == [
        ({"timing.isi": isi}, noise, learner)
        for isi in (7, 8)
        for noise in (0.05, 0.4)
        for learner in ("ceiling", "cb")
    ]
    assert "simulating sessions: 8 of 8" in shown


def test_table_has_the_numbers_of_the_document(bciigl, swept):
    folder, document, _ = swept
    before = digests(folder)
    arguments = [*TINY_OPTIONS, "--noise", 0.4, "--repeats", 2, "--vary", "timing.isi=7,8"]
    result = bciigl("sweep", *arguments, "--learner", "cb", "--jobs", 1, "--out", folder, "-v")
    assert (result.exit_code, digests(folder)) == (0, before)
    assert "mean ± standard error over 2 sessions" in result.stdout
    _, seven, eight = re.split(r"^timing.isi = \d s$", result.stdout, flags=re.MULTILINE)
    for part, isi in ((seven, 7), (eight, 8)):
        for learner, name in (("ceiling", "supervised"), ("cb", "contextual bandit")):
            mine = [
                "{accuracy:.1f} ± {standard_error:.1f}".format(**each)
                for each in document
                if (each["varied"], each["learner"]) == ({"timing.isi": isi}, learner)
            ]
            assert re.search(rf"^{name}\s+{mine[0]}\s+{mine[1]}$", part, re.MULTILINE)
        assert "supervised minus" in part
    assert "- in a real scanner: from 0.2 h to learn" in result.stdout
    assert f"Results in {folder}\nReport:  bciigl report {folder} --open\n" in result.stdout
    brief = bciigl("sweep", *arguments, "--learner", "cb", "--jobs", 1, "--out", folder, "-q")
    assert f"{mine[0]}  {mine[1]}" in brief.stdout and not brief.stderr
    assert not {"interval", "minus", "scanner"} & set(brief.stdout.split())


def test_folder_is_named_after_the_protocol(bciigl, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert bciigl("sweep", *TINY_OPTIONS, "--repeats", 1, "--jobs", 1).exit_code == 0
    assert [each.name for each in tmp_path.iterdir()] == ["number_guessing_sweep"]


def test_paths_are_relative_to_the_protocol(bciigl, write, tmp_path, monkeypatch):
    write_mask(tmp_path / "mask.nii.gz")
    path = write(
        "name: mine\ntask: {options: [1, 2, 3], trials: 24, trials_per_run: 12}\n"
        "brain: {region: {shape: mask, file: mask.nii.gz}}\nevaluation: {test_trials: 12}\n"
        "learners: [ceiling]\nstudy: {noise: [0.05], repeats: 1}\n"
    )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for given in (path, "../mine.yaml"):
        assert bciigl("sweep", given, "--jobs", 1, "--out", "out").exit_code == 0
    (row,) = rows(*open_study("out"))
    assert row.repeats == 1


def test_share_says_what_is_still_to_be_run(bciigl, tmp_path):
    out = tmp_path / "out"
    arguments = ["sweep", *TINY_OPTIONS, "--repeats", 3, "--jobs", 1, "--out", out]
    result = bciigl(*arguments, "--cell", "2/2")
    assert result.exit_code == 0
    assert f"2 of 3 cells are still to be run in {out}" in result.stderr
    result = bciigl(*arguments, "--cell", "9/9")
    assert (result.exit_code, "2 of 3 cells are still" in result.stderr) == (0, True)
    result = bciigl(*arguments, "--cell", "1/2", "--json")
    assert (result.exit_code, "still to be run" in result.stderr) == (0, False)
    assert json.loads(result.stdout)[0]["repeats"] == 3


def test_failed_cells_are_told_and_the_exit_code_is_1(bciigl, tmp_path):
    out = tmp_path / "out"
    # One trial teaches no ceiling.
    arguments = [*TINY_OPTIONS, "--repeats", 1, "--jobs", 1, "--vary", "task.trials=1,24"]
    result = bciigl("sweep", *arguments, "--out", out, "--json")
    assert result.exit_code == 1
    assert [each["varied"] for each in json.loads(result.stdout)] == [{"task.trials": 24}]
    (failed,) = (out / "failed").iterdir()
    assert f"1 of 2 cells failed; the first: {failed}" in result.stderr
    assert failed.read_text().startswith("Traceback")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--learner", "ai_iql"], "got 'ai_iql'; did you mean 'ai_igl'?"),
        (["--noise", "-1"], "study.noise[0]: should be greater than or equal to 0, got -1.0"),
        (["--noise", "nan"], "study.noise[0]: should be a finite number"),
        (["--noise", "0.1", "--noise", "0.1"], "should all differ, but 0.1 is there twice"),
        (["--repeats", "0"], "study.repeats: should be greater than or equal to 1, got 0"),
        (["--repeats", "two"], "'two' is not a valid integer"),
        (["--seed", "-1"], "seed: should be greater than or equal to 0, got -1"),
        (["--jobs", "0"], "0 is not in the range x>=1"),
        (["--cell", "0/3"], "'0/3' should be a share such as 3/10"),
        (["--cell", "4/3"], "'4/3' should be a share such as 3/10"),
        (["--cell", "1/0"], "'1/0' should be a share such as 3/10"),
        (["--cell", "a/b"], "'a/b' should be a share such as 3/10"),
        (["--cell", "3"], "'3' should be a share such as 3/10"),
        (["--vary", "timing.isi"], "timing.isi: should be field=value"),
        (["--vary", "=3,4"], "=[3,4]: should be field=value"),
        (["--vary", "timing.isi="], "timing.isi=: has no value"),
        (["--vary", "timing.isi=3,[4"], "is not YAML"),
        (["--vary", "timing.isi=8,8"], "should have values that all differ"),
        (["--vary", "timing.isi=8", "--vary", "timing.isi=9"], "timing.isi is given twice"),
        (["--vary", "timing.isi=8,-3"], "with timing.isi=-3, "),
        (["--vary", "timing.iso=8"], "timing.iso: unknown key; did you mean 'isi'?"),
        (["--vary", "brain.noise=0.1,0.2"], "brain.noise cannot be varied: give noise levels"),
        (["--vary", "seed=1,2"], "seed cannot be varied"),
        (["--vary", "agent.policy=uniform,fixed"], "agent.policy is fixed"),
        (["--set", "agent.policy=fixed"], "agent.policy is fixed"),
        (["--jobs", "2", "--cluster", "tcp://127.0.0.1:1"], "give one"),
        (["--cluster", "nonsense"], "no scheduler answers at 'nonsense'"),
        (["nothing_such"], "no such file, and no shipped protocol of that name"),
    ],
)
def test_what_cannot_be_swept_is_refused_and_leaves_nothing(
    bciigl, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    result = bciigl("sweep", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_scheduler_that_does_not_answer_is_one_line(bciigl, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.5)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{closed.getsockname()[1]}"
        result = bciigl("sweep", "--cluster", address, "--out", tmp_path / "out")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert result.stderr.startswith(f"no scheduler answers at '{address}'")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_malformed_address_does_not_hold_up_the_exit(tmp_path):
    """In a process of its own: what is left of a client shows when the program ends."""
    result = subprocess.run(
        [sys.executable, "-m", "bciigl", "sweep", "--cluster", "nonsense", "--out", tmp_path / "x"],
        capture_output=True,
        text=True,
        timeout=15,
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1


def test_folders_of_others_are_refused_and_left_alone(bciigl, swept, tmp_path):
    folder = swept[0]
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "mine.txt").write_text("x")
    for out, arguments, message in (
        (folder, ["--seed", 3], "has the results of another study: seed is 0 there, 3 here"),
        (folder, ["--set", "brain.cnr=1"], "brain.cnr is 0.5 there, 1.0 here"),
        (tmp_path / "foreign", [], "exists already and is not an empty folder"),
        (tmp_path / "foreign" / "mine.txt", [], "exists already and is not an empty folder"),
    ):
        before = digests(folder), digests(tmp_path)
        result = bciigl("sweep", *TINY_OPTIONS, *arguments, "--jobs", 1, "--out", out)
        assert (result.exit_code, result.stdout) == (2, "")
        assert message in result.stderr
        assert (digests(folder), digests(tmp_path)) == before


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_an_interrupt_stops_cleanly_and_says_how_to_go_on(tmp_path, bciigl, jobs):
    out = tmp_path / "out"
    process = start(out, *LONG, "--jobs", jobs)
    os.killpg(process.pid, signal.SIGINT)
    printed, shown = process.communicate(timeout=60)
    assert (process.returncode, printed) == (1, "")
    assert (
        f"stopped; what is finished is in {out}: run the same command again to resume it" in shown
    )
    assert "Traceback" not in shown
    deadline = time.monotonic() + 20
    while processes_of(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_of(process.pid) == []
    before = digests(out / "cells")
    assert 1 <= len(before) < 40
    result = bciigl("sweep", *LONG, "--repeats", len(before) + 1, "--jobs", 1, "--out", out)
    assert result.exit_code == 0
    assert before.items() <= digests(out / "cells").items()


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_sweep_that_is_killed_and_run_again_has_the_rows_of_one_that_was_not(
    bciigl, tmp_path, jobs
):
    arguments = [*TINY_OPTIONS, "--repeats", 12, "--json"]
    expected = bciigl("sweep", *arguments, "--jobs", 1, "--out", tmp_path / "whole").stdout
    out = tmp_path / "out"
    for cells, delay in ((1, 0.03), (5, 0.0)):
        process = start(out, *arguments, "--jobs", jobs, cells=cells)
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert 1 <= len(list((out / "cells").glob("[0-9a-f]*.json"))) < 12
    result = bciigl("sweep", *arguments, "--jobs", 1, "--out", out)
    assert (result.exit_code, result.stdout) == (0, expected)
    whole = digests(tmp_path / "whole")
    assert whole.items() <= digests(out).items()


def test_noise_that_is_not_swept_is_told(bciigl, tmp_path):
    arguments = [*TINY_OPTIONS, "--repeats", 1, "--jobs", 1, "--out", tmp_path / "out"]
    result = bciigl("sweep", *arguments, "--set", "brain.noise=0.7")
    assert "warning: brain.noise (0.7) is not used: noise levels are 0.05" in result.stderr
    again = bciigl("sweep", *arguments)
    assert "brain.noise" not in again.stderr
    result = bciigl("sweep", *arguments, "--set", "study.repeats=2")
    assert (result.exit_code, result.stderr) == (
        2,
        "--set study.repeats is given by another option already\n",
    )


def test_sessions_of_other_settings_are_counted(bciigl, tmp_path):
    arguments = [*TINY_OPTIONS, "--repeats", 1, "--jobs", 1, "--out", tmp_path / "out"]
    bciigl("sweep", *arguments, "--noise", 0.4)
    said = f"1 finished sessions in {tmp_path / 'out'} are of other settings"
    assert said in bciigl("sweep", *arguments).stderr
