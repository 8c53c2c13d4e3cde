"""Fuzz targets: HTTP of our own servers, and AMQP over WebSockets at the hub's end.

Rules: whatever arrives, no exception leaves; what is answered is HTTP, and never a 500, which is
for what the server did wrong. The pieces in which bytes arrive change nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import atheris

from support.fuzzing import Target, in_a_loop, main

with atheris.instrument_imports(include=["tidegate_http", "tidegate_hub", "tidegate_cosmos"]):
    from support.admin_hub import make_hub
    from tidegate_cosmos.admin import control, table
    from tidegate_cosmos.options import Options
    from tidegate_cosmos.server import CosmosServer
    from tidegate_http import guard
    from tidegate_http.http import HttpConnection
    from tidegate_http.messages import Problem, Request, Response
    from tidegate_http.routes import Route, respond
    from tidegate_hub.admin.listener import answered
    from tidegate_hub.admin.table import ROUTES as HUB_ROUTES
    from tidegate_hub.websocket import WebSocket

NOW = 1_800_000_000.0
LOG: list[str] = []


def _echo(request: Request) -> Response:
    """As admin APIs do: first who asks, then what."""
    try:
        guard.check(request, only_loopback=True, own_name="localhost")
    except Problem as problem:
        return problem.as_response()
    return Response(200, json.dumps([request.method, request.target]).encode())


def fuzz_http(data: bytes) -> None:
    """A connection as it comes in; the first byte says how long its pieces are."""
    LOG.clear()
    step = 1 + (data[0] if data else 0)
    once, pieces = _played(data[1:], len(data) + 1), _played(data[1:], step)
    assert not LOG, LOG
    # Where a request breaks off, more may have been answered of one stream than of pieces.
    assert once[0] == pieces[0], (once, pieces)
    for said in (once[1], pieces[1]):
        _check_answers(said)


def _played(data: bytes, step: int) -> tuple[int, bytes]:
    connection = HttpConnection(_echo, lambda: NOW, LOG.append, body_limit=512, header_limit=512)
    said = b""
    for at in range(0, len(data), step):
        connection.receive(data[at : at + step])
        while output := connection.next_output():
            said += output
    connection.receive(b"")
    while output := connection.next_output():
        said += output
    return connection.requests_answered, said


def _check_answers(said: bytes) -> None:
    rest = said
    while rest:
        head, separator, rest = rest.partition(b"\r\n\r\n")
        assert separator and head.startswith(b"HTTP/1.1 "), said
        status = int(head.split(b" ")[1])
        assert status != 500 and status < 600, said
        if status == 100:
            continue
        lines = {
            name.lower(): value
            for name, _, value in (line.partition(b": ") for line in head.split(b"\r\n")[1:])
        }
        length = int(lines.get(b"content-length", b"0"))
        # An answer to HEAD names a length and has no body.
        rest = rest if rest.startswith(b"HTTP/1.1 ") else rest[length:]


def _request(data: bytes) -> Request:
    head, _, body = data.partition(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")
    method, _, target = line.partition(" ")
    named = (each.partition(":") for each in lines)
    return Request(
        method, target, {name.strip().lower(): said.strip() for name, _, said in named}, body
    )


async def fuzz_hub_admin(data: bytes) -> None:
    """What the hub's admin API carries out."""
    response = answered(make_hub("telemetry:2"), _request(data), NOW)
    _check_response(response)


async def fuzz_cosmos_admin(data: bytes) -> None:
    """The same of tidegate-cosmos."""
    response = respond(table.ROUTES, control.SCHEMAS, _cosmos(), _request(data), NOW)
    _check_response(response)


def _check_response(response: Response) -> None:
    assert response.status < 500, response
    if response.status >= 400:
        assert json.loads(response.body)["status"] == response.status


def fuzz_websocket_server(data: bytes) -> None:
    """The first byte says how long the pieces are in which the rest arrives."""
    socket = WebSocket()
    step = 1 + (data[0] if data else 0)
    for at in range(1, len(data), step):
        socket.received(data[at : at + step])
    if socket._is_open:
        socket.wrap(b"x")
    socket.close()


def _cosmos() -> CosmosServer:
    server = CosmosServer(Options(), LOG.append)
    server.add_container("shop", "orders", "/customer", ranges=2)
    return server


def _of_routes(routes: Iterable[Route[Any]], parameters: dict[str, str]) -> list[bytes]:
    """A request for each route, with each of its examples."""
    found: list[bytes] = []
    for route in routes:
        path = re.sub(r"\{(\w+)\}", lambda name: parameters.get(name[1], "1"), route.path)
        head = f"{route.method} {path}\r\nHost: localhost\r\n".encode()
        found += [
            head + b"Content-Type: application/json\r\n\r\n" + json.dumps(each).encode()
            for each in route.examples.values()
        ] or [head + b"\r\n"]
    return found


def seeds(name: str) -> list[bytes]:
    http = b"Host: localhost\r\n"
    asked = {
        "http": [
            b"\xffGET /a HTTP/1.1\r\n" + http + b"\r\nGET /b HTTP/1.1\r\n" + http + b"\r\n",
            b"\x03POST /a HTTP/1.1\r\n" + http + b"Content-Length: 2\r\n\r\nab",
            b"\xffPOST /a HTTP/1.1\r\n" + http + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0"
            b"\r\n\r\n",
            b"\xffPUT http://[::1]:80/a?b HTTP/1.1\r\n" + http + b"Expect: 100-continue\r\n"
            b"Content-Length: 1\r\nOrigin: http://localhost\r\nSec-Fetch-Site: none\r\n\r\na",
            b"\xffHEAD /a HTTP/1.0\r\nConnection: close\r\n\r\n",
        ],
        "hub_admin": _of_routes(HUB_ROUTES, {"hub": "telemetry", "partition": "0"}),
        "cosmos_admin": _of_routes(
            table.ROUTES, {"database": "shop", "container": "orders", "range": "0"}
        ),
        "websocket_server": [
            b"\xffGET /$servicebus/websocket HTTP/1.1\r\n" + http + b"Upgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            b"Sec-WebSocket-Protocol: AMQPWSB10\r\n\r\n\x82\x82abcd\x00\x00",
            b"\xffGET / HTTP/1.1\r\n" + http + b"\r\n",
        ],
    }
    return asked[name]


TARGETS: dict[str, Target] = {
    "http": fuzz_http,
    "hub_admin": in_a_loop(fuzz_hub_admin),
    "cosmos_admin": in_a_loop(fuzz_cosmos_admin),
    "websocket_server": fuzz_websocket_server,
}


if __name__ == "__main__":
    main(TARGETS, seeds)
