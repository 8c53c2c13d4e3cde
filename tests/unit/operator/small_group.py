"""The group of a little world: members that move partitions as `balance.plan` says.

Rules: a move is made at once and without storage. Members that are asked to stop give what others
take, and let the rest go. A lease of a process that was killed lasts for `LEASE_S`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random

from tidegate import balance
from tidegate.balance import Plan
from tidegate.commands.rosters import STALE_S
from tidegate.model import (
    NO_ROSTER,
    LeaseState,
    Listing,
    Owner,
    Ownership,
    Presence,
    Roster,
)

LEASE_S = 15.0


@dataclass
class Member:
    """A process that has joined."""

    name: str
    pod_uid: str
    started_at: float
    is_leaving: bool = False
    # When its leases end, once it is dead.
    ends_at: float | None = None


@dataclass
class Tenure:
    owner: Member | None
    number: int = 0
    written_at: float = 0.0


class SmallGroup:
    """See the module."""

    def __init__(self, partitions: int, dice: Random) -> None:
        self.dice = dice
        self.now = 1000.0
        self.tenures = {str(number): Tenure(None) for number in range(partitions)}
        self.members: dict[str, Member] = {}
        self.roster: Roster | None = None
        self.moved: Counter[str] = Counter()
        # A partition that nobody takes, whatever the plan says.
        self.halted = ""
        self._planned_for: object = None
        self._planned = Plan({}, {}, ())

    # --- what is seen

    def listing(self) -> Listing:
        return Listing(
            {partition: self._row(partition) for partition in self.tenures},
            {},
            {name: self._presence(member) for name, member in self.members.items()},
            self.roster,
            self.now,
        )

    def _row(self, partition: str) -> Ownership:
        tenure = self.tenures[partition]
        owner = tenure.owner
        return Ownership(
            partition,
            f"{partition}-{tenure.number}",
            LeaseState.LEASED if owner is not None else LeaseState.AVAILABLE,
            Owner(owner.name, f"{owner.started_at}") if owner is not None else None,
            tenure.number,
            "",
            tenure.written_at,
        )

    def _presence(self, member: Member) -> Presence:
        return Presence(
            member.name,
            "",
            LeaseState.LEASED,
            f"{member.started_at}",
            is_leaving=member.is_leaving,
            pod_uid=member.pod_uid,
            started_at=member.started_at,
        )

    def owners(self) -> dict[str, str]:
        return {p: t.owner.name for p, t in self.tenures.items() if t.owner is not None}

    # --- members

    def look(self) -> None:
        """Leases end; then most members look, in any order, and act."""
        self._leases_end()
        for name in self.dice.sample(sorted(self.members), len(self.members)):
            if name in self.members and self.dice.random() < 0.7:
                self._member_looks(self.members[name])

    def begin(self, name: str, pod_uid: str, started_at: float) -> None:
        """A process joins. One that comes back in its pod finds its leases."""
        before = self.members.get(name)
        fresh = self.members[name] = Member(name, pod_uid, started_at)
        for tenure in self.tenures.values():
            if before is not None and tenure.owner is before:
                tenure.owner, tenure.number = fresh, tenure.number + 1

    def end(self, name: str) -> None:
        """A process dies."""
        member = self.members.get(name)
        if member is not None and member.ends_at is None:
            member.ends_at = self.now + LEASE_S

    def is_alive(self, name: str) -> bool:
        member = self.members.get(name)
        return member is not None and member.ends_at is None

    def _leases_end(self) -> None:
        for member in list(self.members.values()):
            if member.ends_at is not None and self.now >= member.ends_at:
                del self.members[member.name]
                for tenure in self.tenures.values():
                    if tenure.owner is member:
                        tenure.owner = None

    def _member_looks(self, member: Member) -> None:
        if member.ends_at is not None:
            return
        plan, paused = self._plan(), self.roster or NO_ROSTER
        for partition, tenure in self.tenures.items():
            target = plan.assignment.get(partition)
            if tenure.owner is member and target != member.name:
                receiver = self.members.get(target or "")
                if receiver is not None and receiver.ends_at is None:
                    self._move(partition, receiver)
                elif paused.is_paused or partition in paused.paused:
                    self._move(partition, None)
            elif tenure.owner is None and target == member.name and not member.is_leaving:
                if partition != self.halted:
                    self._move(partition, member)
        if member.is_leaving:
            self._stop(member)

    def _plan(self) -> Plan:
        """What everybody plans now; made anew only where something has changed."""
        owners = tuple((t.owner.name if t.owner else "", t.number) for t in self.tenures.values())
        members = tuple((m.name, m.is_leaving) for m in self.members.values())
        is_stale = self.roster is None or self.now - self.roster.written_at > STALE_S
        key = owners, members, self.roster, is_stale
        if key != self._planned_for:
            snapshot = balance.snapshot_of(
                self.listing(), self.tenures, roster_stale_s=STALE_S, foreign_alive_s=180.0
            )
            self._planned_for, self._planned = key, balance.plan(snapshot)
        return self._planned

    def _stop(self, member: Member) -> None:
        """What nobody is there to take is let go; then the process ends."""
        others = [m for m in self.members.values() if m.ends_at is None and not m.is_leaving]
        held = [p for p, tenure in self.tenures.items() if tenure.owner is member]
        if held and others and self.dice.random() < 0.8:
            return
        for partition in held:
            self._move(partition, None)
        del self.members[member.name]

    def _move(self, partition: str, to: Member | None) -> None:
        tenure = self.tenures[partition]
        if to is not None:
            self.moved[partition] += 1
        tenure.owner, tenure.number, tenure.written_at = to, tenure.number + 1, self.now
