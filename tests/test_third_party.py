"""A learner, an agent and a source of another package, installed by pip."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent / "third_party"
PROTOCOL = """
name: theirs
task: {options: [left, right, rest], trials: 80, trials_per_run: 20}
brain: {noise: 0.1}
source: {name: lossy}
agent: {policy: round_robin}
learners: [perception_transfer, ai_igl, cb]
evaluation: {test_trials: 40}
study: {noise: [0.1], repeats: 1}
"""
CHECKS = """
from bciigl.base.registry import LEARNERS
from bciigl.loop.agent import make_agent
from bciigl.protocol import load
from bciigl.source import make_source
from bciigl.testing import check_agent, check_learner, check_source

protocol = load("theirs.yaml")
check_learner(LEARNERS.get("perception_transfer").make())
check_agent(lambda: make_agent(protocol.agent, 3, 6))
check_source(make_source(protocol), protocol)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Install the package beside bciigl, and give a function that runs Python with both."""
    folder = tmp_path_factory.mktemp("theirs")
    installed = folder / "installed"
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", installed]
    copy = folder / "package"
    subprocess.run(["cp", "-r", PACKAGE, copy], check=True)
    subprocess.run([sys.executable, "-m", "pip", "install", *options, copy], check=True)
    (folder / "theirs.yaml").write_text(PROTOCOL)

    def run_python(*arguments: str) -> str:
        found = subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        assert found.returncode == 0, found.stderr
        return found.stdout

    run_python.folder = folder
    return run_python


@pytest.mark.slow
def test_parts_of_another_package_pass_their_checks(run):
    run("-c", CHECKS)


@pytest.mark.slow
def test_parts_of_another_package_are_simulated_saved_swept_and_reported(run):
    found = json.loads(run("-m", "bciigl", "simulate", "theirs.yaml", "--out", "s", "--json"))
    assert set(found["learners"]) == {"perception_transfer", "ai_igl", "cb"}
    assert found["agent"] == "round_robin"
    # Of 80 trials the first of run 1 has too few frames.
    assert found["trials"] == 79
    assert found["learners"]["perception_transfer"]["accuracy"] > 60
    folder = run.folder / "s" / "derivatives" / "bciigl"
    lost = folder / "sub-01/ses-train/func/sub-01_ses-train_task-theirs_run-01_frames.tsv"
    assert lost.read_text().startswith("frame\tstatus\n9\tmissing\n")
    assert (folder / "policies" / "perception_transfer" / "learner.json").exists()
    options = ["--seed", "1", "--set", "learners=[perception_transfer]", "--out", "fixed"]
    policy = str(folder / "policies" / "perception_transfer")
    run("-m", "bciigl", "simulate", "theirs.yaml", "--agent", policy, *options)
    run("-m", "bciigl", "report", "s")
    page = (folder / "report.html").read_text()
    assert "perception_transfer" in page and "guessed the options in turn" in page
    rows = json.loads(run("-m", "bciigl", "sweep", "theirs.yaml", "--out", "w", "--json"))
    assert {row["learner"] for row in rows} == {"perception_transfer", "ai_igl", "cb"}
    run("-m", "bciigl", "report", "w")
    assert "perception_transfer" in (run.folder / "w" / "report.html").read_text()
