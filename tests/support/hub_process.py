"""A hub server as a process of its own, started as people start it: for kills, memory and disks.

Rules: it is ready when it says so; what it said is kept in files; it never outlives its test.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from support.tree import ROOT
from support.wait import wait_until

READY_SECONDS = 60.0
STOP_SECONDS = 30.0


class HubProcess:
    """One run of `python -m tidegate_hub serve`. Ask `port` and the others once it is ready."""

    def __init__(self, home: Path, *arguments: str, within: Sequence[str] = ()) -> None:
        """`within` are the first words of a command that runs it."""
        home.mkdir(exist_ok=True, parents=True)
        self.arguments = arguments
        self._out, self._err = home / "out.txt", home / "err.txt"
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = subprocess.Popen(
                [
                    *within, sys.executable, "-m", "tidegate_hub", "serve", "--port", "0",
                    *arguments,
                ],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, "PYTHONPATH": str(ROOT / "consumer")},
            )  # fmt: skip

    @property
    def said(self) -> str:
        """Its standard output so far."""
        return self._out.read_text()

    @property
    def complained(self) -> str:
        """Its standard error so far."""
        return self._err.read_text()

    def until_ready(self) -> HubProcess:
        def is_ready() -> bool:
            assert self.process.poll() is None, f"the hub ended: {self.complained}"
            return "ready" in self.said

        wait_until(is_ready, READY_SECONDS, "the hub to be ready", lambda: self.complained)
        return self

    @property
    def connection_string(self) -> str:
        return self._found(r"^connection string: (.*)$")

    @property
    def tls_connection_string(self) -> str:
        return self._found(r"^with TLS: (.*)$")

    @property
    def port(self) -> int:
        return int(self._found(r"^connection string: Endpoint=sb://localhost:(\d+)"))

    def _found(self, pattern: str) -> str:
        match = re.search(pattern, self.said, re.MULTILINE)
        assert match is not None, self.said
        return match[1]

    @property
    def resident_bytes(self) -> int:
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def let_files_grow_to(self, size: int | None) -> None:
        """Makes the operating system refuse larger files, as a full disk does; None: no more."""
        limit = psutil.RLIM_INFINITY if size is None else size
        psutil.Process(self.process.pid).rlimit(psutil.RLIMIT_FSIZE, (limit, psutil.RLIM_INFINITY))

    def kill(self) -> None:
        """Ends it as a power cut does, as far as a process can."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(STOP_SECONDS)

    def stop(self, by: signal.Signals = signal.SIGTERM) -> int:
        """Asks it to end; gives its exit code."""
        self.process.send_signal(by)
        return self.process.wait(STOP_SECONDS)


@contextlib.contextmanager
def hub_process(home: Path, *arguments: str) -> Iterator[HubProcess]:
    """A hub that is ready; it is killed at the end unless it has ended before."""
    hub = HubProcess(home, *arguments)
    try:
        yield hub.until_ready()
    finally:
        if hub.process.poll() is None:
            hub.kill()
