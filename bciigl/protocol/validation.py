"""Validate plain data as a protocol, with messages that a user can act on."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from itertools import product
from operator import eq
from typing import Any

from pydantic import ValidationError

from bciigl.base.errors import did_you_mean, shortened
from bciigl.protocol.design_checks import FieldPath, Finding
from bciigl.protocol.model import Protocol
from bciigl.protocol.population import KEYS
from bciigl.protocol.schema import field_notes, fields
from bciigl.protocol.screen import TEXTS
from bciigl.protocol.yaml_reader import UNREADABLE

PLAINER = {
    "bool_type": "should be true or false",
    "float_type": "should be a number",
    "int_type": "should be a whole number",
    "string_type": "should be text",
    "string_unicode": "should be text without half characters",
    "dict_type": "should hold keys and values",
    "model_type": "should hold keys and values",
    "tuple_type": "should be a list",
}
"""Pydantic's error types in words that need no Python."""

PATTERNS: dict[FieldPath, str] = {
    ("name",): "should be letters, digits, _ and -, and begin with a letter or digit",
    ("screen", "text_colour"): "should be a colour such as '#f2f2f2'",
    ("screen", "background"): "should be a colour such as '#000000'",
}
PATTERNS |= {
    path: "should hold no control characters"
    for path in [("description",), ("live", "series"), *(("screen", name) for name in TEXTS)]
}
"""What the patterns of text fields mean."""


def validate(data: Any) -> tuple[Protocol | None, list[Finding]]:
    """Return the protocol and what is wrong with its fields and as an experiment.

    The experiment can only be judged where the fields are right; so where some are wrong, it is
    judged with their defaults, and what depends on them is left out. The protocol is then that
    substitute, or None where not even that is possible.
    """
    if data is UNREADABLE:
        return None, []
    if not isinstance(data, dict):
        return None, [Finding((), f"should hold keys and values, got {shortened(data)}")]
    try:
        return Protocol.model_validate(data), []
    except ValidationError as error:
        found, wrong = list(_findings(error)), [_path(each["loc"]) for each in error.errors()]
    try:
        return Protocol.model_validate(_without(wrong, data)), found
    except ValidationError as error:
        science = [each for each in _findings(error) if not _depends(each, wrong)]
        return None, found + science


def _depends(finding: Finding, wrong: list[FieldPath]) -> bool:
    """Tell whether any field the finding is about lies within one of `wrong`, or holds one."""
    pairs = product((finding.path, *finding.about), wrong)
    return any(all(map(eq, field, path)) for field, path in pairs)


def _without(paths: list[FieldPath], data: dict) -> dict:
    """Return a copy of `data` without the fields at `paths`, which then take their defaults."""
    data = deepcopy(data)
    for path in paths:
        names = [key for key in path if isinstance(key, str)]
        # Half of a distribution would be another problem.
        *sections, field = names[:2] if names[0] == "population" else names
        parent: Any = data
        for section in sections:
            parent = parent.get(section) if isinstance(parent, dict) else None
        if isinstance(parent, dict):
            parent.pop(field, None)
    data.setdefault("name", "unnamed")
    data.setdefault("task", {}).setdefault("options", [1, 2, 3])
    return data


def _findings(error: ValidationError) -> Iterator[Finding]:
    """Yield what pydantic found, in our words."""
    for each in error.errors(include_url=False):
        path, value, kind = _path(each["loc"]), each["input"], each["type"]
        if kind == "science":
            yield each["ctx"]["finding"]
            continue
        if kind == "region" and isinstance(value, dict):
            path, value = (*path, "shape"), value["shape"]
        # A list may be called too short only because its items are wrong.
        follows = kind == "too_short" and len(value) >= each["ctx"]["min_length"]
        if value is not UNREADABLE and not follows:
            yield Finding(path, _message({**each, "input": value}, path))


def _path(loc: FieldPath) -> FieldPath:
    """Return pydantic's location without the tag of the kind of region or distribution."""
    tagged = loc[:2] == ("brain", "region") or loc[:1] == ("population",)
    return loc[:2] + loc[3:] if tagged else loc


def _message(error: Any, path: FieldPath) -> str:
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "missing":
        return "is required"
    if kind == "extra_forbidden":
        return _unknown_key(path)
    if kind == "too_short":
        return f"should have at least {context['min_length']} items, got {len(value)}"
    if kind == "too_long":
        return f"should have at most {context['max_length']} items, got {len(value)}"
    plain = value is None or isinstance(value, bool)
    got = json.dumps(value) if plain else shortened(value)  # as YAML has it
    if kind == "region" and path[-1] != "shape":
        return f"should hold keys and values, such as shape: cube, got {got}"
    plainer = PATTERNS.get(path) if kind == "string_pattern_mismatch" else PLAINER.get(kind)
    message = plainer or re.sub("^(Input|String) ", "", error["msg"])
    return f"{message}, got {got}{_hint(error, path)}"


def _hint(error: Any, path: FieldPath) -> str:
    """Return the probable cause, or the remedy."""
    kind, value = error["type"], error["input"]
    if path[:3] == ("brain", "region", "center"):
        return "; a center is three voxel indices; for mm write mni: [x, y, z] in its place"
    if kind == "string_type" and isinstance(value, (int, float)):
        return "; put it in quotes"
    if kind in ("float_type", "int_type") and isinstance(value, str):
        return "; write it without quotes and units" if re.match(r"[-+.]?\d", value) else ""
    if kind in ("literal_error", "region"):
        return did_you_mean(value, re.findall("'([^']*)'", error["msg"]))
    if kind == "distribution" and "." not in str(path[-1]):
        return "; write fields in full, such as brain.cnr"
    if kind.startswith("less_than"):
        field = tuple(key for key in path if isinstance(key, str))
        unit = fields().get(field, {}).get("unit")  # a distribution has that of its field
        return f" ({unit})" if unit else ""
    return ""


def _unknown_key(path: FieldPath) -> str:
    """Say that a key is unknown, and which one was probably meant."""
    *section, key = map(str, path)
    if section[:1] == ["population"]:
        near = did_you_mean(key, KEYS) or f"; known here: {', '.join(KEYS)}"
        return f"unknown key{near}"
    known = [field[-1] for field in field_notes() if list(field[:-1]) == section]
    if key in known:
        return "does not go with this shape of region"
    elsewhere = [".".join(field) for field in field_notes() if field[-1] == key]
    if elsewhere:
        return f"unknown key; did you mean {elsewhere[0]!r}?"
    if near := did_you_mean(key, known):
        return f"unknown key{near}"
    return f"unknown key; known here: {', '.join(known)}"
