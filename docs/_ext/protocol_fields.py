"""The reference of protocols, made from the model: all fields with type, unit, range, default."""

import json
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.domains.std import GenericObject
from sphinx.util.docutils import SphinxDirective

from bciigl.base.registry import AGENTS, LEARNERS, SOURCES
from bciigl.protocol import model
from bciigl.protocol.model import Atlas, Cube, Mask, Sphere
from bciigl.protocol.schema import field_range, fields

Path = tuple[str, ...]
REGISTRIES = {("source", "name"): SOURCES, ("agent", "policy"): AGENTS, ("learners",): LEARNERS}
SHAPES = {"cube": Cube, "sphere": Sphere, "mask": Mask, "atlas": Atlas}


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive ``protocol-fields``, and the role ``field`` that links to a field."""
    app.add_object_type("field", "field", objname="protocol field")
    app.add_directive_to_domain("std", "field", Field, override=True)
    app.add_directive("protocol-fields", ProtocolFields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Field(GenericObject):
    """A field, whose anchor has no dots: the search page could not find it."""

    def add_target_and_index(self, name: str, sig: str, signode: Any) -> None:
        """Let links, the index and the search lead to the field."""
        anchor = nodes.make_id(f"field {name}")
        signode["ids"].append(anchor)
        self.state.document.note_explicit_target(signode)
        self.indexnode["entries"].append(("pair", f"{name}; protocol field", anchor, "", None))
        self.env.get_domain("std").note_object("field", name, anchor, location=signode)


class ProtocolFields(SphinxDirective):
    """Every field of a protocol, section by section."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        self.env.note_dependency(model.__file__)
        every = fields()
        sections = dict.fromkeys(path[:-1] for path in every)
        top = nodes.section()
        found: dict[Path, nodes.section] = {}
        for path in sections:
            name = ".".join(path) or "top level"
            section = nodes.section(ids=[nodes.make_id(f"section {name}")])
            section += nodes.title("", name)
            lines = [_sentence(every[path]["description"]), ""] if path else []
            for each, content in every.items():
                if each[:-1] == path and each not in sections:
                    lines += _field(each, content)
            self.state.nested_parse(StringList(lines, source=model.__file__), 0, section)
            (found[path[:-1]] if len(path) > 1 else top).append(section)
            found[path] = section
        return top.children


def _field(path: Path, content: dict[str, Any]) -> Iterator[str]:
    """Give the lines, in reStructuredText, about a field."""
    yield from (f".. field:: {'.'.join(path)}", "")
    yield from (f"   {_sentence(content['description'])}", "")
    limits, unit = field_range(content), content.get("unit", "")
    choices = limits.split(" | ") if " | " in limits and " of them" not in limits else []
    if path == ("brain", "region", "shape"):
        choices = list(SHAPES)
    among = "fields" if "propertyNames" in content else "one of"
    facts = {
        "type": "" if choices else _type(content),
        among: ", ".join(f"``{each}``" for each in choices),
        "unit": "" if unit in ("choice", "true or false", "text", "word", "name") else unit,
        "range": "" if choices else limits.replace(" | ", ", "),
        "default": _default(content),
    }
    if path[:2] == ("brain", "region") and path[2] != "shape":
        shapes = [name for name, shape in SHAPES.items() if path[2] in shape.model_fields]
        facts["shapes"] = ", ".join(shapes)
    yield "   " + " · ".join(f"*{fact}* {said}" for fact, said in facts.items() if said)
    yield ""
    if registry := REGISTRIES.get(path):
        yield from (f"   - ``{each}``: {registry.get(each).name}" for each in registry.own_ids)
        yield ""


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:].replace("*", r"\*").rstrip(".") + "."


def _type(content: dict[str, Any]) -> str:
    if choices := content.get("anyOf") or content.get("oneOf"):
        return " or ".join(dict.fromkeys(filter(None, map(_type, choices))))
    kind = content.get("type", "")
    if kind == "array":
        return f"list of {_type(content.get('items') or content['prefixItems'][0])}"
    plain = {"number": "number", "integer": "whole number", "string": "text", "object": "mapping"}
    return {**plain, "boolean": "true or false", "null": "null"}.get(kind, "")


def _default(content: dict[str, Any]) -> str:
    if "default" not in content:
        return "none, it must be given"
    default = content["default"]
    if default in ("", {}):
        return "empty"
    # As it is written in YAML.
    written = str(default).replace("'", "") if isinstance(default, list) else json.dumps(default)
    return f"``{written.strip(chr(34))}``"
