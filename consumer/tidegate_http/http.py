"""One HTTP/1.1 connection of a server, without I/O: bytes in, bytes out.

Rules:

- Requests are answered one after another, and the next one is only looked at when it is asked for:
  whoever writes the answers decides how many may wait.
- What breaks the protocol or a limit gets its status, and the connection is closed after it.
- No exception leaves: what goes wrong in a handler is a 500 for the client and a line for the
  people who run the server.
"""

from __future__ import annotations

from collections.abc import Callable
from email.utils import formatdate

import h11

from tidegate_http.messages import Problem, Request, Response, Trouble, phrase_of

BODY_LIMIT = 64 * 1024
HEADER_LIMIT = 16 * 1024
_ALWAYS = (
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
)

Respond = Callable[[Request], Response]


class HttpConnection:
    """The server's end of a connection. `respond` carries out a request."""

    def __init__(
        self,
        respond: Respond,
        now: Callable[[], float],
        report: Callable[[str], None],
        body_limit: int = BODY_LIMIT,
        header_limit: int = HEADER_LIMIT,
    ) -> None:
        self._respond = respond
        self._now = now
        self._report = report
        self._body_limit = body_limit
        self._trouble: Trouble | None = None
        self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=header_limit)
        self._head: h11.Request | None = None
        self._body = bytearray()
        self.is_closed = False
        self.requests_answered = 0
        self._has_bytes = False

    @property
    def is_in_request(self) -> bool:
        """Whether a request has begun to come in."""
        return self._head is not None or self._has_bytes

    def receive(self, data: bytes) -> None:
        """Takes what arrived; b"" says that the client will send no more."""
        if not self.is_closed:
            self._has_bytes = self._has_bytes or bool(data)
            self._h11.receive_data(data)

    def next_output(self) -> bytes:
        """What to write now; b"" when there is nothing to say before more arrives."""
        try:
            while not self.is_closed:
                event = self._h11.next_event()
                if event is h11.NEED_DATA:
                    return self._go_ahead()
                output = self._on_event(event)
                if output:
                    return output
        except h11.RemoteProtocolError as error:
            return self._refuse(Problem(error.error_status_hint, f"{error}."))
        except Problem as problem:
            return self._refuse(problem)
        return b""

    def take_trouble(self) -> Trouble | None:
        """What shall go wrong with the output that was given last."""
        trouble, self._trouble = self._trouble, None
        return trouble

    def timed_out(self) -> bytes:
        """What to write when a request did not come in time."""
        return self._refuse(
            Problem(408, "The request did not come in time.", expected="a whole request at once")
        )

    def _go_ahead(self) -> bytes:
        if not self._h11.they_are_waiting_for_100_continue:
            return b""
        return self._sent(h11.InformationalResponse(status_code=100, headers=[]))

    def _on_event(self, event: object) -> bytes:
        match event:
            case h11.Request():
                self._head = event
                self._check_length(event)
            case h11.Data(data=data):
                self._body += data
                if len(self._body) > self._body_limit:
                    raise _too_large(self._body_limit)
            case h11.EndOfMessage():
                return self._answer()
            case _:  # ConnectionClosed, or PAUSED by a request to speak another protocol
                self.is_closed = True
        return b""

    def _check_length(self, head: h11.Request) -> None:
        for name, value in head.headers:
            if name == b"content-length" and int(value) > self._body_limit:
                raise _too_large(self._body_limit)

    def _answer(self) -> bytes:
        head, body = self._head, bytes(self._body)
        assert head is not None
        request = Request(
            head.method.decode("ascii"),
            head.target.decode("ascii"),
            {name.decode("ascii"): value.decode("latin-1") for name, value in head.headers},
            body,
        )
        try:
            response = self._respond(request)
        except Exception as error:  # the last resort, so that one bad request ends nothing else
            self._report(f"{request.method} {request.target[:200]} failed: {error!r}")
            response = Problem(500, "The server failed at this; it has said why.").as_response()
        self._trouble = response.trouble
        output = self._response(response, with_body=head.method != b"HEAD")
        self._head = None
        self._body.clear()
        self.requests_answered += 1
        if self._h11.our_state is h11.MUST_CLOSE:
            self.is_closed = True
        else:
            self._h11.start_next_cycle()
            self._has_bytes = bool(self._h11.trailing_data[0])
        return output

    def _refuse(self, problem: Problem) -> bytes:
        """Answers what cannot be carried out, and closes."""
        if self._h11.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.is_closed = True
            return b""
        with_body = self._head is None or self._head.method != b"HEAD"
        response = problem.as_response()
        headers = {**response.headers, "connection": "close"}
        closing = Response(response.status, response.body, response.content_type, headers)
        output = self._response(closing, with_body=with_body)
        self.is_closed = True
        return output

    def _response(self, response: Response, *, with_body: bool) -> bytes:
        headers = [("date", formatdate(self._now(), usegmt=True)), *_ALWAYS]
        if response.body:
            headers.append(("content-type", f"{response.content_type}; charset=utf-8"))
        if response.status not in (204, 304):
            headers.append(("content-length", str(len(response.body))))
        headers += response.headers.items()
        reason = phrase_of(response.status).encode()
        output = self._sent(
            h11.Response(status_code=response.status, headers=headers, reason=reason)
        )
        if with_body and response.body:
            output += self._sent(h11.Data(data=response.body))
        return output + self._sent(h11.EndOfMessage())

    def _sent(self, event: h11.Event) -> bytes:
        return self._h11.send(event) or b""


def _too_large(limit: int) -> Problem:
    return Problem(413, "The body is too large.", expected=f"at most {limit} bytes", field="body")
