"""What holds for all values, and for all bytes that claim to be values."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.amqp_samples import seeds
from support.amqp_strategies import VALUES, broken
from tidegate_amqp import AmqpError, DecodeError, sasl
from tidegate_amqp.decode import decode_value, skip_value
from tidegate_amqp.encode import encode
from tidegate_amqp.performatives import decode_performative
from tidegate_amqp.sections import read_message, sections
from tidegate_amqp.transfer import read_transfer

# What a value may take for each of its bytes: an empty symbol that is described, in an array.
MEMORY_FOR_A_BYTE = 200
FREE_MEMORY = 20_000


@given(value=VALUES, before=st.binary(max_size=5), after=st.binary(max_size=5))
@settings(max_examples=200, deadline=None)
def test_what_is_written_is_read_back(value: Any, before: bytes, after: bytes) -> None:
    encoded = encode(value)
    found, end = decode_value(before + encoded + after, len(before))
    assert repr(found) == repr(value)
    assert end == len(before) + len(encoded)
    assert skip_value(before + encoded + after, len(before)) == end


def _read_sections(data: bytes) -> Any:
    return list(sections(data))


PARSERS: list[tuple[Callable[[bytes], Any], str]] = [
    (decode_value, "values"),
    (lambda data: skip_value(data, 0), "values"),
    (lambda data: decode_performative(data, 0, len(data)), "performatives"),
    (lambda data: read_transfer(data, 0, len(data)), "transfer"),
    (_read_sections, "sections"),
    (read_message, "sections"),
    (sasl.read_init, "sasl"),
    (sasl.read_mechanisms, "sasl"),
    (sasl.read_outcome, "sasl"),
    (sasl.read_plain, "sasl"),
]


@given(data=st.data())
@settings(max_examples=400, deadline=None)
def test_any_bytes_give_a_parser_an_amqp_error_at_most(data: st.DataObject) -> None:
    parser, kind = data.draw(st.sampled_from(PARSERS))
    given_bytes = data.draw(broken(seeds(kind)))
    try:
        parser(given_bytes)
    except AmqpError as error:
        assert error.description
        assert error.condition.startswith("amqp:")


@given(given_bytes=broken(seeds("values")))
@example(b"\x00\x00\x40\x40\x40")
@settings(max_examples=300, deadline=None)
def test_skipping_and_decoding_agree_about_the_end(given_bytes: bytes) -> None:
    try:
        _, end = decode_value(given_bytes)
    except DecodeError:
        return
    assert skip_value(given_bytes, 0) == end


def _peak(parse: Callable[[bytes], Any], data: bytes) -> int:
    tracemalloc.start()
    try:
        parse(data)
    except AmqpError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak


def _listed(item: bytes, count: int = 4_000) -> bytes:
    """A list of the same encoded value many times."""
    body = item * count
    return b"\xd0" + (len(body) + 4).to_bytes(4, "big") + count.to_bytes(4, "big") + body


def _arrayed(constructor: bytes, item: bytes, count: int = 4_000) -> bytes:
    body = constructor + item * count
    return b"\xf0" + (len(body) + 4).to_bytes(4, "big") + count.to_bytes(4, "big") + body


EXPENSIVE = {
    "lists in a list": _listed(b"\xc0\x01\x00"),
    "maps in a list": _listed(b"\xc1\x01\x00"),
    "small maps in a list": _listed(b"\xc1\x03\x02\x40\x40"),
    "described nulls": _listed(b"\x00\x40\x40"),
    "arrays of empty lists": _listed(b"\xe0\x02\x20\x45"),
    "arrays of very many empty lists": _listed(b"\xf0\x00\x00\x00\x05\x00\x00\xff\xff\x45"),
    "arrays of described nulls": _listed(b"\xe0\x05\x20\x00\x53\x01\x40"),
    "an array of arrays of empty lists": _arrayed(b"\xe0", b"\x02\x20\x45"),
    "an array of empty symbols": _arrayed(b"\xa3", b"\x00"),
    "an array of described empty symbols": _arrayed(b"\x00\x53\x01\xa3", b"\x00"),
    "an array of empty maps": _arrayed(b"\xc1", b"\x01\x00"),
    "an array of small maps": _arrayed(b"\xc1", b"\x03\x02\x40\x40"),
    "a map of long texts": _listed(b"\xc1\x0a\x02\xa1\x01a\xa1\x04\xf0\x9f\x8c\x8a"),
    "decimals": _arrayed(b"\x74", b"\x00" * 4),
    "a size of 4 GiB": b"\xb0\xff\xff\xff\xff" + bytes(100),
    "a count of 4 billion": b"\xd0\x00\x00\x00\x64\xff\xff\xff\xff" + b"\x40" * 96,
}


@pytest.mark.parametrize("data", EXPENSIVE.values(), ids=EXPENSIVE)
def test_memory_is_proportional_to_the_bytes_that_came(data: bytes) -> None:
    assert _peak(decode_value, data) <= MEMORY_FOR_A_BYTE * len(data) + FREE_MEMORY


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_memory_is_proportional_for_any_bytes(data: st.DataObject) -> None:
    parser, kind = data.draw(st.sampled_from(PARSERS))
    given_bytes = data.draw(broken(seeds(kind)))
    assert _peak(parser, given_bytes) <= MEMORY_FOR_A_BYTE * len(given_bytes) + 2 * FREE_MEMORY
