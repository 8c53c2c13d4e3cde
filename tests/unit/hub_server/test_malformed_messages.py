"""Messages that are not: each is a DecodeError, quickly, and nothing of its delivery is stored."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.hub_messages import annotated, batch, data
from tidegate_amqp import DecodeError
from tidegate_amqp.decode import check_value, decode_value
from tidegate_amqp.encode import encode_described
from tidegate_amqp.sections import BATCH_FORMAT, HEADER, SEQUENCE, VALUE
from tidegate_hub.ingest import read_delivery
from tidegate_hub.stamping import stamp

BODY = data(b"body")
TWICE = b"\x00\x53\x72\xc1\x0b\x04" + b"\xa3\x01a\x55\x01" * 2

MESSAGES = {
    "nothing at all": b"",
    "no section": b"hello",
    "a data section without a value": b"\x00\x53\x75",
    "a data section that is cut short": BODY[:-1],
    "a long data section that is cut short": b"\x00\x53\x75\xb0\x00\x00\x00\x09xy",
    "a data section that is a list": encode_described(0x75, b"\x45"),
    "a data section of text": encode_described(0x75, b"\xa1\x01x"),
    "bytes behind the last section": BODY + b"\x99",
    "the beginning of a section behind the last one": BODY + b"\x00",
    "an unknown section": encode_described(0x79, b"\x45"),
    "a section with a descriptor of text": b"\x00\xa1\x01x\x45",
    "a section with a nested descriptor": b"\x00\x00\x53\x75\x53\x75\xa0\x00",
    "a header that is a map": encode_described(HEADER, b"\xc1\x01\x00") + BODY,
    "annotations that are a list": b"\x00\x53\x72\x45" + BODY,
    "annotations that are null": b"\x00\x53\x72\x40" + BODY,
    "annotations with a key and no value": b"\x00\x53\x72\xc1\x04\x01\xa3\x01a" + BODY,
    "annotations that name a key twice": TWICE + BODY,
    "annotations that claim more than there is": b"\x00\x53\x72\xc1\xff\x02\xa3\x01a\x40",
    "annotations with a size that their pairs do not fill": (
        b"\x00\x53\x72\xc1\x07\x02\xa3\x01a\x40\x40" + BODY
    ),
    "annotations with a list as a key": b"\x00\x53\x72\xc1\x03\x02\x45\x40" + BODY,
    "annotations that are not UTF-8": b"\x00\x53\x72\xc1\x08\x02\xa3\x01a\xa1\x02\xff\xff" + BODY,
    "annotations twice": annotated({"a": 1}) + annotated({"b": 2}) + BODY,
    "a footer that is binary": BODY + encode_described(0x78, b"\xa0\x00"),
    "properties that are a map": encode_described(0x73, b"\xc1\x01\x00") + BODY,
    "application properties that are a list": encode_described(0x74, b"\x45") + BODY,
    "a sequence that is binary": encode_described(SEQUENCE, b"\xa0\x00"),
    "a value of an unknown type": encode_described(VALUE, b"\x3f"),
}
BATCHES = {
    "nothing at all": b"",
    "no message": annotated({"a": 1}),
    "no section": b"hello",
    "a message that is cut short": batch(BODY, BODY)[:-1],
    "a size that runs past the end": b"\x00\x53\x75\xa0\xff" + BODY,
    "a long size that runs past the end": b"\x00\x53\x75\xb0\xff\xff\xff\xff" + BODY,
    "a size that is missing": batch(BODY) + b"\x00\x53\x75\xa0",
    "a long size that is missing": batch(BODY) + b"\x00\x53\x75\xb0\x00",
    "the beginning of a section": batch(BODY) + b"\x00\x53\x75",
    "an amqp-value beside the messages": batch(BODY) + encode_described(VALUE, b"\x40"),
    "a sequence beside the messages": batch(BODY) + encode_described(SEQUENCE, b"\x45"),
    "a data section that is a list": encode_described(0x75, b"\x45"),
    "annotations that are a list": b"\x00\x53\x72\x45" + batch(BODY),
}


# Well cut into sections, but what they hold is no AMQP value: readers could not decode it.
HOLLOW = {
    "a value of a map without its last value": encode_described(VALUE, b"\xc1\x04\x02\xa1\x01a"),
    "a value of a map with a key alone": encode_described(VALUE, b"\xc1\x04\x01\xa1\x01a"),
    "a value of a list that claims more": encode_described(VALUE, b"\xc0\x02\x05\x40"),
    "a value of a list with bytes left over": encode_described(VALUE, b"\xc0\x03\x01\x40\x40"),
    "a value of text that is not UTF-8": encode_described(VALUE, b"\xa1\x02\xff\xff"),
    "a value of half a character": encode_described(VALUE, b"\x73\x00\x00\xd8\x00"),
    "a value of lists in lists in lists": encode_described(VALUE, b"\xd0" * 3 + b"\x00" * 60),
    "a sequence of an unknown type": encode_described(SEQUENCE, b"\xc0\x02\x01\x3f"),
    "a sequence of an array that is cut short": (
        encode_described(SEQUENCE, b"\xc0\x06\x01\xe0\x03\x02\xa1\x01")
    ),
    "application properties of broken text": (
        encode_described(0x74, b"\xc1\x08\x02\xa1\x01a\xa1\x02\xff\xff") + BODY
    ),
    "application properties with a key alone": (
        encode_described(0x74, b"\xc1\x04\x01\xa1\x01a") + BODY
    ),
    "properties that claim more": encode_described(0x73, b"\xc0\x02\x0d\x40") + BODY,
    "a footer with a list as a key": BODY + encode_described(0x78, b"\xc1\x03\x02\x45\x40"),
}
MESSAGES |= HOLLOW
WHOLE = {
    "a body of null": encode_described(0x75, b"\x40"),
    "a value of null": encode_described(VALUE, b"\x40"),
    "a value of a described value": encode_described(VALUE, b"\x00\xa3\x01a\x45"),
    "an array of texts": encode_described(VALUE, b"\xe0\x06\x02\xa1\x01a\x01b"),
    "a map with a described key": encode_described(VALUE, b"\xc1\x06\x02\x00\x53\x01\x40\x40"),
}


@pytest.mark.parametrize("what", WHOLE)
@pytest.mark.parametrize("message_format", [0, BATCH_FORMAT])
def test_a_body_of_any_type_is_taken_as_it_is(what: str, message_format: int) -> None:
    sent = batch(WHOLE[what]) if message_format else WHOLE[what]
    assert read_delivery(sent, message_format).events == [WHOLE[what]]


@given(st.binary(max_size=60))
def test_a_value_is_taken_if_and_only_if_a_reader_can_decode_it(value: bytes) -> None:
    try:
        _, end = decode_value(value)
    except DecodeError:
        end = None
    try:
        checked = check_value(value, 0)
    except DecodeError:
        checked = None
    assert checked == end


@pytest.mark.parametrize("what", MESSAGES)
def test_a_malformed_message_is_refused(what: str) -> None:
    with pytest.raises(DecodeError):
        read_delivery(MESSAGES[what], 0)


@pytest.mark.parametrize("what", BATCHES)
def test_a_malformed_batch_is_refused(what: str) -> None:
    with pytest.raises(DecodeError):
        read_delivery(BATCHES[what], BATCH_FORMAT)


@pytest.mark.parametrize("what", MESSAGES)
def test_one_malformed_message_refuses_its_whole_batch(what: str) -> None:
    with pytest.raises(DecodeError):
        read_delivery(batch(BODY, MESSAGES[what], BODY), BATCH_FORMAT)


def test_megabytes_of_sections_around_a_batch_take_no_time() -> None:
    empty_headers = b"\x00\x53\x70\x45" * 500_000
    started = time.process_time()
    assert read_delivery(empty_headers + batch(BODY), BATCH_FORMAT).events == [BODY]
    assert time.process_time() - started < 5


@given(st.binary(max_size=200), st.sampled_from([0, BATCH_FORMAT]))
def test_any_bytes_are_refused_or_can_be_stamped(payload: bytes, message_format: int) -> None:
    try:
        arrival = read_delivery(payload, message_format)
    except DecodeError:
        return
    assert arrival.events
    stamp(arrival.events, 0, 0, 0)


_SAMPLE = annotated({"a": 1, "x-opt-partition-key": "k"}) + BODY + BODY


@given(st.integers(0, len(_SAMPLE) - 1), st.integers(0, 255), st.booleans())
def test_a_changed_byte_is_refused_or_can_be_stamped(at: int, value: int, batched: bool) -> None:
    changed = _SAMPLE[:at] + bytes((value,)) + _SAMPLE[at + 1 :]
    payload, message_format = (batch(changed), BATCH_FORMAT) if batched else (changed, 0)
    try:
        arrival = read_delivery(payload, message_format)
    except DecodeError:
        return
    assert len(arrival.events) == 1
    stamp(arrival.events, 0, 0, 0)
