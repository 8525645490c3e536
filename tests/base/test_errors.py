"""Words for errors."""

from bciigl.base.errors import did_you_mean, printable, shortened


def test_nearest_spelling_is_offered_whatever_its_case():
    assert did_you_mean("ISO", ["isi", "tr"]) == "; did you mean 'isi'?"
    assert did_you_mean("ba4", ["BA44", "V1"]) == "; did you mean 'BA44'?"


def test_nothing_is_offered_where_nothing_is_near():
    assert did_you_mean("zebra", ["isi", "tr"]) == ""


def test_terminal_codes_and_half_characters_are_escaped():
    assert printable("a\x1b[31m\n\ud800é") == "a\\x1b[31m\\n\\ud800é"


def test_long_values_are_shortened_to_one_line():
    assert shortened("x" * 1000) == "'" + "x" * 56 + "..."
    assert shortened([1, 2]) == "[1, 2]"
