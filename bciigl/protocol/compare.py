"""Compare two protocols."""

from collections.abc import Iterator
from typing import Any

from bciigl.protocol.model import Protocol


def first_difference(one: Protocol, other: Protocol) -> tuple[str, Any, Any] | None:
    """Return the first field in which protocols differ, and its values; None if there is none."""
    ours, theirs = (dict(_fields(each.model_dump(mode="json"))) for each in (one, other))
    for name in {**ours, **theirs}:
        if ours.get(name) != theirs.get(name):
            return name, ours.get(name), theirs.get(name)
    return None


def _fields(section: dict, within: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in section.items():
        inside = isinstance(value, dict)
        yield from _fields(value, f"{within}{name}.") if inside else [(within + name, value)]
