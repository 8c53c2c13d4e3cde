"""Which partitions a container has while its ranges split and merge."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from tidegate.model import (
    BEGINNING,
    Checkpoint,
    LeaseState,
    Listing,
    Owner,
    Ownership,
    PartitionId,
    Position,
)
from tidegate.ports.lineage import HeritageError, Tiling
from tidegate.sources.cosmos.lineage import FeedRanges
from tidegate.sources.cosmos.places import Feed, Place, parsed, place_of
from tidegate.sources.cosmos.ranges import WHOLE, FeedRange, is_tiled, range_of

WHOLE_ID = "-ff"
LEFT, RIGHT = "-20", "20-ff"


def place(id: PartitionId, lsn: int = 5, rid: str = "R1=") -> Position:
    range = range_of(id)
    assert range is not None
    return Place(rid, (Feed(range, f'"{lsn}"', lsn),)).position


class Book:
    """A ledger's checkpoints, and who holds what."""

    def __init__(self) -> None:
        self.checkpoints: dict[PartitionId, Checkpoint] = {}
        self.held: set[PartitionId] = set()
        self.lineage = FeedRanges()

    def has(self, id: PartitionId, epoch: int, lsn: int = 5) -> None:
        self.checkpoints[id] = Checkpoint(id, "e", place(id, lsn), epoch, "n")

    def ends(self, id: PartitionId, *into: PartitionId) -> None:
        before = self.checkpoints[id]
        position = self.lineage.ended(id, before.position, into)
        self.checkpoints[id] = replace(before, position=position)

    def keeps(self, id: PartitionId) -> None:
        before = self.checkpoints[id]
        self.checkpoints[id] = replace(before, position=self.lineage.kept(id, before.position))

    def begins(self, id: PartitionId, *parents: PartitionId) -> None:
        rows = [self.checkpoints[parent] for parent in parents]
        heritage = self.lineage.heritage(id, rows)
        epoch = 1 + max(row.epoch for row in rows)
        self.checkpoints[id] = Checkpoint(id, "e", heritage.position, epoch, "n")

    @property
    def listing(self) -> Listing:
        owner = Owner("a", "1")
        rows = {id: Ownership(id, "e", LeaseState.LEASED, owner, 9, "n", 0.0) for id in self.held}
        return Listing(rows, self.checkpoints, {}, None, 0.0)

    def tiling(self, *known: PartitionId) -> Tiling:
        return self.lineage.tiling(known, self.listing)


def test_an_empty_ledger_has_the_partitions_of_the_service() -> None:
    assert Book().tiling(LEFT, RIGHT).partitions == (LEFT, RIGHT)


def test_an_answer_of_the_service_that_leaves_keys_out_is_none() -> None:
    assert Book().tiling(LEFT).partitions == ()


def test_a_split_ends_the_parent_and_nothing_else_happens_before_it_has_ended() -> None:
    book = Book()
    book.has(WHOLE_ID, 3)
    tiling = book.tiling(LEFT, RIGHT)
    assert tiling.partitions == (WHOLE_ID,)
    assert tiling.ending == {WHOLE_ID: (LEFT, RIGHT)}
    assert not tiling.parents


def test_children_begin_where_their_parent_ended_whatever_a_member_knows_of_the_service() -> None:
    book = Book()
    book.has(WHOLE_ID, 3, lsn=7)
    book.ends(WHOLE_ID, LEFT, RIGHT)
    for known in ((LEFT, RIGHT), (WHOLE_ID,), ()):
        tiling = book.tiling(*known)
        assert tiling.partitions == (LEFT, RIGHT)
        assert tiling.parents == {LEFT: (WHOLE_ID,), RIGHT: (WHOLE_ID,)}
        assert not tiling.ending
    book.begins(LEFT, WHOLE_ID)
    assert book.checkpoints[LEFT].position == place(LEFT, 7)
    tiling = book.tiling(LEFT, RIGHT)
    assert (tiling.partitions, tiling.parents) == ((LEFT, RIGHT), {RIGHT: (WHOLE_ID,)})


def test_who_owns_a_child_and_was_killed_before_its_first_checkpoint_has_not_begun_it() -> None:
    """Its next life takes the lease up, and begins where the parent ended, not at the start."""
    book = Book()
    book.has(WHOLE_ID, 1, lsn=7)
    book.ends(WHOLE_ID, LEFT, RIGHT)
    book.held = {LEFT}
    tiling = book.tiling(LEFT, RIGHT)
    assert tiling.partitions == (LEFT, RIGHT)
    assert tiling.parents == {LEFT: (WHOLE_ID,), RIGHT: (WHOLE_ID,)}


def test_a_partition_that_was_never_read_ends_at_the_beginning() -> None:
    book = Book()
    book.checkpoints[WHOLE_ID] = Checkpoint(WHOLE_ID, "e", BEGINNING, 1, "n")
    book.ends(WHOLE_ID, LEFT, RIGHT)
    book.begins(RIGHT, WHOLE_ID)
    found = place_of(book.checkpoints[RIGHT].position, RIGHT, "R1=")
    assert found.feeds == (Feed(FeedRange("20", "FF")),)


def test_merged_ranges_begin_once_both_have_ended_each_part_where_it_stood() -> None:
    book = Book()
    book.has(LEFT, 2, lsn=60)
    book.has(RIGHT, 9, lsn=1000)
    assert book.tiling(WHOLE_ID).ending == {LEFT: (WHOLE_ID,), RIGHT: (WHOLE_ID,)}
    book.ends(LEFT, WHOLE_ID)
    waiting = book.tiling(WHOLE_ID)
    assert (waiting.partitions, waiting.parents) == ((RIGHT,), {})
    assert waiting.ending == {RIGHT: (WHOLE_ID,)}
    book.ends(RIGHT, WHOLE_ID)
    assert book.tiling(LEFT, RIGHT).parents == {WHOLE_ID: (LEFT, RIGHT)}
    book.begins(WHOLE_ID, LEFT, RIGHT)
    found = book.checkpoints[WHOLE_ID]
    assert found.epoch == 10
    assert parsed(found.position.offset) == Place(
        "R1=",
        (Feed(FeedRange("", "20"), '"60"', 60), Feed(FeedRange("20", "FF"), '"1000"', 1000)),
    )
    assert book.tiling(WHOLE_ID).partitions == (WHOLE_ID,)


def test_what_one_part_has_ended_for_the_others_end_for_whatever_the_service_says_now() -> None:
    book = Book()
    book.has(LEFT, 2)
    book.has(RIGHT, 2)
    book.ends(LEFT, WHOLE_ID)
    tiling = book.tiling("-30", "30-ff")
    assert tiling.ending == {RIGHT: (WHOLE_ID,)}


def test_a_range_that_is_split_merged_and_split_again_goes_on_each_time_from_the_last_end() -> None:
    book = Book()
    book.has(WHOLE_ID, 1)
    for lsn in (10, 20, 30):
        book.has(WHOLE_ID, book.checkpoints[WHOLE_ID].epoch, lsn)
        book.ends(WHOLE_ID, LEFT, RIGHT)
        assert set(book.tiling(LEFT, RIGHT).parents) == {LEFT, RIGHT}
        book.begins(LEFT, WHOLE_ID)
        book.begins(RIGHT, WHOLE_ID)
        assert book.tiling(LEFT, RIGHT).partitions == (LEFT, RIGHT)
        assert not book.tiling(LEFT, RIGHT).parents
        book.ends(LEFT, WHOLE_ID)
        book.ends(RIGHT, WHOLE_ID)
        assert book.tiling(WHOLE_ID).parents == {WHOLE_ID: (LEFT, RIGHT)}
        book.begins(WHOLE_ID, LEFT, RIGHT)
        tiling = book.tiling(WHOLE_ID)
        assert (tiling.partitions, tiling.parents, tiling.ending) == ((WHOLE_ID,), {}, {})
        assert book.checkpoints[WHOLE_ID].position == place(WHOLE_ID, lsn)


def test_what_had_ended_for_a_merge_goes_on_where_the_other_part_is_kept() -> None:
    book = Book()
    book.has(LEFT, 2)
    book.has(RIGHT, 2)
    book.ends(LEFT, WHOLE_ID)
    book.keeps(RIGHT)
    tiling = book.tiling(WHOLE_ID)
    assert tiling.partitions == (LEFT, RIGHT)
    assert tiling.parents == {LEFT: (LEFT,)}
    book.begins(LEFT, LEFT)
    tiling = book.tiling(WHOLE_ID)
    assert tiling.partitions == (LEFT, RIGHT)
    assert LEFT not in tiling.ending, "it would end for what cannot begin, again and again"


def test_parts_that_ended_for_different_things_go_on_where_each_stood() -> None:
    """Two members whose views of the service differed ended neighbours at one moment."""
    book = Book()
    book.has("-20", 2, lsn=10)
    book.has("20-ff", 2, lsn=20)
    book.ends("20-ff", WHOLE_ID)
    book.ends("-20", "-1c", "1c-ff")
    assert book.tiling().parents == {"-1c": ("-20",), "1c-20": ("-20",), "20-ff": ("20-ff",)}
    for id, parent in (("-1c", "-20"), ("1c-20", "-20"), ("20-ff", "20-ff")):
        book.begins(id, parent)
    tiling = book.tiling("-1c", "1c-ff")
    assert tiling.partitions == ("-1c", "1c-20", "20-ff")
    assert (tiling.parents, tiling.ending) == ({}, {"1c-20": ("1c-ff",), "20-ff": ("1c-ff",)})


def test_of_two_with_common_keys_the_wider_is_read_and_the_other_begins_where_it_ends() -> None:
    book = Book()
    book.has(WHOLE_ID, 3, lsn=5)
    book.has(LEFT, 2, lsn=3)
    assert book.tiling(LEFT, RIGHT).partitions == (WHOLE_ID,)
    book.has(WHOLE_ID, 4, lsn=8)
    book.ends(WHOLE_ID, LEFT, RIGHT)
    assert book.tiling(LEFT, RIGHT).parents == {LEFT: (WHOLE_ID,), RIGHT: (WHOLE_ID,)}


def test_a_checkpoint_that_somebody_deleted_leaves_keys_that_the_service_names() -> None:
    book = Book()
    book.has(LEFT, 2)
    assert book.tiling(LEFT, RIGHT).partitions == (LEFT, RIGHT)
    assert book.tiling("-10", "10-ff").partitions == (LEFT, RIGHT)


@pytest.mark.parametrize("copies", [False, True])
def test_a_state_is_divided_only_where_the_user_says_so_and_never_joined(copies: bool) -> None:
    lineage = FeedRanges(copies_state=copies)
    assert bool(lineage.refusal(WHOLE_ID, (LEFT, RIGHT), b"{}")) is not copies
    assert "two states" in lineage.refusal(LEFT, (WHOLE_ID,), b"{}")


def test_a_parent_whose_checkpoint_says_nothing_of_an_end_is_not_gone_on_from() -> None:
    book = Book()
    book.has(WHOLE_ID, 2)
    with pytest.raises(HeritageError, match="says no such thing"):
        book.begins(LEFT, WHOLE_ID)


@pytest.mark.parametrize("seed", range(30))
def test_whatever_splits_and_merges_all_keys_are_read_by_one_partition(seed: int) -> None:
    """Steps in any order: the service changes, an owner ends what it shall, another begins."""
    dice = random.Random(seed)
    book, keys = Book(), ["08", "10", "18", "20", "28", "30", "38"]
    cuts: list[str] = sorted(dice.sample(keys, dice.randint(0, 4)))

    def service() -> tuple[PartitionId, ...]:
        edges = ["", *cuts, "FF"]
        return tuple(FeedRange(a, b).id for a, b in pairwise(edges))

    views = [service(), service()]
    for step in range(80):
        if step < 60 and dice.random() < 0.3:
            cuts = sorted(set(cuts) ^ {dice.choice(keys)})
        views[dice.randrange(2)] = service()
        tiling = book.tiling(*dice.choice(views))
        live = [range_of(id) for id in tiling.partitions]
        waiting = [id for id, row in book.checkpoints.items() if parsed_into(row)]
        ranges = [each for each in live if each is not None]
        assert all(not a.meets(b) for a in ranges for b in ranges if a != b), tiling
        if not waiting:
            assert is_tiled(WHOLE, ranges), tiling
        for id in tiling.partitions:
            if id in tiling.parents and dice.random() < 0.7:
                book.begins(id, *tiling.parents[id])
            elif id not in tiling.parents and id not in book.checkpoints:
                book.has(id, 1)
        for id, into in tiling.ending.items():
            if id not in tiling.parents and id in book.checkpoints and dice.random() < 0.5:
                book.ends(id, *into)
    for _ in range(40):
        views = [service(), service()]
        tiling = book.tiling(*views[0])
        for id, parents in tiling.parents.items():
            book.begins(id, *parents)
        for id, into in tiling.ending.items():
            if id in book.checkpoints and id not in tiling.parents:
                book.ends(id, *into)
        for id in tiling.partitions:
            if id not in book.checkpoints:
                book.has(id, 1)
    assert book.tiling(*service()).partitions == service()


def parsed_into(row: Checkpoint) -> bool:
    found = parsed(row.position.offset)
    return found is not None and bool(found.into)
