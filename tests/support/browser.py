"""A Chromium without a window, driven by the W3C's WebDriver protocol: a few requests in JSON.

Rules: each browser has a folder of its own for what it keeps, and asks nobody but the pages that it
is told to open. What happens in the page is waited for. A script that throws is an error here, with
the page's own words; so is whatever the page complained of, where a test asks for it.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.wait import wait_until

READY_SECONDS = 60.0
ANSWER_SECONDS = 60.0
STOP_SECONDS = 15.0
DESKTOP, PHONE = (1280, 900), (390, 844)
# The last four keep it from asking its makers for anything.
_OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--hide-scrollbars", "--disable-quic", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)


class NoBrowser(Exception):
    """There is no Chromium on this machine, or no driver for it."""


class PageError(AssertionError):
    """The browser refused, or a script threw."""


class Browser:
    """See the module."""

    def __init__(self, port: int, folder: Path) -> None:
        self._port = port
        self._session = ""
        options = {"args": [*_OPTIONS, f"--user-data-dir={folder}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        told = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{told['sessionId']}"

    def open(self, url: str) -> None:
        self._act("url", {"url": url})

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script returns; one that returns a promise is waited for."""
        return self._act("execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script: str, what: str, seconds: float = 30.0) -> Any:
        """What an expression is, once it is true."""
        return wait_until(lambda: self.run(f"return {script}"), seconds, what, detail=self._shown)

    def text(self, selector: str) -> str:
        script = "return document.querySelector(arguments[0])?.innerText ?? ''"
        return str(self.run(script, selector))

    def click(self, selector: str) -> None:
        found = self._act("element", {"using": "css selector", "value": selector})
        self._act(f"element/{next(iter(found.values()))}/click", {})

    def type(self, selector: str, text: str) -> None:
        found = self._act("element", {"using": "css selector", "value": selector})
        self._act(f"element/{next(iter(found.values()))}/value", {"text": text})

    def press(self, key: str) -> None:
        """A key of the keyboard, given to whatever has the focus."""
        keys = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        self._act("actions", {"actions": [{"type": "key", "id": "keys", "actions": keys}]})

    def resize(self, size: tuple[int, int]) -> None:
        phone = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", phone)

    def theme(self, name: str) -> None:
        """'light' or 'dark'."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.command("Emulation.setEmulatedMedia", {"features": features})

    def command(self, name: str, parameters: dict[str, Any]) -> Any:
        """One of the browser's own commands."""
        return self._act("goog/cdp/execute", {"cmd": name, "params": parameters})

    def screenshot(self, file: Path) -> None:
        """The whole page, also what has to be scrolled to; .png, or .webp where that is said."""
        file.parent.mkdir(parents=True, exist_ok=True)
        kind = file.suffix.removeprefix(".")
        told = self.command(
            "Page.captureScreenshot", {"format": kind, "captureBeyondViewport": True}
        )
        file.write_bytes(base64.b64decode(told["data"]))

    def complaints(self) -> list[str]:
        """What the page has complained of since this was asked last."""
        found = self._act("se/log", {"type": "browser"})
        return [str(each["message"]) for each in found if each["level"] in ("SEVERE", "WARNING")]

    def close(self) -> None:
        self._ask("DELETE", self._session)

    def _shown(self) -> str:
        return f"{self.complaints()}\n{self.text('body')[:2000]}"

    def _act(self, path: str, body: dict[str, Any]) -> Any:
        return self._ask("POST", f"{self._session}/{path}", body)

    def _ask(self, verb: str, path: str, body: dict[str, Any] | None = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=ANSWER_SECONDS)
        with contextlib.closing(connection):
            text = None if body is None else json.dumps(body)
            connection.request(verb, path, text, {"Content-Type": "application/json"})
            told = json.loads(connection.getresponse().read())["value"]
        if isinstance(told, dict) and "error" in told:
            raise PageError(f"{path}: {told['error']}: {told['message']}")
        return told


def programs() -> tuple[str, str]:
    """Chromium and its driver. Raises NoBrowser."""
    found = shutil.which("chromium"), shutil.which("chromedriver")
    if not all(found):
        raise NoBrowser("chromium and chromedriver are not both there: `make test-pages` gets them")
    return str(found[0]), str(found[1])


@contextlib.contextmanager
def running_driver(folder: Path) -> Iterator[int]:
    """The port of a driver, which starts as many browsers as it is asked for."""
    log = folder / "driver.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [programs()[1], "--port=0"], stdout=output, stderr=subprocess.STDOUT
        )

    def port() -> int:
        found = re.search(r"started successfully on port (\d+)", log.read_text(errors="replace"))
        return int(found[1]) if found else 0

    try:
        yield wait_until(port, READY_SECONDS, "the browser's driver", detail=log.read_text)
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)
