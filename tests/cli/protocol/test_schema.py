"""`bciigl protocol schema`."""

from bciigl.protocol.schema import json_schema


def test_schema_is_printed_with_and_without_json(bciigl):
    assert bciigl("protocol", "schema").stdout == json_schema()
    assert bciigl("protocol", "schema", "--json").stdout == json_schema()
