"""A batch and its bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate_hub.storage import Batch
from tidegate_hub.storage.batch import Flaw, check, decode, encode

MESSAGES = st.lists(st.binary(min_size=1, max_size=60), min_size=1, max_size=20)


@given(MESSAGES, st.integers(0, 2**60), st.integers(0, 2**60), st.integers(0, 2**45))
def test_a_batch_is_decoded_as_it_was_encoded(
    messages: list[bytes], sequence: int, offset: int, ms: int
) -> None:
    batch = Batch.of(messages, sequence, offset, ms)
    data = b"before" + b"".join(encode(batch))
    head = check(memoryview(data), 6, sequence)
    assert head == (len(data) - 6, len(messages), offset, batch.next_offset, ms)
    assert decode(data, 6) == batch
    assert [batch.event(i) for i in range(batch.count)] == messages
    assert batch.last_offset == batch.offset_of(batch.count - 1)


@given(MESSAGES, st.data())
def test_a_changed_bit_anywhere_is_noticed(messages: list[bytes], data: st.DataObject) -> None:
    good = b"".join(encode(Batch.of(messages, 7, 8, 9)))
    bit = data.draw(st.integers(0, 8 * len(good) - 1))
    bad = bytearray(good)
    bad[bit // 8] ^= 1 << bit % 8
    assert isinstance(check(memoryview(bad), 0, 7), Flaw)


@given(MESSAGES, st.data())
def test_a_batch_cut_anywhere_is_incomplete(messages: list[bytes], data: st.DataObject) -> None:
    good = b"".join(encode(Batch.of(messages, 7, 8, 9)))
    kept = data.draw(st.integers(0, len(good) - 1))
    assert check(memoryview(good[:kept]), 0, 7) is Flaw.INCOMPLETE


def test_a_batch_of_another_place_is_out_of_order() -> None:
    data = b"".join(encode(Batch.of([b"x"], 7, 8, 9)))
    assert check(memoryview(data), 0, 8) is Flaw.OUT_OF_ORDER


@given(MESSAGES, st.data())
def test_the_rest_of_a_batch_keeps_sequences_and_offsets(
    messages: list[bytes], data: st.DataObject
) -> None:
    batch = Batch.of(messages, 100, 800, 9)
    skipped = data.draw(st.integers(0, len(messages) - 1))
    rest = batch.starting_at(100 + skipped)
    assert (rest.first_sequence, rest.next_sequence) == (100 + skipped, batch.next_sequence)
    assert (rest.first_offset, rest.next_offset) == (batch.offset_of(skipped), batch.next_offset)
    assert [rest.event(i) for i in range(rest.count)] == messages[skipped:]
    assert rest.last_offset == batch.last_offset


def test_a_batch_needs_events_that_are_not_empty() -> None:
    for messages in ([], [b""], [b"a", b"", b"b"]):
        with pytest.raises(ValueError, match="no message may be empty"):
            Batch.of(messages, 0, 0, 0)
