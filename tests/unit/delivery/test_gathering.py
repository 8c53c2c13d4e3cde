"""Batches by count, bytes and time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.delivery.gathering import Gathering
from tidegate.handling import NEVER
from unit.delivery.events import MadeEvent, events


def gathering(most: int = 10, size: int = 1 << 20, wait_s: float = 0.0) -> Gathering[MadeEvent]:
    return Gathering(most, size, wait_s, lambda event: event.size)


def numbers(batch: object) -> list[int]:
    assert isinstance(batch, list | tuple)
    return [event.sequence_number for event in batch]


def test_what_is_there_is_given_at_once_without_a_wait() -> None:
    gathered = gathering()
    gathered.add(events(0, 3), 1.0)
    assert numbers(gathered.take(1.0)) == [0, 1, 2]
    assert numbers(gathered.take(1.0)) == []


def test_a_batch_waits_to_be_filled_and_no_longer_than_it_may() -> None:
    gathered = gathering(wait_s=2.0)
    gathered.add(events(0, 3), 1.0)
    assert numbers(gathered.take(2.9)) == []
    assert gathered.give_at == 3.0
    gathered.add(events(3, 5), 2.9)
    assert numbers(gathered.take(3.0)) == [0, 1, 2, 3, 4]
    assert gathered.give_at == NEVER


def test_a_full_batch_does_not_wait() -> None:
    gathered = gathering(most=4, wait_s=9.0)
    gathered.add(events(0, 9), 1.0)
    assert numbers(gathered.take(1.0)) == [0, 1, 2, 3]
    assert numbers(gathered.take(1.0)) == [4, 5, 6, 7]
    assert numbers(gathered.take(1.0)) == []
    assert numbers(gathered.take(10.0)) == [8]


def test_an_event_larger_than_a_batch_may_be_is_given_alone() -> None:
    gathered = gathering(size=10)
    gathered.add([MadeEvent(0, b"x" * 50), MadeEvent(1, b"x" * 9), MadeEvent(2, b"xx")], 1.0)
    assert numbers(gathered.take(1.0)) == [0]
    assert numbers(gathered.take(1.0)) == [1]
    assert numbers(gathered.take(1.0)) == [2]


@given(
    st.lists(st.lists(st.integers(0, 30), max_size=12), max_size=12),
    st.integers(1, 8),
    st.integers(1, 60),
)
def test_every_event_is_given_once_in_order_and_within_both_limits(
    came: list[list[int]], most: int, size: int
) -> None:
    gathered = gathering(most, size)
    count, seen = 0, []
    for now, sizes in enumerate(came):
        made = [MadeEvent(count + n, b"x" * length) for n, length in enumerate(sizes)]
        count += len(made)
        gathered.add(made, float(now))
        while batch := gathered.take(float(now)):
            assert len(batch) <= most
            assert len(batch) == 1 or sum(event.size for event in batch) <= size
            seen += numbers(batch)
    assert seen == list(range(count))
