"""The servers of the pages as programs of their own, which can be ended and started again."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from support.browser import Browser
from support.wait import wait_until

ROOT = Path(__file__).resolve().parents[2]
HOMES = ROOT / "examples" / "home-security"
KEY = "k" * 43
READY_SECONDS = 60.0
STOP_SECONDS = 15.0


Again = Callable[[], "Program"]


class Program:
    """A program that says where it serves."""

    def __init__(self, arguments: list[str], log: Path, **environment: str) -> None:
        self._log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, *arguments],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | environment,
            )
        self.url = wait_until(self._served_at, READY_SECONDS, "the server", detail=self.said)

    def said(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def port(self) -> str:
        return self.url.rpartition(":")[2]

    def act(self, line: str) -> None:
        """A line on its standard input, carried out."""
        assert self.process.stdin is not None
        before = self.said().count(f"did {line}")
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()
        wait_until(lambda: self.said().count(f"did {line}") > before, 30, line, detail=self.said)

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(STOP_SECONDS)
        if self.process.stdin is not None:
            self.process.stdin.close()

    def _served_at(self) -> str:
        assert self.process.poll() is None, self.said()
        found = re.search(r"serving at (http://\S+)", self.said())
        return found[1] if found else ""


def residents(storage: str, folder: Path, port: str = "0") -> Program:
    arguments = ["-m", "residents", "serve", "--listen", f"127.0.0.1:{port}", "--poll-s", "0.5"]
    environment = {"STORAGE": storage, "RESIDENTS_KEY": KEY, "PYTHONPATH": str(HOMES)}
    return Program(arguments, folder / "residents.log", **environment)


def link(home: str, base: str, days: float = 1.0) -> str:
    """As somebody who looks after the homes makes it."""
    command = [sys.executable, "-m", "residents", "link", home, "--base", base, f"--days={days}"]
    environment = os.environ | {"RESIDENTS_KEY": KEY, "PYTHONPATH": str(HOMES)}
    made = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return made.stdout.strip()


def console(folder: Path, *options: str) -> Program:
    program = str(ROOT / "tests" / "page" / "shown_groups.py")
    arguments = [program, "--speed", "8", *options]
    return Program(arguments, folder / "console.log", PYTHONPATH=str(ROOT / "tests"))


@contextlib.contextmanager
def running(program: Program) -> Iterator[Program]:
    try:
        yield program
    finally:
        program.end()


@contextlib.contextmanager
def refusing(port: str, why: str) -> Iterator[None]:
    """A server in the place of another one: it answers 503 to everything."""

    class Refusal(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(503)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Retry-After", "1")
            self.end_headers()
            self.wfile.write(why.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", int(port)), Refusal) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def hidden(browser: Browser, *, is_hidden: bool) -> None:
    """As if another page were looked at, or this one again."""
    browser.run(
        f"Object.defineProperty(document, 'hidden', {{value: {str(is_hidden).lower()}, "
        "configurable: true}); document.dispatchEvent(new Event('visibilitychange'))"
    )


def survives_a_refusal_while_hidden(browser: Browser, server: Program, again: Again) -> None:
    """A page that was refused while nobody looked says why, and is live again on one stream."""
    link = "document.querySelector('#link-state').dataset.state"
    server.end()
    with refusing(server.port, "There is no room just now."):
        browser.wait("!document.querySelector('#trouble').hidden", "the reason", 30)
        assert browser.text("#trouble") == "There is no room just now."
        hidden(browser, is_hidden=True)
        # Its own attempts end now: it is hidden.
        browser.wait(f"{link} === 'lost'", "the loss")
    with running(again()):
        for is_hidden in (False, True, False, False):
            hidden(browser, is_hidden=is_hidden)
        browser.wait(f"{link} === 'live'", "the page to come back", 30)
        browser.wait("document.querySelector('#trouble').hidden", "the reason to go")
