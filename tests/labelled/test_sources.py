"""Where labelled data are: files of all kinds, folders in order, and errors that name the place."""

import os
import pickle
import struct

import numpy as np
import pytest

from bciigl.base.errors import BciiglError
from bciigl.labelled.rules import LabelledError
from bciigl.labelled.sources import Source, find_sources

X = np.array([[0.5, 1], [2, 3], [4, 5], [6, 7]])
CSV = "a,b,class\n" + "".join(f"{a},{b},{i % 2}\n" for i, (a, b) in enumerate(X))
ARFF = "@attribute a real\n@attribute b real\n@attribute class {0,1}\n@data\n" + CSV[10:]


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the same data in files of several kinds, and other things."""
    np.savez(tmp_path / "10_ten.npz", X=X, y=np.array([0, 1, 0, 1]))
    (tmp_path / "2_two.csv").write_text(CSV)
    (tmp_path / "3_three.TSV").write_text(CSV.replace(",", "\t"))
    (tmp_path / "1_one.arff").write_text(ARFF)
    for other in ("README.md", ".hidden.csv", "notes.txt"):
        (tmp_path / other).write_text("other things")
    (tmp_path / "deeper.npz").mkdir()
    (tmp_path / "deeper.npz" / "5_five.csv").write_text(CSV)
    return tmp_path


def test_a_folder_has_its_datasets_in_natural_order_and_nothing_else(folder):
    sources = find_sources(folder)
    assert [(each.kind, os.path.basename(each.place)) for each in sources] == [
        ("arff", "1_one.arff"),
        ("csv", "2_two.csv"),
        ("csv", "3_three.TSV"),
        ("npz", "10_ten.npz"),
    ]


def test_the_same_data_are_the_same_from_files_of_all_kinds(folder):
    for source, name in zip(find_sources(folder), ("one", "two", "three", "ten"), strict=True):
        data = source.load()
        np.testing.assert_array_equal(data.features, X)
        np.testing.assert_array_equal(data.label, [0, 1, 0, 1])
        assert (data.name, data.classes) == (name, ("0", "1"))
        assert data.label.dtype == np.int64


def test_a_file_is_one_source_with_its_absolute_path(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert find_sources("2_two.csv", label="b") == [Source("csv", str(folder / "2_two.csv"), "b")]


def test_sources_are_small_and_can_be_sent_to_workers(folder):
    for source in find_sources(folder):
        sent = pickle.dumps(source)
        assert len(sent) < 1000
        assert pickle.loads(sent) == source  # noqa: S301


def test_raw_idx_files_in_a_folder_are_one_source(tmp_path):
    images = struct.pack(">4B3I", 0, 0, 8, 3, 4, 2, 1) + bytes(range(8))
    labels = struct.pack(">4BI", 0, 0, 8, 1, 4) + bytes([0, 1, 0, 1])
    (tmp_path / "train-images-idx3-ubyte").write_bytes(images)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(labels)
    (source,) = find_sources(tmp_path)
    assert source == Source("idx", str(tmp_path))
    np.testing.assert_array_equal(source.load().features, np.arange(8).reshape(4, 2))
    (single,) = find_sources(tmp_path / "train-images-idx3-ubyte")
    np.testing.assert_array_equal(single.load().features, source.load().features)


def test_labels_are_taken_from_the_column_that_is_named(folder):
    for file in ("1_one.arff", "2_two.csv"):
        (source,) = find_sources(folder / file, label="b")
        with pytest.raises(LabelledError, match=f"^{folder / file}: has 4 classes in 4 examples"):
            source.load()


@pytest.mark.parametrize("kind", ["npz", "idx"])
def test_a_label_column_is_refused_where_there_are_no_columns(kind):
    with pytest.raises(LabelledError, match="^/data: has no columns with names, .*'b'"):
        Source(kind, "/data", "b")


def test_a_label_column_is_refused_for_a_folder_with_arrays_in_it(folder):
    with pytest.raises(LabelledError, match="10_ten.npz: has no columns with names"):
        find_sources(folder, label="b")


def test_places_without_data_are_refused(tmp_path):
    with pytest.raises(
        LabelledError, match=f"^{tmp_path}: no datasets in this folder; known are .n"
    ):
        find_sources(tmp_path)
    with pytest.raises(LabelledError, match=f"^{tmp_path / 'none'}: no such file or folder"):
        find_sources(tmp_path / "none")
    with pytest.raises(LabelledError, match="File name too long"):
        find_sources("x" * 5000)
    (tmp_path / "a.cvs").touch()
    with pytest.raises(LabelledError, match="a.cvs: unknown kind of file; did you mean '.csv'"):
        find_sources(tmp_path / "a.cvs")


def test_openml_ids_are_whole_numbers():
    for wrong in ("0", "-1", "iris"):
        with pytest.raises(LabelledError, match=f"^OpenML {wrong}: the id of a dataset is a whole"):
            Source("openml", wrong)


def test_an_unknown_kind_is_refused():
    with pytest.raises(LabelledError, match="unknown kind 'cvs'; did you mean 'csv'"):
        Source("cvs", "/data.csv")


def test_a_file_that_is_gone_or_cannot_be_opened_is_refused(folder):
    sources = find_sources(folder)
    for source in sources:
        os.unlink(source.place)
        with pytest.raises(LabelledError, match=f"^{source.place}: no such file"):
            source.load()
    os.mkdir(sources[1].place)
    with pytest.raises(LabelledError, match=f"^{sources[1].place}: Is a directory"):
        sources[1].load()


@pytest.mark.parametrize("ending", ["npz", "arff", "csv", "tsv"])
def test_whatever_is_in_a_file_the_error_begins_with_its_path(tmp_path, ending):
    rng = np.random.default_rng(0)
    path = tmp_path / f"a.{ending}"
    good = {"arff": ARFF, "csv": CSV, "tsv": CSV.replace(",", "\t"), "npz": "PK\3\4"}[ending]
    for trial in range(60):
        content = bytearray(good.encode())
        for place in rng.integers(len(content), size=1 + trial // 4):
            content[place] = rng.integers(256) if trial % 2 else rng.choice(list(b",;'\"\n{}@?%\t"))
        path.write_bytes(content[: rng.integers(len(content) + 1)])
        try:
            find_sources(path)[0].load()
        except BciiglError as error:
            assert str(error).startswith(f"{path}: ")
            assert str(error).count(str(path)) == 1
