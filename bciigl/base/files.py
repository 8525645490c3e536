"""Files that are either whole or absent."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_text(path: str | os.PathLike, text: str, *, overwrite: bool = False) -> None:
    """Write `text` to `path` as UTF-8 under a temporary name, then rename it.

    Parameters
    ----------
    path : path-like
        Where to write; its folder must exist.
    text : str
        The whole content.
    overwrite : bool
        Without it, an existing `path` raises `FileExistsError` and is left as it was.
    """
    if not overwrite and os.path.lexists(path):
        raise FileExistsError(f"{path} exists already")
    with written_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def written_file(path: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary path, with the same ending, to write to; it then takes the place of `path`.

    If writing fails, `path` is left as it was.
    """
    path = Path(path)
    temporary = path.with_name(f".{os.getpid()}.tmp.{path.name}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def refuse_existing(folder: str | os.PathLike) -> None:
    """Raise `FileExistsError` unless `folder` can be made: it does not exist, or is empty."""
    path = Path(folder)
    if os.path.lexists(path) and not (path.is_dir() and not any(path.iterdir())):
        raise FileExistsError(
            errno.EEXIST, "exists already and is not an empty folder", os.fspath(path)
        )


@contextmanager
def written_whole(folder: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary folder to fill, which then takes the place of `folder`.

    If filling it fails, nothing is left behind. `folder` must pass `refuse_existing`.
    """
    refuse_existing(folder)
    folder = Path(os.path.abspath(folder))
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary.mkdir()
    except OSError as error:
        raise OSError(error.errno, f"cannot be made ({error.strerror})", str(folder)) from error
    try:
        yield temporary
        temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
