"""Requests that never end: refused by their head, or bounded in size and time, all together."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import socket
import subprocess
import sys
import time
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterator
from email.utils import formatdate
from pathlib import Path
from urllib.parse import quote

import pytest
from azure.cosmos import CosmosClient

from support.wait import wait_until_async
from tidegate_cosmos.rest.signing import WELL_KNOWN_KEY
from tidegate_http.http import HttpConnection
from tidegate_http.listener import HttpServer, Limits
from tidegate_http.messages import Request, Response

_PROGRAM = Path(sys.executable).with_name("tidegate-cosmos")
MB = 1024 * 1024
# Just less than the server takes, so that it waits for more.
BODY = 4 * MB - 1
DOCS = "/dbs/home/colls/events/docs"


def head(size: int, *, is_signed: bool) -> bytes:
    """The head of a request that announces a body."""
    date = formatdate(usegmt=True)
    text = f"post\ndocs\ndbs/home/colls/events\n{date.lower()}\n\n"
    signature = b64encode(hmac.digest(b64decode(WELL_KNOWN_KEY), text.encode(), "sha256")).decode()
    token = quote(f"type=master&ver=1.0&sig={signature}", safe="")
    signed = f"authorization: {token}\r\nx-ms-date: {date}\r\n" if is_signed else ""
    lines = f"POST {DOCS} HTTP/1.1\r\nhost: localhost\r\n{signed}content-length: {size}\r\n\r\n"
    return lines.encode()


@pytest.fixture
def server() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server as a process of its own, and its port."""
    told = ["serve", "--port", "0", "--container", "home/events:/home"]
    with subprocess.Popen([_PROGRAM, *told], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "ready; Ctrl-C stops it\n")
        (endpoint,) = [line for line in lines if line.startswith("connection string")]
        yield process, int(endpoint.partition("localhost:")[2].partition("/")[0])
        process.terminate()


def memory_mb(process: subprocess.Popen[str]) -> float:
    """What a process has of memory now."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


@pytest.mark.parametrize("is_signed", [False, True])
def test_unfinished_bodies_take_little_memory_together_and_others_are_served(
    server: tuple[subprocess.Popen[str], int], is_signed: bool
) -> None:
    process, port = server
    before = memory_mb(process)
    with contextlib.ExitStack() as clients:
        for _ in range(60):
            client = clients.enter_context(socket.create_connection(("127.0.0.1", port), 20))
            # The server need not take what it refuses.
            with contextlib.suppress(ConnectionError):
                client.sendall(head(BODY + 1, is_signed=is_signed) + b" " * BODY)
        with CosmosClient(f"http://localhost:{port}/", WELL_KNOWN_KEY) as official:
            events = official.get_database_client("home").get_container_client("events")
            large = "x" * MB
            events.create_item({"id": "a", "home": "h", "text": large})
            assert events.read_item("a", "h")["text"] == large
        assert memory_mb(process) - before < (30 if not is_signed else 64 + 60)


def test_a_request_that_is_not_signed_is_refused_before_its_body_comes(
    server: tuple[subprocess.Popen[str], int],
) -> None:
    _, port = server
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        client.sendall(head(BODY, is_signed=False))
        answer = b"".join(iter(lambda: client.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"not signed" in answer


# --- the limits of the server itself


@contextlib.asynccontextmanager
async def a_server(limits: Limits) -> AsyncIterator[HttpServer]:
    def respond(request: Request) -> Response:
        return Response(200, b"%d" % len(request.body))

    def connection() -> HttpConnection:
        return HttpConnection(respond, time.time, print, 100_000, 100_000)

    server = HttpServer(connection, limits)
    await server.start("127.0.0.1", 0)
    yield server
    await server.stop()
    await wait_until_async(lambda: not server.connections, 10, "all connections to end")


def posted(size: int) -> bytes:
    return b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % size


async def answer_of(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(10):
        return await reader.read()


@pytest.mark.parametrize(
    "begun",
    [b"GET / HT", b"GET / HTTP/1.1\r\nhost: x\r\n", b"GET / HTTP/1.1\r\nx: " + b"x" * 90_000],
)
async def test_a_head_that_comes_byte_by_byte_is_given_up_in_time(begun: bytes) -> None:
    async with a_server(Limits(head_s=0.3, request_s=60.0, linger_s=0.2)) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(begun)
        answer = asyncio.create_task(answer_of(reader))
        while not answer.done():
            writer.write(b"x")
            await asyncio.sleep(0.05)
        assert (await answer).startswith(b"HTTP/1.1 408 ")
        writer.close()


async def test_of_unfinished_requests_that_take_too_much_together_the_oldest_is_refused() -> None:
    async with a_server(Limits(held_bytes=50_000)) as server:
        opened = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(8)]
        for _, writer in opened:
            writer.write(
                b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10001\r\n\r\n" + b"x" * 10_000
            )
            await writer.drain()
        refused = [await answer_of(reader) for reader, _ in opened[:4]]
        assert all(answer.startswith(b"HTTP/1.1 503 ") for answer in refused)
        for reader, writer in opened[4:]:
            writer.write(b"x")
            assert (await reader.readline()) == b"HTTP/1.1 200 OK\r\n"
        # What was answered takes no room any more, and the connection is good for another.
        reader, writer = opened[-1]
        writer.write(posted(45_000) + b"x" * 45_000)
        async with asyncio.timeout(10):
            assert await reader.readuntil(b"45000")
        for _, writer in opened:
            writer.close()


async def test_room_is_made_from_however_many_small_requests_that_are_unfinished() -> None:
    small = b"GET / HTTP/1.1\r\n"
    async with a_server(Limits(held_bytes=12_000, connections=700)) as server:
        opened = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(600)]
        for _, writer in opened:
            writer.write(small)
        last, ask = await asyncio.open_connection("127.0.0.1", server.port)
        await wait_until_async(lambda: len(server.connections) == 601, 10, "all to be connected")
        ask.write(posted(9_000) + b"x" * 8_999)
        refused = [await answer_of(reader) for reader, _ in opened[:400]]
        assert all(answer.startswith(b"HTTP/1.1 503 ") for answer in refused)
        ask.write(b"x")
        assert (await last.readline()) == b"HTTP/1.1 200 OK\r\n"
        for _, writer in [*opened, (last, ask)]:
            writer.close()
