"""Who has an owner and never began gives way to those who did: nobody begins with others' keys."""

from __future__ import annotations

from collections.abc import Collection

from tidegate.model import Checkpoint, LeaseState, Listing, Owner, Ownership, PartitionId
from tidegate.sources.cosmos.lineage import FeedRanges
from tidegate.sources.cosmos.places import Feed, Place
from tidegate.sources.cosmos.ranges import range_of

LINEAGE = FeedRanges()


def begun(id: PartitionId, *into: PartitionId, epoch: int = 1) -> Checkpoint:
    range = range_of(id)
    assert range is not None
    position = Place("R1=", (Feed(range, '"5"', 5),), into=into).position
    return Checkpoint(id, "e", position, epoch, "n")


def listing(*checkpoints: Checkpoint, held: Collection[PartitionId] = ()) -> Listing:
    owner = Owner("a", "1")
    rows = {id: Ownership(id, "e", LeaseState.LEASED, owner, 2, "n", 0.0) for id in held}
    return Listing(rows, {each.partition: each for each in checkpoints}, {}, None, 0.0)


def test_what_has_an_owner_and_no_checkpoint_is_there_only_where_nobody_has_its_keys() -> None:
    known = ("-10", "10-20", "20-ff")
    seen = listing(begun("-10"), held=["-20"])
    assert LINEAGE.tiling(known, seen).partitions == known
    assert LINEAGE.tiling(known, listing(held=["-20"])).partitions == ("-20", "20-ff")


def test_nobody_begins_with_keys_that_another_has_or_is_about_to_have() -> None:
    assert LINEAGE.may_begin("-20", (), listing(held=["-20"])), "its own ownership is no other's"
    assert LINEAGE.may_begin("20-ff", (), listing(held=["-20"]))
    assert not LINEAGE.may_begin("10-20", (), listing(held=["-20"])), "its owner is about to begin"
    assert not LINEAGE.may_begin("-20", (), listing(begun("10-20"), held=["-20"]))
    assert LINEAGE.may_begin("-10", (), listing(begun("10-20"), held=["-10"]))


def test_nobody_begins_with_keys_that_are_to_go_on_where_another_ended() -> None:
    ended = begun("10-20", "10-18", "18-20")
    assert not LINEAGE.may_begin("-20", (), listing(ended, held=["-20"]))
    assert LINEAGE.may_begin("-10", (), listing(ended, held=["-10"]))


def test_a_part_that_a_merge_still_waits_for_may_begin_so_that_it_can_end() -> None:
    ended = begun("10-20", "-20")
    waits = listing(ended, held=["-10"])
    assert LINEAGE.tiling(("-20", "20-ff"), waits).ending == {"-10": ("-20",)}
    assert LINEAGE.may_begin("-10", (), waits)
    assert not LINEAGE.may_begin("10-18", (), waits), "its keys go on from where 10-20 ended"


def test_what_begins_where_others_ended_gives_way_to_who_holds_a_part_of_it() -> None:
    ended = begun("10-20", "10-18", "18-ff", epoch=2), begun("20-ff", "18-ff", epoch=3)
    parents = ("10-20", "20-ff")
    seen = listing(*ended, held=["18-ff"])
    assert LINEAGE.tiling((), seen).parents["18-ff"] == parents
    assert LINEAGE.may_begin("18-ff", parents, seen)
    # It was to go on alone, before 20-ff had ended; whoever holds it may begin any moment.
    assert not LINEAGE.may_begin("18-ff", parents, listing(*ended, held=["18-20", "18-ff"]))
    assert not LINEAGE.may_begin("18-20", ("10-20",), listing(*ended, held=["18-20", "18-ff"]))


def test_what_begins_where_others_ended_does_not_where_others_have_gone_on_since() -> None:
    ended = begun("10-20", "10-18", "18-ff", epoch=2), begun("20-ff", "18-ff", epoch=3)
    since = listing(*ended, begun("18-20", epoch=3), held=["18-20", "18-ff"])
    assert not LINEAGE.may_begin("18-ff", ("10-20", "20-ff"), since)
