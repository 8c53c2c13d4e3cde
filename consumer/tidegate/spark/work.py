"""The office's work, on its loop: what is planned, granted, reported, done and failed.

It joins three things: what is held (held.py), what is decided (turns.py, pure), and what the source
says of its ends (ends_watch.py). Desk and driver ask it, and nothing else changes what is held.

Rules: nothing here waits but for the hub; what is granted, told or voided happens in one step.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Set
from dataclasses import replace

from tidegate.handling import NewHandler, Opening, Tell
from tidegate.model import Listing, MemberName, PartitionId
from tidegate.spark import searching
from tidegate.spark.admission import Limit
from tidegate.spark.asides import Asides
from tidegate.spark.batch_costs import BatchCosts, Full
from tidegate.spark.ends_watch import EndsWatch
from tidegate.spark.figures import Counted, OfficeFigures
from tidegate.spark.held import HeldPartition, HeldSource, Holder
from tidegate.spark.positions import Batch, TurnRead
from tidegate.spark.searching import Fault
from tidegate.spark.telling import Telling
from tidegate.spark.tools import Tools
from tidegate.spark.turns import BatchError, Places, Turns, UnderWay, UnreadError

# What the ledger's last listing says, and the names of our members.
Group = Callable[[], tuple[Listing | None, Set[MemberName]]]
States = Mapping[PartitionId, bytes | None]


class Work:
    """See the module. Made and used on the office's loop; `tasks` ends with the office."""

    def __init__(self, tools: Tools, tasks: asyncio.TaskGroup, group: Group) -> None:
        self._tools = tools
        self._group = group
        self.held: dict[PartitionId, HeldPartition] = {}
        self._telling = Telling(tools.policy, tools.clock)
        self.watch = EndsWatch(tools, self.held, self._telling)
        self.ends = self.watch.ends
        self.source = HeldSource(tools.source, self.ends.known)
        self._turns = Turns(tools.policy)
        self._asides: Asides | None = None
        if tools.letters is not None:
            self._asides = Asides(
                tools, tools.letters, self._telling, self._turns.put_aside, self.stolen, tasks
            )
        self._granted: dict[PartitionId, HeldPartition] = {}
        self._begun_at = 0.0
        self._planning = asyncio.Lock()
        self._counted = Counted()
        self._costs = BatchCosts()
        self.is_ending = False

    def new_handlers(self, holder: Holder) -> NewHandler:
        """The handlers of a member."""

        def new_handler(opening: Opening, tell: Tell) -> HeldPartition:
            tools = self._tools
            return HeldPartition(opening, tell, holder, self.held, tools.policy, tools.clock)

        return new_handler

    # --- the planner

    async def plan(self, limit: Limit, until: Mapping[PartitionId, int] | None) -> Batch | None:
        """The next batch; None where there is nothing to read now."""
        async with self._planning:
            await self.watch.ask()
            if self.is_ending:
                return None
            # Spark asks again only when the last batch has ended, one way or the other.
            self.give_up()
            self._begin_asides()
            limit = limit.or_else(self._tools.limit)
            now = self._tools.clock()
            ends, until = self.ends.seen(self.watch.positions(), until)
            return self._turns.plan(self._places(), ends, limit, now, until)

    def waiting(self, until: Mapping[PartitionId, int]) -> int:
        """How many of these partitions have events left that are ours to read."""
        listing, ours = self._group()
        return len(self.ends.waiting(until, self.watch.positions(), listing, ours))

    def begin(self, offered: Batch) -> Batch:
        """The turns of a batch that may be read now: they are under way."""
        again = self._turns.begun_again(offered, self.still())
        if again is not None:
            return again
        self.give_up()
        batch = self._turns.begin(offered, {} if self.is_ending else self._places())
        self._begun_at = self._tools.clock()
        for partition, turn in batch.turns.items():
            self._granted[partition] = held = self.held[partition]
            held.grant(turn)
        return batch

    # --- the workers

    def report(self, read: TurnRead) -> None:
        """Raises NotAnOffsetError."""
        self._turns.report(read)

    def stolen(self, partition: PartitionId, epoch: int, level: int | None) -> None:
        """The hub refused a worker: the member raises its epoch, if the partition is its own."""
        if self.source.steal(partition, epoch, level):
            self._counted.stolen += 1
            held = self.held.get(partition)
            if held is not None:
                held.void()

    async def aside(self, letter: str) -> None:
        """Stores the dead letter of a worker. Raises BatchError and DeadLetterError."""
        if self._asides is None:
            raise BatchError("this group puts no events aside: spec.delivery.onFailure")
        await self._asides.put(letter, self.held)

    # --- the driver

    @property
    def under_way(self) -> UnderWay | None:
        return self._turns.under_way

    def state_of(self, partition: PartitionId) -> bytes | None:
        """The state with which a turn of it begins."""
        held = self._granted.get(partition) or self.held.get(partition)
        return None if held is None else held.state

    def stands(self, partition: PartitionId, epoch: int) -> int | None:
        """Its last event that is in a checkpoint; None where it is not held under this epoch."""
        held = self.held.get(partition)
        return None if held is None or held.epoch != epoch else held.stands.sequence

    def done(self, number: int, states: States) -> None:
        """A batch is handled. Raises BatchError; what was not read whole has failed by then."""
        self._check_states(number, states)
        work = self._turns.under_way
        still = self.still()
        try:
            reads = self._turns.done(number, still)
        except UnreadError as error:
            self.failed(number, str(error), blames_events=False)
            raise
        if work is None or work.batch.number != number:
            return
        seconds = self._tools.clock() - self._begun_at
        worked = self._worked(reads, seconds)
        for read in reads:
            turn, held = work.batch.turns[read.partition], self._granted[read.partition]
            state = states.get(read.partition, held.state)
            # Where nothing was read it says where the turn begins.
            held.advance(read.position, read.enqueued_at, state)
            self._telling.handled(held, read, turn, seconds, worked[read.partition])
        self._only_states(states, work)
        self._release()
        self._count(reads)

    def _worked(self, reads: tuple[TurnRead, ...], seconds: float) -> dict[PartitionId, float]:
        full = Full(self._tools.limit, self._tools.policy.checkpoint.duplicate_budget)
        held = {**self.held, **self._granted}
        members = {partition: each.holder.name for partition, each in held.items()}
        return self._costs.worked(full, members, reads, seconds)

    def _only_states(self, states: States, work: UnderWay) -> None:
        """States of partitions of which the batch read nothing."""
        for partition, state in states.items():
            held = self.held.get(partition)
            if partition not in work.batch.turns and held is not None and held.place.is_free:
                held.advance(held.position, None, state)

    def _check_states(self, number: int, states: States) -> None:
        most = self._tools.policy.max_state_bytes
        for partition, state in states.items():
            if state is not None and len(state) > most:
                said = (
                    f"the state of partition {partition} would take {len(state):,} bytes, and "
                    f"{most:,} are allowed: spec.delivery.maxStateBytes"
                )
                self.failed(number, said, blames_events=False)
                raise BatchError(said)

    def failed(self, number: int, error: str, *, blames_events: bool = True) -> None:
        """A batch failed: nothing moves, and its turns are tried again. Raises BatchError."""
        still = self.still()
        fault = Fault(error, self._tools.clock(), self._tools.dice(), blames_events)
        work = self._turns.failed(number, still, fault)
        held = {p: each for p, each in self._granted.items() if p in still}
        self._release()
        self._counted.failed += 1
        tries = 1 if work.suspect is None else work.suspect.tries + 1
        turns = work.batch.turns
        self._telling.failed(held, turns, error, tries, blames_events=blames_events)
        for partition, each in held.items():
            suspect = self._turns.tries(partition)
            if suspect is not None and searching.is_halted(self._tools.policy, suspect):
                turn = suspect.turns[0]
                self._telling.halted(each, turn, suspect.failures, suspect.error)
        self._begin_asides()

    def _begin_asides(self) -> None:
        asides, stopped = self._turns.asides(self._tools.clock())
        for suspect in asides:
            held = self.held.get(suspect.turns[0].partition)
            if self._asides is not None and held is not None and held.place.is_free:
                self._asides.begin(held, suspect)
        for suspect in stopped:
            held = self.held.get(suspect.turns[0].partition)
            if held is not None:
                breaker = self._turns.breaker(held.partition)
                self._telling.stopped(held, suspect.turns[0], breaker, suspect.error)

    def give_up(self) -> None:
        """Nothing counts of what is under way."""
        self._turns.give_up()
        self._release()

    def end(self) -> None:
        """Nothing is waited for any longer: neither a batch nor events that are put aside."""
        self.give_up()
        if self._asides is not None:
            self._asides.end()
        for held in self.held.values():
            held.void()

    # ---

    def _places(self) -> Places:
        return {partition: held.place for partition, held in self.held.items()}

    def still(self) -> frozenset[PartitionId]:
        """Partitions of the batch under way whose turns are still ours."""
        return frozenset(p for p, held in self._granted.items() if held.turn is not None)

    def _release(self) -> None:
        granted, self._granted = self._granted, {}
        for held in granted.values():
            held.batch_over()

    def _count(self, reads: tuple[TurnRead, ...]) -> None:
        counted, events = self._counted, sum(read.events for read in reads)
        counted.batches += 1
        counted.events += events
        counted.bytes += sum(read.bytes for read in reads)
        counted.lost += sum(read.lost for read in reads)
        self.watch.spent(sum(read.units for read in reads))
        counted.last_events = events

    def figures(self) -> OfficeFigures:
        """How it stands now."""
        work = self._turns.under_way
        return OfficeFigures(
            replace(self._counted),
            Counter(held.holder.name for held in self.held.values()),
            tuple(sorted(p for p, held in self.held.items() if held.is_finishing)),
            None if work is None else work.batch.number,
            sum(self.watch.lags().values()),
            0 if self._asides is None else self._asides.count,
            self._telling.stuck(self.held),
            dict(self.ends.troubles),
        )
