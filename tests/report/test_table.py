"""A table of words in its three forms."""

from tables import cells, html_tables

from bciigl.report.page import Section, page_text
from bciigl.report.table import Table

ROWS = [
    ["ai_igl", "98.1 ± 0.4", "-"],
    ["  95 % interval", "97.5 to 98.8", "1.0"],
    ["a learner with a long name", "7", "100.0 ± 12.5"],
]
TABLE = Table(["noise", "0.05", "1"], ROWS, "What it is of.")


def test_columns_of_text_are_even_and_numbers_end_below_each_other():
    lines = TABLE.as_text().splitlines()
    assert lines == [
        "noise                               0.05             1",
        "ai_igl                        98.1 ± 0.4             -",
        "  95 % interval             97.5 to 98.8           1.0",
        "a learner with a long name             7  100.0 ± 12.5",
    ]
    assert {len(line) for line in lines} == {len(lines[0])}


def test_a_head_wider_than_its_column_moves_the_others():
    text = Table(["x", "a long head", "b"], [["row", "1", "2"]]).as_text()
    assert text == "x    a long head  b\nrow            1  2"


def test_a_table_too_wide_is_split_into_blocks_that_all_name_their_rows():
    wide = Table(["noise", *"abcdef"], [["a learner", *["100.0 ± 0.0"] * 6], ["other", *"123456"]])
    text = wide.as_text(width=40)
    blocks = [[line.split() for line in block.splitlines()] for block in text.split("\n\n")]
    assert max(map(len, text.splitlines())) <= 40
    assert [block[0] for block in blocks] == [["noise", *each] for each in ("ab", "cd", "ef")]
    assert [block[2] for block in blocks] == [["other", *each] for each in ("12", "34", "56")]
    assert all(block[1][:2] == ["a", "learner"] for block in blocks)
    assert wide.as_text() == wide.as_text(width=80)  # tests have no terminal


def test_a_name_too_long_goes_on_in_the_next_line():
    name = "timing.isi = 5 s, timing.events.imagination.duration = 4 s"
    lines = Table(["design", "hours"], [[name, "1.2"], ["b", "3"]]).as_text(width=44).splitlines()
    assert max(map(len, lines)) <= 44
    assert [line.split() for line in lines[1:]] == [
        [*"timing.isi = 5 s,".split(), "1.2"],
        ["timing.events.imagination.duration"],
        [*"= 4 s".split()],
        ["b", "3"],
    ]
    assert lines[2].startswith("  ")


def test_words_begin_and_numbers_end_below_each_other():
    text = Table(["learner", "accuracy", "verdict"], [["a", "9 %", "trust"], ["b", "100 %", "-"]])
    assert text.as_text().splitlines() == [
        "learner  accuracy  verdict",
        "a             9 %  trust",
        "b           100 %  -",
    ]


def test_text_has_no_blanks_at_the_end_of_a_line():
    assert (
        Table(["what", "value"], [["a", "1"], ["b", ""]]).as_text() == "what  value\na         1\nb"
    )


def test_a_table_of_one_column_and_one_without_rows_are_tables():
    assert Table(["only"], [["a"]]).as_text() == "only\na"
    assert Table(["a", "b"], []).as_text() == "a  b"
    assert html_tables(Table(["a", "b"], [])._repr_html_()) == [[["a", "b"]]]


def test_all_forms_have_the_same_cells():
    (notebook,) = html_tables(TABLE._repr_html_())
    (page,) = html_tables(page_text("t", [Section("Head"), Section("One", tables=[TABLE])]))
    text = [cells(line) for line in TABLE.as_text().splitlines()]
    assert notebook == page == text
    assert notebook[1:] == [[each.strip() for each in row] for row in ROWS]


def test_details_stand_below_what_they_are_about():
    assert TABLE.as_text().splitlines()[2].startswith("  95 % interval ")
    notebook = TABLE._repr_html_()
    assert notebook.count("&emsp;") == 1 and ">&emsp;95 % interval</th>" in notebook
    page = page_text("t", [Section("Head"), Section("One", tables=[TABLE])])
    assert page.count('<tr class="detail">') == 1
    assert '<tr class="detail"><th scope="row">95 % interval</th>' in page
    assert '<p class="caption">What it is of.</p>' in page


def test_what_could_be_markup_is_text():
    odd = Table(["a<b>", "&"], [["  <script>", "1 < 2"], ['"x"', "&amp;"]])
    for html in (odd._repr_html_(), page_text("t", [Section("Head", tables=[odd])])):
        assert "<b>" not in html and "<script" not in html
        assert html_tables(html) == [[["a<b>", "&"], ["<script>", "1 < 2"], ['"x"', "&amp;"]]]
