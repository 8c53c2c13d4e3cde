"""`make demo` as a program that a test watches, and whose keys it presses.

    with running_demo(HOMES="200") as demo:
        demo.until_said(r"everything runs")
        demo.press("k")

Rules: its ports are free ones, so that several can run at once. All that it said is kept, and shown
where a test fails; whatever a failed test left of it is ended.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from support.tree import ROOT
from support.wait import wait_until
from tidegate_operator.local.ports import free_port

DEMO = (sys.executable, str(ROOT / "scripts" / "demo.py"))
SMALL = {"HOMES": "200", "ENGINE": "python", "SEED": "11"}
SAID_S = 90.0


def free_ports() -> dict[str, str]:
    """Two that are free now, by the names of the demo's variables."""
    return {"PAGE_PORT": str(free_port()), "CONSOLE_PORT": str(free_port())}


class DemoProcess:
    """See the module."""

    def __init__(self, environment: dict[str, str], *, reads: bool) -> None:
        self.process = subprocess.Popen(
            DEMO,
            env=os.environ | SMALL | free_ports() | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        if reads:
            self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line

    def until_said(self, pattern: str, since: int = 0, seconds: float = SAID_S) -> re.Match[str]:
        """What it says, once it has, after so much as it had said before."""

        def found() -> re.Match[str] | None:
            match = re.compile(pattern).search(self.said, since)
            assert match or self.process.poll() is None, f"the demo ended: {self.said[-3000:]}"
            return match

        told = wait_until(found, seconds, f"'{pattern}'", lambda: self.said[-3000:])
        assert told is not None
        return told

    def press(self, key: str) -> int:
        """A key; how much it had said before that."""
        assert self.process.stdin is not None
        said = len(self.said)
        self.process.stdin.write(key)
        self.process.stdin.flush()
        return said

    def console(self) -> str:
        return self.until_said(r"the console +(http\S+)")[1]

    def home(self, number: int = 17) -> str:
        """The link of a home."""
        return self.until_said(rf"home {number} +(http\S+)")[1]

    def ended(self) -> int:
        """Its code, once it has ended."""
        code = self.process.wait()
        if self._reader.is_alive():
            self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        return code


@contextmanager
def running_demo(*, reads: bool = True, **environment: str) -> Iterator[DemoProcess]:
    demo = DemoProcess(environment, reads=reads)
    try:
        yield demo
    finally:
        if demo.process.poll() is None:
            demo.process.terminate()
        demo.ended()
