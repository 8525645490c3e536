"""A real browser for tests of pages."""

import os
import shutil
from contextlib import contextmanager

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def launched():
    """Give a browser; where there is none, tests fail in CI and are skipped elsewhere."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        missing = f"there is no browser: none of {', '.join(BROWSERS)} is on the PATH"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(missing)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Its sandbox does not run as root, as CI does; nothing but our own pages is opened.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()
