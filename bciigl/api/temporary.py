"""Folders of sessions and studies that nobody asked to keep."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "bciigl-"

Tie = Callable[[object], object]
"""Called with the object that needs the folder."""


@contextmanager
def folder_for(out: str | os.PathLike | None, name: str) -> Iterator[tuple[Path, Tie]]:
    """Give the folder `out`, or a temporary one, and what ties a temporary one to an object.

    It is deleted with the object, or at once if something fails.
    """
    if out is not None:
        yield Path(out), lambda owner: None
        return
    root = tempfile.mkdtemp(prefix=PREFIX)
    try:
        yield (
            Path(root, name),
            lambda owner: weakref.finalize(owner, shutil.rmtree, root, ignore_errors=True),
        )
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise


def is_temporary(folder: Path) -> bool:
    """Tell whether a folder is one that is deleted with its object."""
    root = folder.parent
    return root.name.startswith(PREFIX) and root.parent == Path(tempfile.gettempdir())
