"""Drives pure members by hand: their operations go to a ledger in memory at once, and come back.

A reader that is opened opens, where `opens` says nothing else; one that is asked to close closes.
Time is what a test says it is.
`lost` names operations whose reply is lost after they were done; `refused` those that are not done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from tidegate.ledger.memory import MemoryLedger
from tidegate.member import messages as m
from tidegate.member.member import Member
from tidegate.model import BEGINNING, Listing, PartitionId, Position
from tidegate.ports import LedgerError, List, Operation, Refusal, Renew, Reply
from tidegate.ports.lineage import FLAT, Lineage
from tidegate.settings import MemberSettings


class Desk:
    """A group with one ledger, and members that a test tells what happens."""

    def __init__(self, *partitions: PartitionId, lineage: Lineage = FLAT) -> None:
        self.ledger = MemoryLedger()
        self.lineage = lineage
        self.now = 100.0
        self.partitions = partitions
        self.members: dict[str, Member] = {}
        self.said: dict[str, list[m.Command]] = {}
        self.kept: dict[str, dict[PartitionId, m.Keep]] = {}
        self.lost: dict[type, int] = {}
        self.refused: dict[type, list[Refusal]] = {}
        # Operations that a member sends and that wait for the test to let them go.
        self.is_held_back: Callable[[str, Operation], bool] = lambda *_: False
        # Whether the source takes a position.
        self.opens: Callable[[Position], bool] = lambda _: True
        # Whether the source does not answer at all.
        self.is_away = False
        self._ids = count(1)

    # --- members

    def join(
        self,
        name: str,
        leases: tuple[tuple[str, str], ...] = (),
        life: str = "1",
        **settings: float,
    ) -> Member:
        made = MemberSettings(name, newcomer_grace_s=0.0, **settings)  # type: ignore[arg-type]
        member = self.members[name] = Member(
            made, life, lambda: f"id-{next(self._ids)}", leases, self.lineage
        )
        self.said[name], self.kept[name] = [], {}
        self.ask(name)
        return member

    def ask(self, name: str) -> None:
        """It asks the source for its partitions, now."""
        self.tell(name, m.PartitionsKnown(self.now, self.partitions, self.now))

    def tell(self, name: str, event: m.Event) -> list[m.Command]:
        """Tells a member something, and everything that follows at once; says what it commanded."""
        commands: list[m.Command] = []
        events = [event]
        while events:
            for command in self.members[name].handle(events.pop(0)):
                commands.append(command)
                events += self._follow(name, command)
        self.said[name] += commands
        return commands

    def look(self, *names: str) -> None:
        """A few ticks for these members, or all, half a second apart, and renewals in between."""
        for _ in range(6):
            self.now += 0.5
            for name in names or tuple(self.members):
                self.renew(name)
                self.tell(name, m.Woken(self.now))

    def renew(self, name: str) -> None:
        """What the keeper does."""
        for keep in list(self.kept[name].values()):
            operation = Renew(keep.partition, keep.lease_id, keep.etag)
            _, refusal = self._perform(operation)
            if refusal is None:
                event: m.Event = m.Renewed(self.now, self.now, keep.partition, keep.lease_id)
            else:
                event = m.RenewalRefused(
                    self.now, keep.partition, keep.lease_id, keep.etag, refusal
                )
            self.tell(name, event)

    def handled(
        self, name: str, partition: PartitionId, sequence: int, state: bytes | None = None
    ) -> None:
        serial = self.members[name].tenures[partition].serial
        position = Position(str(sequence), sequence)
        self.tell(name, m.Handled(self.now, partition, serial, position, None, state))

    def _follow(self, name: str, command: m.Command) -> Iterator[m.Event]:
        match command:
            case m.Perform(key=key, operation=operation):
                if not self.is_held_back(name, operation):
                    reply, refusal = self._perform(operation)
                    yield m.Answered(self.now, self.now, key, operation, reply, refusal)
            case m.Keep():
                self.kept[name][command.partition] = command
            case m.LetGo():
                self.kept[name].pop(command.partition, None)
            case m.ResolveStart() | m.OpenReader() if self.is_away:
                return
            case m.ResolveStart():
                yield m.StartResolved(self.now, command.partition, command.serial, BEGINNING)
            case m.OpenReader() if not self.opens(command.position):
                yield m.ReaderFailed(self.now, command.partition, command.serial, "not known")
            case m.OpenReader():
                yield m.ReaderOpened(self.now, command.partition, command.serial)
            case m.CloseReader():
                yield m.ReaderClosed(self.now, command.partition, command.serial)

    def _perform(self, operation: Operation) -> tuple[Reply, Refusal | None]:
        if self.refused.get(type(operation)):
            return None, self.refused[type(operation)].pop()
        try:
            reply = self.ledger.perform_at(operation, self.now)
        except LedgerError as error:
            return None, error.refusal
        if self.lost.get(type(operation), 0) > 0:
            self.lost[type(operation)] -= 1
            return None, Refusal.UNKNOWN
        return reply, None

    # --- what a test asks

    def operations(self, name: str, *kinds: type) -> list[Operation]:
        """What a member has sent, of these kinds, in order."""
        return [
            command.operation
            for command in self.said[name]
            if isinstance(command, m.Perform) and isinstance(command.operation, kinds)
        ]

    def refusal_of(self, operation: Operation) -> Refusal | None:
        """How an operation ends that a test sends by itself."""
        return self._perform(operation)[1]

    def reports(self, name: str) -> list[str]:
        return [command.kind for command in self.said[name] if isinstance(command, m.Report)]

    def reading(self, name: str) -> list[PartitionId]:
        member = self.members[name]
        return sorted(p for p, tenure in member.tenures.items() if tenure.is_settled)

    def listing(self) -> Listing:
        found = self.ledger.perform_at(List(), self.now)
        assert isinstance(found, Listing)
        return found


def alone(*partitions: PartitionId, lineage: Lineage = FLAT) -> Desk:
    """A member `a` that reads all partitions."""
    desk = Desk(*(partitions or ("0",)), lineage=lineage)
    desk.join("a")
    desk.look()
    assert desk.reading("a") == sorted(desk.partitions)
    return desk
