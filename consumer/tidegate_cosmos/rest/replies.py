"""What the service answers: documents with its headers, and refusals with their status. Pure.

Rules: a refusal has the form of the service, `{"code", "message"}`, and says what was wrong and
with what; it never holds a key or a signature.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tidegate_cosmos.query.problems import QueryProblem
from tidegate_cosmos.store.items import Item, encoded
from tidegate_cosmos.store.keys import KeyProblem
from tidegate_cosmos.store.problems import (
    Changed,
    Exists,
    NotFound,
    RangeGone,
    StoreProblem,
)
from tidegate_cosmos.store.ranges import Range
from tidegate_http.messages import Response, phrase_of

RANGE_GONE: Final = 1002
RID_MISMATCH: Final = 1024
THROTTLED: Final = 3200
_CODES: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    408: "RequestTimeout",
    409: "Conflict",
    410: "Gone",
    412: "PreconditionFailed",
    413: "RequestEntityTooLarge",
    429: "TooManyRequests",
    449: "RetryWith",
    500: "InternalServerError",
    503: "ServiceUnavailable",
}
_ALWAYS: Final = {
    "x-ms-gatewayversion": "version=2.14.0",
    "x-ms-serviceversion": "version=2.14.0.0",
    "x-ms-schemaversion": "1.19",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered, before the headers that every answer has."""

    status: int
    body: bytes = b""
    charge: float = 1.0
    headers: Mapping[str, str] = field(default_factory=dict)


class Refused(Exception):
    """A request that is not carried out, as the service says it."""

    def __init__(
        self,
        status: int,
        message: str,
        substatus: int = 0,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.substatus = substatus
        self.headers = headers or {}

    def as_reply(self) -> Reply:
        code = _CODES.get(self.status) or phrase_of(self.status).replace(" ", "")
        return Reply(
            self.status,
            encoded({"code": code, "message": str(self)}),
            0.0 if self.status == 429 else 1.0,
            {"x-ms-substatus": str(self.substatus), **self.headers},
        )


def refused_by(problem: StoreProblem | KeyProblem | QueryProblem) -> Refused:
    """The refusal that says what the store or a query would not do."""
    match problem:
        case NotFound():
            return Refused(404, str(problem))
        case Exists():
            return Refused(409, str(problem))
        case Changed():
            return Refused(412, str(problem))
        case RangeGone():
            return Refused(410, str(problem), RANGE_GONE)
        case _:
            return Refused(400, str(problem))


def finished(reply: Reply, request_headers: Mapping[str, str], path: Mapping[str, str]) -> Response:
    """The answer as it goes out."""
    headers = {
        **_ALWAYS,
        "x-ms-activity-id": request_headers.get("x-ms-activity-id", _NOBODY),
        "x-ms-request-charge": f"{reply.charge:.2f}",
        **path,
        **reply.headers,
    }
    return Response(reply.status, reply.body, "application/json", headers)


_NOBODY: Final = "00000000-0000-0000-0000-000000000000"


def of_range(held: Range) -> dict[str, str]:
    """What an answer says of the range that it comes from."""
    return {
        "lsn": str(held.lsn),
        "x-ms-session-token": session_token(held),
        "x-ms-documentdb-partitionkeyrangeid": held.id,
    }


def session_token(held: Range) -> str:
    return f"{held.id}:-1#{held.lsn}"


def of_item(item: Item, held: Range) -> dict[str, str]:
    return {"etag": item.etag, **of_range(held)}


def listed(name: str, rid: str, bodies: Iterable[bytes]) -> bytes:
    """Several documents in one."""
    told = list(bodies)
    return b'{"_rid":"%s","%s":[%s],"_count":%d}' % (
        rid.encode(),
        name.encode(),
        b",".join(told),
        len(told),
    )
