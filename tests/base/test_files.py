"""Files that are either whole or absent."""

import errno
import subprocess
import sys

import pytest

from bciigl.base.files import (
    make_folder,
    named_errors,
    remove_unfinished,
    write_text,
    written_file,
    written_folder,
)


def test_text_is_written_as_utf8_with_unix_line_ends(tmp_path):
    write_text(tmp_path / "a", "é\n")
    assert (tmp_path / "a").read_bytes() == b"\xc3\xa9\n"


def test_existing_file_is_kept_unless_asked(tmp_path):
    path = tmp_path / "a"
    write_text(path, "old")
    with pytest.raises(FileExistsError):
        write_text(path, "new")
    assert path.read_text() == "old"
    write_text(path, "new", overwrite=True)
    assert path.read_text() == "new"


def test_link_to_nothing_is_kept_too(tmp_path):
    (tmp_path / "a").symlink_to("nothing")
    with pytest.raises(FileExistsError):
        write_text(tmp_path / "a", "new")


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a"
    write_text(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "x" * 100_000 + "\ud800", overwrite=True)
    assert [each.name for each in tmp_path.iterdir()] == ["a"]
    assert path.read_text() == "old"


def test_folder_appears_when_it_is_filled(tmp_path):
    with written_folder(tmp_path / "new" / "folder") as temporary:
        (temporary / "a").write_text("1")
        assert not (tmp_path / "new" / "folder").exists()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["folder"]
    assert (tmp_path / "new" / "folder" / "a").read_text() == "1"


def test_folder_that_cannot_be_filled_leaves_nothing(tmp_path):
    with pytest.raises(KeyError), written_folder(tmp_path / "folder") as temporary:
        (temporary / "a").write_text("1")
        raise KeyError
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_exists_is_not_replaced(tmp_path, kind):
    place = tmp_path / "place"
    if kind == "file":
        place.write_text("mine")
    elif kind == "folder":
        place.mkdir()
        (place / "mine").write_text("mine")
    else:
        place.symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError, match="place"), written_folder(place):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["place"]


def test_error_without_a_name_gets_one(tmp_path):
    with pytest.raises(OSError, match="No space left") as error, named_errors(tmp_path / "a"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert error.value.filename == str(tmp_path / "a")
    assert error.value.errno == errno.ENOSPC
    # Python makes the right kind of it.
    with pytest.raises(PermissionError) as error, named_errors("a"):
        raise OSError(errno.EACCES, "Permission denied")
    assert error.value.filename == "a"


def test_error_with_a_name_and_other_errors_stay_as_they_are(tmp_path):
    with pytest.raises(FileNotFoundError) as error, named_errors(tmp_path / "a"):
        (tmp_path / "b").read_text()
    assert error.value.filename == str(tmp_path / "b")
    with pytest.raises(KeyError), named_errors(tmp_path / "a"):
        raise KeyError
    with named_errors(tmp_path / "a"):
        pass


def test_write_that_fails_without_a_name_is_told_by_that_of_the_file(tmp_path):
    with pytest.raises(OSError, match="No space") as error, written_file(tmp_path / "a") as path:
        path.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert error.value.filename == str(tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_what_a_killed_program_left_is_removed_and_nothing_else(tmp_path):
    program = (
        "import os, sys; from bciigl.base.files import written_file\n"
        "with written_file(sys.argv[1]) as path: path.write_text('half'); os._exit(9)"
    )
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for place in ("a.nii.gz", "deep/er/b"):
        subprocess.run([sys.executable, "-c", program, tmp_path / place])
    kept = [
        ".tmp",
        ".bidsignore",
        ".x.tmp.y",
        "1.tmp.x",
        ".1.tmp",
        "deep/.1x.tmp.y",
        ".g1.tmp.y",
        "deep/c",
    ]
    for name in kept:
        (tmp_path / name).touch()
    left = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    assert len(left) == len(kept) + 2
    remove_unfinished(tmp_path)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == set(kept)


def test_nothing_is_removed_where_nothing_is(tmp_path):
    remove_unfinished(tmp_path)
    remove_unfinished(tmp_path / "nowhere")
    assert not list(tmp_path.iterdir())


def test_folder_is_made_with_those_it_lies_in(tmp_path):
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    make_folder(tmp_path / "a" / "b")  # it is empty


def test_folder_can_be_made_relative_to_the_current_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_folder("a")
    make_folder(".//b/")
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}


@pytest.mark.parametrize("kind", ["file", "full", "link", "link to a folder"])
def test_folder_is_not_made_in_place_of_anything(tmp_path, kind):
    place = tmp_path / "place"
    (tmp_path / "empty").mkdir()
    if kind == "file":
        place.write_text("mine")
    elif kind == "full":
        place.mkdir()
        (place / ".mine").write_text("mine")
    else:
        place.symlink_to(tmp_path / ("nowhere" if kind == "link" else "empty"))
    with pytest.raises(FileExistsError, match="exists already and is not an empty folder") as error:
        make_folder(place)
    assert error.value.filename == str(place)


def test_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="cannot be made") as error:
        make_folder(tmp_path / "file" / "a" / "b")
    assert error.value.filename == str(tmp_path / "file" / "a" / "b")


def test_two_at_the_same_file_do_not_write_to_the_same_place(tmp_path):
    """Not even with the same process number, as on two machines that share a disk."""
    with written_file(tmp_path / "file") as one, written_file(tmp_path / "file") as other:
        assert one != other
        one.write_text("one")
        other.write_text("other")
    assert (tmp_path / "file").read_text() == "one"
    with written_folder(tmp_path / "a") as one, written_folder(tmp_path / "b") as other:
        assert one.name.split(".")[2] != other.name.split(".")[2]
