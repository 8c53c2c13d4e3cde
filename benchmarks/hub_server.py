"""A hub server to measure, in a process of its own, and what the official SDK spends on one.

Rules: waiting for the hub must not slow it down, so the wait pauses between its tries; a hub that
does not come up is ended, whatever the reason.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from harness import timed
from tidegate_operator.local.ports import free_port

SDK_COSTS = Path(__file__).resolve().parent / "sdk_costs.py"
PARTITIONS = 16
READY_LIMIT_S = 30.0
STOP_LIMIT_S = 30.0
PAUSE_S = 0.001  # what a start is measured to, and little beside it


class Server:
    """A hub named `load`, and how long it took to accept a connection."""

    def __init__(self, *arguments: str) -> None:
        self.port = free_port()
        begun = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tidegate_hub", "serve", "--port", str(self.port),
             "--hub", f"load:{PARTITIONS}", *arguments],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        self.pid = self._process.pid
        try:
            self._wait_until_it_answers()
        except BaseException:
            self.stop()
            raise
        self.start_s = time.perf_counter() - begun

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + READY_LIMIT_S
        while time.monotonic() < deadline:
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            if self._process.poll() is not None:
                raise ChildProcessError(f"the hub ended with {self._process.returncode}")
            time.sleep(PAUSE_S)
        raise TimeoutError(f"the hub did not answer within {READY_LIMIT_S:.0f} s")

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(STOP_LIMIT_S)


@contextlib.contextmanager
def server(*arguments: str) -> Iterator[Server]:
    running = Server(*arguments)
    try:
        yield running
    finally:
        running.stop()


class ServedHub:
    """A hub that is a server's, as the groups of the tests want it."""

    def __init__(self, port: int) -> None:
        self.connection_string = (
            f"Endpoint=sb://localhost:{port};SharedAccessKeyName=k;SharedAccessKey=s;"
            "UseDevelopmentEmulator=true"
        )

    def add_hub(self, name: str, partitions: int = 0) -> None:
        raise NotImplementedError("the hub is made when its process starts")


def sdk_costs(events: int) -> dict[str, float]:
    """What the official SDK spends on sending and receiving, in a process of its own."""
    with server() as hub:
        ran = timed([sys.executable, str(SDK_COSTS), str(hub.port), str(events)], timeout_s=300)
    return {
        name: float(value)
        for name, value in (row.split() for row in ran.output.splitlines() if row)
    }
