"""Whatever is not a protocol is refused: exit 2, the file named, no traceback.

The command runs in this process with exceptions let through, so that a traceback fails the test.
"""

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from strategies import SCHEMA, leaves, replaced, resolve, well_typed

from bciigl.protocol import Protocol, load, shipped
from bciigl.protocol.load import MOST_PROBLEMS
from bciigl.protocol.yaml_reader import render

LEAVES = dict(leaves())
NUMERIC = {
    path: field for path, field in LEAVES.items() if field.get("type") in ("number", "integer")
}
FULL = [load(name).model_dump(mode="json") for name in shipped()]
TEXTS = [path.read_text() for path in shipped().values()]
WRONG = {
    "array": [3, "word", True, None, {"a": 1}],
    "boolean": [3, "no", None, [True], {}],
    "integer": ["3", 1.5, True, None, [3], {}],
    "number": ["3", "no", True, None, [1.5], {}],
    "object": [3, "word", [1], None, True],
    "string": [3, 1.5, False, None, ["a"], {}],
}

bases = st.sampled_from(FULL)


def refused(bciigl, path) -> str:
    result = bciigl("protocol", "check", path)
    assert result.exit_code == 2, result.output
    assert str(path) in result.stderr
    assert "Traceback" not in result.output
    return result.stderr


def wrong_values(path: tuple) -> list:
    field = LEAVES[path]
    kinds = field.get("anyOf", [field])
    allowed = {each.get("type", "string") for each in kinds}
    values = [value for kind in sorted(allowed) for value in WRONG.get(kind, [])]
    right = {"integer": (int,), "number": (int, float), "null": (type(None),)}
    types = {each for kind in allowed for each in right.get(kind, ())}
    return [value for value in values if type(value) not in types]


@given(st.data())
def test_wrong_types(bciigl, write, data):
    path = data.draw(st.sampled_from(sorted(LEAVES)))
    wrong = replaced(data.draw(bases), path, data.draw(st.sampled_from(wrong_values(path))))
    assert f": {'.'.join(path)}" in refused(bciigl, write(render(wrong, {})))


@given(bases, st.data())
def test_wrong_sections(bciigl, write, base, data):
    section = data.draw(st.sampled_from(sorted(k for k, v in base.items() if isinstance(v, dict))))
    wrong = {**base, section: data.draw(st.sampled_from(WRONG["object"]))}
    # A word for the section estimate is one for its method.
    message = refused(bciigl, write(render(wrong, {})))
    assert f": {section}: " in message or f": {section}.method: " in message


@given(bases, st.sampled_from(sorted(NUMERIC)), st.booleans(), st.floats(0.001, 1e300))
def test_numbers_out_of_range(bciigl, write, base, path, above, by):
    field = NUMERIC[path]
    low = field.get("minimum", field.get("exclusiveMinimum"))
    high = field.get("maximum", field.get("exclusiveMaximum"))
    value = high + by if above else low - by
    if field["type"] == "integer":
        value = high + int(by) + 1 if above else low - int(by) - 1
    message = refused(bciigl, write(render(replaced(base, path, value), {})))
    assert f": {'.'.join(path)}: should be " in message


@given(bases, st.sampled_from(sorted(NUMERIC)), st.sampled_from([".nan", ".inf", "-.inf", "1e999"]))
def test_numbers_that_are_none(bciigl, write, base, path, value):
    text = render(replaced(base, path, "PLACE"), {}).replace("PLACE", value)
    assert f": {'.'.join(path)}: should be a" in refused(bciigl, write(text))


@given(bases, st.sampled_from([("name",), ("task",), ("task", "options")]))
def test_missing_keys(bciigl, write, base, path):
    parent = dict(base)
    if len(path) == 2:
        parent["task"] = {key: value for key, value in base["task"].items() if key != "options"}
    else:
        del parent[path[0]]
    assert f"{'.'.join(path)}: is required" in refused(bciigl, write(render(parent, {})))


@given(bases, st.data(), st.text("abcdefghijklmnopqrstuvwxyz_.é 0", min_size=1, max_size=12))
def test_extra_keys(bciigl, write, base, data, key):
    sections = {path[:-1] for path in LEAVES}
    section = data.draw(st.sampled_from(sorted(sections)))
    field = SCHEMA
    for name in section:
        field = resolve(field["properties"][name])
    if key in field["properties"]:
        key += "_"
    assert "unknown key" in refused(bciigl, write(render(replaced(base, (*section, key), 1), {})))


@given(bases, st.data())
def test_duplicated_keys(bciigl, write, base, data):
    lines = render(base, {}).splitlines()
    at = data.draw(st.sampled_from([i for i, line in enumerate(lines) if not line.endswith(":")]))
    lines.insert(at, lines[at])
    assert f":{at + 2}:" in refused(bciigl, write("\n".join(lines)))


@given(st.binary())
def test_binary_files(bciigl, write, content):
    refused(bciigl, write(content))


@given(st.sampled_from(TEXTS), st.sampled_from(["utf-16", "utf-32", "utf-16-le", "utf-7"]))
def test_other_encodings(bciigl, write, text, encoding):
    content = text.replace("name:", "naïve: 1\nname:").encode(encoding)
    refused(bciigl, write(content))


@given(st.sampled_from(TEXTS), st.data())
def test_slips_of_the_hand(bciigl, write, text, data):
    """Cut, swap and insert pieces: what still is a protocol is accepted, all else refused."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    piece = data.draw(
        st.one_of(
            st.sampled_from(["", ":", "- ", "\n", "\t", "{", "[", "]", "'", '"', "&a ", "*a", "#"]),
            st.sampled_from(["!!int ", "? ", "| ", "> ", "<<: ", "---\n", "%YAML 1.1\n", "\x00"]),
            st.text(max_size=5),
        )
    )
    path = write((text[:start] + piece + text[end:]).encode(errors="surrogatepass"))
    result = bciigl("protocol", "check", path)
    assert result.exit_code in (0, 2)
    assert "Traceback" not in result.output
    if result.exit_code == 0:
        assert load(path)
    else:
        assert str(path) in result.stderr


@given(well_typed())
def test_right_fields_make_a_protocol_unless_science_forbids(bciigl, write, data):
    try:
        Protocol.model_validate(data)
        expected = 0
    except ValidationError as error:
        assert {each["type"] for each in error.errors()} == {"science"}
        expected = 2
    # subjects and masks that are drawn do not exist, and hardly any region lies within the brain
    brain = data.get("brain", {})
    for name in ("subject", "responses", "region"):
        brain.pop(name, None)
    result = bciigl("protocol", "check", write(render(data, {})))
    assert result.exit_code == expected, result.output


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(12)
)


HOSTILE = [
    "",
    "   \n\n",
    "just words",
    "- a\n- list\n",
    BOMB,
    "[" * 50_000,
    "{a: " * 20_000,
    "a:\n" + "".join(f"{' ' * i}b:\n" for i in range(1, 600)),
    "x: 1\n" * 10_000,
    "x" * 10_000_000,
    "- 1\n" * 2_500_000,
    "name: x\ntask: {options: " + str(list(range(30_000))) + "}\n",
    "name: '" + "x" * 200_000 + "'\n",
    "? " * 30_000,
    "!<" + "a" * 200_000 + "> b",
    'name: "\\U00110000"',
    '"\\ud800": 1',
    "%YAML 1.3\n---\nname: x",
]


def test_hostile_files(bciigl, write):
    for content in HOSTILE:
        told = refused(bciigl, write(content)).splitlines()
        assert len(told) <= MOST_PROBLEMS + 1, content[:20]


def test_folder(bciigl, tmp_path):
    refused(bciigl, tmp_path)


def test_nothing_in_a_file_is_executed(write, tmp_path):
    trace = tmp_path / "executed"
    tag = f"name: !!python/object/apply:os.system ['touch {trace}']\n"
    path = write(tag + "task: {options: [7, 8, 9]}\n")
    command = [sys.executable, "-m", "bciigl", "protocol", "check", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert f"{path}:1:7: name: tags are not allowed" in result.stderr
    assert "Traceback" not in result.stderr
    assert not trace.exists()
