"""What a proxy does to what goes through it, as values, and as the JSON that asks for it.

    Answer(503, match=method("PUT"), times=3)
    fault_in({"kind": "answer", "status": 503, "method": "PUT", "times": 3}, now)

Rules: pure; `now` is the caller's. A fault without `times` and `for_s` stands until it is cleared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

Direction = Literal["to_server", "to_client"]
_DIRECTIONS = ("to_server", "to_client")


@dataclass(frozen=True)
class Request:
    """The head of an HTTP request."""

    method: str
    target: str
    headers: dict[str, str]


Match = Callable[[Request], bool]


class FaultError(ValueError):
    """A fault that cannot be understood; the message says what to write."""


def anything(_request: Request) -> bool:
    return True


def method(name: str) -> Match:
    return lambda request: request.method == name


def query(text: str) -> Match:
    """Requests whose path or query holds this text."""
    return lambda request: text in request.target


@dataclass
class Fault:
    """What goes wrong; `times` counts requests, `for_s` seconds from when it was added."""

    times: int | None = field(default=None, kw_only=True)
    for_s: float | None = field(default=None, kw_only=True)
    match: Match = field(default=anything, kw_only=True)
    ends_at: float = field(default=float("inf"), init=False)

    def begin(self, now: float) -> None:
        if self.for_s is not None:
            self.ends_at = now + self.for_s

    def is_over(self, now: float) -> bool:
        return self.times == 0 or now >= self.ends_at

    def take(self) -> None:
        if self.times is not None:
            self.times -= 1


@dataclass
class Delay(Fault):
    """Everything takes this much longer, each way once for HTTP, each chunk for TCP."""

    seconds: float = 0.0


@dataclass
class Answer(Fault):
    """The request is not passed on: this status is the answer."""

    status: int = 503


@dataclass
class Hold(Fault):
    """Requests wait until the fault is over, and are then passed on, wanted still or not."""


@dataclass
class LoseReply(Fault):
    """The request is passed on and done; its reply is dropped with the connection."""


@dataclass
class Swallow(Fault):
    """Bytes of one direction go nowhere, and the connection stays open.

    What has lost bytes gets no more of them, even when the fault is over: TCP leaves nothing out.
    """

    direction: Direction = "to_client"


@dataclass
class Refuse(Fault):
    """New connections are closed at once."""


# The kinds, with the one key that each has of its own.
_KINDS: dict[str, tuple[type[Fault], str]] = {
    "delay": (Delay, "seconds"),
    "answer": (Answer, "status"),
    "hold": (Hold, ""),
    "lose-reply": (LoseReply, ""),
    "swallow": (Swallow, "direction"),
    "refuse": (Refuse, ""),
}
_COMMON = ("kind", "times", "for_s", "method", "query")


def fault_in(said: Mapping[str, Any]) -> Fault:
    """A fault as JSON says it. Raises FaultError."""
    kind = said.get("kind")
    if kind not in _KINDS:
        raise FaultError(f"kind {kind!r}: write one of {', '.join(_KINDS)}")
    made, own = _KINDS[kind]
    unknown = sorted(said.keys() - {*_COMMON, own})
    if unknown:
        raise FaultError(f"{kind}: there is no {', '.join(unknown)}; leave it out")
    for key in ("times", "for_s", "seconds", "status"):
        value = said.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise FaultError(f"{kind}: {key} {value!r}: write a number")
    if said.get("direction", "to_client") not in _DIRECTIONS:
        raise FaultError(f"{kind}: direction: write one of {', '.join(_DIRECTIONS)}")
    fields = {key: said[key] for key in ("times", "for_s", own) if said.get(key) is not None}
    return made(**fields, match=_match_of(said.get("method"), said.get("query")))


def _match_of(name: object, text: object) -> Match:
    by_method = method(cast(str, name)) if name else anything
    by_query = query(cast(str, text)) if text else anything
    return lambda request: by_method(request) and by_query(request)
