"""Callbacks by which long work says what it is doing; the library itself prints nothing."""

from collections.abc import Callable

Notify = Callable[[str], None]
"""Called with each step that starts, such as ``"finding the brain"``."""


Progress = Callable[[int, int], None]
"""Called with the amount of work that is done, and the total."""


def silent(*_: object) -> None:
    """Do nothing."""
