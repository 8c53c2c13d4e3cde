"""A micro-batch is shared fairly by the partitions, within its limits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.spark.admission import Limit, Sizes, admit


def sizes(**known: float) -> Sizes:
    found = Sizes()
    for partition, size in known.items():
        found.learn(partition, 100, int(size * 100))
    return found


def test_who_has_little_gets_all_of_it_and_the_others_share_the_rest() -> None:
    waiting = {"0": 10, "1": 1_000, "2": 5_000, "3": 0}
    assert admit(waiting, Limit(events=210), Sizes()) == {"0": 10, "1": 100, "2": 100}
    assert admit(waiting, Limit(events=211), Sizes()) == {"0": 10, "1": 101, "2": 100}
    assert admit(waiting, Limit(), Sizes()) == {"0": 10, "1": 1_000, "2": 5_000}


def test_bytes_are_shared_by_the_size_that_events_have() -> None:
    known = sizes(a=100, b=1_000)
    assert admit({"a": 500, "b": 500}, Limit(bytes=100_000), known) == {"a": 500, "b": 50}
    assert admit({"a": 900, "b": 500}, Limit(events=200, bytes=20_000), known) == {
        "a": 100,
        "b": 10,
    }


def test_a_partition_of_which_nothing_is_known_is_taken_to_be_as_the_others() -> None:
    assert sizes(a=100, b=300).of("c") == 200
    assert Sizes().of("c") == 1_000


def test_the_size_that_was_seen_last_counts_the_most() -> None:
    known = sizes(a=100)
    known.learn("a", 10, 2_000)
    assert known.of("a") == 130
    known.learn("a", 0, 0)
    assert known.of("a") == 130


@given(
    st.dictionaries(st.text("abcdef", min_size=1, max_size=2), st.integers(0, 2_000), max_size=9),
    st.integers(0, 3_000),
    st.integers(0, 2_000_000),
)
def test_limits_hold_and_nobody_is_left_out(
    waiting: dict[str, int], events: int, size: int
) -> None:
    admitted = admit(waiting, Limit(events, size), Sizes())
    assert admitted.keys() == {partition for partition, count in waiting.items() if count}
    assert all(1 <= count <= waiting[partition] for partition, count in admitted.items())
    total = sum(admitted.values())
    if events:
        assert total <= max(events, len(admitted))
    if size:
        assert total * 1_000 <= size or set(admitted.values()) == {1}
    if events and not size:
        # What is there is used.
        assert total >= min(events, sum(waiting.values()))
