"""The quick way to read a transfer and the general one never differ."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.amqp_strategies import CHANGES, mutated
from tidegate_amqp import AmqpError, encode
from tidegate_amqp.frames import transfer_frames
from tidegate_amqp.performatives import Transfer, decode_performative
from tidegate_amqp.transfer import TransferHead, _read_usual, read_transfer, transfer_head

NULL = b"\x40"


def _uints() -> st.SearchStrategy[bytes]:
    numbers = st.sampled_from([0, 1, 255, 256, (1 << 32) - 1])
    wide = numbers.map(lambda number: b"\x70" + number.to_bytes(4, "big"))
    short = st.sampled_from([b"\x43", b"\x52\x00", b"\x52\xff"])
    return st.one_of(st.just(NULL), numbers.map(encode.encode_uint), wide, short)


FLAGS = st.sampled_from([NULL, b"\x41", b"\x42", b"\x56\x00", b"\x56\x01"])
MOSTLY_UNSET = st.sampled_from([NULL, NULL, NULL, b"\x42", b"\x42", b"\x41", b"\x56\x01"])
TAGS = st.one_of(
    st.just(NULL),
    st.binary(max_size=300).map(encode.encode_binary),
    st.binary(max_size=5).map(lambda tag: b"\xb0" + len(tag).to_bytes(4, "big") + tag),
    st.just(b"\xa1\x01a"),
)
STATES = st.sampled_from(
    [NULL, NULL, b"\x00\x53\x24\x45", b"\x42", b"\x00\x53\x25\xc0\x02\x01\x40"]
)
MODES = st.sampled_from([NULL, NULL, b"\x50\x00", b"\x50\x01", b"\x42"])
FIELDS = st.tuples(
    st.sampled_from([b"\x43", b"\x52\x01", b"\x70\x00\x00\x00\xff"]) | _uints(),
    _uints(),
    TAGS,
    _uints(),
    FLAGS,
    FLAGS,
    MODES,
    STATES,
    MOSTLY_UNSET,
    MOSTLY_UNSET,
    FLAGS,
)


def _listed(fields: list[bytes], wide: bool) -> bytes:
    body = b"".join(fields)
    if wide or len(body) > 254:
        size = (len(body) + 4).to_bytes(4, "big")
        return b"\xd0" + size + len(fields).to_bytes(4, "big") + body
    return bytes((0xC0, len(body) + 1, len(fields))) + body


def _general(buffer: bytes, start: int, end: int) -> TransferHead | str:
    try:
        performative, payload = decode_performative(buffer, start, end)
    except AmqpError as error:
        return type(error).__name__
    assert isinstance(performative, Transfer)
    return transfer_head(performative, payload)


def _either(buffer: bytes, start: int, end: int) -> TransferHead | str:
    try:
        return read_transfer(buffer, start, end)
    except AmqpError as error:
        return type(error).__name__


@given(fields=FIELDS, count=st.integers(1, 11), wide=st.booleans(), payload=st.binary(max_size=20))
@settings(max_examples=500, deadline=None)
def test_both_ways_give_the_same_for_every_encoding_of_a_transfer(
    fields: tuple[bytes, ...], count: int, wide: bool, payload: bytes
) -> None:
    body = b"\x00\x53\x14" + _listed(list(fields[:count]), wide) + payload
    buffer = b"\xaa" * 8 + body + b"\x40" * 12
    assert _either(buffer, 8, 8 + len(body)) == _general(buffer, 8, 8 + len(body))


@given(fields=FIELDS, wide=st.booleans(), changes=CHANGES)
@settings(max_examples=300, deadline=None)
def test_both_ways_give_the_same_for_a_damaged_transfer(
    fields: tuple[bytes, ...], wide: bool, changes: list[tuple[float, int, int]]
) -> None:
    damaged = b"\x00\x53\x14" + mutated(_listed(list(fields), wide) + b"payload", changes)
    buffer = b"\xaa" * 8 + damaged + b"\x40" * 12
    assert _either(buffer, 8, 8 + len(damaged)) == _general(buffer, 8, 8 + len(damaged))


USUAL: dict[str, tuple[list[bytes], TransferHead]] = {
    "what the official Python SDK sends": (
        [
            *(b"\x43", b"\x52\x07", b"\xa0\x04\x01\x00\x00\x00", b"\x70\x80\x01\x37\x00"),
            *(b"\x42", b"\x42", NULL, NULL, b"\x42", b"\x42", b"\x42"),
        ],
        (0, 7, 0x80013700, False, False, False, 0),
    ),
    "what the service sends": (
        [
            *(b"\x43", b"\x43", b"\xa0\x00", b"\x43", b"\x41", b"\x42"),
            *(NULL, NULL, b"\x42", b"\x42", b"\x41"),
        ],
        (0, 0, 0, True, False, False, 0),
    ),
    "a continuation": (
        [b"\x52\x05", NULL, NULL, NULL, NULL, b"\x41", NULL, NULL, NULL, NULL, b"\x41"],
        (5, None, None, None, True, False, 0),
    ),
    "no field after more": (
        [b"\x43", b"\x43", b"\xa0\x00", b"\x43", b"\x41", b"\x42"],
        (0, 0, 0, True, False, False, 0),
    ),
}


@pytest.mark.parametrize(("fields", "head"), USUAL.values(), ids=USUAL)
def test_the_usual_shapes_take_the_quick_way(fields: list[bytes], head: TransferHead) -> None:
    for wide in (False, True):
        body = b"\x00\x53\x14" + _listed(fields, wide)
        expected = (*head[:6], len(body))
        assert _read_usual(body + b"payload", 0, len(body) + 7) == expected
        assert _general(body + b"payload", 0, len(body) + 7) == expected


REMARKABLE: dict[str, tuple[int, list[bytes]]] = {
    "aborted as the last of ten fields": (
        10,
        [b"\x43", b"\x43", b"\xa0\x00", b"\x43", b"\x42", b"\x42", NULL, NULL, NULL, b"\x41"],
    ),
    "resume as the last of nine fields": (
        9,
        [b"\x43", b"\x43", b"\xa0\x00", b"\x43", b"\x42", b"\x42", NULL, NULL, b"\x41"],
    ),
    "a settle mode of no type as the last of seven": (
        7,
        [b"\x43", b"\x43", b"\xa0\x00", b"\x43", b"\x42", b"\x42", b"\xff"],
    ),
    "a tag that is text": (6, [b"\x43", b"\x43", b"\xa1\x01a", b"\x43", b"\x42", b"\x42"]),
    "no handle": (6, [NULL, b"\x43", b"\xa0\x00", b"\x43", b"\x42", b"\x42"]),
}


@pytest.mark.parametrize(("count", "fields"), REMARKABLE.values(), ids=REMARKABLE)
def test_what_changes_the_meaning_is_never_overlooked(count: int, fields: list[bytes]) -> None:
    assert len(fields) == count
    body = b"\x00\x53\x14" + _listed(fields, wide=False)
    assert _read_usual(body, 0, len(body)) is None
    found: Any = _either(body, 0, len(body))
    assert found == _general(body, 0, len(body))
    assert found == "DecodeError" or found[5] is (fields[-1] == b"\x41" and count == 10)


def test_fields_that_run_past_their_list_are_refused() -> None:
    cut = b"\x00\x53\x14\xc0\x07\x06\x43\x43\xa0\x00\x43\x42" + b"\x42\x42\x42"
    assert _either(cut, 0, len(cut)) == _general(cut, 0, len(cut)) == "DecodeError"


@given(
    size=st.integers(0, 3_000),
    handle=st.sampled_from([0, 5, 300]),
    tag=st.binary(max_size=32),
    settled=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_frames_of_a_delivery_are_read_back_whole(
    size: int, handle: int, tag: bytes, settled: bool
) -> None:
    payload = bytes(index % 251 for index in range(size))
    frames = transfer_frames(
        3, handle, 70_000, tag, payload, settled=settled, max_frame_size=512, message_format=9
    )
    heads = [read_transfer(each, 8, len(each)) for each in frames]
    assert heads[0][:4] == (handle, 70_000, 9, settled)
    assert all(head[:4] == (handle, None, None, None) for head in heads[1:])
    assert [head[4] for head in heads] == [True] * (len(frames) - 1) + [False]
    assert b"".join(each[head[6] :] for each, head in zip(frames, heads, strict=True)) == payload
    assert all(len(each) <= 512 for each in frames)
