"""A relay between a ledger and Azurite: writes down each request, and can lose the replies.

It reads HTTP requests from the wire, so what it writes down is what the service sees.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Request:
    """A request as it was on the wire; names of headers in lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]

    @property
    def kind(self) -> str:
        """What the service is asked for, in the words of its documentation."""
        lease = self.headers.get("x-ms-lease-action", "")
        return " ".join(filter(None, [self.method, self.query.get("comp", ""), lease]))


@dataclass
class Relay:
    """Its port, what went through, and what it does to replies."""

    target_port: int
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    # Replies to cut off: the request is done, and its connection ends without an answer.
    lose: int = 0
    # Never answer: the request is not even passed on.
    is_silent: bool = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            upstream_reader, upstream = await asyncio.open_connection("127.0.0.1", self.target_port)
            try:
                while await self._exchange(reader, writer, upstream_reader, upstream):
                    pass
            finally:
                for end in (upstream, writer):
                    end.transport.abort()
                    with suppress(ConnectionError):
                        await end.wait_closed()

    async def _exchange(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream_reader: asyncio.StreamReader,
        upstream: asyncio.StreamWriter,
    ) -> bool:
        """One request and its reply; whether the connection goes on."""
        head = await reader.readuntil(b"\r\n\r\n")
        request = parsed(head)
        body = await reader.readexactly(int(request.headers.get("content-length", "0")))
        self.requests.append(request)
        if self.is_silent:
            await reader.read()
            return False
        upstream.write(head + body)
        reply_head = await upstream_reader.readuntil(b"\r\n\r\n")
        reply_body = await _reply_body(request.method, reply_head, upstream_reader)
        if self.lose:
            self.lose -= 1
            return False
        writer.write(reply_head + reply_body)
        await writer.drain()
        return True


def parsed(head: bytes) -> Request:
    line, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = line.split(" ")
    url = urlsplit(target)
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    return Request(method, url.path, dict(parse_qsl(url.query, keep_blank_values=True)), headers)


async def _reply_body(method: str, head: bytes, reader: asyncio.StreamReader) -> bytes:
    lines = head.decode("latin-1").lower().split("\r\n")
    headers = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    status = int(lines[0].split(" ")[1])
    if method == "HEAD" or status in (204, 304):
        return b""
    if headers.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    body = b""
    while True:
        size = await reader.readuntil(b"\r\n")
        body += size + await reader.readexactly(int(size, 16) + 2)
        if int(size, 16) == 0:
            return body


@asynccontextmanager
async def running_relay(target_port: int) -> AsyncIterator[Relay]:
    relay = Relay(target_port)
    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        await relay.serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    relay.port = server.sockets[0].getsockname()[1]
    try:
        yield relay
    finally:
        server.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
