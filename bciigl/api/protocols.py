"""Protocols by name, by file or as objects, with some fields changed."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bciigl import protocol as protocols
from bciigl.brain.check import brain_findings
from bciigl.protocol import CheckReport, Protocol, ProtocolError
from bciigl.protocol.load import Problem, changed
from bciigl.protocol.validation import validate

Source = str | os.PathLike | Protocol
"""A protocol, its file, or the name of one that comes with bciigl."""
Changes = Mapping[str, Any] | None


def check(protocol: str | os.PathLike, *, changes: Changes = None) -> CheckReport:
    """Read a protocol and say what is wrong with it, without raising an error.

    Parameters
    ----------
    protocol : str or path-like
        The path of a YAML file, or the name of a protocol that comes with bciigl.
    changes : dict, optional
        Other values of fields, such as ``{"timing.isi": 8}``.

    Returns
    -------
    CheckReport
        Its `protocol` is None if it cannot be used; `problems` and `warnings` have file, line,
        field and message.

    Examples
    --------
    >>> import bciigl
    >>> found = bciigl.check("number_guessing", changes={"timing.iso": 8})
    >>> print(found.problems[0])
    number_guessing with timing.iso=8: timing.iso: unknown key; did you mean 'isi'?
    """
    return protocols.check(protocol, brain_findings, changes)


def load(protocol: Source, *, changes: Changes = None) -> Protocol:
    """Return a protocol, checked.

    Parameters
    ----------
    protocol : str, path-like or Protocol
        The path of a YAML file, the name of a protocol that comes with bciigl, or a protocol that
        is to be changed.
    changes : dict, optional
        Other values of fields, such as ``{"timing.isi": 8}``.

    Raises
    ------
    ProtocolError
        With every problem, each with its place. Warnings go to the logger ``bciigl``.

    Examples
    --------
    >>> import bciigl
    >>> protocol = bciigl.load("number_guessing", changes={"task.trials": 138})
    >>> protocol.task.trials, protocol.timing.isi
    (138, 7.0)
    """
    if not isinstance(protocol, Protocol):
        found = check(protocol, changes=changes)
        if found.protocol is None:
            raise ProtocolError(found.problems)
        for warning in found.warnings:
            logging.getLogger("bciigl").warning("%s", warning)
        return found.protocol
    if not changes:
        return protocol
    made, findings = validate(changed(protocol.model_dump(), changes))
    if made is None or findings:
        problems = (
            Problem(protocol.name, None, None, ".".join(map(str, each.path)), each.message)
            for each in findings
        )
        raise ProtocolError(tuple(problems))
    return made


def folder_of(protocol: Source) -> Path | None:
    """Return what paths in a protocol are relative to: the folder of its file, if it has one."""
    return None if isinstance(protocol, Protocol) else protocols.find(protocol).parent.resolve()


def changes_of(changes: Changes, **fields: Any) -> dict[str, Any]:
    """Return changes, with those of some fields (`__` stands for a dot) that are not None."""
    named = {name.replace("__", "."): value for name, value in fields.items() if value is not None}
    return {**named, **(changes or {})}
