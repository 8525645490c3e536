"""`bciigl protocol check`."""

import json
from pathlib import Path

import numpy as np
from heads import head

from bciigl.brain.images import write_image
from bciigl.protocol import load

GOOD = "name: good\ntask: {options: [7, 8, 9]}\n"
BAD = "name: bad\ntask: {options: [7, 8, 9]}\nseed: -1\ntimming: {}\n"


def test_valid_protocol_gets_a_summary(bciigl):
    result = bciigl("protocol", "check", "number_guessing")
    assert result.exit_code == 0
    assert result.stdout == (
        "number_guessing: valid\n"
        "  3 options (7, 8, 9); guesses by chance match 33.3 % of the time\n"
        "  666 trials in 15 runs, 27 s each; the agent guesses 9 s into a trial\n"
        "  noise: 0.05, where 1 is a real brain's (brain.noise)\n"
        "  in a real scanner: 5.0 h to learn, 3.5 h more to test\n"
        "  region: cube of 64 voxels (1728 mm3) around MNI (-38, -47, 45)\n"
        "  one trial, a character is 0.5 s:\n"
        "  |IIII..............PPPP..............JJJJ..............|\n"
        "                     ^ guess\n"
        "  I imagination: from 0 s, lasts 2 s, then 7 s of pause\n"
        "  P perception: from 9 s, lasts 2 s, then 7 s of pause\n"
        "  J judgment: from 18 s, lasts 2 s, then 7 s of pause\n"
        "  how much noise is left in estimates (variance, of a frame's; less is better):\n"
        "    imagination: 0.72 of one trial, 0.0055 of the mean of one scanner hour\n"
        "    judgment: 1.6 of one trial, 0.012 of the mean of one scanner hour\n"
    )
    assert not result.stderr
    page = Path(__file__).parents[3] / "docs" / "protocols.md"
    assert f"$ bciigl protocol check number_guessing\n{result.stdout}```" in page.read_text()
    assert ", voxel (14, 41," in bciigl("protocol", "check", "number_guessing", "-v").stdout


def test_designs_can_be_compared_before_anything_is_simulated(bciigl):
    def check(*changes: str) -> dict:
        given = [word for each in changes for word in ("--set", each)]
        return json.loads(bciigl("protocol", "check", "number_guessing", *given, "--json").stdout)

    (usual,), (tight,) = (
        check(*changes)["files"]
        for changes in ((), ("timing.perception.pause=2", "timing.judgment.pause=3"))
    )
    # As well estimated, and in less time.
    for kind in ("imagination", "judgment"):
        assert tight["efficiency"][kind]["per_hour"] < usual["efficiency"][kind]["per_hour"]
    assert tight["summary"]["scanner_hours"] < usual["summary"]["scanner_hours"]


def test_picture_shows_what_begins_together_and_when_guesses_are_made(bciigl):
    def check(*changes: str) -> str:
        given = [word for each in changes for word in ("--set", each)]
        return bciigl("protocol", "check", "number_guessing", *given).stdout

    jitter = "timing.imagination.jitter=3", "timing.jitter_distribution=exponential"
    output = check("timing.together=true", "timing.perception.duration=3", *jitter)
    assert "19.8 s each; the agent guesses 9 to 12 s into a trial" in " ".join(output.split())
    assert "|IIII..............BBBBPP..............|" in output
    assert "B perception and judgment together" in output
    output = check("recording=separate")
    assert "each kind of event has a series of its own" in output and "^ guess" not in output


def test_catch_trials_are_counted(bciigl):
    output = bciigl("protocol", "check", "yes_no_with_catch_trials").stdout
    assert "690 trials (138 catch trials) in 15 runs" in output


def test_people_who_differ_get_a_line_for_each_field(bciigl, write):
    path = write(GOOD + "population: {brain.cnr: [0.3, 0.8], brain.hrf_delay: {mean: 0, sd: 1}}\n")
    lines = bciigl("protocol", "check", path).stdout.splitlines()
    assert [each for each in lines if each.startswith("  people differ")] == [
        "  people differ in brain.cnr (full-strength noise SD): 0.3 to 0.8, uniform",
        "  people differ in brain.hrf_delay (s): -2 to 2, normal with mean 0 and SD 1",
    ]


def test_region_outside_the_brain_is_refused(bciigl, write):
    path = write(GOOD + "brain:\n  region:\n    shape: sphere\n    center: [14, 59, 30]\n")
    result = bciigl("protocol", "check", path)
    assert result.exit_code == 2
    assert result.stderr.startswith(
        f"{path}:6:5: brain.region.center: 81 of 81 voxels lie outside the brain of subject"
    )
    assert "the nearest center that fits is [" in result.stderr


def test_region_is_told_in_the_space_of_its_subject(bciigl, write, tmp_path):
    subject = head()
    subject.save(tmp_path / "small")
    labels = subject.mask.astype(np.uint8)
    labels[:, :, 12:] = 1  # some of it beyond the brain
    write_image(tmp_path / "atlas.nii.gz", labels, subject.affine)
    for region, words in {
        "{mni: [0, 3, 8], size: 3}": "cube of 27 voxels (850 mm3) around (0, 3, 8) mm in the",
        "{shape: atlas, label: 1}": f"label 1 of {subject.mask.sum()} voxels (",
    }.items():
        path = write(GOOD + f"brain: {{subject: small, region: {region}}}\n")
        result = bciigl("protocol", "check", path)
        told = " ".join(result.stdout.split())
        assert f" region: {words}" in told, result.output
        assert "; MNI if the recording was normalised to it " in told
    extra = int(labels.sum() - subject.mask.sum())
    assert f"; {extra} more are outside the brain" in told
    (report,) = json.loads(bciigl("protocol", "check", path, "--json").stdout)["files"]
    assert report["region"]["space"] == "recording"
    assert (report["region"]["shape"], report["region"]["outside"]) == ("atlas", extra)


def test_a_label_that_the_atlas_has_not_is_refused_with_its_place(bciigl, write, tmp_path):
    write_image(tmp_path / "atlas.nii.gz", np.ones((2, 2, 2), np.uint8), np.eye(4))
    (tmp_path / "atlas.tsv").write_text("index\tname\n1\tLeft IPL\n")
    path = write(GOOD + "brain:\n  region: {shape: atlas, label: left ipll}\n")
    result = bciigl("protocol", "check", path)
    assert result.exit_code == 2
    assert result.stderr == (
        f"{path}:4:26: brain.region.label: no label 'left ipll' in {tmp_path / 'atlas.tsv'}; "
        "did you mean 'Left IPL'?\n"
    )


def test_subject_and_mask_that_cannot_be_used_are_refused(bciigl, write, tmp_path):
    (tmp_path / "empty").mkdir()
    path = write(GOOD + "brain: {subject: empty}\n")
    result = bciigl("protocol", "check", path)
    assert (result.exit_code, "3:9: brain.subject" in result.stderr) == (2, True)
    assert "has no template.nii.gz and no mask.nii.gz and no subject.json" in result.stderr
    (tmp_path / "mask.nii").write_text("no image")
    path = write(GOOD + "brain: {region: {shape: mask, file: mask.nii}}\n")
    result = bciigl("protocol", "check", path)
    assert (result.exit_code, "brain.region.file" in result.stderr) == (2, True)
    assert "cannot be read as a NIfTI image" in result.stderr


def test_every_problem_of_every_file_is_told(bciigl, write):
    good, bad = write(GOOD, "good.yaml"), write(BAD, "bad.yaml")
    result = bciigl("protocol", "check", bad, good, "nope")
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        f"{bad}:3:1: seed: should be greater than or equal to 0, got -1",
        f"{bad}:4:1: timming: unknown key; did you mean 'timing'?",
        "nope: no such file, and no shipped protocol of that name; shipped are gaze_typing, "
        "number_guessing, population, table2, yes_no_with_catch_trials",
    ]
    assert result.stdout.startswith(f"{good}: valid\n")


def test_warnings_are_told_and_leave_the_exit_code(bciigl, write):
    path = write(GOOD + "timing: {isi: 3}\n")
    result = bciigl("protocol", "check", path)
    assert result.exit_code == 0
    assert result.stderr.startswith(f"{path}:3:10: timing.isi: warning: responses overlap")


def test_json_has_summary_problems_and_warnings(bciigl, write):
    result = bciigl("protocol", "check", write(BAD), "number_guessing", "--json")
    assert result.exit_code == 2
    report = json.loads(result.stdout)
    assert report["valid"] is False
    bad, good = report["files"]
    assert [(each["line"], each["column"]) for each in bad["problems"]] == [(3, 1), (4, 1)]
    assert bad["summary"] is None
    assert good["valid"]
    assert good["summary"]["hash"] == load("number_guessing").content_hash
    assert not good["warnings"]


def test_json_has_warnings(bciigl, write):
    result = bciigl("protocol", "check", write(GOOD + "timing: {isi: 3}\n"), "--json")
    (report,) = json.loads(result.stdout)["files"]
    assert [each["path"] for each in report["warnings"]] == ["timing.isi"]


def test_one_run_is_not_runs(bciigl, write):
    path = write("name: x\ntask: {options: [7, 8, 9], trials: 40}\n")
    assert "40 trials in 1 run," in bciigl("protocol", "check", path).stdout
