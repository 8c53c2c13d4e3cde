"""A receiver starts where its filter says, as with the service."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

import pytest
from azure.eventhub._utils import event_position_selector
from hypothesis import given
from hypothesis import strategies as st

from tidegate_hub.conditions import HubError
from tidegate_hub.selectors import BEGINNING, Kind, Selector, parse, resolve


@dataclass
class Log:
    """Events by their offsets and times; `first_sequence` is that of the oldest one kept."""

    first_sequence: int = 0
    offsets: list[int] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    last_offset: int = -1

    def __post_init__(self) -> None:
        if self.offsets:
            self.last_offset = self.offsets[-1]

    @property
    def next_sequence(self) -> int:
        return self.first_sequence + len(self.offsets)

    def sequence_after_offset(self, offset: int, inclusive: bool) -> int:
        find = bisect_left if inclusive else bisect_right
        return self.first_sequence + find(self.offsets, offset)

    def sequence_at_time(self, ms: int, inclusive: bool) -> int:
        find = bisect_left if inclusive else bisect_right
        return self.first_sequence + find(self.times, ms)


def three() -> Log:
    return Log(0, [0, 144, 288], [1000, 1000, 2000])


def aged() -> Log:
    """Retention has taken sequences 0 to 9."""
    return Log(10, [1440, 1584], [5000, 6000])


def expired() -> Log:
    """Retention has taken everything."""
    return Log(12, last_offset=1584)


OFFSET = "amqp.annotation.x-opt-offset"
SEQUENCE = "amqp.annotation.x-opt-sequence-number"
TIME = "amqp.annotation.x-opt-enqueued-time"

STARTS = [
    ("the beginning", f"{OFFSET} > '-1'", three(), 0),
    ("the beginning, inclusive", f"{OFFSET} >= '-1'", three(), 0),
    ("the beginning of an empty partition", f"{OFFSET} > '-1'", Log(), 0),
    ("the end", f"{OFFSET} > '@latest'", three(), 3),
    ("the end of an empty partition", f"{OFFSET} > '@latest'", Log(), 0),
    ("the end, inclusive", f"{OFFSET} >= '@latest'", three(), 3),
    ("after an offset", f"{OFFSET} > '144'", three(), 2),
    ("from an offset on", f"{OFFSET} >= '144'", three(), 1),
    ("after the last offset", f"{OFFSET} > '288'", three(), 3),
    ("from the last offset on", f"{OFFSET} >= '288'", three(), 2),
    ("an offset between two events", f"{OFFSET} > '100'", three(), 1),
    ("an offset that retention took", f"{OFFSET} > '0'", aged(), 10),
    ("the last offset, which retention took", f"{OFFSET} > '1584'", expired(), 12),
    ("an offset of a geo-replicated hub", f"{OFFSET} > '3:144'", three(), 2),
    ("after a sequence number", f"{SEQUENCE} > '1'", three(), 2),
    ("from a sequence number on", f"{SEQUENCE} >= '1'", three(), 1),
    ("after the last sequence number", f"{SEQUENCE} > '2'", three(), 3),
    ("from the last sequence number on", f"{SEQUENCE} >= '2'", three(), 2),
    ("sequence number -1", f"{SEQUENCE} > '-1'", three(), 0),
    ("sequence number -1 of an empty partition", f"{SEQUENCE} > '-1'", Log(), 0),
    ("a sequence number that retention took", f"{SEQUENCE} > '2'", aged(), 10),
    ("the last sequence number, which retention took", f"{SEQUENCE} > '11'", expired(), 12),
    ("after a time", f"{TIME} > '1000'", three(), 2),
    ("from a time on", f"{TIME} >= '1000'", three(), 0),
    ("a time in the future", f"{TIME} > '9999999999999'", three(), 3),
    ("a time that retention took", f"{TIME} > '0'", aged(), 10),
    ("a time before 1970", f"{TIME} > '-62135596800000'", three(), 0),
    ("a time with a fraction", f"{TIME} > '1000.0'", three(), 2),
    ("white space and case", "  AMQP.Annotation.X-Opt-Offset>='144'\t", three(), 1),
    ("case in the value", f"{OFFSET} > '@Latest'", three(), 3),
    ("no quotes, as the .NET client writes it", f"{OFFSET} > 144", three(), 2),
    ("no quotes and the end", f"{OFFSET} > @latest", three(), 3),
    ("double quotes", f'{OFFSET} > "144"', three(), 2),
    ("white space in the quotes", f"{OFFSET} > ' 144 '", three(), 2),
    ("no filter", None, aged(), 10),
]


@pytest.mark.parametrize(
    ("text", "log", "first"), [row[1:] for row in STARTS], ids=[row[0] for row in STARTS]
)
def test_the_first_event_given(text: str | None, log: Log, first: int) -> None:
    assert resolve(parse(text), log) == first


BEYOND = [
    (f"{OFFSET} > '0'", Log(), "offset '0' is invalid. The last offset in the system is '-1'"),
    (f"{OFFSET} >= '289'", three(), "offset '289' is invalid. The last offset in the system"),
    (f"{OFFSET} > '1:289'", three(), "offset '1:289' is invalid."),
    (f"{SEQUENCE} >= '0'", Log(), "sequence number '0' is invalid."),
    (f"{SEQUENCE} > '3'", three(), "The last sequence number in the system is '2'"),
    (f"{SEQUENCE} >= '12'", expired(), "The last sequence number in the system is '11'"),
]


@pytest.mark.parametrize(("text", "log", "words"), BEYOND, ids=[row[0] for row in BEYOND])
def test_a_position_beyond_the_last_event_is_refused(text: str, log: Log, words: str) -> None:
    with pytest.raises(HubError) as caught:
        resolve(parse(text), log)
    assert caught.value.condition == "com.microsoft:argument-error"
    assert words in caught.value.description


NOT_A_FILTER = [
    "",
    "x-opt-offset > '1'",
    f"{OFFSET} = '1'",
    f"{OFFSET} < '1'",
    f"{OFFSET} > '1' AND {SEQUENCE} > '1'",
    f"{OFFSET} > 'abc'",
    f"{OFFSET} > no offset",
    f"{OFFSET} > 'no offset'",
    f"{OFFSET} > '1",
    f"{OFFSET} > ''",
    f"{OFFSET} > '{'9' * 20}'",
    f"{SEQUENCE} > '@latest'",
    f"{SEQUENCE} > '1.5'",
    f"{TIME} > 'yesterday'",
    "amqp.annotation.x-opt-partition-key > '1'",
]


@pytest.mark.parametrize("text", NOT_A_FILTER)
def test_anything_else_is_not_a_filter(text: str) -> None:
    with pytest.raises(HubError) as caught:
        parse(text)
    assert caught.value.condition == "com.microsoft:argument-error"
    assert caught.value.description == (
        f"The filter '{text}' is not a valid amqp filter for EventHub entities"
    )


@given(st.text())
def test_no_text_makes_the_parser_fail_in_another_way(text: str) -> None:
    for candidate in (text, f"{OFFSET} > {text}", f"{TIME} >= '{text}'"):
        try:
            selector = parse(candidate)
            resolve(selector, three())
        except HubError as error:
            assert error.condition == "com.microsoft:argument-error"
        else:
            assert isinstance(selector, Selector)


def test_what_the_official_client_writes_is_read_back() -> None:
    written = event_position_selector("288", inclusive=True).decode()
    assert parse(written) == Selector(Kind.OFFSET, "288", inclusive=True)
    assert parse(event_position_selector(7).decode()) == Selector(Kind.SEQUENCE, "7")
    assert parse(None) == BEGINNING
