"""Where a receiver starts: reads the selector of its filter and finds the first event to give.

Rules:

- One comparison over one annotation, with `>` or `>=`. White space and case do not matter, and
  the value may stand in single quotes, double quotes or none: the .NET client sends none.
- No filter means the beginning, and so does any position before it.
- A position that retention has passed is moved up to the oldest event that is left.
- An offset or a sequence number beyond the last event is an error, as with the service: it is
  most often the checkpoint of a hub that was deleted and made again.
- An offset may come in the form of a geo-replicated hub, `epoch:offset`; the epoch is ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from tidegate_hub.conditions import invalid_filter, offset_beyond_end, sequence_beyond_end

BEFORE_ALL: Final = "-1"
LATEST: Final = "@latest"
_DIGITS_MAX: Final = 19  # a signed 64-bit number has no more, and no service has larger ones

_SELECTOR: Final = re.compile(
    r"\s*amqp\.annotation\.(?P<kind>x-opt-(?:offset|sequence-number|enqueued-time))"
    r"\s*(?P<operator>>=?)"
    r"\s*(?:'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\"|(?P<bare>[^'\"\s]+))\s*",
    re.IGNORECASE,
)
_OFFSET: Final = re.compile(rf"(?:-?\d{{1,{_DIGITS_MAX}}}:)*(?P<offset>-?\d{{1,{_DIGITS_MAX}}})")
_WHOLE: Final = re.compile(rf"-?\d{{1,{_DIGITS_MAX}}}")
_MILLISECONDS: Final = re.compile(rf"(?P<whole>-?\d{{1,{_DIGITS_MAX}}})(?:\.\d*)?")


class Kind(StrEnum):
    """The annotation that a selector compares."""

    OFFSET = "x-opt-offset"
    SEQUENCE = "x-opt-sequence-number"
    TIME = "x-opt-enqueued-time"


@dataclass(frozen=True, slots=True)
class Selector:
    """A position: everything after `value`, or from it on where it is inclusive."""

    kind: Kind
    value: str
    inclusive: bool = False


BEGINNING: Final = Selector(Kind.OFFSET, BEFORE_ALL)


class LogView(Protocol):
    """The facts about one partition that a position is resolved against."""

    @property
    def first_sequence(self) -> int: ...
    @property
    def next_sequence(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    def sequence_after_offset(self, offset: int, inclusive: bool) -> int: ...
    def sequence_at_time(self, ms: int, inclusive: bool) -> int: ...


def parse(text: str | None) -> Selector:
    """The position that a filter asks for. Raises HubError where it asks for none."""
    if text is None:
        return BEGINNING
    match = _SELECTOR.fullmatch(text)
    if match is None:
        raise invalid_filter(text)
    value = next(found for found in match.group("single", "double", "bare") if found is not None)
    value = value.strip().lower()
    kind = Kind(match["kind"].lower())
    if not _is_position(kind, value):
        raise invalid_filter(text)
    return Selector(kind, value, inclusive=match["operator"] == ">=")


def _is_position(kind: Kind, value: str) -> bool:
    if kind is Kind.OFFSET:
        return value == LATEST or _OFFSET.fullmatch(value) is not None
    if kind is Kind.SEQUENCE:
        return _WHOLE.fullmatch(value) is not None
    return _MILLISECONDS.fullmatch(value) is not None


def resolve(selector: Selector, log: LogView) -> int:
    """The sequence number of the first event to deliver; the next one to come if none is there.

    Raises HubError where the position lies beyond the last event.
    """
    if selector.kind is Kind.OFFSET:
        sequence = _after_offset(selector, log)
    elif selector.kind is Kind.SEQUENCE:
        sequence = _after_sequence(selector, log)
    else:
        sequence = _after_time(selector, log)
    return min(max(sequence, log.first_sequence), log.next_sequence)


def _after_offset(selector: Selector, log: LogView) -> int:
    if selector.value == LATEST:
        return log.next_sequence
    match = _OFFSET.fullmatch(selector.value)
    if match is None:
        raise invalid_filter(selector.value)
    offset = int(match["offset"])
    if offset < 0:
        return log.first_sequence
    if offset > log.last_offset:
        raise offset_beyond_end(selector.value, log.last_offset)
    return log.sequence_after_offset(offset, selector.inclusive)


def _after_sequence(selector: Selector, log: LogView) -> int:
    sequence = int(selector.value)
    if sequence >= log.next_sequence:
        raise sequence_beyond_end(sequence, log.next_sequence - 1)
    return sequence if selector.inclusive else sequence + 1


def _after_time(selector: Selector, log: LogView) -> int:
    match = _MILLISECONDS.fullmatch(selector.value)
    if match is None:
        raise invalid_filter(selector.value)
    milliseconds = int(match["whole"])
    if milliseconds < 0:
        return log.first_sequence
    return log.sequence_at_time(milliseconds, selector.inclusive)
