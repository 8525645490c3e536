"""The documentation site, as readers see it: in a browser, and every link of every page.

The site that BCIIGL_SITE names is read; without it, one is built.
"""

import os
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest
from browsers import launched

DOCS = Path(__file__).parents[1] / "docs"
PHONE, LAPTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 800}
# The theme lets the text scroll by itself, which is as bad as a page that scrolls.
STICKS_OUT = """
[...document.querySelectorAll("html, .bd-article-container, .bd-article, .bd-article section")]
    .map(each => each.scrollWidth - each.clientWidth).filter(each => each > 0)
"""

pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """The anchors and links of a page, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), set(), set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        """Keep what a tag has."""
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        if tag == "link" and given.get("rel") != "canonical" and "href" in given:
            self.loaded.add(given["href"])
        if "src" in given:
            self.loaded.add(given["src"])


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a word."""

    def log_message(self, *arguments):
        """Leave tests' output alone."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the built site."""
    if built := os.environ.get("BCIIGL_SITE"):
        return Path(built).resolve()
    pytest.importorskip("sphinx_gallery")
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "-W", "-q", DOCS, folder / "html"]
    subprocess.run([*build, "-d", folder / "doctrees"], check=True)
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site):
    """Return all pages by path."""
    found = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    return {path: page for path, page in found.items() if "_static" not in path.parts}


@pytest.fixture(scope="module")
def address(site):
    """Serve the site, and return its address."""
    handler = partial(QuietHandler, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def window(address):
    """Give a page of a browser; fail if anything was complained of, or asked for elsewhere."""
    complaints, requests, answers = [], [], []
    with launched() as browser:
        page = browser.new_page(viewport=PHONE)
        page.on("console", lambda each: complaints.append((each.type, each.text)))
        page.on("pageerror", lambda each: complaints.append(("fault", str(each))))
        page.on("response", lambda each: answers.append((each.status, each.url)))
        page.on("request", lambda each: requests.append(each.url))
        yield page
    assert [each for each in complaints if each[0] not in ("log", "info")] == []
    assert [each for each in answers if each[0] >= 400] == []
    assert [each for each in requests if not each.startswith((address, "data:"))] == []


def test_all_that_a_reader_needs_is_there(site):
    expected = "getting_started equations limits citing changelog commands reference/protocol"
    tutorials = [f"tutorials/{each}" for each in ("neuroscientist", "method_developer", "scanner")]
    for page in [*expected.split(), *tutorials]:
        assert (site / f"{page}.html").exists(), page
    assert len(list((site / "auto_gallery").glob("plot_*.html"))) >= 12


def test_every_link_and_anchor_leads_somewhere(site, pages):
    lost = set()
    for path, page in pages.items():
        for link in page.links | page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file() or not target.is_relative_to(site):
                lost.add((str(path.relative_to(site)), link))
            elif parts.fragment and target in pages and link in page.links:
                if unquote(parts.fragment) not in pages[target].anchors:
                    lost.add((str(path.relative_to(site)), link))
    assert not lost


def test_pages_load_nothing_from_elsewhere(pages):
    for path, page in pages.items():
        elsewhere = [each for each in page.loaded if urlsplit(each).netloc]
        assert not elsewhere, path


def test_every_page_fits_a_phone(window, address, site, pages):
    wide = []
    for path in pages:
        window.goto(f"{address}/{path.relative_to(site).as_posix()}")
        if sticks_out := window.evaluate(STICKS_OUT):
            wide.append((str(path.relative_to(site)), sticks_out))
    assert not wide


def test_search_finds_pages_and_fields(window, address):
    window.set_viewport_size(LAPTOP)
    window.goto(address)
    window.locator(".search-button__button:visible").first.click()
    window.keyboard.type("propensity")
    window.keyboard.press("Enter")
    results = window.locator("#search-results ul.search li a")
    results.first.wait_for()
    results.first.click()
    window.wait_for_url(lambda url: "search.html" not in url)
    assert "propensity" in window.locator("main").inner_text().lower()

    window.goto(f"{address}/search.html?q=timing.isi")
    results.filter(has_text="timing.isi").first.wait_for()
