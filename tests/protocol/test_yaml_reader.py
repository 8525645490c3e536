"""Reading and writing YAML."""

from hypothesis import given
from hypothesis import strategies as st

from bciigl.protocol.yaml_reader import DEEPEST, MOST_EVENTS, UNREADABLE, Document, render


def complaint(text: str) -> tuple[tuple[int, int], str]:
    (found,) = Document(text).complaints
    return found.position, found.message


def test_scalars_are_those_of_yaml_1_2():
    for text, value in [
        ("1e-3", 0.001),
        ("1E5", 100_000.0),
        (".5", 0.5),
        ("-3", -3),
        ("no", "no"),
        ("Yes", "Yes"),
        ("on", "on"),
        ("true", True),
        ("null", None),
        ("", None),
        ("1:30", "1:30"),
        ("2026-01-01", "2026-01-01"),
        ("'7'", "7"),
        ("=", "="),
        ("9" * 5000, "9" * 5000),
        ("0x" + "f" * 5000, "0x" + "f" * 5000),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("0b11", "0b11"),
        ('"\\ud83d\\ude00"', "😀"),
    ]:
        read = Document(f"key: {text}").data["key"]
        assert read == value
        assert type(read) is type(value)


def test_positions_are_those_of_keys_and_items():
    document = Document("a:\n  b: [1,\n      2]\n")
    assert document.positions == {
        ("a",): (1, 1),
        ("a", "b"): (2, 3),
        ("a", "b", 0): (2, 7),
        ("a", "b", 1): (3, 7),
    }


def test_tags_are_refused():
    for tag in ["!!python/object/apply:os.system", "!!str", "!mine", "!"]:
        position, message = complaint(f"a: {tag} [x]")
        assert position == (1, 4)
        assert "tags are not allowed" in message


def test_tagged_keys_are_refused_too():
    assert "tags are not allowed" in complaint("!!str a: 1")[1]


def test_anchors_and_aliases_are_refused_each_where_it_stands():
    document = Document("a: &x 1\nb: *x\n")
    assert [each.position for each in document.complaints] == [(1, 4), (2, 4)]
    assert document.data == {"a": 1, "b": UNREADABLE}


def test_duplicate_key_is_refused_and_the_first_kept():
    document = Document("a: 1\nb: 2\na: 3\n")
    assert document.data == {"a": 1, "b": 2}
    (found,) = document.complaints
    assert found.position == (3, 1)
    assert "first in line 1" in found.message


def test_same_key_in_two_sections_is_no_duplicate():
    assert not Document("a: {c: 1}\nb: {c: 2}\n").complaints


def test_directives_are_refused():
    for text in ["%YAML 1.1\n---\na: no", "%TAG ! tag:x,2000:\n---\na: no"]:
        assert "directives" in complaint(text)[1]


def test_errors_that_the_parser_does_not_call_its_own_are_told():
    for text in [
        'a: "\\U00110000"',
        '"\\U00110000": 1',
        "%YAML 1.3\n---\na: 1",
        f"%YAML 1.{'1' * 5000}\n---\n",
    ]:
        assert "is not YAML" in complaint(text)[1]


def test_key_of_half_a_character_is_refused():
    assert "half a character" in complaint('"\\ud800": 1')[1]
    assert Document('"\\ud83d\\ude00": 1').data == {"😀": 1}


def test_second_document_is_refused():
    assert complaint("a: 1\n---\nb: 2\n")[0] == (2, 1)


def test_keys_that_are_no_words_are_refused():
    assert "a key should be a word" in complaint("? [a]\n: 1")[1]


def test_broken_yaml_is_told_with_its_place():
    for text in ["a: [1", "a: 'b", "a: b: c", "\ta: 1", "a: \x00", "@"]:
        position, message = complaint(text)
        assert "is not YAML" in message
        assert position[0] in (1, 2)


def test_common_slips_are_told_where_they_begin_with_a_hint():
    for text, position, hint in [
        ("a: 1\nb 2\nc: 3\n", (2, 1), "a key needs a colon"),
        ("a: 'b\nc: 3\n", (1, 4), ""),
        ("a: 1\nb: [1, 2\nc: 3\n", (2, 4), ""),
        ("a: 1\nb: Study 2: hands\n", (2, 11), "text with a colon in quotes"),
        ("a:\n\tb: 1\n", (2, 1), "use spaces, not tabs"),
        ("a: 1\nb: \x00\n", (2, 4), "U+0000"),
    ]:
        where, message = complaint(text)
        assert where == position
        assert hint in message


def test_empty_text_says_what_is_needed():
    for text in ["", "# nothing\n", "\ufeff"]:
        assert "is empty" in Document(text).complaints[0].message


def test_nesting_ends_before_python_s_stack_does():
    for opening in ["[", "{a: ", "- ", "? "]:
        assert f"more than {DEEPEST} levels" in Document(opening * 50_000).complaints[-1].message


def test_reading_ends_where_no_protocol_goes():
    assert f"more than {MOST_EVENTS} keys" in complaint("- a\n" * 60_000)[1]


def test_words_that_look_like_something_else_stay_words():
    for word in ["?x", "-", ": ", "a: b", "no", "null", "~", "7", "1e3", "#", "é"]:
        data = {"key": word, "list": [word, word]}
        assert Document(render(data, {})).data == data


def test_written_file_is_easy_to_read():
    data = {"a": {"b": None, "c": [1, "x"]}, "d": "?"}
    assert render(data, {("a",): "one", ("a", "b"): "two", ("d",): "three"}) == (
        '# one\na:\n  # two\n  b: null\n  c: [1, x]\n\n# three\nd: "?"\n'
    )


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["C", "Zl", "Zp"], include_characters="\n\t")),
)
KEYS = st.text("abcno_1", min_size=1)


@given(st.dictionaries(KEYS, st.one_of(SCALARS, st.lists(SCALARS, max_size=3)), min_size=1))
def test_what_is_written_is_read_back(data):
    document = Document(render(data, {(key,): f"note on {key}" for key in data}))
    assert document.data == data
    assert not document.complaints
