"""A world whose source is a Cosmos container, with splits and merges among its troubles.

Rules: as in world.py. The ledger, the members and all that befalls them are the same; what befalls
the source is drawn from dice of its own. Each process asks for the ranges now and then, and what it
is told may be older than what is.
"""

from __future__ import annotations

from random import Random

from simulation.container import Container
from simulation.container_reader import ContainerReader, Gave
from simulation.container_script import ASK_EVERY_S, HEARD_S, STALE_S, changes_of
from simulation.process import Process
from simulation.script import Script
from simulation.world import World
from tidegate.member import messages as m
from tidegate.model import BEGINNING, LeaseState, Listing, PartitionId, Position
from tidegate.ports import List
from tidegate.sources.cosmos.lineage import FeedRanges
from tidegate.sources.cosmos.places import beginning
from tidegate.sources.cosmos.ranges import FeedRange, range_of

_STALE_SHARE = 0.2


class ContainerWorld(World):
    """See the module."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        dice = Random(f"ranges {script.seed}")
        self.container = Container(dice, dice.choice((1, 1, 2, 4)))
        self.lineage = FeedRanges(copies_state=True)
        self.gave: list[Gave] = []
        self.openings = 0
        # When ranges were split and merged.
        self.changed_at: list[float] = []
        self._asking: set[str] = set()
        # Where nothing fails no gateway is behind.
        self._stale_share = 0.0 if script.is_without_faults else _STALE_SHARE
        end = script.quiet_from
        for at in changes_of(script, dice):
            self.clock.at(at, self._change, dice.random() < 0.6)
        at = 0.5
        while at < end + 10.0:
            self.clock.at(at, self.container.write)
            at += dice.random() * script.event_every_s / 8

    def _change(self, is_split: bool) -> None:
        self.changed_at.append(self.clock.now)
        if is_split:
            self.container.split()
        else:
            self.container.merge()

    def is_changing(self, begin: float, end: float) -> bool:
        """Whether partitions may end and begin then: a change is heard of later than it is."""
        return any(begin - HEARD_S < at < end for at in self.changed_at)

    # --- what the parts of a world ask for

    def new_reader(self, process: Process, command: m.OpenReader) -> ContainerReader:
        return ContainerReader(self, process, command)

    def start_of(self, partition: PartitionId) -> Position:
        range = range_of(partition)
        assert range is not None
        return BEGINNING if self.dice.random() < 0.5 else beginning("R1", range).position

    def tell_partitions(self, process: Process) -> None:
        """Begins to ask for the ranges, and asks again and again."""
        if process.is_dead:
            return
        self.hurry(process)
        again_s = ASK_EVERY_S * (0.9 + 0.2 * self.dice.random())
        self.clock.after(again_s, self.tell_partitions, process)

    def hurry(self, process: Process) -> None:
        """Asks for the ranges; the answer may be of a gateway that has not heard of a change."""
        changed_at = self.changed_at[-1] if self.changed_at else float("-inf")
        is_fresh = self.clock.now - changed_at > STALE_S
        is_stale = not is_fresh and self.dice.random() < self._stale_share
        spans = self.container.before if is_stale else self.container.spans()
        known = tuple(span.id for span in spans)
        asked_at = process.local()
        process.tell(lambda now: m.PartitionsKnown(now, known, asked_at))

    # --- the end

    def listing(self) -> Listing:
        found = self.ledger.perform_at(List(), self.clock.now)
        assert isinstance(found, Listing)
        return found

    def owners(self) -> dict[PartitionId, str | None]:
        """Who has each partition, by the ledger."""
        listing = self.listing()
        found: dict[PartitionId, str | None] = {}
        for id in self.lineage.tiling(self.known, listing).partitions:
            row = listing.ownerships.get(id)
            is_held = row is not None and row.lease is LeaseState.LEASED and row.owner is not None
            found[id] = str(row.owner) if is_held and row is not None else None
        return found

    @property
    def known(self) -> tuple[PartitionId, ...]:
        return tuple(span.id for span in self.container.spans())

    def spans(self) -> tuple[FeedRange, ...]:
        return self.container.spans()

    def _is_all_read(self) -> bool:
        alive = {
            str(process.member.owner) for process in self.processes.values() if not process.is_dead
        }
        owners = self.owners()
        is_owned = all(owner in alive for owner in owners.values())
        return is_owned and (self.script.has_state or tuple(owners) == self.known)
