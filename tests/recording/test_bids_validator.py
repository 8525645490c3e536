"""What the validator of the BIDS community says of our datasets."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from recorded import make_subject, semi_real
from recordings import Losing, small, use_source, whole

from bciigl.loop import Volunteer, record
from bciigl.protocol import find, load, shipped
from bciigl.recording.layout import ESTIMATES, POLICY
from bciigl.source import SimulatedSource

VALIDATOR = Path(sys.executable).with_name("bids-validator-deno")
SHORT = {"task.trials": 14, "task.trials_per_run": 5, "evaluation.test_trials": 3}


def errors(folder: Path) -> list[dict]:
    """Return the issues that the validator calls errors."""
    command = [VALIDATOR, "--format", "json", folder]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    report = json.loads(run.stdout)
    # That it looked at all: the files of the dataset are counted.
    assert report["summary"]["totalFiles"] > 0
    return [each for each in report["issues"]["issues"] if each["severity"] == "error"]


def check(folder: Path) -> None:
    """Find no errors in a dataset and in those within it.

    Not with --recursive: the validator (3.0.2) then does not read what those within say to ignore.
    """
    for root in (folder, *sorted((folder / "derivatives").iterdir())):
        assert errors(root) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_dataset_of_every_shipped_protocol_is_valid_with_and_without_a_report(
    tmp_path, name, bciigl
):
    folder = tmp_path / "dataset"
    record(load(name, changes=SHORT), folder, folder=find(name).parent)
    check(folder)
    assert bciigl("report", folder).exit_code == 0
    assert (folder / ESTIMATES / "report_figures/region.tsv").exists()
    check(folder)


ODD = {
    "frames every 0.7 s": {"timing": {"tr": 0.7}},
    "a ball of voxels": {"brain": {"region": {"shape": "sphere", "radius": 7.5}}},
    "a single voxel": {"brain": {"region": {"size": 1}}},
    "separate recordings": {"recording": "separate", "estimate": "frame"},
    "no perception": {"task": {"events": ["imagination", "judgment"]}},
    "no judgment": {"task": {"events": ["imagination", "perception"]}},
    "odd words": {"task": {"options": ["yes or no", "Ångström ½", '"n/a"', "n/a", -3]}},
    "an odd name": {"name": "7-a_b-"},
    "a description": {"description": 'Two lines,\nand "quotes" \\ é'},
    "more than 99 runs": {"task": {"trials": 100, "trials_per_run": 1}},
    "a run of one trial": {"task": {"trials": 5}, "evaluation": {"test_trials": 1}},
    "no rest": {"timing": {"burn_in": 0.0}},
    "jitter and unequal events": {
        "timing": {
            "jitter": 2.5,
            "jitter_distribution": "exponential",
            "null_trials": 0.5,
            "imagination": {"duration": 4.0},
            "cool_down": 3.0,
        },
        "human": {"key_press": True},
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("sections", ODD.values(), ids=ODD)
def test_dataset_of_an_odd_protocol_is_valid(tmp_path, sections):
    record(small(**sections), tmp_path / "dataset")
    check(tmp_path / "dataset")


@pytest.mark.slow
def test_validator_does_look_at_what_we_write(tmp_path):
    folder = whole(small(), tmp_path / "dataset")
    run = folder / "sub-01/ses-test/func/sub-01_ses-test_task-small_run-01_bold.json"
    sidecar = json.loads(run.read_text())
    run.write_text(json.dumps({**sidecar, "RepetitionTime": 3.0}))
    assert any("REPETITION" in each["code"] for each in errors(folder))
    (folder / "derivatives/bciigl/sub-01/what.txt").write_text("is this?")
    assert "what.txt" in str(errors(folder / "derivatives" / "bciigl"))


@pytest.mark.slow
def test_dataset_with_gaps_catch_trials_and_a_policy_is_valid(tmp_path, monkeypatch):
    lost = {("train", 1, each): "missing" for each in range(28, 32)} | {("test", 1, 3): "corrupt"}
    use_source(monkeypatch, partial(Losing, lost=lost))
    mine = small(agent={"policy": "fixed"}, task={"trials": 14, "catch": {"share": 0.3}})
    folder = whole(mine, tmp_path / "dataset")
    assert (folder / POLICY / "learner.json").exists()
    assert len(list(folder.rglob("*_frames.tsv"))) == 2
    check(folder)


@pytest.mark.slow
def test_dataset_of_a_recorded_subject_is_valid_also_where_responses_are_used_up(tmp_path):
    make_subject(tmp_path)
    changes = {"task.trials": 30, "task.trials_per_run": 10}
    record(semi_real(tmp_path, changes), tmp_path / "dataset", folder=tmp_path)
    assert list((tmp_path / "dataset").rglob("*_frames.tsv"))
    check(tmp_path / "dataset")


class Unknown(SimulatedSource):
    """A scanner with a person in it of whom nothing is known."""

    group = "participant"

    def announce(self, event):
        """Ignore what happens."""

    def participant(self, session, run, trials):
        """Return someone who keeps their thoughts to themselves."""
        return Volunteer(self.brain.protocol, trials)


def test_dataset_of_a_volunteer_is_valid(tmp_path, monkeypatch):
    use_source(monkeypatch, Unknown)
    folder = whole(small(evaluation={"test_trials": 1}), tmp_path / "dataset")
    assert [each.name for each in (folder / "derivatives").iterdir()] == ["bciigl"]
    check(folder)
