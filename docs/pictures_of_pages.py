"""Draw the pictures of the screen and the monitor in README and pages.md, from rehearsals.

A rehearsal at a real brain's noise goes well: its monitor is drawn every few seconds, as an
animation, and both pages in its end. A second one goes badly: judgments are not there, the head
moves, the screen is closed. Everything on the pages is as a user would see it.

Usage: python docs/pictures_of_pages.py   (ten minutes; needs Chromium)
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from shutil import which
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

DOCS = Path(__file__).parent
WIDE, SLIDE = {"width": 1366, "height": 768}, {"width": 1024, "height": 576}
PAUSE = 6000
"""Milliseconds between two pictures of the animation."""
GOOD = ("--noise=1", "--trials=138", "--seed=1", "--speed=20")
BAD = (*GOOD[:3], "--speed=6", "--motion=0.6", "--set=human.key_press=true")


@contextmanager
def rehearsal(*options: str) -> Iterator[tuple[subprocess.Popen, dict[str, str]]]:
    """Give a rehearsal that runs, and the links to its pages."""
    with tempfile.TemporaryDirectory() as folder:
        call = [sys.executable, "-m", "bciigl", "rehearse", *options, "--start", "--port=0"]
        call += ["--out", str(Path(folder, "session"))]
        log = Path(folder, "log")
        with log.open("w") as told, subprocess.Popen(call, stderr=told, stdout=told) as process:
            links: dict[str, str] = {}
            while len(links) < 2:
                found = re.findall(r"http://\S+/(?:screen|monitor)\b", log.read_text())
                links = {each.rpartition("/")[2]: each for each in found}
            yield process, links
            process.terminate()


def open_page(browser: Browser, link: str, size: dict[str, int], **how: Any) -> Page:
    """Open a page in a window of its own."""
    page = browser.new_context(viewport=size, **how).new_page()
    page.goto(link)
    return page


def good(browser: Browser) -> None:
    """Draw a rehearsal that goes well."""
    with rehearsal(*GOOD) as (process, links):
        screen = open_page(browser, links["screen"], SLIDE)
        monitor = open_page(browser, links["monitor"], WIDE, color_scheme="light")
        frames = []
        while process.poll() is None and "ended" not in monitor.text_content("#phase"):
            monitor.wait_for_timeout(PAUSE)
            frames.append(monitor.screenshot())
            if monitor.text_content("#trial").startswith("40 ") or len(frames) % 10 == 9:
                screen.wait_for_selector("body[data-view=guess]", timeout=60_000)
                screen.screenshot(path=DOCS / "screen_well.png")
                monitor.screenshot(path=DOCS / "monitor_well.png")
    animate(frames, DOCS / "rehearsal.webp")


def animate(frames: list[bytes], path: Path) -> None:
    """Write pictures as an animation; the last one stays longer."""
    images = [Image.open(BytesIO(each)).convert("RGB").resize((1024, 576)) for each in frames]
    times = [700] * (len(images) - 1) + [4000]
    images[0].save(
        path, save_all=True, append_images=images[1:], duration=times, loop=0, quality=60
    )


def bad(browser: Browser) -> None:
    """Draw a rehearsal that goes badly."""
    with rehearsal(*BAD) as (process, links):
        screen = open_page(browser, links["screen"], SLIDE)
        monitor = open_page(browser, links["monitor"], WIDE, color_scheme="dark")
        monitor.wait_for_timeout(90_000)
        screen.close()
        monitor.wait_for_selector("#alarm:not([hidden])")
        monitor.wait_for_timeout(4000)
        monitor.screenshot(path=DOCS / "monitor_badly.png")
        screen = open_page(browser, links["screen"], SLIDE)
        screen.wait_for_timeout(3000)
        process.kill()
        screen.wait_for_selector("#connection:not([hidden])")
        screen.wait_for_timeout(2000)
        screen.screenshot(path=DOCS / "screen_badly.png")


def main() -> None:
    """Draw both rehearsals."""
    asked: dict[str, Callable[[Browser], None]] = {"good": good, "bad": bad}
    with sync_playwright() as playwright:
        path = which("chromium") or which("google-chrome")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name in sys.argv[1:] or asked:
            asked[name](browser)


if __name__ == "__main__":
    main()
