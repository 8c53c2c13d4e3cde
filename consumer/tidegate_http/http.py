"""One HTTP/1.1 connection of a server, without I/O: bytes in, bytes out.

Rules:

- Requests are answered one after another, and the next one is only looked at when it is asked for:
  whoever writes the answers decides how many may wait.
- What breaks the protocol or a limit gets its status, and the connection is closed after it. So
  does a head that is refused: its body is not taken in.
- No exception leaves: what goes wrong in a handler is a 500 for the client and a line for the
  people who run the server.
"""

from __future__ import annotations

from collections.abc import Callable
from email.utils import formatdate
from typing import TypeVar

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
# Why a request is refused by its head alone; None where its body is to be taken in.
RefuseHead = Callable[[Request], Response | None]

T = TypeVar("T")


class HttpConnection:
    """The server's end of a connection. `respond` carries out a request."""

    def __init__(
        self,
        respond: Respond,
        now: Callable[[], float],
        report: Callable[[str], None],
        body_limit: int = BODY_LIMIT,
        header_limit: int = HEADER_LIMIT,
        refuse_head: RefuseHead | None = None,
    ) -> None:
        self._respond = respond
        self._refuse_head: RefuseHead = refuse_head or (lambda _: None)
        self._now = now
        self._report = report
        self._body_limit = body_limit
        self._trouble: Trouble | None = None
        self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=header_limit)
        self._head: h11.Request | None = None
        self._body = bytearray()
        self.is_closed = False
        self.requests_answered = 0
        # Bytes that came of requests that are not answered yet.
        self.held = 0

    @property
    def is_in_head(self) -> bool:
        """Whether the head of a request has begun to come in, and is not there yet."""
        return self._head is None and self.held > 0

    @property
    def is_in_body(self) -> bool:
        """Whether the head of a request is there, and the rest is not."""
        return self._head is not None

    def receive(self, data: bytes) -> None:
        """Takes what arrived; b"" says that the client will send no more."""
        if not self.is_closed:
            self.held += len(data)
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

    def crowded_out(self) -> bytes:
        """What to write when others need the room that an unfinished request takes."""
        return self._refuse(
            Problem(503, "The server holds too many unfinished requests: try again later.")
        )

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
                refusal = self._tried(self._refuse_head, _request(event))
                if refusal is not None:
                    return self._refused(refusal)
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
        response = self._tried(self._respond, _request(head, body))
        self._trouble = response.trouble
        output = self._response(response, with_body=head.method != b"HEAD")
        self._head = None
        self._body.clear()
        self.held = 0
        self.requests_answered += 1
        if self._h11.our_state is h11.MUST_CLOSE:
            self.is_closed = True
        else:
            self._h11.start_next_cycle()
            self.held = len(self._h11.trailing_data[0])
        return output

    def _tried(self, function: Callable[[Request], T], request: Request) -> T | Response:
        try:
            return function(request)
        except Exception as error:  # the last resort, so that one bad request ends nothing else
            self._report(f"{request.method} {request.target[:200]} failed: {error!r}")
            return Problem(500, "The server failed at this; it has said why.").as_response()

    def _refuse(self, problem: Problem) -> bytes:
        """Answers what cannot be carried out, and closes."""
        return self._refused(problem.as_response())

    def _refused(self, response: Response) -> bytes:
        is_too_late = self.is_closed or self._h11.our_state not in (h11.IDLE, h11.SEND_RESPONSE)
        output = b"" if is_too_late else self._last_response(response)
        self.is_closed = True
        # What came of it is let go at once, and not only once the connection is closed.
        self._body, self.held = bytearray(), 0
        self._h11 = h11.Connection(h11.SERVER)
        return output

    def _last_response(self, response: Response) -> bytes:
        with_body = self._head is None or self._head.method != b"HEAD"
        headers = {**response.headers, "connection": "close"}
        closing = Response(response.status, response.body, response.content_type, headers)
        return self._response(closing, with_body=with_body)

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


def _request(head: h11.Request, body: bytes = b"") -> Request:
    return Request(
        head.method.decode("ascii"),
        head.target.decode("ascii"),
        {name.decode("ascii"): value.decode("latin-1") for name, value in head.headers},
        body,
    )


def _too_large(limit: int) -> Problem:
    return Problem(413, "The body is too large.", expected=f"at most {limit} bytes", field="body")
