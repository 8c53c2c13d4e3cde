"""HTTP/1.1 without sockets: framing, limits, pipelining, and requests that break the rules."""

from __future__ import annotations

import pytest

from tidegate_http.http import BODY_LIMIT, HttpConnection
from tidegate_http.messages import Request, Response, answer


class Asked:
    """A connection, the requests that came through it, and what was reported."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.reported: list[str] = []
        self.http = HttpConnection(self._respond, lambda: 1.8e9, self.reported.append)

    def _respond(self, request: Request) -> Response:
        self.requests.append(request)
        if request.target == "/broken":
            raise KeyError("the reason")
        if request.target == "/449":
            return answer({}, 449)
        return answer({"path": request.target})

    def send(self, data: bytes) -> bytes:
        """All that the connection says to this."""
        self.http.receive(data)
        said = b""
        while output := self.http.next_output():
            said += output
        return said


@pytest.fixture
def asked() -> Asked:
    return Asked()


GET = b"GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_a_request_is_answered_and_the_connection_kept(asked: Asked) -> None:
    for _ in range(3):
        said = asked.send(GET)
        assert said.startswith(b"HTTP/1.1 200 OK\r\n")
        assert said.endswith(b'\r\n\r\n{"path":"/a"}\n')
        assert not asked.http.is_closed
        assert not asked.http.held


def test_a_status_that_http_has_no_name_for_is_answered_like_any_other(asked: Asked) -> None:
    said = asked.send(GET.replace(b"/a", b"/449"))
    assert said.startswith(b"HTTP/1.1 449 \r\n")
    assert asked.send(GET).startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_request_may_come_byte_by_byte(asked: Asked) -> None:
    data = b"POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nxyz"
    said = [asked.send(data[index : index + 1]) for index in range(len(data))]
    assert not any(said[:-1])
    assert said[-1].startswith(b"HTTP/1.1 200 ")
    assert asked.requests[0].body == b"xyz"


def test_a_chunked_body_is_put_together(asked: Asked) -> None:
    asked.send(b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    asked.send(b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")
    assert asked.requests[0].body == b"abc"


def test_requests_in_a_row_are_carried_out_only_as_their_answers_are_taken(asked: Asked) -> None:
    asked.http.receive(GET * 3)
    assert asked.http.next_output()
    assert len(asked.requests) == 1
    assert asked.http.held
    assert asked.http.next_output()
    assert len(asked.requests) == 2


def test_head_says_the_length_and_sends_nothing(asked: Asked) -> None:
    said = asked.send(GET.replace(b"GET", b"HEAD"))
    assert b"content-length: 14\r\n" in said
    assert said.endswith(b"\r\n\r\n")
    assert asked.send(GET).endswith(b"}\n")


@pytest.mark.parametrize(
    "request_text",
    [
        b"GET /a HTTP/1.0\r\nHost: x\r\n\r\n",
        b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    ],
)
def test_a_client_that_wants_no_more_is_let_go(asked: Asked, request_text: bytes) -> None:
    assert b"connection: close\r\n" in asked.send(request_text).lower()
    assert asked.http.is_closed


def test_a_client_that_waits_for_it_is_told_to_go_on(asked: Asked) -> None:
    head = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n"
    assert asked.send(head) == b"HTTP/1.1 100 \r\n\r\n"
    assert asked.send(b"x").startswith(b"HTTP/1.1 200 OK")


def test_a_body_that_will_be_too_large_is_refused_before_it_comes(asked: Asked) -> None:
    head = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n"
    said = asked.send(head % (BODY_LIMIT + 1))
    assert said.startswith(b"HTTP/1.1 413 ")
    assert b'"expected":"at most 65536 bytes"' in said
    assert asked.http.is_closed
    assert not asked.requests


def test_a_body_that_turns_out_too_large_is_refused(asked: Asked) -> None:
    asked.send(b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunk = b"%x\r\n%s\r\n" % (BODY_LIMIT, b"x" * BODY_LIMIT)
    assert asked.send(chunk) == b""
    assert asked.send(b"1\r\nx\r\n").startswith(b"HTTP/1.1 413 ")
    assert asked.http.is_closed


def test_a_body_of_exactly_the_limit_is_taken(asked: Asked) -> None:
    head = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % BODY_LIMIT
    assert asked.send(head + b"x" * BODY_LIMIT).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", b"501"),
        (b"GET /" + b"x" * 20_000, b"431"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 20_000, b"431"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"400"),
    ],
)
def test_what_is_no_request_gets_its_status_and_is_closed(
    asked: Asked, data: bytes, status: bytes
) -> None:
    said = asked.send(data)
    assert said.startswith(b"HTTP/1.1 " + status)
    assert b"application/problem+json" in said
    assert asked.http.is_closed
    assert not asked.requests
    assert asked.send(GET) == b""


def test_a_request_that_takes_too_long_is_told_so(asked: Asked) -> None:
    assert asked.send(GET[:10]) == b""
    assert asked.http.held
    assert asked.http.timed_out().startswith(b"HTTP/1.1 408 ")
    assert asked.http.is_closed


def test_a_client_that_leaves_in_a_request_is_not_an_error(asked: Asked) -> None:
    asked.send(b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab")
    said = asked.send(b"")
    assert said.startswith(b"HTTP/1.1 400 ")
    assert asked.http.is_closed


def test_a_client_that_leaves_between_requests_is_let_go_in_silence(asked: Asked) -> None:
    asked.send(GET)
    assert asked.send(b"") == b""
    assert asked.http.is_closed


def test_a_handler_that_fails_is_reported_and_the_connection_goes_on(asked: Asked) -> None:
    said = asked.send(GET.replace(b"/a", b"/broken"))
    assert said.startswith(b"HTTP/1.1 500 ")
    assert b"the reason" not in said
    assert asked.reported == ["GET /broken failed: KeyError('the reason')"]
    assert asked.send(GET).startswith(b"HTTP/1.1 200 ")


def test_answers_tell_browsers_to_keep_nothing_and_to_guess_nothing(asked: Asked) -> None:
    said = asked.send(GET)
    for header in (
        b"cache-control: no-store",
        b"x-content-type-options: nosniff",
        b"cross-origin-resource-policy: same-origin",
        b"date: Fri, 15 Jan 2027",
    ):
        assert header in said
    assert b"access-control-allow" not in said
