"""What a request asks: its path, its headers as values, its body. Pure.

Rules: whatever cannot be understood is refused with 400 and the header or field that it is about.
Path segments are decoded one by one, so that a name may hold an escaped slash.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from math import isinf
from typing import Any, Final
from urllib.parse import unquote

from tidegate_cosmos.rest.replies import Refused
from tidegate_cosmos.store.keys import KeyProblem, Value, values_from_header
from tidegate_http.messages import Problem, Request, split_target

PAGE: Final = 100
PAGE_MAX: Final = 10_000
_DIGITS_MAX: Final = 18
# With so few characters no number is beyond what can be kept.
_SHORT: Final = 300


@dataclass(frozen=True, slots=True)
class Asked:
    """A request with its path in segments."""

    request: Request
    segments: tuple[str, ...]

    @property
    def method(self) -> str:
        return self.request.method

    def header(self, name: str) -> str | None:
        return self.request.headers.get(name)

    def says(self, name: str) -> bool:
        """Whether a header says true."""
        return (self.header(name) or "").lower() == "true"

    @property
    def is_query(self) -> bool:
        return self.says("x-ms-documentdb-isquery") or "query+json" in (
            self.header("content-type") or ""
        )

    @property
    def is_plan(self) -> bool:
        return self.says("x-ms-cosmos-is-query-plan-request")

    def document(self) -> dict[str, Any]:
        """The body, which must be a JSON object. Raises Refused."""
        try:
            found = _parsed(self.request.body)
            json.dumps(found, ensure_ascii=False).encode()  # finds half surrogates
        except UnicodeError as error:
            raise Refused(400, f"The body is not UTF-8: {error}.") from None
        except (ValueError, RecursionError) as error:
            raise Refused(400, f"The body is not valid JSON: {error}.") from None
        if not isinstance(found, dict):
            raise Refused(400, "The body must be a JSON object.")
        return found

    def key_values(self) -> tuple[Value, ...] | None:
        """The partition key that a header names. Raises Refused."""
        text = self.header("x-ms-documentdb-partitionkey")
        if text is None:
            return None
        try:
            return values_from_header(_parsed(text))
        except KeyProblem as problem:
            raise Refused(400, f"x-ms-documentdb-partitionkey: {problem}.") from None
        except (ValueError, RecursionError):
            raise Refused(400, "x-ms-documentdb-partitionkey: expected a JSON list.") from None

    def range_id(self) -> str | None:
        """The range that a header names; a container's id may stand before it."""
        text = self.header("x-ms-documentdb-partitionkeyrangeid")
        return None if text is None else text.rpartition(",")[2].strip()

    def page_size(self) -> int:
        """How many answers a page may have. Raises Refused."""
        text = self.header("x-ms-max-item-count")
        if text is None or text.strip() == "-1":
            return PAGE
        wanted = whole(text, "x-ms-max-item-count")
        return min(wanted, PAGE_MAX) or PAGE

    def modified_since(self) -> float | None:
        """Raises Refused."""
        text = self.header("if-modified-since")
        if text is None:
            return None
        try:
            found = parsedate_to_datetime(text)
        except (ValueError, OverflowError, IndexError, TypeError):
            raise Refused(
                400, f"If-Modified-Since: expected a date of HTTP, found {text[:60]!r}."
            ) from None
        return found.replace(tzinfo=found.tzinfo or UTC).timestamp()


def asked_of(request: Request) -> Asked:
    """Raises Refused."""
    try:
        path = split_target(request.target).path
    except Problem as problem:
        raise Refused(problem.status, problem.detail) from None
    return Asked(request, tuple(unquote(part) for part in path.split("/") if part))


def whole(text: str, name: str) -> int:
    """A number of a header. Raises Refused."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS_MAX):
        raise Refused(400, f"{name}: expected a whole number, found {text[:60]!r}.")
    return int(digits)


def _parsed(text: str | bytes) -> Any:
    """JSON whose numbers are what the service can keep: 64 bits of floating point.

    Raises ValueError.
    """
    return json.loads(text, parse_constant=_no_constant, parse_float=_float, parse_int=_int)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


def _float(text: str) -> float:
    value = float(text)
    if isinf(value):
        raise ValueError(
            f"the number {text[:40]} is beyond what can be kept, which ends at 1.8e308"
        )
    return value


def _int(text: str) -> int:
    if len(text) > _SHORT:
        _float(text)
    return int(text)
