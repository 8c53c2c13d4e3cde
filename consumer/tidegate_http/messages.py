"""What a server takes and gives: requests, responses, and problems for people. Pure.

Rules: a problem says what was wrong and, where it helps, what was expected and in which field. It
goes out in the form of RFC 9457 (`application/problem+json`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

JSON: Final = "application/json"
PROBLEM_JSON: Final = "application/problem+json"
_FOUND_LENGTH_MAX: Final = 60
_KNOWN: Final = frozenset(map(int, HTTPStatus))


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. Header names are in lower case; `target` is as it came."""

    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What goes wrong with a response on its way, because somebody asked for it.

    It is written so many seconds late. With `cut_after` so many bytes of it are written, and then
    the connection is cut.
    """

    late_s: float = 0.0
    cut_after: int | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP response; the length is added where it is written."""

    status: int
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    trouble: Trouble | None = None


class Problem(Exception):
    """Why a request was not carried out."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        expected: str | None = None,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.expected = expected
        self.field = field
        self.headers = headers or {}

    def as_response(self) -> Response:
        content: dict[str, Any] = {
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        if self.expected is not None:
            content["expected"] = self.expected
        if self.field is not None:
            content["field"] = self.field
        return Response(self.status, _encoded(content), PROBLEM_JSON, self.headers)


def phrase_of(status: int) -> str:
    """What HTTP calls a status; '' for one that it does not know, such as Cosmos DB's 449."""
    return HTTPStatus(status).phrase if status in _KNOWN else ""


def answer(
    content: object, status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response:
    """A response with JSON in it."""
    return Response(status, _encoded(content), JSON, headers or {})


def _encoded(content: object) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


class RequestTarget(NamedTuple):
    """What a request line asks for. The authority is None where Host has it."""

    authority: str | None
    path: str
    has_query: bool


def split_target(target: str) -> RequestTarget:
    """The parts of a request's target, a path or a whole URI. Raises Problem."""
    resource, question_mark, _ = target.partition("?")
    if resource.startswith("/"):
        return RequestTarget(None, resource, bool(question_mark))
    try:
        parts = urlsplit(resource)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise Problem(400, "The request's target is no path.", expected="a path such as /")
    return RequestTarget(parts.netloc, parts.path or "/", bool(question_mark))


def shown(found: object) -> str:
    """A value as an error repeats it: as JSON, cut where it is long."""
    try:
        text = json.dumps(found, ensure_ascii=False, default=repr)
    except RecursionError:
        return "something nested too deeply"
    return text if len(text) <= _FOUND_LENGTH_MAX else f"{text[:_FOUND_LENGTH_MAX]}…"
