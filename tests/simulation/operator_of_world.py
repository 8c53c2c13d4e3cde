"""The operator of a world, as far as members can tell: the one who writes the roster, or does not.

It writes what the script says, right or wrong, again and again while it lives, strikes rewinds off
that are done, and is lost without warning.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from simulation.hub import position_of
from simulation.script import RosterFacts
from tidegate.model import Listing, PartitionId, Rewind, Roster
from tidegate.ports import List, Refusal, Reply, WriteRoster

if TYPE_CHECKING:
    from simulation.world import World

WHO = "operator"
_AGAIN_S = 10.0
_RETRY_S = 1.0


class Operator:
    """See the module."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.facts: RosterFacts | None = None
        self._generation = 0
        self.is_dead = False
        self._rewinds: dict[str, Rewind] = {}
        self._turn = 0
        self._written_at = self._changed_at = 0.0
        self._said_rewinds: tuple[Rewind, ...] = ()

    def say(self, facts: RosterFacts) -> None:
        """From now on the roster is this."""
        if self.is_dead:
            return
        self.facts = facts
        self._generation += 1
        self._write_now()

    def rewind(self, partition: PartitionId, back: int) -> None:
        """Asks for one more rewind, by so many events; a partition has one at a time."""
        facts = self.facts or RosterFacts()
        others = tuple(asked for asked in facts.rewinds if asked[1] != partition)
        asked = f"asked-{self._generation}", partition, back
        self.say(replace(facts, rewinds=(*others, asked)))

    def heard_until(self) -> float:
        """When the roster last said something new, or until when that of a dead operator counts."""
        if not self.is_dead or self.facts is None:
            return self._changed_at
        return self._written_at + self._world.script.roster_stale_s

    def die(self) -> None:
        self.is_dead = True

    def _write_now(self) -> None:
        self._turn += 1
        self._list(self._turn)

    def _again(self, seconds: float, turn: int) -> None:
        if turn == self._turn and not self.is_dead:
            self._world.clock.after(seconds, self._list, turn)

    def _list(self, turn: int) -> None:
        if turn == self._turn and not self.is_dead:
            self._world.storage.call(
                WHO, WHO, List(), lambda reply, refusal: self._write(turn, reply, refusal)
            )

    def _write(self, turn: int, reply: Reply, refusal: Refusal | None) -> None:
        if turn != self._turn or self.is_dead:
            return
        if not isinstance(reply, Listing):
            self._again(_RETRY_S, turn)
            return
        self._written_at = self._world.clock.now
        roster = self._roster(reply)
        if roster.rewinds != self._said_rewinds:
            self._said_rewinds, self._changed_at = roster.rewinds, self._written_at
        etag = reply.roster.etag if reply.roster is not None else ""

        def done(_: Reply, refused: Refusal | None) -> None:
            self._again(_AGAIN_S if refused is None else _RETRY_S, turn)

        self._world.storage.call(WHO, WHO, WriteRoster(roster, etag), done)

    def _roster(self, listing: Listing) -> Roster:
        facts = self.facts or RosterFacts()
        rewinds = []
        for id, partition, back in facts.rewinds:
            checkpoint = listing.checkpoints.get(partition)
            if checkpoint is None or checkpoint.rewound_by == id:
                continue
            sequence = max(checkpoint.position.sequence - back, -1)
            known = self._rewinds.setdefault(
                id,
                Rewind(id, partition, position_of(sequence)),
            )
            rewinds.append(known)
        return Roster(
            "",
            self._generation,
            facts.expected,
            tuple(facts.leaving),
            dict(facts.pins),
            frozenset(facts.paused),
            facts.is_paused,
            tuple(rewinds),
            self._world.clock.now,
        )
