"""JSON: what is read, and what is refused, always with the file and the first problem."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, model_validator

from bciigl.base.errors import BciiglError
from bciigl.base.json_files import DEEPEST, parse_json, read_json


class Point(BaseModel):
    """A model with what models have."""

    at: tuple[float, float]
    names: list[str] = []

    @model_validator(mode="after")
    def _refuse_origin(self) -> "Point":
        if self.at == (0, 0):
            raise ValueError("the origin is taken")
        return self


class Refused(BciiglError):
    """A caller's own error."""


NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(st.text('ab\\"[{'), inner),
)


@given(VALUES, st.booleans())
def test_what_was_written_is_read(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert parse_json(text) == parse_json(text.encode()) == value


def test_brackets_in_text_are_no_depth():
    text = ["[" * 200, '\\"' + "{" * 200, {"[" * 60: '"' + "[" * 60}]
    assert parse_json(json.dumps(text)) == text
    deep = "[" * DEEPEST + "]" * DEEPEST
    assert parse_json(deep) == json.loads(deep)
    assert len(parse_json(json.dumps([[]] * 1000))) == 1000


def test_model_is_returned(tmp_path):
    (tmp_path / "a.json").write_text('{"at": [1, 2.5], "names": ["x"]}')
    assert read_json(tmp_path / "a.json", Point) == Point(at=(1, 2.5), names=["x"])
    assert parse_json("[1, 2]", tuple[int, ...]) == (1, 2)


REFUSED = {
    "": "is not JSON: Expecting value",
    "{": "is not JSON: Expecting property",
    "{} {}": "is not JSON: Extra data",
    b"\xff": "is not JSON: 'utf-8'",
    b"\xef\xbb\xbf{}": "is not JSON: ",
    "[" * 100_000: "is not JSON: it is nested more than 50 levels deep",
    '{"a":' * 51 + "1" + "}" * 51: "is not JSON: it is nested more than 50 levels deep",
    '{"a": 1, "a": 1}': "is not JSON: the key 'a' is there twice",
    "[NaN]": "is not JSON: 'NaN' is not a finite number",
    "[-Infinity]": "is not JSON: '-Infinity' is not a finite number",
    "1e999": "is not JSON: '1e999' is not a finite number",
    "1" * 9999: "is not JSON: '1+\\.\\.\\. is too large a number",
    f"[-{2**63}]": "is not JSON: '-9223372036854775808' is too large a number",
    '["\\ud800"]': "is not JSON: it holds half a character",
    "[]": r"should be an object, got \[\]$",
    "{}": "at: is required$",
    '{"at": [1, "2"]}': "at.1: should be a valid number, got '2'$",
    '{"at": [1]}': "at.1: is required$",
    '{"at": [0, 0]}': "the origin is taken$",
    '{"at": [1, 2], "names": ["a", 7]}': "names.1: should be a valid string, got 7$",
}


def test_anything_else_is_refused_with_the_place(tmp_path):
    path = tmp_path / "a.json"
    for content, message in REFUSED.items():
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(Refused, match=f"a.json: {message}"):
            read_json(path, Point, error=Refused)
        with pytest.raises(BciiglError, match=f"^line 3: {message}"):
            parse_json(content, Point, name="line 3")


def test_messages_are_printable():
    with pytest.raises(BciiglError) as told:
        parse_json('{"\\u001b[31m": {"at": 1}}', dict[str, Point])
    assert str(told.value).isprintable()


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, message in {"none": "no such", "pipe": "regular", "": "regular"}.items():
        with pytest.raises(BciiglError, match=message):
            read_json(tmp_path / name)


def test_large_file_is_refused_unread(tmp_path):
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(BciiglError, match="a.json: is larger than 64 MB"):
        read_json(tmp_path / "a.json")
    (tmp_path / "a.json").write_text("[1, 2]")
    with pytest.raises(BciiglError, match="larger than 5e-06 MB"):
        read_json(tmp_path / "a.json", most_bytes=5)
