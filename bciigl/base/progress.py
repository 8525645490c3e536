"""How long work tells whoever waits what it is doing."""

from collections.abc import Callable

Report = Callable[[str], None]
"""Called with what begins now, such as ``"finding the brain"``."""


def silent(step: str) -> None:
    """Report nothing."""
