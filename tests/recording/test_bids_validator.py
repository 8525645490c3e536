"""What the validator of the BIDS community says of our datasets."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from recordings import small, some_policy

from bciigl.loop import record
from bciigl.protocol import find, load, shipped

VALIDATOR = Path(sys.executable).with_name("bids-validator-deno")
SHORT = {"task.trials": 7, "task.trials_per_run": 3, "evaluation.test_trials": 3}


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
    for root in (folder, folder / "derivatives" / "bciigl", folder / "derivatives" / "truth"):
        assert errors(root) == []


@pytest.mark.parametrize("name", shipped())
def test_dataset_of_every_shipped_protocol_is_valid(tmp_path, name):
    record(load(name, changes=SHORT), tmp_path / "dataset", folder=find(name).parent)
    check(tmp_path / "dataset")


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
}


@pytest.mark.slow
@pytest.mark.parametrize("sections", ODD.values(), ids=ODD)
def test_dataset_of_an_odd_protocol_is_valid(tmp_path, sections):
    record(small(**sections), tmp_path / "dataset")
    check(tmp_path / "dataset")


def test_validator_does_look_at_what_we_write(tmp_path):
    record(small(), tmp_path / "dataset")
    run = tmp_path / "dataset/sub-01/ses-test/func/sub-01_ses-test_task-small_run-01_bold.json"
    sidecar = json.loads(run.read_text())
    run.write_text(json.dumps({**sidecar, "RepetitionTime": 3.0}))
    assert any("REPETITION" in each["code"] for each in errors(tmp_path / "dataset"))
    run.write_text(json.dumps(sidecar))
    check(tmp_path / "dataset")
    (tmp_path / "dataset/derivatives/bciigl/sub-01/what.txt").write_text("is this?")
    with pytest.raises(AssertionError, match="what.txt"):
        check(tmp_path / "dataset")


def test_dataset_with_a_policy_and_a_report_is_valid(tmp_path, bciigl):
    record(small(agent={"policy": "fixed"}), tmp_path / "dataset", policy=some_policy())
    assert bciigl("report", tmp_path / "dataset").exit_code == 0
    assert (tmp_path / "dataset/derivatives/bciigl/report_figures/region.tsv").exists()
    check(tmp_path / "dataset")
