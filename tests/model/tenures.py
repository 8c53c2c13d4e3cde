"""The real tenure (tidegate.member.tenure) as a table of states, made as it is needed.

A tenure is a script, a generator, and cannot be copied. But it is pure: what it will do follows
from what it was told. So a state is known by all that the tenure's objects hold and by where its
script stands, and the tenure is brought back to a state by telling it the same again.

Rules:
- A state is made of everything that a tenure may look at: the attributes of its objects, and for
  each running generator its place and its local variables. Nothing may be kept where this does not
  see it, such as in an iterator over a collection.
- Times are differences: whatever is told without haste is told at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from types import GeneratorType
from typing import Any, NamedTuple

from model.numbered import Numbered
from model.storage import PARTITION
from tidegate.member import messages as m
from tidegate.member.phases import Phase
from tidegate.member.tenure import Tenure
from tidegate.model import Checkpoint, Owner, Ownership
from tidegate.ports import Operation
from tidegate.settings import MemberSettings

# A checkpoint is due once time passes at all; a lease lasts longer than any pause in between.
CHECKPOINT_EVERY_S = 0.25


class Birth(NamedTuple):
    """How a tenure begins: who, which of its tenures, and the arguments of its way to begin."""

    owner: Owner
    serial: int
    floor: int
    how: str  # 'acquire', 'adopt' or 'receive'
    row: Ownership
    more: Checkpoint | str | None


class Leave(NamedTuple):
    """Asks a tenure to give the partition, to a lease id or to nobody."""

    name: str | None
    lease_id: str | None


Told = m.Event | Leave
Done = tuple[int, tuple[m.Command, ...]]


class Facts(NamedTuple):
    """What can be asked of a tenure in a state."""

    is_over: bool
    lease_id: str
    epoch: int
    phase: Phase
    is_leaving: bool
    is_settled: bool
    wake_at: float
    valid_until: float
    # What it takes for stored in the checkpoint.
    committed: int | None


class _Dice:
    """Names that nobody else gives, and how many were given."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.thrown = 0

    def __call__(self) -> str:
        self.thrown += 1
        return f"{self._name}-{self.thrown}"


class _Played:
    """A tenure, and the very operations that it waits for: it knows them by identity."""

    def __init__(self, birth: Birth) -> None:
        settings = MemberSettings(birth.owner.name, checkpoint_every_s=CHECKPOINT_EVERY_S)
        dice = _Dice(f"{birth.owner.name}{birth.owner.incarnation}.{birth.serial}")
        self.tenure = Tenure(settings, birth.owner, PARTITION, birth.serial, dice, birth.floor)
        self._sent: dict[Operation, Operation] = {}

    def begin(self, birth: Birth) -> tuple[m.Command, ...]:
        row, more = birth.row, birth.more
        if birth.how == "acquire":
            assert not isinstance(more, str)
            return self._noted(self.tenure.acquire(row, more))
        assert isinstance(more, str)
        if birth.how == "adopt":
            return self._noted(self.tenure.adopt(row, more))
        return self._noted(self.tenure.receive(row, more, None))

    def tell(self, told: Told) -> tuple[m.Command, ...]:
        if isinstance(told, Leave):
            return self._noted(self.tenure.leave(0.0, told.name, told.lease_id))
        if isinstance(told, m.Answered):
            told = replace(told, operation=self._sent.get(told.operation, told.operation))
        return self._noted(self.tenure.handle(told))

    def _noted(self, commands: list[m.Command]) -> tuple[m.Command, ...]:
        for command in commands:
            if isinstance(command, m.Perform):
                self._sent[command.operation] = command.operation
        return tuple(commands)


class _Way:
    """How a tenure came to a state: how it began, and what it was told since."""

    def __init__(self, birth: Birth, before: _Way | None = None, told: Told | None = None) -> None:
        self.birth = birth
        self.before = before
        self.told = told

    def again(self) -> _Played:
        """A tenure that has come the same way."""
        told: list[Told] = []
        way: _Way = self
        while way.before is not None:
            assert way.told is not None
            told.append(way.told)
            way = way.before
        played = _Played(self.birth)
        played.begin(self.birth)
        for event in reversed(told):
            played.tell(event)
        return played


class Tenures:
    """The table. States have numbers; what follows a state is found once."""

    def __init__(self) -> None:
        self.facts: list[Facts] = []
        self._ways: list[_Way] = []
        # The tenure that came to a state first, until it is led on.
        self._there: dict[int, _Played] = {}
        self._states: Numbered[Hashable] = Numbered()
        self._begun: dict[Birth, Done] = {}
        self._led: dict[tuple[int, Told], Done] = {}

    def begin(self, birth: Birth) -> Done:
        done = self._begun.get(birth)
        if done is None:
            played = _Played(birth)
            commands = played.begin(birth)
            done = self._begun[birth] = self._number(played, _Way(birth)), commands
        return done

    def tell(self, number: int, told: Told) -> Done:
        """The state after being told something, and what the tenure commands."""
        done = self._led.get((number, told))
        if done is None:
            played = self._there.pop(number, None) or self._ways[number].again()
            commands = played.tell(told)
            way = _Way(self._ways[number].birth, self._ways[number], told)
            done = self._led[number, told] = self._number(played, way), commands
        return done

    def _number(self, played: _Played, way: _Way) -> int:
        number = self._states.number(_state(played.tenure, {}))
        if number == len(self.facts):
            self.facts.append(_facts(played.tenure))
            self._ways.append(way)
            self._there[number] = played
        return number


def _facts(tenure: Tenure) -> Facts:
    committed = tenure._fence.committed
    return Facts(
        tenure.is_over,
        tenure.lease_id,
        tenure.epoch,
        tenure.phase,
        tenure.is_leaving,
        tenure.is_settled,
        tenure.wake_at,
        tenure.valid_until,
        None if committed is None else committed.position.sequence,
    )


def _state(value: Any, seen: dict[int, int]) -> Hashable:
    """Everything that a value holds; what was met before stands as its place of first meeting."""
    if isinstance(value, GeneratorType):
        return _place(value, seen)
    if isinstance(value, list | tuple):
        return tuple(_state(each, seen) for each in value)
    if isinstance(value, dict):
        return tuple((key, _state(each, seen)) for key, each in sorted(value.items()))
    if isinstance(value, BaseException):
        return type(value).__name__, str(value)
    if isinstance(value, Callable) and not isinstance(value, _Dice):  # type: ignore[arg-type]
        return str(getattr(value, "__qualname__", type(value)))
    if not hasattr(value, "__dict__"):
        assert isinstance(value, Hashable)
        return value  # text, numbers, and the frozen values of tidegate, which have slots
    if id(value) in seen:
        return seen[id(value)]
    seen[id(value)] = len(seen)
    return type(value).__name__, _state(vars(value), seen)


def _place(generator: GeneratorType[Any, Any, Any], seen: dict[int, int]) -> Hashable:
    """Where a generator stands, with those that it waits for."""
    frame = generator.gi_frame
    if frame is None:
        return "ended"
    waits_for = generator.gi_yieldfrom
    return (
        frame.f_code.co_qualname,
        frame.f_lasti,
        _state(frame.f_locals, seen),
        _state(waits_for, seen) if waits_for is not None else None,
    )
