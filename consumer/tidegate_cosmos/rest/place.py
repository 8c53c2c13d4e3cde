"""Which items or changes a request means: a range, a partition key, a span of keys. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidegate_cosmos.rest.asked import Asked, whole
from tidegate_cosmos.rest.replies import RANGE_GONE, Refused
from tidegate_cosmos.store.containers import Container
from tidegate_cosmos.store.keys import BEYOND, LEAST, Span
from tidegate_cosmos.store.ranges import Range

_SESSION = re.compile(r"(?<![^:,])(?P<range>[^:,]+):(?:-?\d+#)?(?P<lsn>\d+)")


@dataclass(frozen=True, slots=True)
class Meant:
    """The ranges that are asked, and the keys; a span of None is every key of theirs."""

    ranges: tuple[Range, ...]
    span: Span | None


def meant_by(asked: Asked, container: Container) -> Meant:
    """Raises Refused, RangeGone, KeyProblem."""
    span = _span(asked, container)
    range_id = asked.range_id()
    if range_id is not None:
        held = container.range_of(range_id)
        if span is not None and not (
            held.span.least <= span.least and span.beyond <= held.span.beyond
        ):
            raise Refused(
                410,
                f"Range {range_id} does not hold the keys from {span.least!r} to {span.beyond!r}.",
                RANGE_GONE,
            )
        return Meant((held,), span)
    if span is None:
        return Meant(tuple(container.ranges), None)
    return Meant(tuple(each for each in container.ranges if each.span.meets(span)), span)


def _span(asked: Asked, container: Container) -> Span | None:
    values = asked.key_values()
    if values:
        return container.key.span_of(values)
    least, beyond = asked.header("x-ms-start-epk"), asked.header("x-ms-end-epk")
    if least is None and beyond is None:
        return None
    return Span((least or LEAST).upper(), (beyond or BEYOND).upper())


def check_session(asked: Asked, held: Range) -> None:
    """Raises Refused where a client has seen more of a range than there is of it."""
    for told in _SESSION.finditer(asked.header("x-ms-session-token") or ""):
        if told["range"].rpartition(",")[2] != held.id:
            continue
        if whole(told["lsn"], "x-ms-session-token") > held.lsn:
            raise Refused(
                404,
                f"The read session is not available: range {held.id} is at LSN {held.lsn}, and "
                f"the session token is of LSN {told['lsn']}.",
                substatus=1002,
            )
