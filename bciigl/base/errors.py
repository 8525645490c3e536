"""Errors that a user can cause, and their wording."""

from collections.abc import Iterable
from difflib import get_close_matches


class BciiglError(Exception):
    """An error the user can correct; the command line shows its message and no traceback."""


def needs(what: str, package: str, extra: str) -> BciiglError:
    """Return the error that something needs a package, which an extra of bciigl installs.

    With bciigl installed, pip only adds what the extra lacks.
    """
    return BciiglError(f"{what} needs {package}: pip install 'bciigl[{extra}]'")


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the known spelling nearest to `word`, or ``""``."""
    known = {each.lower(): each for each in known}
    near = get_close_matches(str(word).lower(), known, n=1)
    return f"; did you mean {known[near[0]]!r}?" if near else ""


def printable(text: str) -> str:
    """Escape what a terminal cannot show or should not obey: control characters, surrogates."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shortened(value: object, width: int = 60) -> str:
    """Return a printable one-line `repr` of `value`, at most `width` characters long."""
    text = printable(repr(value))
    return text if len(text) <= width else text[: width - 3] + "..."
