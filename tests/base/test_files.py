"""Files that are either whole or absent."""

import pytest

from bciigl.base.files import write_text, written_folder


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
