"""JSON Schema and notes."""

import json
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from strategies import SCHEMA, leaves, well_typed

from bciigl.protocol import load, shipped
from bciigl.protocol.schema import field_notes
from bciigl.protocol.yaml_reader import Document

COMMITTED = Path(__file__).parents[2] / "protocols" / "protocol.schema.json"


@pytest.fixture(scope="module")
def jsonschema():
    """Return the package, which takes a second to import."""
    return import_module("jsonschema")


@pytest.fixture(scope="module")
def validate(jsonschema):
    """Return what validates data; the schema itself is checked once, in a test of its own."""
    return jsonschema.Draft202012Validator(SCHEMA).validate


def test_committed_copy_is_current():
    # to renew it: bciigl protocol schema > protocols/protocol.schema.json
    assert json.loads(COMMITTED.read_text()) == SCHEMA


def test_schema_is_itself_valid(jsonschema):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_schema_accepts_shipped_protocols_as_written_and_in_full(validate):
    for name, path in shipped().items():
        validate(Document(path.read_text()).data)
        validate(load(name).model_dump(mode="json"))


def test_schema_refuses_what_the_loader_refuses(jsonschema, validate):
    for data in [
        {"name": "x"},
        {"name": "x", "task": {"options": [1, 2, 3]}, "timing": {"isi": -3}},
        {"name": "x", "task": {"options": [1, 2, 3]}, "timming": {}},
        {"name": "x", "task": {"options": [1, 2, 3]}, "brain": {"region": {"radius": 3}}},
    ]:
        with pytest.raises(jsonschema.ValidationError):
            pytest.fail(f"{validate(data)}: {data}")


def test_region_is_a_cube_unless_it_says_otherwise(validate):
    for region in [{"center": [1, 2, 3]}, {}, {"shape": "sphere"}]:
        validate({"name": "x", "task": {"options": [1, 2]}, "brain": {"region": region}})


@given(data=well_typed())
def test_schema_accepts_what_is_drawn_from_it(data, validate):
    validate(data)


def test_every_field_and_section_has_a_note():
    notes = field_notes()
    assert {path for path, _ in leaves()} <= set(notes)
    assert notes["timing", "isi"].endswith("[s; 0 to 600]")
    assert notes["brain", "region", "radius"].endswith("[mm; above 0 to 50]")
    assert notes["human", "judgment_lapse"].endswith("[share of trials; 0 to below 0.5]")
    assert notes["recording",].endswith("[choice; shared | separate]")
    assert notes["learners",].startswith(
        "learners to compare [learner ids; 1 to 20 of them, each ai"
    )
    assert ("task",) in notes
