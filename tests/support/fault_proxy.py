"""A proxy that makes a network bad on purpose: for storage (HTTP) and for anything on TCP.

    with fault_proxy(target_port) as proxy:
        proxy.add(Delay(0.2))
        proxy.add(Answer(503, match=method("PUT"), times=3))
        proxy.add(LoseReply(match=query("comp=lease"), times=1))   # done, but nobody hears of it
        proxy.cut()                                                # every connection, now
        proxy.add(Swallow("to_client", for_s=20))                  # one direction is dead
        proxy.add(Hold(for_s=20))                                  # a stall: all is done after it

Rules: it runs on a thread of its own; a fault without `times` and `for_s` stands until `clear`.
HTTP faults look at whole requests, one after another on a connection, as storage clients send them.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from support.http_text import Request, message, parse, reply

Direction = Literal["to_server", "to_client"]
Match = Callable[["Request"], bool]

_CHUNK, _LOOK_AGAIN_S = 65_536, 0.02


def anything(_request: Request) -> bool:
    return True


def method(name: str) -> Match:
    return lambda request: request.method == name


def query(text: str) -> Match:
    """Requests whose path or query holds this text."""
    return lambda request: text in request.target


@dataclass
class Fault:
    """What goes wrong; `times` counts requests, `for_s` seconds from when it was added."""

    times: int | None = field(default=None, kw_only=True)
    for_s: float | None = field(default=None, kw_only=True)
    match: Match = field(default=anything, kw_only=True)
    ends_at: float = field(default=float("inf"), init=False)

    @property
    def is_over(self) -> bool:
        return self.times == 0 or time.monotonic() >= self.ends_at

    def take(self) -> None:
        if self.times is not None:
            self.times -= 1


@dataclass
class Delay(Fault):
    """Everything takes this much longer, each way once for HTTP, each chunk for TCP."""

    seconds: float = 0.0


@dataclass
class Answer(Fault):
    """The request is not passed on: this status is the answer."""

    status: int = 503


@dataclass
class Hold(Fault):
    """Requests wait until the fault is over, and are then passed on, wanted still or not."""


@dataclass
class LoseReply(Fault):
    """The request is passed on and done; its reply is dropped with the connection."""


@dataclass
class Swallow(Fault):
    """Bytes of one direction go nowhere, and the connection stays open.

    What has lost bytes gets no more of them, even when the fault is over: TCP leaves nothing out.
    """

    direction: Direction = "to_client"


@dataclass
class Refuse(Fault):
    """New connections are closed at once."""


F = TypeVar("F", bound=Fault)


class FaultProxy:
    """See the module. Made by `fault_proxy`."""

    def __init__(self, target_port: int, *, is_http: bool) -> None:
        self._target_port = target_port
        self._is_http = is_http
        self._faults: list[Fault] = []
        self._writers: set[asyncio.StreamWriter] = set()
        self._frozen: set[asyncio.StreamWriter] = set()
        self.requests: list[Request] = []
        self.port = 0

    # --- from the test's thread

    def add(self, fault: F) -> F:
        if fault.for_s is not None:
            fault.ends_at = time.monotonic() + fault.for_s
        self._faults.append(fault)
        return fault

    def clear(self) -> None:
        self._faults.clear()

    def cut(self) -> None:  # every connection that there is
        self._loop.call_soon_threadsafe(self._cut)

    def freeze(self) -> None:  # every connection that there is: open, and passing nothing any more
        self._loop.call_soon_threadsafe(lambda: self._frozen.update(self._writers))

    # --- on the proxy's thread

    async def serve(self, started: Future[int], stop: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._on_client, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        started.set_result(self.port)
        await asyncio.to_thread(stop.wait)
        server.close()
        self._cut()
        serving = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*serving, return_exceptions=True)
        await asyncio.sleep(0)  # the loop takes leave of the sockets that were aborted

    async def _held(self, request: Request) -> None:
        hold = self._standing(Hold, request)
        while hold is not None and hold in self._faults and time.monotonic() < hold.ends_at:
            await asyncio.sleep(_LOOK_AGAIN_S)

    def _cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    def _standing(self, kind: type[F], request: Request | None = None) -> F | None:
        """The first fault of a kind that is not over and means this request; it is counted."""
        for fault in self._faults:
            if not isinstance(fault, kind) or fault.is_over:
                continue
            if request is None or fault.match(request):
                fault.take()
                return fault
        return None

    async def _on_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = [writer]
        self._writers.add(writer)
        try:
            if self._standing(Refuse) is not None:
                return
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
            ends.append(up_writer)
            self._writers.add(up_writer)
            serve = self._http if self._is_http else self._tcp
            await serve(reader, writer, up_reader, up_writer)
        except (OSError, asyncio.IncompleteReadError):
            return  # one of the two ends has gone, and so does the other
        finally:
            for end in ends:
                self._writers.discard(end)
                self._frozen.discard(end)
                end.close()

    async def _tcp(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        up_reader: asyncio.StreamReader,
        up_writer: asyncio.StreamWriter,
    ) -> None:
        await asyncio.gather(
            self._pump(reader, up_writer, "to_server"), self._pump(up_reader, writer, "to_client")
        )

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, direction: Direction
    ) -> None:
        while data := await reader.read(_CHUNK):
            delay = self._standing(Delay)
            if delay is not None:
                await asyncio.sleep(delay.seconds)
            await self._pass(writer, data, direction)
        if writer.can_write_eof():
            writer.write_eof()

    async def _pass(self, writer: asyncio.StreamWriter, data: bytes, direction: Direction) -> None:
        if writer in self._frozen:
            return
        for fault in self._faults:
            if isinstance(fault, Swallow) and fault.direction == direction and not fault.is_over:
                self._frozen.add(writer)
                return
        writer.write(data)
        await writer.drain()

    async def _http(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        up_reader: asyncio.StreamReader,
        up_writer: asyncio.StreamWriter,
    ) -> None:
        """One request after another, each with its reply."""
        while True:
            head, body = await message(reader)
            request = parse(head)
            self.requests.append(request)
            await self._held(request)
            delay = self._standing(Delay, request)
            if delay is not None:
                await asyncio.sleep(delay.seconds)
            answer = self._standing(Answer, request)
            if answer is not None:
                await self._pass(writer, reply(answer.status), "to_client")
                continue
            is_lost = self._standing(LoseReply, request) is not None
            await self._pass(up_writer, head + body, "to_server")
            head, body = await message(up_reader, has_body=request.method != "HEAD")
            if is_lost:
                return
            if delay is not None:
                await asyncio.sleep(delay.seconds)
            await self._pass(writer, head + body, "to_client")


@contextlib.contextmanager
def fault_proxy(target_port: int, *, is_http: bool = True) -> Iterator[FaultProxy]:
    """A proxy to a port of this machine until the block ends."""
    proxy = FaultProxy(target_port, is_http=is_http)
    started: Future[int] = Future()
    stop = threading.Event()
    thread = threading.Thread(
        target=lambda: asyncio.run(proxy.serve(started, stop)), name="fault-proxy", daemon=True
    )
    thread.start()
    try:
        started.result(10)
        yield proxy
    finally:
        stop.set()
        thread.join(10)
