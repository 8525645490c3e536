"""Protocols drawn from the schema, so that new fields are covered the day they appear."""

import copy
import json
from collections.abc import Iterator

from hypothesis import strategies as st

from bciigl.protocol.schema import json_schema

SCHEMA = json.loads(json_schema())

WORDS = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=8)
TEXTS = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"], include_characters="\n\t"))


def resolve(field: dict) -> dict:
    """Follow a reference, and take the first of several forms."""
    for several in ("oneOf", "anyOf"):
        if "$ref" in field.get(several, [{}])[0]:
            return resolve(field[several][0])
    return SCHEMA["$defs"][field["$ref"].split("/")[-1]] if "$ref" in field else field


def values(field: dict) -> st.SearchStrategy:
    """Return what the schema allows in a field, at its ends too."""
    for several in ("anyOf", "oneOf"):
        if several in field:
            # An enum beside any text: ids of bciigl, and of packages that are not installed here.
            others = any("$ref" in each for each in field[several])
            listed = [each for each in field[several] if "enum" in each and not others]
            return st.one_of(*map(values, listed or field[several]))
    field = resolve(field)
    if "const" in field:
        return st.just(field["const"])
    if "enum" in field:
        return st.sampled_from(field["enum"])
    return TYPES[field["type"]](field)


def _numbers(field: dict) -> st.SearchStrategy:
    low, high = field.get("minimum"), field.get("maximum")
    return st.floats(
        field["exclusiveMinimum"] if low is None else low,
        field["exclusiveMaximum"] if high is None else high,
        exclude_min=low is None,
        exclude_max=high is None,
        allow_subnormal=False,
    )


def _arrays(field: dict) -> st.SearchStrategy:
    if "prefixItems" in field:
        return st.tuples(*map(values, field["prefixItems"])).map(list)
    listed = [each["enum"] for each in field["items"].get("anyOf", []) if "enum" in each]
    most = min(field["maxItems"], 8, *map(len, listed))
    return st.lists(
        values(field["items"]), min_size=field["minItems"], max_size=most, unique_by=str
    )


def _objects(field: dict) -> st.SearchStrategy:
    if "propertyNames" in field:
        names = st.sampled_from(field["propertyNames"]["enum"])
        # Few distributions that are drawn are within the range of their field.
        some = st.dictionaries(names, values(field["additionalProperties"]), max_size=2)
        return st.just({}) | some
    if "properties" not in field:  # of which few names that are drawn are options
        most = {"max_size": min(field["maxProperties"], 2)}
        return st.just({}) | st.dictionaries(WORDS, values(field["additionalProperties"]), **most)
    properties = {name: values(each) for name, each in field["properties"].items()}
    required = {name: properties.pop(name) for name in field.get("required", [])}
    never = set(field.get("not", {}).get("required", ["no such field"]))  # all of them together
    drawn = st.fixed_dictionaries(required, optional=properties)
    return drawn.filter(lambda each: not never <= set(each))


def _strings(field: dict) -> st.SearchStrategy:
    if "pattern" not in field:
        return WORDS
    is_name = field["pattern"].startswith("^[A-Za-z0-9]")
    if field["pattern"].startswith(("^[1-9]", "^#")):
        return st.from_regex(field["pattern"][:-1] + r"\Z")
    return st.from_regex(r"\A[a-z0-9][A-Za-z0-9_-]{0,20}\Z") if is_name else TEXTS


TYPES = {
    "array": _arrays,
    "boolean": lambda field: st.booleans(),
    "integer": lambda field: st.integers(field["minimum"], field["maximum"]),
    "null": lambda field: st.none(),
    "number": _numbers,
    "object": _objects,
    "string": _strings,
}


def well_typed() -> st.SearchStrategy[dict]:
    """Return data in which every field is right by itself, though not always as an experiment."""
    return values(SCHEMA)


def leaves(part: dict = SCHEMA, path: tuple = ()) -> Iterator[tuple[tuple, dict]]:
    """Yield path and schema of every field that is not a section."""
    for name, field in part["properties"].items():
        inner = resolve(field)
        if "properties" in inner:
            yield from leaves(inner, (*path, name))
        else:
            yield (*path, name), inner


def replaced(data: dict, path: tuple, value: object) -> dict:
    """Return a copy of `data` with `value` at `path`."""
    data = copy.deepcopy(data)
    parent = data
    for key in path[:-1]:
        if isinstance(parent.get(key, ""), str):  # absent, or a word for a section
            parent[key] = {}
        parent = parent[key]
    parent[path[-1]] = value
    return data
