"""A rewind reaches every key, also while ranges split or merge, and where they are others now."""

from __future__ import annotations

from support.member_desk import Desk, alone
from tidegate.commands.rewind import resolved
from tidegate.member import messages as m
from tidegate.model import PartitionId, Position, Rewind, Roster
from tidegate.ports import WriteCheckpoint, WriteRoster
from tidegate.sources.cosmos.lineage import FeedRanges
from tidegate.sources.cosmos.places import Feed, Place, beginning, parsed, place_of
from tidegate.sources.cosmos.ranges import FeedRange, range_of
from tidegate.sources.start import Start

LINEAGE = FeedRanges()
WHOLE = "-ff"
PARTS = ("-80", "80-ff")
THIRDS = ("-55", "55-aa", "aa-ff")
OLD, NEW = "AAAAAAAAAAA=", "BBBBBBBBBBB="


def range(id: PartitionId) -> FeedRange:
    found = range_of(id)
    assert found is not None
    return found


def old(id: PartitionId, into: tuple[PartitionId, ...] = ()) -> Position:
    feeds = (Feed(range(id), '"7"', 7),)
    return Place(OLD, feeds, into=into).position


class NewContainer:
    """A source, as far as a rewind asks it."""

    async def resolve_start(self, partition: PartitionId, rewind: Rewind | None = None) -> Position:
        return beginning(NEW, range(partition)).position


def put_on_roster(desk: Desk, *rewinds: Rewind) -> None:
    roster = desk.listing().roster
    desk.ledger.perform_at(
        WriteRoster(Roster(rewinds=rewinds, written_at=desk.now), roster.etag if roster else ""),
        desk.now,
    )


async def rewind_all(desk: Desk) -> list[Rewind]:
    """As the command does it."""
    tiling = LINEAGE.tiling(desk.partitions, desk.listing())
    rewinds = await resolved(NewContainer(), LINEAGE, tiling, Start("earliest"), ())  # type: ignore[arg-type]
    put_on_roster(desk, *rewinds)
    return rewinds


def made_anew(desk: Desk, *ranges: PartitionId) -> None:
    """The container is another one now, which takes no position of the one that was."""
    desk.partitions = ranges
    desk.opens = is_of_new


def is_of_new(position: Position) -> bool:
    place = parsed(position.offset)
    return place is not None and place.rid == NEW


def places_read(desk: Desk) -> dict[PartitionId, Place]:
    """Where each partition was read from last."""
    found: dict[PartitionId, Place] = {}
    for command in desk.said["a"]:
        if isinstance(command, m.OpenReader) and desk.opens(command.position):
            found[command.partition] = place_of(command.position, command.partition)
    return found


async def test_a_container_with_other_ranges_is_begun_anew_by_its_new_ranges_alone() -> None:
    desk = Desk(*PARTS, lineage=LINEAGE)
    for id in PARTS:
        desk.ledger.perform_at(WriteCheckpoint(id, None, old(id), 1, f"n{id}"), desk.now)
    made_anew(desk, *THIRDS)
    desk.join("a")
    desk.look()
    assert desk.reading("a") == [], "no position means anything"
    rewinds = await rewind_all(desk)
    desk.look()
    desk.look()
    assert desk.reading("a") == list(THIRDS)
    read = places_read(desk)
    assert sorted(read) == list(THIRDS), "nothing is read twice on the way"
    assert read == {id: beginning(NEW, range(id)) for id in THIRDS}
    found = desk.listing().checkpoints
    assert all(found[each.partition].rewound_by == each.id for each in rewinds)


async def test_a_rewind_begins_what_waits_for_a_merge_whose_other_half_is_of_a_lost_container() -> (
    None
):
    desk = Desk(*PARTS, lineage=LINEAGE)
    left, right = PARTS
    ended = WriteCheckpoint(left, None, old(left, (WHOLE,)), 1, "l")
    desk.ledger.perform_at(ended, desk.now)
    desk.ledger.perform_at(WriteCheckpoint(right, None, old(right), 1, "r"), desk.now)
    made_anew(desk, *THIRDS)
    desk.join("a")
    desk.look()
    assert {each.partition for each in await rewind_all(desk)} == {right, WHOLE}
    for _ in "12345":
        desk.look()
    desk.ask("a")
    desk.look()
    assert desk.reading("a") == list(THIRDS)
    assert "halted" not in desk.reports("a")
    assert all(place.rid == NEW for place in places_read(desk).values())


def test_a_rewind_is_carried_out_before_its_partition_ends_in_a_split() -> None:
    desk = alone(WHOLE, lineage=LINEAGE)
    back = Place(NEW, (Feed(range(WHOLE), '"3"', 3),))
    put_on_roster(desk, Rewind("r1", WHOLE, back.position))
    desk.partitions = PARTS
    desk.ask("a")
    desk.look()
    desk.look()
    assert desk.listing().checkpoints[WHOLE].rewound_by == "r1"
    assert desk.reading("a") == list(PARTS)
    feeds = {id: place.feeds for id, place in places_read(desk).items() if id in PARTS}
    assert feeds == {id: (Feed(range(id), '"3"', 3),) for id in PARTS}


def test_a_rewind_that_stays_on_the_roster_is_carried_out_once_in_all_lives_of_its_partition() -> (
    None
):
    desk = alone(WHOLE, lineage=LINEAGE)
    put_on_roster(desk, Rewind("r1", WHOLE, beginning(NEW, range(WHOLE)).position))
    desk.look()
    for ranges in (PARTS, (WHOLE,)):
        desk.partitions = ranges
        desk.ask("a")
        desk.look()
        desk.look()
        assert desk.reading("a") == list(ranges)
    assert desk.listing().checkpoints[WHOLE].rewound_by == "r1"
    assert desk.reports("a").count("rewound") == 1
