"""The proxy makes exactly the fault that it was asked for, and nothing else."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from support.fault_proxy import (
    Answer,
    Delay,
    FaultProxy,
    Hold,
    LoseReply,
    Refuse,
    Swallow,
    fault_proxy,
    method,
    query,
)
from support.wait import wait_until


class _Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[str]] = []

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.seen.append(f"{self.command} {self.path}")
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_GET = _answer  # noqa: N815 - the names that http.server looks for

    def log_message(self, *_args: Any) -> None:
        """Nothing is logged."""


@pytest.fixture
def echo() -> Iterator[int]:
    _Echo.seen.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def proxy(echo: int) -> Iterator[FaultProxy]:
    with fault_proxy(echo) as running:
        yield running


def put(proxy: FaultProxy, target: str = "/a", body: bytes = b"hello") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=30)
    try:
        connection.request("PUT", target, body)
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


def test_without_faults_requests_pass_unchanged(proxy: FaultProxy) -> None:
    assert put(proxy, "/a?comp=lease", b"x" * 100_000) == (200, b"x" * 100_000)
    assert [request.target for request in proxy.requests] == ["/a?comp=lease"]


def test_an_answer_is_given_instead_of_the_servers_as_often_as_asked(proxy: FaultProxy) -> None:
    proxy.add(Answer(status=429, times=2, match=method("PUT")))
    assert [put(proxy)[0] for _ in range(3)] == [429, 429, 200]
    assert _Echo.seen == ["PUT /a"]


def test_a_lost_reply_was_done_by_the_server(proxy: FaultProxy) -> None:
    proxy.add(LoseReply(times=1, match=query("comp=lease")))
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        put(proxy, "/a?comp=lease")
    assert _Echo.seen == ["PUT /a?comp=lease"]
    assert put(proxy, "/a?comp=lease")[0] == 200


def test_a_delay_holds_the_request_and_the_reply_up(proxy: FaultProxy) -> None:
    proxy.add(Delay(seconds=0.2, times=1))
    begun = time.monotonic()
    assert put(proxy)[0] == 200
    assert time.monotonic() - begun >= 0.4


def test_what_is_held_is_done_when_the_stall_is_over_though_its_client_has_left(
    proxy: FaultProxy,
) -> None:
    proxy.add(Hold())
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=30) as client:
        client.sendall(b"GET /late HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until(lambda: proxy.requests, 5, "the request to reach the proxy")
    assert _Echo.seen == []
    proxy.clear()
    wait_until(lambda: _Echo.seen == ["GET /late"], 5, "the request to reach the server")
    assert put(proxy)[0] == 200


def test_swallowed_bytes_never_arrive_and_the_connection_stays(proxy: FaultProxy) -> None:
    proxy.add(Swallow("to_client"))
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=0.5) as client:
        client.sendall(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until(lambda: _Echo.seen == ["GET /a"], 30, "the request to reach the server")
        with pytest.raises(TimeoutError):
            client.recv(1)
        # Nor does anything that comes after them: TCP leaves nothing out.
        proxy.clear()
        client.sendall(b"GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until(lambda: _Echo.seen == ["GET /a", "GET /b"], 30, "the next to reach the server")
        with pytest.raises(TimeoutError):
            client.recv(1)
    assert put(proxy)[0] == 200


def test_a_fault_for_a_time_ends_by_itself(proxy: FaultProxy) -> None:
    fault = proxy.add(Answer(status=503, for_s=1.0))
    assert put(proxy)[0] == 503
    while not fault.is_over(time.monotonic()):
        put(proxy)
    assert put(proxy)[0] == 200


def test_refused_connections_are_closed_at_once(proxy: FaultProxy) -> None:
    proxy.add(Refuse(times=1))
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        put(proxy)
    assert put(proxy)[0] == 200


def test_cut_ends_every_connection_of_a_tcp_proxy(echo: int) -> None:
    with (
        fault_proxy(echo, is_http=False) as proxy,
        socket.create_connection(("127.0.0.1", proxy.port), timeout=30) as client,
    ):
        client.sendall(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(4) == b"HTTP"
        proxy.cut()
        with contextlib.suppress(ConnectionError):  # a reset ends it as well as a close
            while client.recv(65_536):
                pass
