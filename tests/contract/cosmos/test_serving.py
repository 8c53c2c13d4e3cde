"""The server as a process and on the wire: its command line, bad requests, slow and cut clients."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tidegate_cosmos.testing import RunningCosmos, running_cosmos

COMMAND = [sys.executable, "-m", "tidegate_cosmos"]


@pytest.fixture
def unchecked() -> Iterator[RunningCosmos]:
    """A server that takes requests that are not signed."""
    with running_cosmos(is_checked=False) as cosmos:
        cosmos.add_container("home", "events", "/home")
        yield cosmos


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_the_command_says_where_it_serves_and_ends_cleanly(number: signal.Signals) -> None:
    command = [*COMMAND, "serve", "--port", "0", "--container", "home/events:/home:3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        lines = [server.stdout.readline() for _ in range(3)]
        assert lines[0] == "container home/events: 3 ranges\n"
        assert lines[1].startswith("connection string: AccountEndpoint=http://localhost:")
        assert lines[2] == "ready; Ctrl-C stops it\n"
        server.send_signal(number)
        assert server.wait(20) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--port", "70000"), "expected a port from 0 to 65535"),
        (("--ranges", "0"), "expected a number from 1 to 1000"),
        (("--container", "events:/home"), "expected DATABASE/CONTAINER:/KEY"),
        (("--container", "home/events:/home:none"), "expected a number of ranges"),
        (("--container", "home/events:home"), "expected a path such as /home"),
        (("--key-value", "!"), "expected a key in base64"),
        (("--host", "192.0.2.1"), "this machine has no such address"),
        (("--data", "/dev/null/x"), "Choose a folder that can be written"),
    ],
)
def test_a_wrong_option_is_said_in_one_line_with_status_2(
    options: tuple[str, str], said: str
) -> None:
    command = [*COMMAND, "serve", "--port", "0", *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert ended.stderr.count("\n") == 1, ended.stderr


def test_a_port_that_is_taken_is_said(unchecked: RunningCosmos) -> None:
    command = [*COMMAND, "serve", "--port", str(unchecked.port)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, "address already in use" in ended.stderr) == (2, True)


def test_one_connection_serves_many_requests(unchecked: RunningCosmos) -> None:
    client = http.client.HTTPConnection("127.0.0.1", unchecked.port, timeout=10)
    for number in range(20):
        body = json.dumps({"id": str(number), "home": "h1"})
        client.request("POST", "/dbs/home/colls/events/docs", body)
        answer = client.getresponse()
        assert (answer.status, json.load(answer)["id"]) == (201, str(number))
    client.close()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"POST /dbs HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", b"413"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nx: " + b"y" * 300_000, b"431"),
        (b"POST /dbs HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n{", b"400"),
    ],
)
def test_a_request_that_is_none_is_refused_and_others_go_on(
    unchecked: RunningCosmos, sent: bytes, status: bytes
) -> None:
    with socket.create_connection(("127.0.0.1", unchecked.port), timeout=10) as client:
        client.sendall(sent)
        assert client.recv(65_536).split()[1] == status
    other = http.client.HTTPConnection("127.0.0.1", unchecked.port, timeout=10)
    other.request("GET", "/")
    assert other.getresponse().status == 200
    other.close()


def test_a_request_that_comes_byte_by_byte_is_answered(unchecked: RunningCosmos) -> None:
    with socket.create_connection(("127.0.0.1", unchecked.port), timeout=10) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"GET /dbs/home HTTP/1.1\r\nHost: x\r\n\r\n":
            client.sendall(bytes((byte,)))
        assert client.recv(65_536).startswith(b"HTTP/1.1 200")


def test_requests_that_wait_behind_a_delayed_one_are_answered_in_order(
    unchecked: RunningCosmos,
) -> None:
    unchecked.inject("delay", operations=["metadata"], times=1, seconds=0.3)
    ask = b"GET /dbs/home%s HTTP/1.1\r\nHost: x\r\n\r\n"
    with socket.create_connection(("127.0.0.1", unchecked.port), timeout=10) as client:
        client.sendall(ask % b"" + ask % b"/colls" + ask % b"/nothing")
        got = b""
        while got.count(b"HTTP/1.1") < 3 or not got.endswith(b"}"):
            got += client.recv(65_536)
    assert [part.split()[0] for part in got.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200", b"404"]


def test_a_cut_answer_is_cut_where_it_was_said(unchecked: RunningCosmos) -> None:
    unchecked.inject("cut_reply", operations=["metadata"], times=1, bytes=20)
    with socket.create_connection(("127.0.0.1", unchecked.port), timeout=10) as client:
        client.sendall(b"GET /dbs/home HTTP/1.1\r\nHost: x\r\n\r\n")
        got = b""
        while more := client.recv(65_536):
            got += more
    assert got == b"HTTP/1.1 200 OK\r\ndat"


def test_pytest_starts_without_the_server_where_no_test_wants_it() -> None:
    program = "import sys, tidegate_cosmos.testing; print('tidegate_cosmos.server' in sys.modules)"
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"False\n"
