"""A proxy that makes a network bad on purpose: for storage (HTTP) and for anything on TCP.

    proxy = FaultProxy("127.0.0.1", 10000, is_http=True)
    await proxy.start("0.0.0.0", 10000)
    proxy.add(Delay(0.2))
    proxy.add(LoseReply(match=query("comp=lease"), times=1))   # done, but nobody hears of it
    proxy.cut()                                                # every connection, now
    proxy.add(Swallow("to_client", for_s=20))                  # one direction is dead
    proxy.add(Hold(for_s=20))                                  # a stall: all is done after it

Rules: faults are added from any thread, all else is done on the loop that started it. HTTP faults
look at whole requests, one after another on a connection, as storage clients send them.
"""

from __future__ import annotations

import asyncio
import time
from typing import TypeVar

from tidegate_operator.conformance.faults import (
    Answer,
    Delay,
    Direction,
    Fault,
    Hold,
    LoseReply,
    Refuse,
    Request,
    Swallow,
)
from tidegate_operator.conformance.http_text import message, parse, reply

_CHUNK, _LOOK_AGAIN_S = 65_536, 0.02
F = TypeVar("F", bound=Fault)


class FaultProxy:
    """See the module."""

    def __init__(self, target_host: str, target_port: int, *, is_http: bool) -> None:
        self._target = target_host, target_port
        self._is_http = is_http
        self._faults: list[Fault] = []
        self._writers: set[asyncio.StreamWriter] = set()
        self._frozen: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0
        # The heads of requests, where somebody wants them.
        self.requests: list[Request] | None = None
        self.passed = 0

    # --- from any thread

    def add(self, fault: F) -> F:
        fault.begin(time.monotonic())
        self._faults.append(fault)
        return fault

    def clear(self) -> None:
        self._faults.clear()

    def cut(self) -> None:
        """Every connection that there is ends."""
        self._loop.call_soon_threadsafe(self._cut)

    def freeze(self) -> None:
        """Every connection that there is stays open, and passes nothing any more."""
        self._loop.call_soon_threadsafe(lambda: self._frozen.update(self._writers))

    # --- on its loop

    async def start(self, host: str, port: int) -> None:
        """Listens; port 0 takes a free one. Raises OSError."""
        self._loop = asyncio.get_running_loop()
        self._server = await asyncio.start_server(self._on_client, host, port)
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Listens no more, and ends every connection."""
        if self._server is not None:
            self._server.close()
        self._cut()
        await asyncio.gather(*self._serving, return_exceptions=True)
        await asyncio.sleep(0)  # the loop takes leave of the sockets that were aborted

    async def _held(self, request: Request) -> None:
        hold = self._standing(Hold, request)
        while hold is not None and hold in self._faults and not hold.is_over(time.monotonic()):
            await asyncio.sleep(_LOOK_AGAIN_S)

    def _cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    def _standing(self, kind: type[F], request: Request | None = None) -> F | None:
        """The first fault of a kind that is not over and means this request; it is counted."""
        now = time.monotonic()
        for fault in list(self._faults):
            if not isinstance(fault, kind) or fault.is_over(now):
                continue
            if request is None or fault.match(request):
                fault.take()
                return fault
        return None

    async def _on_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        ends = [writer]
        self._writers.add(writer)
        try:
            if self._standing(Refuse) is not None:
                return
            up_reader, up_writer = await asyncio.open_connection(*self._target)
            ends.append(up_writer)
            self._writers.add(up_writer)
            serve = self._http if self._is_http else self._tcp
            await serve(reader, writer, up_reader, up_writer)
        except (OSError, asyncio.IncompleteReadError):
            return  # one of the two ends has gone, and so does the other
        finally:
            self._serving.discard(task)
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
        now = time.monotonic()
        for fault in self._faults:
            if isinstance(fault, Swallow) and fault.direction == direction:
                if not fault.is_over(now):
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
            self.passed += 1
            if self.requests is not None:
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
