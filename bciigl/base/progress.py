"""How long work tells whoever waits what it is doing."""

from collections.abc import Callable

Report = Callable[[str], None]
"""Called with what begins now, such as ``"finding the brain"``."""


Progress = Callable[[int, int], None]
"""Called with how much has been done, and how much there is to do."""


def silent(*_: object) -> None:
    """Report nothing."""
