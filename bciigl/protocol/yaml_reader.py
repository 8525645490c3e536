"""Read YAML strictly, with the position of every value, and write it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from bciigl.base.errors import shortened
from bciigl.protocol.design_checks import FieldPath

MOST_EVENTS = 5_000
DEEPEST = 20
"""Far more than any protocol needs, and quick to parse."""

LONGEST = 400
"""Characters of a number: more than the 325 of the smallest float written out."""

PLAIN_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float")}


class _Unreadable:
    def __repr__(self) -> str:
        return "..."

    def __deepcopy__(self, memo: dict) -> "_Unreadable":
        return self


UNREADABLE = _Unreadable()
"""Placeholder for a value that was refused, so that it is reported once."""

HINTS = {
    "'\\t'": "use spaces, not tabs",
    "mapping values are not allowed": "indent keys of one section alike, put a space after a key's "
    "colon, and text with a colon in quotes",
    "could not find expected ':'": "a key needs a colon and a space",
}
"""Hints for the most common errors, by the parser's message."""


Position = tuple[int, int]


@dataclass
class Complaint:
    """Something the reader refused: which field, where in the file, and why."""

    path: FieldPath
    position: Position | None
    message: str


@dataclass
class Document:
    """What a YAML text says.

    Attributes
    ----------
    data : object
        Plain dicts, lists and scalars; `UNREADABLE` where nothing could be read.
    positions : dict
        From a path to the line and column, from 1, of its key or list item.
    complaints : list of Complaint
        What is not allowed, in the order of the text.
    """

    data: Any = UNREADABLE
    positions: dict[FieldPath, Position] = field(default_factory=dict)
    complaints: list[Complaint] = field(default_factory=list)


class _Refused(Exception):
    def __init__(self, position: Position, message: str) -> None:
        self.position, self.message = position, message


class _Reader:
    """Turns YAML's events into a `Document` without ever building what it refuses."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.yaml = YAML(typ="safe", pure=True)
        self.events = self._counted(self.yaml.parse(text))
        self.document = Document()

    def read(self) -> Document:
        try:
            self._read()
        except _Refused as problem:
            self._complain((), problem.position, problem.message)
        except YAMLError as problem:
            self._complain((), _error_position(problem, self.text), _error_message(problem))
        return self.document

    def _counted(self, events: Iterator[Event]) -> Iterator[Event]:
        position = (1, 1)
        for _ in range(MOST_EVENTS):
            try:
                event = next(events)
            except StopIteration:
                return
            except YAMLError:
                raise
            except (
                Exception
            ) as problem:  # "\U00110000" and %YAML 1.3 are bare errors in ruamel.yaml
                raise _Refused(position, f"is not YAML after this: {problem}") from problem
            position = _position(event)
            yield event
        raise _Refused(position, f"holds more than {MOST_EVENTS} keys and values")

    def _complain(self, path: FieldPath, position: Position | None, message: str) -> None:
        self.document.complaints.append(Complaint(path, position, message))

    def _read(self) -> None:
        next(self.events)  # the stream's start
        event = next(self.events)
        if isinstance(event, StreamEndEvent):
            self._complain((), None, "is empty; a protocol needs at least name and task.options")
            return
        self._refuse_directives(event)
        data = self._value(next(self.events), ())
        next(self.events)  # the document's end
        after = next(self.events)
        if not isinstance(after, StreamEndEvent):
            self._complain((), _position(after), "a second document begins; keep one per file")
        self.document.data = data

    def _refuse_directives(self, event: DocumentStartEvent) -> None:
        if event.version or event.tags:
            self._complain((), (1, 1), "% directives are not allowed; protocols are YAML 1.2")

    def _value(self, event: Event, path: FieldPath) -> Any:
        if len(path) > DEEPEST:
            raise _Refused(_position(event), f"is nested more than {DEEPEST} levels deep")
        if isinstance(event, AliasEvent):
            self._complain(
                path, _position(event), "aliases (*) are not allowed; write the value out"
            )
            return UNREADABLE
        if event.anchor is not None:
            self._complain(path, _position(event), "anchors (&) are not allowed")
        if event.tag is not None:
            self._complain(
                path, _position(event), f"tags are not allowed, got {shortened(event.tag)}"
            )
        if isinstance(event, MappingStartEvent):
            return self._mapping(path)
        if isinstance(event, SequenceStartEvent):
            return self._sequence(path)
        return self._scalar(event)

    def _mapping(self, path: FieldPath) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        while not isinstance(event := next(self.events), MappingEndEvent):
            if not isinstance(event, ScalarEvent):
                self._complain(path, _position(event), "a key should be a word")
                self._value(event, (*path, "?"))
                self._value(next(self.events), (*path, "?"))
                continue
            word = _whole_characters(event.value)
            key = (*path, word)
            self._value(event, key)  # for its complaints; a key is always a word
            refusal = None
            if word in mapping:
                refusal = f"is there twice, first in line {self.document.positions[key][0]}"
            elif re.search("[\ud800-\udfff]", word):
                refusal = "holds half a character"
            if refusal:
                self._complain(key, _position(event), refusal)
                self._value(next(self.events), (*path, "?"))
                continue
            self.document.positions[key] = _position(event)
            mapping[word] = self._value(next(self.events), key)
        return mapping

    def _sequence(self, path: FieldPath) -> list:
        sequence: list = []
        while not isinstance(event := next(self.events), SequenceEndEvent):
            item = (*path, len(sequence))
            self.document.positions[item] = _position(event)
            sequence.append(self._value(event, item))
        return sequence

    def _scalar(self, event: ScalarEvent) -> Any:
        """Return the scalar as YAML 1.2 reads it: 1e-3 is a number, no is a word."""
        tag = str(self.yaml.resolver.resolve(ScalarNode, event.value, event.implicit))
        # Beyond YAML 1.2, ruamel.yaml takes 1_000 and 0b1 for numbers. A number of hundreds of
        # digits is none that anyone means, and Python refuses to print the longest.
        if tag not in PLAIN_TAGS or re.search("_|0b", event.value) or len(event.value) > LONGEST:
            return _whole_characters(event.value)
        return self.yaml.constructor.construct_object(ScalarNode(tag, event.value))


def _whole_characters(text: str) -> str:
    """Join the surrogate pairs by which JSON writes rarer characters; JSON is YAML too."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _position(event: Event) -> Position:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _error_position(problem: YAMLError, text: str) -> Position | None:
    if isinstance(problem, MarkedYAMLError):
        # An opening without its end is reported where it starts.
        begun = re.match("while (scanning|parsing a flow)", problem.context or "")
        mark = problem.context_mark if begun and problem.context_mark else problem.problem_mark
        return mark and (mark.line + 1, mark.column + 1)
    if isinstance(problem, ReaderError):
        before = text[: problem.position].split("\n")
        return len(before), len(before[-1]) + 1
    return None


def _error_message(problem: YAMLError) -> str:
    if isinstance(problem, MarkedYAMLError):
        parts = [part for part in (problem.context, problem.problem) if part]
        hints = [hint for words, hint in HINTS.items() if words in (problem.problem or "")]
        return "; ".join([f"is not YAML: {', '.join(parts)}", *hints])
    if isinstance(problem, ReaderError):
        return f"is not YAML: character U+{problem.character:04X} is not allowed"
    return "is not YAML"


def parse(text: str) -> Document:
    """Read YAML 1.2 `text` without tags, anchors, aliases, duplicate keys or directives."""
    return _Reader(text).read()


class _Representer(RoundTripRepresenter):
    """Writes null as a word, so that it is seen."""

    def represent_none(self, data: None) -> ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:null", "null")


_Representer.add_representer(type(None), _Representer.represent_none)


def render(data: Mapping[str, Any], notes: Mapping[FieldPath, str]) -> str:
    """Return `data` as YAML, with ``notes[path]`` as a comment on the line above each field."""
    yaml = YAML()
    yaml.Representer = _Representer
    yaml.width = 10**6
    stream = StringIO()
    yaml.dump(_commented(data, notes, ()), stream)
    # An empty line before each top-level field; within a text, lines are indented.
    return stream.getvalue().replace("\n# ", "\n\n# ")


def _commented(
    data: Mapping[str, Any], notes: Mapping[FieldPath, str], path: FieldPath
) -> CommentedMap:
    commented = CommentedMap()
    for key, value in data.items():
        here = (*path, key)
        if isinstance(value, Mapping):
            commented[key] = _commented(value, notes, here)
        elif isinstance(value, (list, tuple)):
            commented[key] = CommentedSeq(map(_quoted, value))
            commented[key].fa.set_flow_style()
        else:
            commented[key] = _quoted(value)
        if here in notes:
            commented.yaml_set_comment_before_after_key(key, notes[here], indent=2 * len(path))
    return commented


def _quoted(value: Any) -> Any:
    """Put quotes around all but simple words: ruamel.yaml writes [?x] but reads a mapping."""
    if isinstance(value, str) and not re.fullmatch(
        r"[A-Za-z](?:[\w .'/-]*\w)?\.?", value, re.ASCII
    ):
        return DoubleQuotedScalarString(value)
    return value
