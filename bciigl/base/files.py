"""Files that are either whole or absent."""

import os
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
    path = Path(path)
    if not overwrite and os.path.lexists(path):
        raise FileExistsError(f"{path} exists already")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
