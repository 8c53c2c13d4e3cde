"""The API on real sockets: keep-alive, limits and time-outs, and a hub that has none."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import http.client
import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from support.admin_hub import make_hub
from support.late_client import is_closed_too
from support.wait import wait_until, wait_until_async
from tidegate_http.listener import Limits
from tidegate_hub.admin.listener import Admin
from tidegate_hub.options import Options
from tidegate_hub.server import HubServer, StartError
from tidegate_hub.testing import RunningHub, running_hub

SHORT = Limits(head_s=0.2, request_s=0.2, idle_s=2.0, write_s=0.3, linger_s=0.3)


@pytest.fixture(scope="module")
def hub() -> Iterator[RunningHub]:
    with running_hub(admin_port=0) as running:
        running.add_hub("telemetry", 4)
        yield running


@pytest.fixture
def client(hub: RunningHub) -> Iterator[http.client.HTTPConnection]:
    assert hub.admin_port
    connection = http.client.HTTPConnection("127.0.0.1", hub.admin_port, timeout=10)
    yield connection
    connection.close()


@pytest.fixture
async def impatient() -> AsyncIterator[Admin]:
    async with an_admin(SHORT) as admin:
        yield admin


@pytest.fixture
async def patient() -> AsyncIterator[Admin]:
    async with an_admin(Limits()) as admin:
        yield admin


@contextlib.asynccontextmanager
async def an_admin(limits: Limits) -> AsyncIterator[Admin]:
    server = make_hub("telemetry:4")
    admin = await Admin.start_for(server, "127.0.0.1", 0, limits)
    yield admin
    await admin.stop()
    await wait_until_async(lambda: not admin.connections, 5, "all connections to end")
    server.broker.store.close()


def test_one_connection_serves_many_requests(client: http.client.HTTPConnection) -> None:
    client.connect()
    first = client.sock
    for _ in range(3):
        client.request("GET", "/healthz")
        response = client.getresponse()
        assert (response.status, json.load(response)) == (200, {"status": "ok"})
    assert client.sock is first


def test_head_then_get_stay_in_step(client: http.client.HTTPConnection) -> None:
    client.request("HEAD", "/openapi.json")
    response = client.getresponse()
    assert int(response.headers["content-length"]) > 1000
    assert response.read() == b""
    client.request("GET", "/healthz")
    assert client.getresponse().read() == b'{"status":"ok"}\n'


def test_a_hub_is_added_over_http(hub: RunningHub, client: http.client.HTTPConnection) -> None:
    body = json.dumps({"name": "orders", "partitions": 2})
    client.request("POST", "/api/v1/hubs", body, {"Content-Type": "application/json"})
    response = client.getresponse()
    assert (response.status, response.reason) == (201, "Created")
    assert response.headers["location"] == "/api/v1/hubs/orders"
    assert hub.range_of("orders", "1") == (0, 0)


def test_a_client_that_sends_far_too_much_still_gets_to_read_why(
    client: http.client.HTTPConnection,
) -> None:
    headers = {"Content-Type": "application/json"}
    client.request("POST", "/api/v1/hubs", b"x" * 3_000_000, headers)
    response = client.getresponse()
    assert response.status == 413
    assert json.load(response)["expected"] == "at most 65536 bytes"


def test_another_host_and_another_origin_are_refused(
    hub: RunningHub, client: http.client.HTTPConnection
) -> None:
    client.request("GET", "/healthz", headers={"Host": "evil.example"})
    response = client.getresponse()
    assert (response.status, json.load(response)["field"]) == (403, "Host")
    headers = {"Origin": "http://evil.example", "Content-Type": "application/json"}
    client.request("POST", "/api/v1/hubs", '{"name":"evil"}', headers)
    response = client.getresponse()
    assert (response.status, json.load(response)["field"]) == (403, "Origin")
    client.request("GET", "/api/v1/hubs/evil")
    assert client.getresponse().status == 404


def test_connections_of_the_admin_api_are_no_clients_of_the_hub(
    hub: RunningHub, client: http.client.HTTPConnection
) -> None:
    client.request("GET", "/api/v1/connections")
    assert json.load(client.getresponse()) == {"connections": []}


def test_a_client_of_the_hub_is_seen_and_dropped(
    hub: RunningHub, client: http.client.HTTPConnection
) -> None:
    with socket.create_connection(("127.0.0.1", hub.port), 10) as peer:
        wait_until(lambda: hub.connections() == 1, 5, "the hub to see its client")
        client.request("GET", "/api/v1/connections")
        (shown,) = json.load(client.getresponse())["connections"]
        assert (shown["client"], shown["product"], shown["links"]) == ("", None, [])
        client.request("DELETE", f"/api/v1/connections/{shown['number']}")
        response = client.getresponse()
        assert (response.status, response.read()) == (204, b"")
        assert peer.recv(1) == b""


def test_the_port_is_let_go_when_the_hub_stops() -> None:
    with running_hub(admin_port=0) as running:
        port = running.admin_port
        assert port
        with socket.create_connection(("127.0.0.1", port), 10) as peer:
            peer.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert peer.recv(8) == b"HTTP/1.1"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 10)


async def test_a_port_that_is_taken_is_said_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = HubServer(Options(port=0, admin_port=taken.getsockname()[1]))
        with pytest.raises(StartError, match=r"cannot listen on 127.0.0.1:\d+: .* Choose another"):
            await server.start()


@contextlib.asynccontextmanager
async def opened(admin: Admin) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to the API, closed for certain."""
    reader, writer = await asyncio.open_connection("127.0.0.1", admin.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def test_half_a_request_is_given_up_after_a_while(impatient: Admin) -> None:
    async with opened(impatient) as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nab")
        said = await asyncio.wait_for(reader.read(), 30)
        assert said.startswith(b"HTTP/1.1 408 Request Timeout\r\n")


async def test_a_request_that_trickles_in_is_given_up_too(impatient: Admin) -> None:
    async with opened(impatient) as (reader, writer):
        answered = asyncio.ensure_future(reader.read())

        def trickle() -> bool:
            if not answered.done():
                writer.write(b"G")
            return answered.done()

        await wait_until_async(trickle, 5, "the hub to lose its patience")
        assert answered.result().startswith(b"HTTP/1.1 408 ")


async def test_a_connection_without_a_request_is_closed_in_silence(impatient: Admin) -> None:
    async with opened(impatient) as (reader, _):
        assert await asyncio.wait_for(reader.read(), 30) == b""


async def test_a_client_that_reads_no_answers_is_cut_and_never_fills_memory(
    impatient: Admin,
) -> None:
    """It asks for the page again and again; the answers would be 100 MB."""
    loop = asyncio.get_running_loop()
    peer = socket.socket()
    peer.setblocking(False)
    await loop.sock_connect(peer, ("127.0.0.1", impatient.port))
    asking = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 4_000
    sending = asyncio.ensure_future(loop.sock_sendall(peer, asking))
    await wait_until_async(lambda: impatient.connections, 5, "the connection")
    (wire,) = impatient.connections
    waiting: list[int] = []

    def is_cut() -> bool:
        waiting.append(wire._transport.get_write_buffer_size())
        return not impatient.connections

    await wait_until_async(is_cut, 5, "the hub to cut the connection")
    assert max(waiting) < 1_000_000
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    peer.close()


async def test_no_more_than_a_hundred_connections_are_open(patient: Admin) -> None:
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(100):
            await stack.enter_async_context(opened(patient))
        await wait_until_async(lambda: len(patient.connections) == 100, 30, "100 connections")
        reader, _ = await stack.enter_async_context(opened(patient))
        assert await asyncio.wait_for(reader.read(), 30) == b""


PROBE = """
import asyncio, sys
from tidegate_hub.options import Options
from tidegate_hub.server import HubServer

async def main(port):
    server = HubServer(Options(port=0, admin_port=port), report=print)
    await server.start()
    print(sorted(name for name in ("h11", "tidegate_hub.admin") if name in sys.modules))
    await server.stop()

asyncio.run(main({port}))
"""


@pytest.mark.parametrize(
    ("port", "loaded"), [("None", "[]\n"), ("0", "['h11', 'tidegate_hub.admin']\n")]
)
def test_a_hub_without_an_admin_port_loads_nothing_of_it(port: str, loaded: str) -> None:
    source_root = Path(sys.modules["tidegate_hub"].__file__ or "").parents[1]
    run = subprocess.run(
        [sys.executable, "-c", PROBE.replace("{port}", port)],
        capture_output=True, text=True, timeout=30, check=True, cwd=source_root,
    )  # fmt: skip
    assert run.stdout == loaded


@pytest.mark.parametrize("turns", range(6))
@pytest.mark.filterwarnings("error")
async def test_who_connects_as_it_ends_is_closed_too(turns: int) -> None:
    async with an_admin(Limits()) as admin:
        assert await is_closed_too(admin.port, turns, admin.stop)
    gc.collect()
