"""The dataset as it lies on the disk."""

import json

import nibabel
import numpy as np
import pytest
from recordings import REGION, places, small, write_made_up

from bciigl.brain.images import read_image
from bciigl.loop import SimulatedPerson, record
from bciigl.recording.bids import write_run
from bciigl.recording.layout import ESTIMATES, MASK, TRUTH, beside, read_table, run_stem

COLUMNS = ("onset", "duration", "trial_type", "trial", "guess", "propensity", "explored", "catch")


def files(folder) -> dict[str, bytes]:
    """Return the content of all files of a folder, by their paths in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def visible(folder) -> dict[str, bytes]:
    """Return the files that whoever may not know the truth is given."""
    return {
        name: content for name, content in files(folder).items() if not name.startswith(str(TRUTH))
    }


def test_recorded_voxels_are_in_their_place_in_the_head(tmp_path):
    protocol = small()
    write_made_up(tmp_path, protocol)
    corner = REGION.voxels.min(axis=0)
    for path in (tmp_path / MASK, beside(tmp_path, run_stem(protocol, "train", 1), "bold.nii.gz")):
        affine = nibabel.load(path).affine
        found = (REGION.voxels - corner) @ affine[:3, :3].T + affine[:3, 3]
        # NIfTI keeps an affine in 32 bits.
        np.testing.assert_allclose(found, REGION.millimetres, atol=1e-4)


def test_frames_are_in_the_image_and_nothing_else_is(tmp_path):
    protocol = small(timing={"tr": 0.7})
    for place, (frames, *_) in write_made_up(tmp_path, protocol).items():
        path = beside(tmp_path, run_stem(protocol, *place), "bold.nii.gz")
        image = read_image(path)
        inside = tuple((REGION.voxels - REGION.voxels.min(axis=0)).T)
        np.testing.assert_array_equal(image.data[inside].T, frames.astype(np.float32))
        image.data[inside] = 0
        assert not image.data.any()
        assert image.tr == 0.7
        assert nibabel.load(path).header.get_xyzt_units() == ("mm", "sec")
        sidecar = json.loads(beside(tmp_path, run_stem(protocol, *place), "bold.json").read_text())
        assert sidecar["RepetitionTime"] == 0.7
        assert sidecar["TaskName"] == "small"


def test_mask_is_the_region(tmp_path):
    write_made_up(tmp_path, small())
    mask = nibabel.load(tmp_path / MASK)
    assert mask.get_data_dtype() == np.uint8
    np.testing.assert_array_equal(
        np.argwhere(mask.get_fdata()), REGION.voxels - REGION.voxels.min(axis=0)
    )


def test_events_say_when_what_happened_and_what_was_guessed(tmp_path):
    protocol = small(timing={"event": 1.5, "isi": 6.1, "burn_in": 3.3})
    for place, (_, trials, *_) in write_made_up(tmp_path, protocol).items():
        path = beside(tmp_path, run_stem(protocol, *place), "events.tsv")
        assert tuple(path.read_text().split("\n")[0].split("\t")) == COLUMNS
        table = read_table(path, COLUMNS)
        kinds = ["imagination", "perception", "judgment"]
        assert table["trial_type"] == kinds * len(trials)
        # 7.6 s from event to event; sums of decimals show no rounding errors
        expected = [f"{(33 + 76 * number) / 10:g}" for number in range(3 * len(trials))]
        assert table["onset"] == expected
        assert set(table["duration"]) == {"1.5"}
        for name, of_trial in {
            "trial": [str(number + 1) for number in range(len(trials))],
            "guess": ["abc"[trial.action] for trial in trials],
            "explored": ["true" if trial.explored else "false" for trial in trials],
            "catch": ["true" if trial.catch else "false" for trial in trials],
        }.items():
            assert table[name] == [each for each in of_trial for _ in kinds]
        propensity = [float(each) for each in table["propensity"][::3]]
        assert propensity == [trial.propensity for trial in trials]


@pytest.mark.parametrize("events", [["perception", "judgment"], ["judgment"], ["perception"]])
def test_every_further_column_and_kind_of_event_is_described(tmp_path, events):
    protocol = small(task={"events": ["imagination", *events]})
    write_made_up(tmp_path, protocol)
    described = json.loads((tmp_path / "task-small_events.json").read_text())
    path = beside(tmp_path, run_stem(protocol, "train", 1), "events.tsv")
    head = path.read_text().split("\n")[0].split("\t")
    assert set(described) == set(head) - {"onset", "duration"}
    assert all(each["Description"] for each in described.values())
    assert list(described["trial_type"]["Levels"]) == ["imagination", *events]
    assert set(read_table(path, ["trial_type"])["trial_type"]) == {"imagination", *events}
    for name in ("explored", "catch"):
        assert set(read_table(path, [name])[name]) <= set(described[name]["Levels"])


def test_columns_of_the_truth_are_described(tmp_path):
    protocol = small()
    write_made_up(tmp_path, protocol)
    described = json.loads((tmp_path / TRUTH / "task-small_truth.json").read_text())
    path = beside(tmp_path / TRUTH, run_stem(protocol, "train", 1), "truth.tsv")
    assert path.read_text().split("\n")[0].split("\t") == list(described)


def test_separate_recordings_get_a_file_for_each_kind(tmp_path):
    protocol = small(recording="separate", estimate="frame")
    for place, (frames, trials, *_) in write_made_up(tmp_path, protocol).items():
        stem = run_stem(protocol, *place)
        assert not beside(tmp_path, stem, "bold.nii.gz").exists()
        for kind, series in frames.items():
            stem = run_stem(protocol, *place, kind)
            assert f"_acq-{kind}_run-" in stem.name
            image = read_image(beside(tmp_path, stem, "bold.nii.gz"))
            assert image.data.shape[3] == len(series)
            inside = tuple((REGION.voxels - REGION.voxels.min(axis=0)).T)
            np.testing.assert_array_equal(image.data[inside].T, series.astype(np.float32))
            assert beside(tmp_path, stem, "bold.json").exists()
            table = read_table(beside(tmp_path, stem, "events.tsv"), COLUMNS)
            assert table["trial_type"] == [kind] * len(trials)
            # The brain's answers begin when imagination ends.
            late = 0 if kind == "imagination" else 2
            assert table["onset"] == [f"{12 + late + 9 * n:g}" for n in range(len(trials))]
    names = [path.name for path in (tmp_path / "sub-01/ses-test/func").iterdir()]
    assert len(names) == 9


def test_truth_is_written_in_its_own_folder_alone(tmp_path):
    protocol = small()
    written = write_made_up(tmp_path, protocol)
    before = files(tmp_path)
    for place, run in written.items():
        meant, imagined = (run.truth.meant + 1) % 3, (run.truth.imagined + 2) % 3
        other = type(run.truth)(meant, ~run.truth.match, imagined, ~run.truth.judged)
        write_run(tmp_path, protocol, REGION, place, run._replace(truth=other))
    after = files(tmp_path)
    changed = {name for name in before if before[name] != after[name]}
    assert before.keys() == after.keys()
    assert len(changed) == len(places(protocol))
    assert all(name.startswith(str(TRUTH)) for name in changed)
    for place, run in written.items():
        write_run(tmp_path / "blind", protocol, REGION, place, run._replace(truth=None))
    assert not (tmp_path / "blind" / TRUTH).exists()


def test_frames_that_are_missing_are_in_the_image_and_named_in_a_table(tmp_path):
    protocol = small()
    place, run = next(iter(write_made_up(tmp_path / "whole", protocol).items()))
    run.frames[[4, 9]] = np.nan
    run = run._replace(status={4: "corrupt", 9: "missing", 11: "late"})
    paths = write_run(tmp_path / "gaps", protocol, REGION, place, run)
    stem = run_stem(protocol, *place)
    table = beside(tmp_path / "gaps" / ESTIMATES, stem, "frames.tsv")
    assert table in paths
    assert table.read_text() == "frame\tstatus\n5\tcorrupt\n10\tmissing\n12\tlate\n"
    data = read_image(beside(tmp_path / "gaps", stem, "bold.nii.gz")).data
    inside = tuple((REGION.voxels - REGION.voxels.min(axis=0)).T)
    np.testing.assert_array_equal(data[inside].T, run.frames.astype(np.float32))
    assert not [name for name in files(tmp_path / "whole") if name.endswith("frames.tsv")]


class OtherMind(SimulatedPerson):
    """A person who means, imagines and judges otherwise."""

    def __init__(self, *arguments, **how) -> None:
        super().__init__(*arguments, **how)
        self.meant = (self.meant + 1) % 3
        self.imagined = (self.imagined + 2) % 3
        self._lapses = ~self._lapses


@pytest.mark.parametrize("recording", ["shared", "separate"])
def test_nothing_outside_the_truth_tells_what_a_person_meant(tmp_path, monkeypatch, recording):
    # So weak a response is lost in rounding: frames are the same, whatever is on one's mind.
    protocol = small(brain={"cnr": 1e-30}, recording=recording, task={"trials": 12})
    record(protocol, tmp_path / "one")
    monkeypatch.setattr("bciigl.loop.session.SimulatedPerson", OtherMind)
    record(protocol, tmp_path / "other")
    assert visible(tmp_path / "one") == visible(tmp_path / "other")
    one, other = files(tmp_path / "one"), files(tmp_path / "other")
    told = {name for name in one if one[name] != other[name]}
    assert told == {name for name in one if name.endswith("_truth.tsv")}
    assert len(told) == 4


def test_with_a_response_the_same_person_is_seen_in_the_frames_alone(tmp_path, monkeypatch):
    protocol = small()
    record(protocol, tmp_path / "one")
    monkeypatch.setattr("bciigl.loop.session.SimulatedPerson", OtherMind)
    record(protocol, tmp_path / "other")
    one, other = visible(tmp_path / "one"), visible(tmp_path / "other")
    told = {name for name in one if one[name] != other[name]}
    endings = ("_bold.nii.gz", "_interactions.npz", "_estimates.npz", "calibration.npz")
    assert told == {name for name in one if name.endswith(endings)}


def test_dataset_does_not_tell_when_or_by_whom_it_was_written(tmp_path):
    write_made_up(tmp_path / "one", small())
    write_made_up(tmp_path / "other", small())
    assert files(tmp_path / "one") == files(tmp_path / "other")


def test_no_unfinished_file_is_left(tmp_path):
    write_made_up(tmp_path, small())
    hidden = [name for name in files(tmp_path) if "/." in f"/{name}"]
    assert sorted(hidden) == [f"{ESTIMATES}/.bidsignore", f"{TRUTH}/.bidsignore"]
