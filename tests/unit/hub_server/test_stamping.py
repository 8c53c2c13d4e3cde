"""What the hub writes before an event, byte by byte as the service was recorded to write it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.hub_messages import data, part, parts
from tidegate_amqp.decode import decode_value
from tidegate_amqp.encode import encode_string, encode_symbol
from tidegate_amqp.sections import MESSAGE_ANNOTATIONS
from tidegate_hub.stamping import Annotated, Incoming, runtime_metrics, stamp

# 2025-05-01T15:48:59.238Z, in milliseconds since 1970.
MOMENT = 0x01968C896EE6

EPOCH = "a31b" + b"x-opt-sequence-number-epoch".hex() + "54ff"
SEQUENCE = "a315" + b"x-opt-sequence-number".hex()
OFFSET = "a30c" + b"x-opt-offset".hex()
TIME = "a313" + b"x-opt-enqueued-time".hex() + "83000001968c896ee6"
KEY = "a313" + b"x-opt-partition-key".hex()


def stamped(event: Incoming, sequence: int = 0, offset: int = 0) -> str:
    (message,) = stamp([event], sequence, offset, MOMENT)
    return message.hex()


def own(**values: str) -> tuple[tuple[bytes, bytes], ...]:
    return tuple((encode_symbol(name), encode_string(value)) for name, value in values.items())


def test_the_first_event_has_the_bytes_that_the_service_gave_it() -> None:
    body = data(b"A single message")
    assert stamped(body) == (
        f"005372c16808{EPOCH}{SEQUENCE}5500{OFFSET}a10130{TIME}005375a010412073696e676c65206d657373616765"
    )


def test_the_sequence_number_is_short_up_to_127_and_long_from_128() -> None:
    body = data(b"x")
    assert f"{SEQUENCE}557f{OFFSET}" in stamped(body, 127)
    assert f"{SEQUENCE}810000000000000080{OFFSET}" in stamped(body, 128)
    both = stamp([body, body], 127, 0, MOMENT)
    assert [part(each, MESSAGE_ANNOTATIONS)["x-opt-sequence-number"] for each in both] == [127, 128]


def test_the_partition_key_comes_before_what_the_hub_stamps() -> None:
    event = Annotated((), "845bc7cc-c263-4a06-b022-c6b1c1db7709", data(b"0"))
    assert stamped(event) == (
        f"005372c1a30a{KEY}a124{b'845bc7cc-c263-4a06-b022-c6b1c1db7709'.hex()}"
        f"{EPOCH}{SEQUENCE}5500{OFFSET}a10130{TIME}005375a00130"
    )


def test_the_senders_own_annotations_come_first() -> None:
    event = Annotated(own(ann_key="ann_value"), "k", data(b"0"))
    text = stamped(event, 1, 144)
    start = "a307" + b"ann_key".hex() + "a109" + b"ann_value".hex() + KEY
    assert text.startswith("005372c1")
    assert text[12:].startswith(start)
    assert f"{SEQUENCE}5501{OFFSET}a103313434" in text


@pytest.mark.parametrize("digits", range(1, 18))
@pytest.mark.parametrize("sequence", [5, 500])
def test_an_offset_may_gain_a_digit_in_the_middle_of_a_delivery(digits: int, sequence: int) -> None:
    first = 10**digits - 8 if digits > 1 else 0
    messages = stamp([data(b"x")] * 3, sequence, first, MOMENT)
    offset = first
    for message in messages:
        assert part(message, MESSAGE_ANNOTATIONS)["x-opt-offset"] == str(offset)
        offset += (len(message) + 7) & ~7
    assert offset > 10**digits


def test_the_annotations_grow_from_a_short_map_to_a_long_one_at_255_bytes() -> None:
    sizes = {}
    for length in range(120, 160):
        (message,) = stamp([Annotated(own(a="v" * length), None, data(b""))], 0, 0, MOMENT)
        sizes[length] = message[3], message[4]
        assert len(part(message, MESSAGE_ANNOTATIONS)) == 5
    short = [size for code, size in sizes.values() if code == 0xC1]
    assert max(short) == 255
    assert [code for code, _ in sizes.values()] == [0xC1] * len(short) + [0xD1] * (40 - len(short))
    assert len(short) < 40


def test_no_event_gives_no_message() -> None:
    assert stamp([], 7, 144, MOMENT) == []


_BODIES = st.binary(max_size=300).map(data)
_EVENTS = st.lists(
    st.one_of(
        _BODIES,
        st.builds(
            Annotated,
            st.dictionaries(st.sampled_from(["a", "b", "c"]), st.text(max_size=120)).map(
                lambda values: own(**values)
            ),
            st.none() | st.text(max_size=130),
            _BODIES,
        ),
    ),
    max_size=12,
)
_NUMBERS = st.integers(0, 1 << 40) | st.integers(120, 132)
_OFFSETS = st.integers(0, 1 << 50).map(lambda number: number & ~7) | st.integers(1, 15).map(
    lambda digits: 10**digits - 16 & ~7
)


@given(events=_EVENTS, sequence=_NUMBERS, offset=_OFFSETS)
@example(events=[data(b"x")] * 3, sequence=127, offset=96)
def test_the_fast_path_writes_what_the_slow_path_writes(
    events: list[Incoming], sequence: int, offset: int
) -> None:
    slowly: list[Incoming] = [
        each if isinstance(each, Annotated) else Annotated((), None, each) for each in events
    ]
    messages = stamp(events, sequence, offset, MOMENT)
    assert messages == stamp(slowly, sequence, offset, MOMENT)
    for number, (event, message) in enumerate(zip(events, messages, strict=True), sequence):
        assert _facts(message) == (number, str(offset), MOMENT)
        assert message.endswith(event if isinstance(event, bytes) else event.rest)
        assert parts(message)[0].code == MESSAGE_ANNOTATIONS
        offset += (len(message) + 7) & ~7


def _facts(message: bytes) -> tuple[Any, ...]:
    written = part(message, MESSAGE_ANNOTATIONS)
    assert list(written)[-4:] == [
        "x-opt-sequence-number-epoch",
        "x-opt-sequence-number",
        "x-opt-offset",
        "x-opt-enqueued-time",
    ]
    return tuple(written[name] for name in list(written)[-3:])


def test_runtime_metrics_are_the_delivery_annotations_that_the_service_gave() -> None:
    written = runtime_metrics(0, 0, 0x019683AE0A37, 0x019683AE1CA6)
    assert written.hex() == (
        "005371c1ad0a"
        f"a323{b'last_enqueued_sequence_number_epoch'.hex()}54ff"
        f"a31d{b'last_enqueued_sequence_number'.hex()}5500"
        f"a314{b'last_enqueued_offset'.hex()}a10130"
        f"a316{b'last_enqueued_time_utc'.hex()}83000001" + "9683ae0a37"
        f"a31f{b'runtime_info_retrieval_time_utc'.hex()}83000001" + "9683ae1ca6"
    )
    assert decode_value(written, 3)[0]["last_enqueued_sequence_number"] == 0
