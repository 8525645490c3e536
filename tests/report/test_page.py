"""A report as one HTML file."""

import base64
import re

import pytest
from matplotlib.figure import Figure

from bciigl import __version__
from bciigl.base.errors import BciiglError
from bciigl.report.drawing import Drawing
from bciigl.report.page import (
    KeyNumber,
    Notice,
    Section,
    Table,
    page_text,
    refuse_others_file,
    write_report,
)

EVIL = "<script>alert('1')</script> & \"quotes\""


def drawing(name="line", words="What is seen."):
    figure = Figure(figsize=(2, 1))
    figure.subplots().plot([0, 1])
    return Drawing(name, figure, words, f"Alt: {words}", {"x": [0, 1]})


def test_everything_a_section_has_is_shown_and_escaped():
    section = Section(
        "Title " + EVIL,
        ["text " + EVIL],
        [Notice("bad", "notice " + EVIL, "more " + EVIL)],
        [KeyNumber("9 %", "label " + EVIL, "note " + EVIL)],
        [drawing(words="drawn " + EVIL)],
        [Table(["head " + EVIL, "of"], [["row " + EVIL, "cell " + EVIL]], "table " + EVIL)],
        "pre " + EVIL,
        ["cited " + EVIL],
    )
    text = page_text("page " + EVIL, [Section("Head"), section], lead="lead " + EVIL)
    assert "<script" not in text
    shown = "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &#34;quotes&#34;"
    words = "Title text label note head row cell table notice more drawn pre cited page lead"
    for word in words.split():
        assert f"{word} {shown}" in text, word


def test_finding_verdict_and_figures_come_before_statistics():
    head = Section(
        "Head",
        ["about"],
        [Notice("good", "verdict")],
        [KeyNumber("9 %", "number")],
        [drawing()],
        [Table(["x"], [["statistics"]])],
    )
    text = page_text("title", [head], lead="finding").partition("<body>")[2]
    shown = ["title", "finding", "about", "verdict", "number", "What is seen.", "statistics"]
    places = [text.index(f">{each}<") if each != "verdict" else text.index(each) for each in shown]
    assert places == sorted(places)


def test_it_needs_nothing_else():
    text = page_text("t", [Section("One"), Section("Two", drawings=[drawing()])])
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in text
    assert f'<meta name="generator" content="bciigl {__version__}">' in text
    assert '<html lang="en">' in text
    for address in re.findall(r'(?:src|href)="([^"]*)"', text):
        assert address.startswith(("data:image/svg+xml;base64,", "#")), address
    assert not re.search(r"<script|<link|@import|url\(", text)


def test_figures_are_embedded_as_they_are_saved():
    one = drawing()
    text = page_text("t", [Section("One", drawings=[one])])
    (address,) = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]*)"', text)
    assert base64.b64decode(address) == one.svg
    assert 'alt="Alt: What is seen."' in text
    assert "<figcaption>What is seen.</figcaption>" in text


def test_contents_link_to_every_section_but_the_head():
    text = page_text("t", [Section("At a glance"), Section("The rest, too"), Section("Methods")])
    links = re.findall(r'<li><a href="#([^"]*)">([^<]*)</a>', text)
    assert links == [("the-rest-too", "The rest, too"), ("methods", "Methods")]
    for anchor, _ in links:
        assert text.count(f'id="{anchor}"') == 1


@pytest.mark.parametrize(("mood", "sign"), {"good": "✓", "unsure": "?", "bad": "✕"}.items())
def test_notices_differ_in_more_than_colour(mood, sign):
    assert f">{sign}</span> Verdict" in page_text(
        "t", [Section("a", notices=[Notice(mood, "Verdict")])]
    )


def test_earlier_reports_are_replaced_and_their_figures_too(tmp_path):
    path, figures = tmp_path / "x.html", tmp_path / "x_figures"
    figures.mkdir()
    (figures / "mine.svg").write_text("not of bciigl")
    write_report(path, figures, "first", [Section("a", drawings=[drawing("one"), drawing("two")])])
    written = write_report(path, figures, "second", [Section("a", drawings=[drawing("two")])])
    assert "<title>second</title>" in path.read_text()
    assert list(written) == ["two"]
    names = sorted(each.name for each in figures.iterdir())
    assert names == ["mine.svg", "two.svg", "two.tsv"]


def test_other_files_are_left_alone(tmp_path):
    path = tmp_path / "mine.html"
    path.write_text("<html>my thesis</html>")
    with pytest.raises(BciiglError, match="exists already and is no report of bciigl"):
        write_report(path, tmp_path, "t", [Section("a", drawings=[drawing()])])
    assert path.read_text() == "<html>my thesis</html>"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_a_report_is_refused(tmp_path):
    with pytest.raises(BciiglError, match="should end in .html"):
        refuse_others_file(tmp_path / "report.pdf")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(BciiglError, match="is a folder"):
        refuse_others_file(tmp_path / "folder.html")
    (tmp_path / "link.html").symlink_to(tmp_path / "nothing")
    with pytest.raises(BciiglError, match="no report of bciigl"):
        refuse_others_file(tmp_path / "link.html")


def test_figures_that_are_not_of_an_earlier_report_are_left_alone(tmp_path):
    (tmp_path / "line.svg").write_text("mine")
    with pytest.raises(BciiglError, match=r"line\.svg: exists already"):
        write_report(tmp_path / "report.html", tmp_path, "T", [Section("S", drawings=[drawing()])])
    assert [path.name for path in tmp_path.iterdir()] == ["line.svg"]
