"""The one place that reads JSON: limited in size and depth, strict, and checked against a model."""

import json
import math
import os
import re
import stat
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bciigl.base.errors import BciiglError, printable, shortened

if TYPE_CHECKING:
    from pydantic import ValidationError

DEEPEST = 50
"""Levels of nesting: far more than any file of bciigl has, and few enough for every reader."""

_STRINGS_AND_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]|[\]}]', re.DOTALL)


def read_json(
    path: str | os.PathLike,
    model: Any = None,
    *,
    most_bytes: int = 64_000_000,
    error: type[BciiglError] = BciiglError,
) -> Any:
    """Return what a JSON file says, as plain data or as what pydantic makes of it by a `model`.

    The model is any type that pydantic can check, strictly. An `error` with the file and the first
    problem is raised for any file that cannot be read, has more than `most_bytes`, is not JSON
    (NaN, infinities and repeated keys are not), is nested too deeply, holds whole numbers of more
    than 64 bits, or is not of the model.
    """
    path = Path(path)
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # a named pipe would be waited for
            raise error(f"{path}: is not a regular file")
        if found.st_size > most_bytes:
            raise error(f"{path}: is larger than {most_bytes / 1e6:g} MB")
        content = path.read_bytes()
    except OSError as problem:
        missing = isinstance(problem, FileNotFoundError)
        reason = "no such file" if missing else f"cannot be read: {problem.strerror}"
        raise error(f"{path}: {reason}") from problem
    return parse_json(content, model, name=str(path), error=error)


def parse_json(
    content: str | bytes,
    model: Any = None,
    *,
    name: str = "",
    error: type[BciiglError] = BciiglError,
) -> Any:
    """Return what a JSON text says as `read_json` does; messages begin with its `name`."""
    prefix = f"{name}: " if name else ""
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
        marks = (found[0] for found in _STRINGS_AND_BRACKETS.finditer(text))
        depths = accumulate((mark in "[{") - (mark in "]}") for mark in marks)
        if any(depth > DEEPEST for depth in depths):  # recursive code could fail on it
            raise ValueError(f"it is nested more than {DEEPEST} levels deep")
        data = json.loads(
            text,
            object_pairs_hook=_no_key_twice,
            parse_float=_finite,
            parse_constant=_finite,
            parse_int=_whole,
        )
        if re.search(r"\\u[dD][89a-fA-F]", text):
            json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as problem:  # can be neither shown nor written
        raise error(f"{prefix}is not JSON: it holds half a character") from problem
    except (ValueError, RecursionError) as problem:
        raise error(f"{prefix}is not JSON: {printable(str(problem))}") from problem
    if model is None:
        return data
    from pydantic import TypeAdapter, ValidationError

    try:
        # From the text, not from the data: JSON has lists where models have tuples.
        return TypeAdapter(model).validate_json(text, strict=True)
    except ValidationError as problem:
        raise error(f"{prefix}{first_problem(problem)}") from problem


def first_problem(error: "ValidationError") -> str:
    """Return the place and the nature of the first problem."""
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    message = re.sub("^(Value error, |Input |String )", "", first["msg"])
    if first["type"] == "missing":
        message = "is required"
    elif first["type"] == "extra_forbidden":
        message = "unknown key"
    elif first["type"] != "value_error":  # whose own words say what was got
        message = f"{message}, got {shortened(first['input'])}"
    return printable(f"{place}: {message}" if place else message)


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {shortened(twice)} is there twice")
    return data


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{shortened(text)} is not a finite number")
    return value


def _whole(text: str) -> int:
    if len(text) > 20 or abs(int(text)) >= 2**63:
        raise ValueError(f"{shortened(text)} is too large a number")
    return int(text)
