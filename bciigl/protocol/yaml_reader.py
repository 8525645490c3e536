"""Read YAML strictly, with the position of every value, and write it."""

import re
from collections.abc import Iterator, Mapping
from io import StringIO
from itertools import islice
from typing import Any

from ruamel.yaml import YAML, events
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from bciigl.base.errors import shortened
from bciigl.protocol.design_checks import FieldPath, Finding, Position

MOST_EVENTS = 5_000
DEEPEST = 20
"""Far more than any protocol needs, and quick to parse."""


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


_NodeEvent = (
    events.AliasEvent | events.MappingStartEvent | events.SequenceStartEvent | events.ScalarEvent
)


class _Refused(YAMLError):
    """Ends the reading; its arguments are the position and the message."""


class Document:
    """What a YAML 1.2 text says; nothing that is refused is ever built.

    Refused are tags, anchors, aliases, duplicate keys and directives: `complaints`, in the order of
    the text. `data` are plain dicts, lists and scalars, or `UNREADABLE`; `positions` are the lines
    and columns, from 1, of keys and list items by their paths.
    """

    def __init__(self, text: str) -> None:
        self.data: Any = UNREADABLE
        self.positions: dict[FieldPath, Position] = {}
        self.complaints: list[Finding] = []
        self._yaml = YAML(typ="safe", pure=True)
        self._events = self._counted(text)
        try:
            self.data = self._read()
        except YAMLError as problem:
            position, message = _explained(problem, text)
            self.complaints.append(Finding((), message, position=position))

    def _counted(self, text: str) -> Iterator[Any]:
        position = (1, 1)
        try:
            for event in islice(self._yaml.parse(text), MOST_EVENTS):
                position = _position(event.start_mark)
                yield event
        except YAMLError:
            raise
        except Exception as problem:  # "\U00110000" and %YAML 1.3 are bare errors in ruamel.yaml
            raise _Refused(position, f"is not YAML after this: {problem}") from problem
        raise _Refused(position, f"holds more than {MOST_EVENTS} keys and values")

    def _complain(self, path: FieldPath, event: events.Event, message: str) -> None:
        self.complaints.append(Finding(path, message, position=_position(event.start_mark)))

    def _read(self) -> Any:
        next(self._events)  # the stream's start
        event = next(self._events)
        if not isinstance(event, events.DocumentStartEvent):  # the stream's end
            raise _Refused(None, "is empty; a protocol needs at least name and task.options")
        if event.version or event.tags:
            message = "% directives are not allowed; protocols are YAML 1.2"
            self.complaints.append(Finding((), message, position=(1, 1)))
        data = self._value(next(self._events), ())
        next(self._events)  # the document's end
        after = next(self._events)
        if not isinstance(after, events.StreamEndEvent):
            self._complain((), after, "a second document begins; keep one per file")
        return data

    def _value(self, event: _NodeEvent, path: FieldPath) -> Any:
        if len(path) > DEEPEST:
            message = f"is nested more than {DEEPEST} levels deep"
            raise _Refused(_position(event.start_mark), message)
        if isinstance(event, events.AliasEvent):
            self._complain(path, event, "aliases (*) are not allowed; write the value out")
            return UNREADABLE
        if event.anchor is not None:
            self._complain(path, event, "anchors (&) are not allowed")
        if event.tag is not None:
            self._complain(path, event, f"tags are not allowed, got {shortened(event.tag)}")
        if isinstance(event, events.MappingStartEvent):
            return self._mapping(path)
        if isinstance(event, events.SequenceStartEvent):
            return self._sequence(path)
        return self._scalar(event)

    def _mapping(self, path: FieldPath) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        while not isinstance(event := next(self._events), events.MappingEndEvent):
            is_word = isinstance(event, events.ScalarEvent)
            word = _whole_characters(event.value) if is_word else "?"
            key = (*path, word)
            if not is_word:
                self._complain(path, event, "a key should be a word")
            self._value(event, key)  # for its complaints; a key is always a word
            if is_word and word in mapping:
                first = self.positions[key][0]
                self._complain(key, event, f"is there twice, first in line {first}")
            elif is_word and re.search("[\ud800-\udfff]", word):
                self._complain(key, event, "holds half a character")
            elif is_word:
                self.positions[key] = _position(event.start_mark)
                mapping[word] = self._value(next(self._events), key)
                continue
            self._value(next(self._events), (*path, "?"))
        return mapping

    def _sequence(self, path: FieldPath) -> list:
        sequence: list = []
        while not isinstance(event := next(self._events), events.SequenceEndEvent):
            item = (*path, len(sequence))
            self.positions[item] = _position(event.start_mark)
            sequence.append(self._value(event, item))
        return sequence

    def _scalar(self, event: events.ScalarEvent) -> Any:
        """Return the scalar as YAML 1.2 reads it: 1e-3 is a number, no is a word."""
        tag = str(self._yaml.resolver.resolve(ScalarNode, event.value, event.implicit))
        plain = re.fullmatch("tag:yaml.org,2002:(null|bool|int|float)", tag)
        # Beyond YAML 1.2, ruamel.yaml takes 1_000 and 0b1 for numbers. A number longer than 400,
        # where the smallest float has 325 digits, is none that anyone means, and Python refuses to
        # print the longest.
        if not plain or re.search("_|0b", event.value) or len(event.value) > 400:
            return _whole_characters(event.value)
        return self._yaml.constructor.construct_object(ScalarNode(tag, event.value))


def _whole_characters(text: str) -> str:
    """Join the surrogate pairs by which JSON writes rarer characters; JSON is YAML too."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _position(mark: Any) -> Position:
    return mark.line + 1, mark.column + 1


def _explained(problem: YAMLError, text: str) -> tuple[Position | None, str]:
    """Return where reading ended, and why."""
    if isinstance(problem, _Refused):
        return problem.args
    if isinstance(problem, ReaderError):
        before = text[: problem.position].split("\n")
        message = f"is not YAML: character U+{problem.character:04X} is not allowed"
        return (len(before), len(before[-1]) + 1), message
    if not isinstance(problem, MarkedYAMLError):
        return None, "is not YAML"
    # An opening without its end is reported where it starts.
    begun = re.match("while (scanning|parsing a flow)", problem.context or "")
    mark = problem.context_mark if begun and problem.context_mark else problem.problem_mark
    parts = [part for part in (problem.context, problem.problem) if part]
    hints = [hint for words, hint in HINTS.items() if words in (problem.problem or "")]
    return mark and _position(mark), "; ".join([f"is not YAML: {', '.join(parts)}", *hints])


class _Representer(RoundTripRepresenter):
    """Writes null as a word, so that it is seen."""


_Representer.add_representer(
    type(None), lambda self, _: self.represent_scalar("tag:yaml.org,2002:null", "null")
)


def render(data: Mapping[str, Any], notes: Mapping[tuple[str, ...], str]) -> str:
    """Return `data` as YAML, with ``notes[path]`` as a comment on the line above each field."""
    yaml = YAML()
    yaml.Representer = _Representer
    yaml.width = 10**6
    stream = StringIO()
    yaml.dump(_commented(data, notes, ()), stream)
    # An empty line before each top-level field; within a text, lines are indented.
    return stream.getvalue().replace("\n# ", "\n\n# ")


def _commented(
    data: Mapping[str, Any], notes: Mapping[tuple[str, ...], str], path: tuple[str, ...]
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
    simple = re.compile(r"[A-Za-z](?:[\w .'/-]*\w)?\.?", re.ASCII)
    is_text = isinstance(value, str) and not simple.fullmatch(value)
    return DoubleQuotedScalarString(value) if is_text else value
