"""Raw IDX files: how they are paired and read, and what is wrong with damaged ones."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from bciigl.labelled.arrays import is_idx, read_idx
from bciigl.labelled.rules import LabelledError

IMAGES = np.arange(8 * 2 * 3, dtype=np.uint8).reshape(8, 2, 3)
LABELS = np.array([0, 1] * 4, np.uint8)


def idx(array: np.ndarray, kind: int = 8) -> bytes:
    shape = struct.pack(f">{array.ndim}I", *array.shape)
    return bytes([0, 0, kind, array.ndim]) + shape + array.tobytes()


def write_pair(folder: Path, prefix: str, images=IMAGES, labels=LABELS, form="{}-{}-idx{}-ubyte"):
    for what, array, number in (("images", images, 3), ("labels", labels, 1)):
        content = idx(array)
        name = form.format(prefix, what, number)
        (folder / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)


def test_a_folder_is_one_dataset_with_its_test_part_last(tmp_path):
    for form in [
        "{}-{}-idx{}-ubyte",
        "{}-{}.idx{}-ubyte",
        "{}-{}-idx{}-ubyte.gz",
        "{}_{}_IDX{}_ubyte",
    ]:
        folder = tmp_path / form.replace("{}", "x") / "digits"
        folder.mkdir(parents=True)
        write_pair(folder, "train", form=form)
        write_pair(folder, "t10k", IMAGES[:2] + 100, LABELS[:2], form=form)
        data = read_idx(folder)
        np.testing.assert_array_equal(data.features[:8], IMAGES.reshape(8, 6))
        np.testing.assert_array_equal(data.features[8:], IMAGES[:2].reshape(2, 6) + 100)
        np.testing.assert_array_equal(data.label, [0, 1] * 5)
        assert (data.name, data.training, data.classes) == ("digits", 8, ("0", "1"))


def test_a_folder_without_a_test_part_has_none(tmp_path):
    write_pair(tmp_path, "train")
    assert read_idx(tmp_path).training is None


@pytest.mark.parametrize("what", ["images-idx3", "labels-idx1"])
def test_a_single_file_is_read_with_the_one_beside_it(tmp_path, what):
    write_pair(tmp_path, "train")
    write_pair(tmp_path, "t10k", IMAGES[:4], LABELS[:4])
    data = read_idx(tmp_path / f"t10k-{what}-ubyte")
    assert (data.name, len(data.label), data.training) == ("t10k", 4, None)


def test_compressed_content_is_known_by_itself_not_by_its_name(tmp_path):
    write_pair(tmp_path, "train", form="{}-{}-idx{}-ubyte.gz")
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(idx(LABELS))
    assert len(read_idx(tmp_path).label) == 8


def test_of_a_file_that_is_there_twice_the_one_not_compressed_is_read(tmp_path):
    write_pair(tmp_path, "train", IMAGES + 100, form="{}-{}-idx{}-ubyte.gz")
    write_pair(tmp_path, "train")
    np.testing.assert_array_equal(read_idx(tmp_path).features, IMAGES.reshape(8, 6))


def test_names_of_other_files_are_not_taken(tmp_path):
    assert is_idx(Path("train-images-idx3-ubyte"))
    for name in ("README.md", "train-images.npz", "images", "train-images-idx3-ubyte.zip"):
        assert not is_idx(Path(name))


GOOD = idx(IMAGES)


def test_damaged_files_are_refused(tmp_path):
    for content, message in [
        (GOOD[:-5], "train-images-idx3-ubyte is cut off: 59 of 64 bytes"),
        (GOOD[:9], "is cut off: it has 9 bytes"),
        (GOOD[:2], "is not an IDX file"),
        (b"", "is not an IDX file"),
        (GOOD + b"more", "has 68 bytes, and should have 64 for an array of .8, 2, 3."),
        (b"\x89PNG" + GOOD, r"is not an IDX file: it begins with b'\\x89PNG'"),
        (idx(IMAGES, kind=13), r"should hold unsigned bytes \(type 8\), got type 13"),
        (gzip.compress(GOOD, mtime=0)[:-12], "is cut off or damaged"),
        (b"\x1f\x8b" + GOOD, "is cut off or damaged"),
        (bytes([0, 0, 8, 3]) + b"\xff" * 12, "is cut off: 16 of"),
        (idx(IMAGES[:5]), "has 5 images, and train-labels-idx1-ubyte 8 labels"),
        (idx(LABELS), r"should have images and one label for each, got shapes \(8,\) and \(8,\)"),
        (idx(IMAGES[:0]), "has 0 images"),
    ]:
        write_pair(tmp_path, "train")
        (tmp_path / "train-images-idx3-ubyte").write_bytes(content)
        with pytest.raises(LabelledError, match=message):
            read_idx(tmp_path)


def test_images_without_labels_are_refused(tmp_path):
    write_pair(tmp_path, "train")
    (tmp_path / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(
        LabelledError, match="labels that belongs to train-images-idx3-ubyte is mis"
    ):
        read_idx(tmp_path)


def test_images_of_two_sizes_are_refused(tmp_path):
    write_pair(tmp_path, "train")
    write_pair(tmp_path, "t10k", np.zeros((8, 3, 3), np.uint8))
    with pytest.raises(
        LabelledError,
        match=r"images should be of one shape, got \(2, 3\) in train.* and \(3, 3\) in t10k",
    ):
        read_idx(tmp_path)


def test_several_sets_in_one_folder_are_refused(tmp_path):
    for prefix in ("letters-train", "letters-test", "digits-train"):
        write_pair(tmp_path, prefix)
    with pytest.raises(LabelledError, match="several sets of images .digits-train, letters-te"):
        read_idx(tmp_path)
    (tmp_path / "digits-train-images-idx3-ubyte").unlink()
    (tmp_path / "digits-train-labels-idx1-ubyte").unlink()
    assert read_idx(tmp_path).training == 8
