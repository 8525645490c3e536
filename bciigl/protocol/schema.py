"""JSON Schema of a protocol, for editors, and the same facts as one line per field."""

import json
from functools import cache
from typing import Any

from bciigl.protocol.model import Protocol

FieldName = tuple[str, ...]
"""A field of the schema: a path without places in lists."""


def _schema() -> dict[str, Any]:
    schema = Protocol.model_json_schema()
    for part in [schema, *schema["$defs"].values()]:
        del part["title"]
        if "description" in part:
            part["description"] = part["description"].partition("\n\nExamples")[0]
        for field in part["properties"].values():
            field.pop("title", None)
    # A word for the method stands for the section.
    estimate = schema["properties"]["estimate"]
    word = schema["$defs"]["Estimate"]["properties"]["method"]["enum"]
    estimate["anyOf"] = [{"$ref": estimate.pop("$ref")}, {"enum": word, "type": "string"}]
    # A pair of numbers stands for the section, too; there is one for each number of a person.
    population = schema["properties"]["population"]
    number = schema["$defs"]["Uniform"]["properties"]["low"]
    limits = {name: number[name] for name in ("type", "minimum", "maximum")}
    pair = {"type": "array", "items": limits, "minItems": 2, "maxItems": 2}
    forms = population["additionalProperties"].pop("oneOf")
    population["additionalProperties"] = {"anyOf": [*forms, pair]}
    population["propertyNames"] = {"enum": list(_differing(_walked(schema)))}
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": "bciigl protocol", **schema}


def json_schema() -> str:
    """Return the JSON Schema of a protocol as text; units are in the descriptions editors show."""
    schema = _schema()
    for part in [schema, *schema["$defs"].values()]:
        for field in part["properties"].values():
            if unit := field.get("unit"):
                field["description"] += f" [{unit}]"
    return json.dumps(schema, indent=2) + "\n"


@cache
def fields() -> dict[FieldName, dict[str, Any]]:
    """Return what the schema says of every field and section, and of each shape of a region."""
    return _walked(_schema())


def _walked(schema: dict[str, Any]) -> dict[FieldName, dict[str, Any]]:
    found: dict[FieldName, dict[str, Any]] = {}

    def walk(part: dict[str, Any], path: FieldName) -> None:
        for name, field in part["properties"].items():
            found.setdefault((*path, name), field)
            for section in [field, *field.get("oneOf", []), *field.get("anyOf", [])]:
                if "$ref" in section:
                    walk(schema["$defs"][section["$ref"].split("/")[-1]], (*path, name))

    walk(schema, ())
    return found


def differing_fields() -> dict[str, dict[str, Any]]:
    """Return what the schema says of every number in which people can differ, by its name."""
    return _differing(fields())


def _differing(found: dict[FieldName, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the numbers that belong to the person: where is recorded is the experimenter's."""
    return {
        ".".join(path): field
        for path, field in found.items()
        if path[0] in ("brain", "human")
        and field.get("type") == "number"
        and not path[1].startswith("region")
    }


@cache
def field_notes() -> dict[FieldName, str]:
    """Return for every field and section its description, unit and range in one line."""
    notes = {}
    for path, field in fields().items():
        facts = "; ".join(fact for fact in (field.get("unit"), field_range(field)) if fact)
        notes[path] = field["description"] + (f" [{facts}]" if facts else "")
    return notes


def field_range(field: dict[str, Any]) -> str:
    """Return the range of a field of the schema in words, "" if its type says it all."""
    if "propertyNames" in field:
        return " | ".join(field["propertyNames"]["enum"])
    if field.get("type") == "array":
        count = _interval(field["minItems"], field["maxItems"])
        items = field_range(field.get("items") or field["prefixItems"][0])
        return f"{count} of them" + (f", each {items}" if items else "")
    if "maxProperties" in field:
        return f"{_interval(0, field['maxProperties'])} of them"
    choices = [choice for choice in field.get("anyOf", []) if choice.get("type") != "null"]
    for choice in choices:
        if len(choices) == 1 or "enum" in choice:
            field = choice
    if "enum" in field:
        return " | ".join(field["enum"])
    if "exclusiveMinimum" in field:
        return f"above {_interval(field['exclusiveMinimum'], field['maximum'])}"
    if "exclusiveMaximum" in field:
        return _interval(field["minimum"], field["exclusiveMaximum"]).replace("to", "to below")
    if "maxLength" in field:
        return f"{_interval(field.get('minLength', 0), field['maxLength'])} characters"
    return _interval(field["minimum"], field["maximum"]) if "minimum" in field else ""


def _interval(low: float, high: float) -> str:
    # Some versions of pydantic write the limits of floats as 0, some as 0.0.
    ends = [f"{number:,.10g}" for number in (low, high)]
    return ends[0] if low == high else " to ".join(ends)
