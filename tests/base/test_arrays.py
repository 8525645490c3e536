"""Arrays in files: numbers come back, and nothing else is taken for them."""

import shutil
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bciigl.base.arrays import read_arrays
from bciigl.base.errors import BciiglError

RNG = np.random.default_rng(0)
ARRAYS = {
    "matrix": RNG.standard_normal((40, 6)),
    "whole": RNG.integers(9, size=40),
    "mask": RNG.random(40) < 0.5,
    "number": np.array(0.3),
    "nothing": np.zeros((0, 3)),
    "text": np.array(["a", "bc"]),
    "odd": np.array([np.nan, np.inf]),
}
UNREADABLE = "is not readable as arrays of numbers"


@pytest.fixture
def folder(tmp_path):
    """Return a folder of NPY files."""
    (tmp_path / "folder").mkdir()
    for name, array in ARRAYS.items():
        np.save(tmp_path / "folder" / f"{name}.npy", array)
    return tmp_path / "folder"


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> dict[str, bytes]:
    """Return the content of two files."""
    path = tmp_path_factory.mktemp("stored") / "a.npz"
    np.savez(path, **ARRAYS)
    plain = path.read_bytes()
    np.savez_compressed(path, **ARRAYS)
    return {"plain": plain, "compressed": path.read_bytes()}


def same(found: dict[str, np.ndarray]) -> None:
    assert set(found) == set(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array, strict=True)


@pytest.mark.parametrize("kind", ["plain", "compressed"])
def test_arrays_of_a_file_come_back(stored, write, kind):
    path = write(stored[kind], "a.npz")
    same(read_arrays(path))
    same(read_arrays(str(path)))
    # What a file is shows in its content, not in its name.
    same(read_arrays(write(stored[kind], "a.dat")))


def test_arrays_of_a_folder_come_back(folder):
    (folder / "notes.txt").write_text("what else is there does not matter")
    same(read_arrays(folder))
    same(read_arrays(str(folder)))


def test_empty_folder_and_empty_zip_have_no_arrays(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w"):
        pass
    assert read_arrays(tmp_path / "a.npz") == {}
    (tmp_path / "a.npz").unlink()
    assert read_arrays(tmp_path) == {}


def test_place_where_nothing_is_is_told(tmp_path):
    with pytest.raises(BciiglError, match="nowhere.npz: no such file"):
        read_arrays(tmp_path / "nowhere.npz")


def test_single_array_is_refused(folder):
    with pytest.raises(BciiglError, match="matrix.npy: is a single array; give an NPZ file, or a "):
        read_arrays(folder / "matrix.npy")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"context,action\n1,2\n",
        b"PK\x03\x04",
        b"PK\x05\x06",
        b"\x93NUMPY",
        b"\x80\x04K\x01.",
        b"\x00" * 100,
    ],
    ids=["empty", "csv", "zip", "end of zip", "npy", "pickle", "zeros"],
)
def test_file_of_another_kind_is_refused(write, folder, content):
    with pytest.raises(BciiglError, match=f"a.npz: {UNREADABLE}"):
        read_arrays(write(content, "a.npz"))
    (folder / "mask.npy").write_bytes(content)
    with pytest.raises(BciiglError, match=f"mask.npy: {UNREADABLE}"):
        read_arrays(folder)


def test_objects_are_never_unpickled(tmp_path, folder):
    class Trap:
        """Leaves a trace where it is unpickled."""

        def __reduce__(self):
            return open, (str(tmp_path / "sprung"), "w")

    trap = np.array([Trap()], object)
    np.savez(tmp_path / "a.npz", **ARRAYS, trap=trap)
    with pytest.raises(BciiglError, match=f"a.npz: {UNREADABLE}"):
        read_arrays(tmp_path / "a.npz")
    np.save(folder / "trap.npy", trap)
    with pytest.raises(BciiglError, match=f"trap.npy: {UNREADABLE}"):
        read_arrays(folder)
    # A bare pickle, which np.load would read were it allowed to.
    (tmp_path / "a.npz").write_bytes(trap.dumps())
    with pytest.raises(BciiglError, match=f"a.npz: {UNREADABLE}"):
        read_arrays(tmp_path / "a.npz")
    assert not (tmp_path / "sprung").exists()


def test_zip_of_other_files_is_refused(tmp_path):
    for name in ("context", "context.npy"):
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
            file.writestr(name, "abc")
        with pytest.raises(BciiglError, match=f"a.npz: {UNREADABLE}"):
            read_arrays(tmp_path / "a.npz")


def test_encrypted_zip_is_refused(stored, write):
    content = bytearray(stored["plain"])
    # The flag in the local header and in the directory.
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(BciiglError, match=f"a.npz: {UNREADABLE}"):
        read_arrays(write(bytes(content), "a.npz"))


@pytest.mark.parametrize("kind", ["plain", "compressed"])
@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.9, 0.99])
def test_truncated_file_is_refused(stored, write, kind, share):
    content = stored[kind]
    with pytest.raises(BciiglError, match=f"a.npz: {UNREADABLE}"):
        read_arrays(write(content[: int(share * len(content))], "a.npz"))


@given(kind=st.sampled_from(["plain", "compressed"]), data=st.data())
@settings(max_examples=200)
def test_damaged_file_is_refused_or_read(stored, tmp_path_factory, kind, data):
    content = bytearray(stored[kind])
    place = data.draw(st.integers(0, len(content) - 1))
    damage = data.draw(st.binary(min_size=1, max_size=20))
    content[place : place + len(damage)] = damage
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "a.npz").write_bytes(content)
    try:
        found = read_arrays(folder / "a.npz")
    except BciiglError as error:
        assert "a.npz: " in str(error)
    else:
        assert all(isinstance(each, np.ndarray) for each in found.values())
        assert not any(each.dtype.hasobject for each in found.values())
    finally:
        shutil.rmtree(folder)


@given(st.binary(max_size=300))
@settings(max_examples=100)
def test_any_bytes_are_refused(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("bytes")
    (folder / "a.npz").write_bytes(content)
    with pytest.raises(BciiglError, match="a.npz: "):
        read_arrays(folder / "a.npz")
    shutil.rmtree(folder)
