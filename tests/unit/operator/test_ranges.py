"""A container's partitions in the operator: which there are, their lag, the Events of a split."""

from __future__ import annotations

from tidegate.lag import LagKind
from tidegate.model import Checkpoint, LeaseState, Listing, Owner, Ownership, PartitionEnd
from tidegate.sources.cosmos.lineage import FeedRanges
from tidegate.sources.cosmos.places import Feed, Place
from tidegate.sources.cosmos.ranges import range_of
from tidegate.sources.start import Start
from tidegate_operator.events import events_of
from tidegate_operator.lag import lag_of_group
from tidegate_operator.model import Ends, GroupKey, LedgerView, Observation, Steps, Wish

NOW = 1_000.0


def checkpoint(id: str, lsn: int, epoch: int, *into: str) -> Checkpoint:
    range = range_of(id)
    assert range is not None
    position = Place("R=", (Feed(range, f'"{lsn}"', lsn),), into=into).position
    return Checkpoint(id, "e", position, epoch, "n")


def observed(*rows: Checkpoint, ends: dict[str, int], known: tuple[str, ...]) -> Observation:
    owner = Owner("m0", "1")
    owned = {
        row.partition: Ownership(row.partition, "e", LeaseState.LEASED, owner, 1, "n", NOW)
        for row in rows
    }
    listing = Listing(owned, {row.partition: row for row in rows}, {}, None, NOW)
    said = {id: PartitionEnd(lsn, "", None, NOW) for id, lsn in ends.items()}
    return Observation(
        GroupKey("default", "orders"), 1, Wish(), None, (), LedgerView(listing, NOW), NOW,
        ends=Ends(said, known=known), lineage=FeedRanges(),
    )  # fmt: skip


def test_a_partition_that_has_ended_is_none_and_its_children_lag_from_where_it_stood() -> None:
    parent = checkpoint("-ff", 10, 3, "-20", "20-ff")
    seen = observed(parent, ends={"-20": 14, "20-ff": 10}, known=("-20", "20-ff"))
    lag = lag_of_group(seen, Start("latest"), None)
    assert list(lag.partitions) == ["-20", "20-ff"]
    assert [each.lag.events for each in lag.partitions.values()] == [4, 0]
    # Both count from numbers of the one log that their parent had.
    assert {each.lag.kind for each in lag.partitions.values()} == {LagKind.ESTIMATED}


def test_what_the_source_has_not_said_is_unknown_and_never_a_number() -> None:
    seen = observed(checkpoint("-ff", 10, 3), ends={}, known=("-ff",))
    (only,) = lag_of_group(seen, Start("latest"), None).partitions.values()
    assert (only.lag.kind, only.lag.events) == (LagKind.UNKNOWN, None)


def status(*partitions: str) -> dict[str, object]:
    return {"source": "cosmos", "partitionStates": [{"partition": each} for each in partitions]}


def told(before: dict[str, object], after: dict[str, object]) -> list[tuple[str, str]]:
    return [
        (each.reason, each.note) for each in events_of(before, after, None, Steps(), None, 0.0)[0]
    ]


def test_a_split_and_a_merge_are_told_once_by_the_names_of_the_partitions() -> None:
    whole, halves = status("-ff"), status("-20", "20-ff")
    assert told(whole, halves) == [("PartitionSplit", "Partition -ff was split: -20, 20-ff.")]
    assert told(halves, halves) == []
    merged = [("PartitionsMerged", "20-ff and its neighbours: now -ff.")]
    # One of them ends before the other.
    assert told(halves, status("20-ff")) == []
    assert told(status("20-ff"), whole) == merged
    assert told({"source": "cosmos"}, halves) == []
