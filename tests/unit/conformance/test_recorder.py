"""What handlers write down is what they were given: ranges without a gap, by stream."""

from __future__ import annotations

from types import SimpleNamespace

from tidegate_operator.conformance.recorder import HOMES, lines_of, runs


class Numbered(dict[str, int]):
    """As a change of the feed is: an item, and its place."""

    sequence_number = 7


def test_events_of_a_hub_are_ranges_of_sequence_numbers() -> None:
    events = [SimpleNamespace(sequence_number=number) for number in (3, 4, 5, 9, 10)]
    assert list(runs(events, "7")) == [("7", 3, 5), ("7", 9, 10)]


def test_changes_of_a_container_are_ranges_of_each_home() -> None:
    changes = [Numbered(n=number) for number in (1, HOMES + 1, 2, 2 * HOMES + 1, 3 * HOMES + 2)]
    assert list(runs(changes, "range")) == [
        ("home-1", 0, 2), ("home-2", 0, 0), ("home-2", 3, 3),
    ]  # fmt: skip


def test_a_line_has_who_and_in_which_life_partition_epoch_stream_and_range() -> None:
    line = lines_of("pod-1", "3", 4, [("3", 10, 19)])
    at, who, *rest = line.strip().split(" ")
    assert float(at) > 0 and who.startswith("pod-1#")
    assert rest == ["3", "4", "3", "10", "19"]
