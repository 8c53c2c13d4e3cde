"""A hub server that is taken away from its readers and comes back: refused, hanging, black-holed.

    with hub_line(tmp_path, "telemetry:6") as line:
        group = a_command_group(line.hub, ..., events=line.connection_string)
        line.take_away("black-holed")
        line.give_back()

Rules: the readers reach the hub by a relay, and who sends reaches it directly. The hub is a process
of its own: for `hanging` it is stopped by SIGSTOP. For `black-holed`, connections stay open and
pass nothing, and the kernel drops the first packet of every new one: its queue is full.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

from support.hub_process import HubProcess, hub_process
from tidegate_operator.conformance.proxy import FaultProxy

WAYS = ("refused", "hanging", "black-holed")
_LONGEST_S = 30.0


class _Relay(FaultProxy):
    """From the readers to the hub."""

    async def begin(self) -> None:
        await self.start("127.0.0.1", self.port)

    async def listen_no_more(self) -> None:
        assert self._server is not None
        self._server.close()


class HubLine:
    """See the module. Made by `hub_line`."""

    def __init__(self, hub: HubProcess, loop: asyncio.AbstractEventLoop) -> None:
        self.hub = hub
        self._loop = loop
        self._relay = _Relay("127.0.0.1", hub.port, is_http=False)
        self._hole: list[socket.socket] = []
        self._way = ""
        self._do(self._relay.begin())

    @property
    def connection_string(self) -> str:
        """The readers' way."""
        direct, by_relay = f"localhost:{self.hub.port}", f"localhost:{self._relay.port}"
        found = self.hub.connection_string
        assert direct in found
        return found.replace(direct, by_relay)

    def take_away(self, way: str) -> None:
        self._way = way
        if way == "hanging":
            self.hub.process.send_signal(signal.SIGSTOP)
        elif way == "refused":
            self._do(self._relay.stop())
        else:
            self._relay.freeze()
            self._do(self._relay.listen_no_more())
            self._fill()

    def give_back(self) -> None:
        way, self._way = self._way, ""
        if way == "hanging":
            self.hub.process.send_signal(signal.SIGCONT)
        elif way:
            self._empty()
            self._do(self._relay.begin())

    def close(self) -> None:
        self._empty()
        if self._way == "hanging":
            self.hub.process.send_signal(signal.SIGCONT)
        self._do(self._relay.stop())

    def _fill(self) -> None:
        hole = socket.socket()
        hole.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        hole.bind(("127.0.0.1", self._relay.port))
        hole.listen(0)
        self._hole = [hole]
        for _ in range(4):
            other = socket.socket()
            other.setblocking(False)
            other.connect_ex(hole.getsockname())
            self._hole.append(other)

    def _empty(self) -> None:
        for each in self._hole:
            each.close()
        self._hole = []

    def _do(self, work: object) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(_LONGEST_S)  # type: ignore[arg-type]


@contextlib.contextmanager
def hub_line(home: Path, *hubs: str) -> Iterator[HubLine]:
    """A hub process and the relay before it."""
    started: Future[asyncio.AbstractEventLoop] = Future()
    stop = threading.Event()

    async def serve() -> None:
        started.set_result(asyncio.get_running_loop())
        await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="relay", daemon=True)
    thread.start()
    arguments = [word for hub in hubs for word in ("--hub", hub)]
    try:
        with hub_process(home, *arguments) as hub:
            line = HubLine(hub, started.result(_LONGEST_S))
            try:
                yield line
            finally:
                line.close()
    finally:
        stop.set()
        thread.join(_LONGEST_S)
