"""Files that are either whole or absent."""

import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_text(path: str | os.PathLike, text: str, *, overwrite: bool = False) -> None:
    """Write a UTF-8 text whole; `FileExistsError` if it is there, unless it may `overwrite`."""
    if not overwrite and os.path.lexists(path):
        raise FileExistsError(f"{path} exists already")
    with written_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def written_file(path: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary path of the same ending to write to; rename it to `path` if all is well."""
    path = Path(path)
    # A name that no other process uses, even on another machine that shares the disk.
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp.{path.name}")
    try:
        with named_errors(path):
            yield temporary
            # So that a power cut cannot leave a name without content.
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_unfinished(folder: str | os.PathLike) -> None:
    """Delete temporary files that `written_file` left, at any depth, when it was killed."""
    for path in Path(folder).rglob(".*.tmp.*"):
        if re.match(r"\.[\da-f]+\.tmp\.", path.name):
            path.unlink()


@contextmanager
def named_errors(path: str | os.PathLike) -> Iterator[None]:
    """Add the path to errors that do not say what could not be read or written."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from error


@contextmanager
def written_folder(folder: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary folder to fill, then rename it to `folder`.

    If filling it fails, nothing is left behind. Unless `folder` is absent or empty,
    `FileExistsError` is raised before anything is done.
    """
    folder = Path(os.path.abspath(folder))
    temporary = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}.tmp")
    _make(folder, folder.parent, temporary)
    try:
        yield temporary
        temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def make_folder(folder: str | os.PathLike) -> None:
    """Make a folder, unless there is an empty one; any other raises `FileExistsError`."""
    folder = Path(os.path.abspath(folder))
    _make(folder, folder)


def _make(folder: Path, *made: Path) -> None:
    """Make folders if `folder` is absent or empty; errors name `folder`, also for its parents."""
    empty = folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir())
    if os.path.lexists(folder) and not empty:
        message = "exists already and is not an empty folder"
        raise FileExistsError(errno.EEXIST, message, str(folder))
    try:
        for each in made:
            each.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(error.errno, f"cannot be made ({error.strerror})", str(folder)) from error
