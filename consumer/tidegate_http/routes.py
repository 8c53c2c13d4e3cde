"""From a request to a response, by a table of routes. Pure but for what the handlers are given.

Rules: whatever is wrong with a request is a Problem with the right status, and the handler is only
called when path, method, media type and body are right. Every route is documented by its own entry
(see `openapi`), so that the document cannot say anything else than the table does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NoReturn, TypeVar
from urllib.parse import unquote

from tidegate_http.check import Schema, check
from tidegate_http.messages import JSON, Problem, Request, Response, split_target

_GREATEST_INTEGER = 2**63 - 1

T = TypeVar("T")


# Without slots: Python 3.11 cannot make an instance of `Call[X]` with them.
@dataclass(frozen=True)
class Call(Generic[T]):
    """One request for a handler: its path's parameters, its body, what is served, the time."""

    served: T
    now: float
    parameters: Mapping[str, str]
    body: Any = None


@dataclass(frozen=True, slots=True)
class Answer:
    """One way in which a route answers."""

    description: str
    schema: str | None = None  # a name in the schemas
    media_type: str = JSON


@dataclass(frozen=True)
class Route(Generic[T]):
    """One operation. `path` has its parameters in braces; `body` is the name of a schema."""

    method: str
    path: str
    name: str
    tag: str
    summary: str
    handler: Callable[[Call[T]], Response]
    answers: Mapping[int, Answer]
    description: str = ""
    body: str | None = None
    examples: Mapping[str, Any] = field(default_factory=dict)

    def match(self, segments: Sequence[str]) -> dict[str, str] | None:
        """The parameters, if a path split at its slashes is one of this route."""
        own = self.path.split("/")
        if len(own) != len(segments):
            return None
        found: dict[str, str] = {}
        for wanted, given in zip(own, segments, strict=True):
            if wanted.startswith("{"):
                found[wanted[1:-1]] = unquote(given)
            elif wanted != given:
                return None
        return found


def respond(
    routes: Collection[Route[T]],
    schemas: Mapping[str, Schema],
    served: T,
    request: Request,
    now: float,
) -> Response:
    """Carries a request out, or says why not."""
    try:
        route, parameters = _route(routes, request)
        body = None if route.body is None else _body(schemas, route.body, request)
        return route.handler(Call(served, now, parameters, body))
    except Problem as problem:
        return problem.as_response()


def _route(routes: Collection[Route[T]], request: Request) -> tuple[Route[T], dict[str, str]]:
    target = split_target(request.target)
    path = target.path
    segments = path.split("/")
    matching = [
        (route, parameters) for route in routes if (parameters := route.match(segments)) is not None
    ]
    if not matching:
        raise Problem(404, f"There is nothing at {path[:200]}.", expected="a path of /openapi.json")
    wanted = "GET" if request.method == "HEAD" else request.method
    for route, parameters in matching:
        if route.method == wanted:
            if target.has_query:
                raise Problem(
                    400, f"{path} takes no query.", expected="a path without '?'", field="query"
                )
            return route, parameters
    allowed = ", ".join(_with_head(route.method for route, _ in matching))
    raise Problem(
        405,
        f"{request.method[:20]} is not possible at {path}.",
        expected=allowed,
        headers={"allow": allowed},
    )


def _with_head(methods: Iterable[str]) -> list[str]:
    return [name for each in methods for name in (("GET", "HEAD") if each == "GET" else (each,))]


def _body(schemas: Mapping[str, Schema], schema: str, request: Request) -> Any:
    """The body as JSON of this schema. Raises Problem."""
    media_type, _, parameter = request.headers.get("content-type", "").partition(";")
    charset = parameter.strip().lower().removeprefix("charset=").strip('"')
    if media_type.strip().lower() != JSON or charset not in ("", "utf-8"):
        raise Problem(
            415,
            "The body's media type is not JSON.",
            expected=f"Content-Type: {JSON}",
            field="Content-Type",
        )
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(
            415, "The body is compressed.", expected="a plain body", field="Content-Encoding"
        )
    body = _parsed(request.body)
    check(body, schemas[schema], schemas)
    return body


def _parsed(data: bytes) -> Any:
    try:
        body = json.loads(data.decode(), parse_int=_integer, parse_constant=_no_constant)
        json.dumps(body, ensure_ascii=False).encode()  # finds surrogates, which no peer could take
    except json.JSONDecodeError as error:
        reason = f"line {error.lineno}, column {error.colno}: {error.msg}"
    except UnicodeError:
        reason = "it is not UTF-8, or holds half of a surrogate pair"
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError as error:
        reason = str(error)
    else:
        return body
    raise Problem(
        400, f"The body is not valid JSON: {reason}.", expected="a JSON object", field="body"
    )


def _integer(digits: str) -> int:
    value = int(digits) if len(digits) < 25 else _GREATEST_INTEGER + 1
    if abs(value) > _GREATEST_INTEGER:
        raise ValueError(f"{digits[:30]} is too large a number")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")
