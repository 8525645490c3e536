"""What a browser makes of a report."""

import pytest
from browsers import launched
from studies import all_made_up, study

from bciigl.report.page import page_text
from bciigl.report.session_words import lead
from bciigl.report.study import lead as study_lead
from bciigl.report.study import study_sections
from bciigl.study import rows
from bciigl.study.controls import PERMUTED, SILENCED
from bciigl.study.example import keep_example, open_example

# What pages say is tested without one.
pytestmark = pytest.mark.slow

FITS = "document.scrollingElement.scrollWidth <= document.scrollingElement.clientWidth"
FONT = "parseFloat(getComputedStyle(document.body).fontSize)"
DECODED = "Array.from(document.images, each => each.complete && each.naturalWidth > 0)"
WIDEST = "Math.max(...Array.from(document.images, each => each.getBoundingClientRect().right))"


@pytest.fixture(scope="module")
def browser():
    """Start a browser."""
    with launched() as found:
        yield found


def reported_study(folder):
    """Return a study and the sections of its report, of made-up results and a recorded example."""
    mine = study(
        learners=["ai_igl", "cb", "ceiling"],
        controls=(SILENCED, PERMUTED),
        study={"noise": [0.05, 0.4], "repeats": 2},
    )
    results = all_made_up(mine)
    keep_example(mine, folder, results)
    example = open_example(mine, folder)
    table = rows(mine, results)
    return study_lead(mine, table), study_sections(mine, results, table, example)


@pytest.fixture(scope="module", params=["session", "study"])
def report(request, tmp_path_factory):
    """Write a report; return its path and how many figures it has."""
    path = tmp_path_factory.mktemp("browser") / "report.html"
    get = request.getfixturevalue  # so that only what is reported is made
    if request.param == "session":
        parts, words = list(get("sections").values()), lead(get("view"))
    else:
        words, parts = reported_study(path.parent)
    figures = sum(len(each.drawings) for each in parts)
    assert figures >= 5
    path.write_text(page_text("A report", parts, lead=words), "utf-8")
    return path, figures


@pytest.mark.parametrize("width", [320, 1280])
def test_report_is_shown_whole_and_alone(browser, report, width):
    path, figures = report
    page = browser.new_page(viewport={"width": width, "height": 800})
    complaints, requests = [], []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    assert page.locator("h1").inner_text() == "A report"
    assert page.evaluate(DECODED) == [True] * figures
    assert page.evaluate(FITS)
    assert page.evaluate(FONT) >= 14
    assert page.evaluate(WIDEST) <= width
    assert [each for each in requests if not each.startswith("data:")] == [path.as_uri()]
    assert complaints == []
    page.close()


def test_contents_lead_to_their_sections(browser, report):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(report[0].as_uri())
    page.get_by_role("link", name="Methods").click()
    assert page.url.endswith("#methods")
    assert page.locator("h2#methods").is_visible()
    assert page.evaluate("window.scrollY") > 800
    page.close()


def test_wide_tables_scroll_by_themselves(browser, report):
    page = browser.new_page(viewport={"width": 320, "height": 800})
    page.goto(report[0].as_uri())
    hidden = "element => element.scrollWidth - element.clientWidth"
    assert page.locator(".scroll").first.evaluate(hidden) > 0
    page.close()
