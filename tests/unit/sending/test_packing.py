"""Hand-built batches: what the hub and the official SDK's decoder read is what was to be sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.sending.outgoing import Outgoing
from tidegate.sending.packing import MAX_BATCH_BYTES, Batch, PackingError, packed
from tidegate_amqp.decode import decode_value
from tidegate_amqp.sections import (
    APPLICATION_PROPERTIES,
    BATCH_FORMAT,
    DATA,
    MESSAGE_ANNOTATIONS,
    sections,
)
from tidegate_hub.ingest import read_delivery

values = st.one_of(
    st.text(max_size=20), st.integers(-(1 << 63), (1 << 63) - 1), st.booleans(),
    st.floats(allow_nan=False),
)  # fmt: skip
properties = st.dictionaries(st.text(max_size=8), values, max_size=3)
events = st.lists(
    st.builds(
        Outgoing,
        st.binary(max_size=400),
        st.sampled_from(["", "home-1", "home-2", "ключ"]),
        st.just(""),
        st.one_of(st.none(), properties),
    ),
    max_size=40,
)


def read(batch: Batch) -> list[Outgoing]:
    """The events of a batch, as any AMQP 1.0 decoder finds them."""
    found = []
    for outer in sections(batch.payload):
        if outer.code != DATA:
            continue
        message = bytes(decode_value(batch.payload, outer.value)[0])
        body, key, named = b"", "", None
        for section in sections(message):
            value: Any = decode_value(message, section.value)[0]
            if section.code == DATA:
                body = bytes(value)
            elif section.code == MESSAGE_ANNOTATIONS:
                key = value["x-opt-partition-key"]
            elif section.code == APPLICATION_PROPERTIES:
                named = value
        found.append(Outgoing(body, key, batch.partition, named))
    return found


@given(events, st.integers(2_000, 6_000))
def test_every_event_is_in_one_batch_whole_and_in_the_order_of_its_key(
    sent: list[Outgoing], limit: int
) -> None:
    batches = list(packed(sent, limit))
    arrived = [event for batch in batches for event in read(batch)]
    wanted = [event._replace(properties=event.properties or None) for event in sent]
    for key in {event.key for event in sent}:
        assert [e for e in arrived if e.key == key] == [e for e in wanted if e.key == key]
    assert len(arrived) == len(sent)
    for batch in batches:
        assert len(batch.payload) <= limit
        assert batch.events == len(read(batch))
        assert len({event.key for event in read(batch)}) == 1


@given(events)
def test_the_hub_places_a_batch_by_its_key_and_reads_each_event(sent: list[Outgoing]) -> None:
    for batch in packed(sent):
        arrival = read_delivery(batch.payload, BATCH_FORMAT)
        assert len(arrival.events) == batch.events
        assert (arrival.key or "") == read(batch)[0].key


def test_events_for_partitions_go_out_apart() -> None:
    batches = list(packed([Outgoing(b"a", "", "1"), Outgoing(b"b", "", "2"), Outgoing(b"c")]))
    assert [(batch.partition, batch.events) for batch in batches] == [("1", 1), ("2", 1), ("", 1)]


def test_a_full_batch_is_followed_by_another_and_both_fit() -> None:
    batches = list(packed([Outgoing(b"x" * 200_000)] * 12))
    assert [batch.events for batch in batches] == [5, 5, 2]
    assert all(len(batch.payload) <= MAX_BATCH_BYTES for batch in batches)


def test_an_event_that_fits_no_batch_is_said_with_its_size() -> None:
    with pytest.raises(PackingError, match=r"an event of 1,048,576 bytes is too large"):
        list(packed([Outgoing(b"x" * MAX_BATCH_BYTES)]))


def test_a_key_that_the_service_would_refuse_is_said_before_it_is_sent() -> None:
    with pytest.raises(PackingError, match="more than 128 letters"):
        list(packed([Outgoing(b"x", "k" * 129)]))


@pytest.mark.parametrize("named", [{"n": 1, "t": True, "f": 1.5, "s": "text"}])
def test_properties_keep_their_types(named: Mapping[str, Any]) -> None:
    (batch,) = packed([Outgoing(b"x", properties=named)])
    (event,) = read(batch)
    assert event.properties == named
    assert [type(value) for value in (event.properties or {}).values()] == [int, bool, float, str]
