"""The state of the model: two members, one partition, what is on its way; and how one is changed.

A `Scene` is a state taken apart: a step is played in it, and what results is put together again.

Rules:
- What a member has sent stays on its way until it is carried out. Its tenure waits for one answer
  at a time; what it no longer waits for may still be carried out, at any later moment.
- What concerns nobody else comes at once: where a partition starts, and that a reader has closed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from model.numbered import Numbered
from model.promises import at, check_begun, check_stored
from model.storage import Storage
from model.tenures import Birth, Done, Facts, Tenures, Told
from tidegate.member import messages as m
from tidegate.model import BEGINNING, Owner
from tidegate.ports import Operation, WriteOwnership

NAMES = ("a", "b")


class Reader(NamedTuple):
    """A reader of the hub: behind which event it is, and its epoch."""

    behind: int
    epoch: int
    # It was asked for and is not attached yet.
    is_opening: bool = True
    # The hub has given the partition to a higher epoch, and this one has not heard of it.
    is_stolen: bool = False


class Life(NamedTuple):
    """One member: the process, and its tenure if it has one."""

    life: int = 1
    # The lease that a new life finds in its old place, until it begins with something else.
    remembered: str = ""
    tenure: int | None = None
    serial: int = 0
    # The highest epoch of its tenures that are over.
    floor: int = 0
    # The lease and the ETag that its keeper renews.
    keep: tuple[str, str] | None = None
    reader: Reader | None = None
    # The last event that this tenure handled, or where it began to read.
    done: int | None = None
    # The lease id that it announced, so that the partition can be given to it.
    want: str = ""


class Sent(NamedTuple):
    """An operation on its way to storage."""

    who: int
    serial: tuple[int, int]  # of the life and of the tenure
    operation: Operation
    is_awaited: bool
    # Of a break: the epoch of the tenure that it is meant for.
    meant_for: int = 0


class Budget(NamedTuple):
    """How much may yet go wrong, or be asked for."""

    kills: int = 0
    lost: int = 0
    late: int = 0
    breaks: int = 0
    deletions: int = 0
    lapses: int = 0
    hand_overs: int = 0
    stops: int = 0


class State(NamedTuple):
    """All there is, as numbers of the tables in `Tables`."""

    blobs: int
    members: tuple[int, ...]
    sent: tuple[int, ...]
    budget: Budget
    # The events that were handled, a bit each; how many there are; the first that has to be.
    handled: int
    logged: int
    since: int | None
    # The highest epoch that a reader was opened with.
    read_with: int = 0


# Where the bounds of the model end it.
BEYOND = State(-1, (), (), Budget(), 0, 0, None)


class Tables:
    """What the numbers in states stand for."""

    def __init__(self, is_latest: bool) -> None:
        self.is_latest = is_latest
        self.storage = Storage()
        self.tenures = Tenures()
        self.lives: Numbered[Life] = Numbered()
        self.sent: Numbered[Sent] = Numbered()


class Scene:
    """A state that a step is played in."""

    def __init__(self, tables: Tables, state: State) -> None:
        self._tables = tables
        self.is_latest = tables.is_latest
        self.blobs = state.blobs
        self.lives = [tables.lives.values[number] for number in state.members]
        self.sent = list(state.sent)
        self.budget = state.budget
        self.handled = state.handled
        self.logged = state.logged
        self.since = state.since
        self.read_with = state.read_with
        self.highest_epoch = 0

    def state(self) -> State:
        number = self._tables.lives.number
        return State(
            self.blobs,
            tuple([number(life) for life in self.lives]),
            tuple(sorted(self.sent)),
            self.budget,
            self.handled,
            self.logged,
            self.since,
            self.read_with,
        )

    def all_handled(self) -> frozenset[int]:
        """The events that somebody has handled."""
        return frozenset(number for number in range(self.logged) if self.handled >> number & 1)

    def change(self, who: int, **changes: Any) -> None:
        self.lives[who] = self.lives[who]._replace(**changes)

    def spend(self, **amounts: int) -> None:
        left = {what: getattr(self.budget, what) - cost for what, cost in amounts.items()}
        self.budget = self.budget._replace(**left)

    # --- tenures

    def facts(self, who: int) -> Facts | None:
        number = self.lives[who].tenure
        return None if number is None else self._tables.tenures.facts[number]

    def begin(self, who: int, how: str, more: object) -> None:
        """A tenure of the partition as it stands now."""
        life = self.lives[who]
        row = self._tables.storage.ownership(self.blobs)
        assert row is not None
        owner = Owner(NAMES[who], str(life.life))
        birth = Birth(owner, life.serial + 1, life.floor, how, row, more)  # type: ignore[arg-type]
        self.change(who, serial=life.serial + 1, remembered="")
        self._follow(who, self._tables.tenures.begin(birth))

    def tell(self, who: int, told: Told) -> None:
        """Tells a tenure, and plays what it commands."""
        number = self.lives[who].tenure
        assert number is not None
        self._follow(who, self._tables.tenures.tell(number, told))

    def _follow(self, who: int, done: Done) -> None:
        number, commands = done
        self.change(who, tenure=number)
        facts = self._tables.tenures.facts[number]
        check_stored(self._tables.storage.at(self.blobs), facts.committed, self.since)
        at_once: list[m.Event] = []
        for command in commands:
            at_once += self._play(who, command)
        if facts.is_over:
            self.forget(who)
        for event in at_once:
            if self.lives[who].tenure is not None:
                self.tell(who, event)

    def _play(self, who: int, command: m.Command) -> list[m.Event]:
        life = self.lives[who]
        match command:
            case m.Perform(key=key, operation=operation):
                if isinstance(operation, WriteOwnership):
                    self.highest_epoch = max(self.highest_epoch, operation.epoch)
                self.send(who, operation, is_awaited=key is not None)
            case m.Keep(lease_id=lease_id, etag=etag):
                self.change(who, keep=(lease_id, etag))
            case m.LetGo():
                self.change(who, keep=None)
            case m.ResolveStart(partition=partition, serial=serial):
                start = at(self.logged - 1) if self.is_latest else BEGINNING
                return [m.StartResolved(0.0, partition, serial, start)]
            case m.OpenReader(position=position, epoch=epoch, state=state):
                since = position.sequence + 1 if self.since is None else self.since
                check_begun(position, state, self.all_handled(), since)
                self.change(who, reader=Reader(position.sequence, epoch))
            case m.CloseReader(partition=partition, serial=serial):
                if life.reader is not None:
                    self.change(who, reader=None)
                    return [m.ReaderClosed(0.0, partition, serial)]
        return []

    def forget(self, who: int) -> None:
        """The tenure is over: what it sent is on its way all the same."""
        facts = self.facts(who)
        life = self.lives[who]
        floor = max(life.floor, facts.epoch) if facts is not None else life.floor
        self.abandon(who)
        self.change(who, tenure=None, keep=None, reader=None, done=None, floor=floor)

    # --- what is on its way

    def send(self, who: int, operation: Operation, *, is_awaited: bool, meant_for: int = 0) -> None:
        if is_awaited:
            self.abandon(who)
        life = self.lives[who]
        serial = (life.life, life.serial)
        sent = Sent(who, serial, operation, is_awaited, meant_for)
        self._put(sent)

    def awaited(self, who: int) -> Sent | None:
        for number in self.sent:
            sent = self._tables.sent.values[number]
            if sent.who == who and sent.is_awaited:
                return sent
        return None

    def abandon(self, who: int) -> None:
        """Nobody waits for the answer any more."""
        sent = self.awaited(who)
        if sent is not None:
            self.take(sent)
            self._put(sent._replace(is_awaited=False))

    def take(self, sent: Sent) -> None:
        self.sent.remove(self._tables.sent.number(sent))

    def _put(self, sent: Sent) -> None:
        number = self._tables.sent.number(sent)
        if number not in self.sent:
            self.sent.append(number)
