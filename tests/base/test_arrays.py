"""Arrays in files: numbers come back, and nothing else is taken for them."""

import io
import shutil
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bciigl.base.arrays import read_array, read_arrays
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


def test_file_of_another_kind_is_refused(write, folder):
    csv, pickle = b"context,action\n1,2\n", b"\x80\x04K\x01."
    for content in (b"", csv, b"PK\x03\x04", b"PK\x05\x06", b"\x93NUMPY", pickle, bytes(100)):
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


def test_truncated_file_is_refused(stored, write):
    for content in stored.values():
        for share in (0.01, 0.1, 0.5, 0.9, 0.99):
            with pytest.raises(BciiglError, match=f"a.npz: {UNREADABLE}"):
                read_arrays(write(content[: int(share * len(content))], "a.npz"))


def npy(array: np.ndarray, **header: object) -> bytes:
    """Return the content of an NPY file, with other words in its header where they are given."""
    stream = io.BytesIO()
    np.save(stream, array)
    if not header:
        return stream.getvalue()
    content = array.tobytes()
    stream = io.BytesIO()
    about = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(stream, {**about, **header})
    return stream.getvalue() + content


@pytest.mark.filterwarnings("ignore:Stored array in format 3.0")
def test_header_and_bytes_must_agree(write):
    numbers, text = np.arange(6.0).reshape(2, 3), np.array(["ab", "c"])
    cases = {
        "too many": (npy(numbers, shape=(2, 3000)), "promises shape"),
        "far too many": (npy(numbers, shape=(2, 10**30)), "promises an array of shape"),
        "too few": (npy(numbers, shape=(2, 2)), "but 48 bytes follow"),
        "bytes after the end": (npy(numbers) + b"0", "but 49 bytes follow"),
        "negative": (npy(numbers, shape=(-2, -3)), "promises an array of shape"),
        "empty and endless": (npy(np.zeros((0, 3)), shape=(0, 10**15)), "promises an array of"),
        "no shape": (npy(numbers, shape=[2, 3]), "shape is not valid"),
        "objects": (npy(numbers, descr="|O"), "arrays of type object are not read"),
        "no width": (npy(text, descr="<U0"), "are not read"),
        "no characters": (npy(text).replace(b"c\0\0\0", b"c\0\0\xff"), "no character"),
        "half a character": (npy(text).replace(b"c\0\0\0", b"\0\xd8\0\0"), "no character"),
        "half true": (npy(np.array([True, False]))[:-1] + b"\x07", "0 or 1"),
        "records": (npy(np.zeros(2, [("a", "f8")])), "are not read"),
        "named records": (npy(np.zeros(2, [("β", "f8")])), "version"),
    }
    for case, (content, message) in cases.items():
        path = write(content, "a.npy")
        with pytest.raises(BciiglError, match=f"a.npy: {UNREADABLE}.*{message}"):
            pytest.fail(f"{case}: {read_array(path)}")


def test_byte_order_and_layout(write):
    swapped = np.array([1.5, 2.5], ">f8")
    found = read_array(write(npy(swapped), "a.npy"))
    assert found.dtype == np.dtype("f8")
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, swapped)
    found = read_array(write(npy(np.array(["ä", "bc"], ">U2")), "a.npy"))
    assert found.tolist() == ["ä", "bc"]
    for order in "CF":
        array = np.array(ARRAYS["matrix"], order=order)
        found = read_array(write(npy(array), "a.npy"))
        np.testing.assert_array_equal(found, array)
        assert found.strides == array.strides
        assert found.flags.writeable


def test_zip_bombs_are_refused_unread(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr("a.npy", bytes(65_000_000))
    with pytest.raises(BciiglError, match=f"a.npz: {UNREADABLE}.*packed too tightly"):
        read_arrays(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.npy", npy(np.zeros(3)))
        file.writestr("a", npy(np.zeros(3)))
    with pytest.raises(BciiglError, match="a is there twice"):
        read_arrays(path)
    # Five gigabytes, says the directory.
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.npy", npy(np.zeros(3)))
        file.infolist()[0].file_size = file.infolist()[0].compress_size = 5 * 10**9
    with pytest.raises(BciiglError, match=f"a.npz: {UNREADABLE}"):
        read_arrays(path)
    sparse = tmp_path / "folder" / "a.npy"
    sparse.parent.mkdir()
    with sparse.open("wb") as file:
        file.truncate(5 * 10**9)
    with pytest.raises(BciiglError, match="folder: its arrays hold more than 4 GB"):
        read_arrays(sparse.parent)


@given(kind=st.sampled_from(["plain", "compressed"]), data=st.data())
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
def test_any_bytes_are_refused(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("bytes")
    (folder / "a.npz").write_bytes(content)
    with pytest.raises(BciiglError, match="a.npz: "):
        read_arrays(folder / "a.npz")
    shutil.rmtree(folder)
