"""Load a protocol from a file or by a shipped name, and report every problem at once."""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bciigl.base.errors import BciiglError, did_you_mean, printable
from bciigl.protocol import yaml_reader
from bciigl.protocol.design_checks import Finding, advice
from bciigl.protocol.model import Protocol, estimate_section
from bciigl.protocol.recorded import fixed_fields
from bciigl.protocol.schema import field_notes
from bciigl.protocol.screen import image_type
from bciigl.protocol.validation import validate

MOST_BYTES = 256_000
MOST_PROBLEMS = 100

Further = Callable[[Protocol, Path], Iterable[Finding]]
Changes = Mapping[str, Any]
"""New values by field, such as ``{"timing.isi": 8.0}``."""


@dataclass(frozen=True)
class Problem:
    """One error or warning about a protocol file; line and column are from 1, or None.

    The path is a field, such as ``timing.isi``; empty for the file as a whole.
    """

    file: str
    line: int | None
    column: int | None
    path: str
    message: str

    def __str__(self) -> str:
        """Return the problem as ``file:line:column: path: message``, on one line."""
        place = self.file or "''"
        if self.line is not None:
            place = f"{self.file}:{self.line}:{self.column}"
        return printable(": ".join(filter(None, [place, self.path, self.message])))

    def as_dict(self) -> dict[str, Any]:
        """Return the problem as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class CheckReport:
    """What checking a file found: a protocol and warnings, or no protocol and the problems."""

    file: str
    protocol: Protocol | None
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


class ProtocolError(BciiglError):
    """A protocol that cannot be used; its `problems` say why."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


def shipped() -> dict[str, Path]:
    """Return the protocols that come with the package, by name."""
    folder = Path(__file__).parent.parent / "protocols"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def load(
    source: str | os.PathLike,
    further: Further | None = None,
    changes: Changes | None = None,
    *,
    files: bool = True,
) -> Protocol:
    """Return the protocol in a file, or the shipped one of that name.

    Parameters
    ----------
    source : str or path-like
        The path of a YAML file, or a name that `shipped` lists.
    further, changes, files
        As in `check`.

    Raises
    ------
    ProtocolError
        With every problem of the file.
    """
    report = check(source, further, changes, files=files)
    if report.protocol is None:
        raise ProtocolError(report.problems)
    return report.protocol


def parse_change(text_of_change: str) -> tuple[str, Any]:
    """Return the field and the new value in a text such as ``timing.isi=8``.

    The value is read as it would be in a protocol file: ``[a, b]`` is a list, ``'7'`` a word.
    """
    field, equals, value = text_of_change.partition("=")
    document = yaml_reader.Document(value)
    problem = None
    if not equals or not field.strip():
        problem = "should be field=value, such as timing.isi=8"
    elif document.complaints:
        problem = document.complaints[0].message if value.strip() else "has no value"
    if problem:
        raise BciiglError(printable(f"{text_of_change}: {problem}"))
    return field.strip(), document.data


def changed(data: Any, changes: Changes) -> Any:
    """Return a copy of a protocol's plain data in which some fields have other values."""
    if not changes or not isinstance(data, dict):
        return data
    data = deepcopy(data)
    for name, value in changes.items():
        # Fields of the population have dots in their names.
        within = name.startswith("population.")
        *sections, field = name.split(".", 1) if within else name.split(".")
        parent = data
        for section in sections:
            if section == "estimate":  # which may be a word
                parent[section] = estimate_section(parent.get(section))
            if not isinstance(parent.get(section), dict):
                parent[section] = {}
            parent = parent[section]
        if sections == ["brain", "region"]:  # whose centre is in voxels or in mm, not both
            parent.pop({"center": "mni", "mni": "center"}.get(field), None)
        parent[field] = deepcopy(value)
    return data


def find(source: str | os.PathLike) -> Path:
    """Return the path of the file that `load` would read."""
    file = os.fspath(source)
    return shipped().get(file, Path(file))


def check(
    source: str | os.PathLike,
    further: Further | None = None,
    changes: Changes | None = None,
    *,
    files: bool = True,
) -> CheckReport:
    """Read and check a protocol as `load` does, and report instead of raising.

    Parameters
    ----------
    source : str or path-like
        As in `load`.
    further : function, optional
        Further checks of a valid protocol, such as `bciigl.brain.check.brain_findings`: called
        with the protocol and the folder of its file, returns findings.
    changes : dict, optional
        New values of fields, by names such as ``timing.isi``, in place of those in the file.
    files : bool
        Whether the subject and the mask that the protocol names must be there.
    """
    file, path, changes = os.fspath(source), find(source), changes or {}
    try:
        document = yaml_reader.Document(_read(path))
    except BciiglError as error:
        return CheckReport(file, None, (Problem(file, None, None, "", str(error)),), ())
    data = changed(document.data, changes)
    if files:
        # Changes come last: one that the subject does not allow is refused, not ignored.
        data = changed(changed(data, fixed_fields(data, path.parent)), changes)
    protocol, findings = validate(data)
    if protocol is not None:
        findings += _missing_files(protocol, path.parent) if files else ()
        if further and not findings and not document.complaints:
            findings += further(protocol, path.parent)
    found = [*document.complaints, *(_located(document, each) for each in findings)]
    found.sort(key=lambda each: each.position or (0, 0))
    problems = [_problem(file, each, changes) for each in found[:MOST_PROBLEMS]]
    if more := found[MOST_PROBLEMS:]:
        problems.append(Problem(file, None, None, "", f"and {len(more)} more problems"))
    if problems or protocol is None:
        return CheckReport(file, None, tuple(problems), ())
    remarks = (_located(document, each) for each in advice(protocol))
    return CheckReport(file, protocol, (), tuple(_problem(file, each, changes) for each in remarks))


def dump(protocol: Protocol) -> str:
    """Return the protocol as YAML with every field, each under a comment that explains it."""
    return yaml_reader.render(protocol.model_dump(), field_notes())


def _read(path: Path) -> str:
    try:
        if path.is_dir():
            raise BciiglError("is a folder, not a protocol file")
        if not stat.S_ISREG(path.stat().st_mode):
            raise BciiglError("is not a regular file")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise BciiglError(f"is larger than {MOST_BYTES // 1000} kB: not a protocol")
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        names = [*shipped(), *(each.name for each in path.parent.glob("*.yaml"))]
        near = did_you_mean(path.name, names) or f"; shipped are {', '.join(shipped())}"
        raise BciiglError(f"no such file, and no shipped protocol of that name{near}") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        wrong = f"byte {content[error.start]:#04x} in line {line}"
        raise BciiglError(f"is not UTF-8 text ({wrong})") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", error)
        raise BciiglError(f"cannot be read: {reason}") from error


def _missing_files(protocol: Protocol, folder: Path) -> Iterator[Finding]:
    brain = protocol.brain
    if brain.subject != "brainiak" and not os.path.isdir(folder / brain.subject):
        near = did_you_mean(brain.subject, ["brainiak"])
        message = f"should be brainiak or a folder, got {brain.subject!r}{near}"
        yield Finding(("brain", "subject"), message)
    for field in ("file", "labels"):
        path = getattr(brain.region, field, None)
        if path is not None and not os.path.isfile(folder / path):
            yield Finding(("brain", "region", field), f"no such file: {path!r}")
    for option, path in protocol.screen.images.items():
        if not os.path.isfile(folder / path):
            yield Finding(("screen", "images", option), f"no such file: {path!r}")
        elif image_type(folder / path) is None:
            yield Finding(("screen", "images", option), f"is not a PNG, JPEG or GIF file: {path!r}")


def _located(document: yaml_reader.Document, finding: Finding) -> Finding:
    """Return the finding at its field's place, or at that of its nearest section in the file."""
    lengths = range(len(finding.path), 0, -1)
    places = (document.positions.get(finding.path[:length]) for length in lengths)
    return finding._replace(position=next(filter(None, places), (1, 1)))


def _problem(file: str, finding: Finding, changes: Changes) -> Problem:
    dotted = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in finding.path)
    dotted = dotted.removeprefix(".")
    for name, value in changes.items():
        # The field itself, within it, or a section that the change alone made.
        if re.match(rf"{re.escape(name)}($|[.\[])", dotted) or name.startswith(f"{dotted}."):
            return Problem(f"{file} with {name}={value}", None, None, dotted, finding.message)
    line, column = finding.position or (None, None)
    return Problem(file, line, column, dotted, finding.message)
