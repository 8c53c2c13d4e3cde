"""One browser for all pages, a view of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.browser import DESKTOP, Browser, running_driver


@pytest.fixture(scope="session")
def started_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    folder = tmp_path_factory.mktemp("browser")
    with running_driver(folder) as port:
        browser = Browser(port, folder / "profile")
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture
def browser(started_browser: Browser) -> Browser:
    """A browser that has not been anywhere, of a desktop's size, in light."""
    started_browser.open("about:blank")
    started_browser.command("Network.clearBrowserCookies", {})
    started_browser.resize(DESKTOP)
    started_browser.theme("light")
    started_browser.complaints()
    return started_browser


@pytest.fixture(scope="session")
def pictures() -> Path:
    """Where what was seen is kept, to be looked at."""
    return Path(__file__).resolve().parents[2] / "build" / "pages"
