"""Compare two protocols."""

from typing import Any

from bciigl.protocol.model import Protocol


def first_difference(one: Protocol, other: Protocol) -> tuple[str, Any, Any] | None:
    """Return the first field in which protocols differ, and its values; None if there is none."""
    ours, theirs = (_flat(each.model_dump(mode="json")) for each in (one, other))
    for name in {**ours, **theirs}:
        if ours.get(name) != theirs.get(name):
            return name, ours.get(name), theirs.get(name)
    return None


def _flat(section: dict, within: str = "") -> dict:
    """Return the fields of all sections by names such as ``timing.isi``."""
    fields = {}
    for name, value in section.items():
        inner = _flat(value, f"{within}{name}.") if isinstance(value, dict) else None
        fields |= {f"{within}{name}": value} if inner is None else inner
    return fields
