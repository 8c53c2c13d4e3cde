"""Scripted faults: what goes wrong, where, how often and until when.

Rules:

- A fault is a frozen value. It matches an operation if every place that it names (hub, partition,
  group) is the operation's place too, without regard to case for hub and group. A fault that
  names a group therefore never touches a send.
- `detach_link`, `drop_connection` and `expire_retention` without `times` and `until` are
  immediate: they act once, on what exists when they are added, and are not kept.
- All other faults are standing: they wait for operations. `times` counts the operations they hit,
  and `until` is the moment they end; without either they stand until they are removed.
- A receiver that meets a standing `expire_retention` as it attaches or receives is served from
  what is left.
- The oldest matching fault is taken. `now` is passed in, on any clock, as long as it is always
  the same one that `until` refers to.
- What a fault means for the connection or the log is the server's business; this module keeps
  count and knows the words of JSON, in `fault_json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

ParameterValue = str | int | float | tuple[str, ...]
NO_PARAMETERS: Final[Mapping[str, ParameterValue]] = MappingProxyType({})


class Kind(StrEnum):
    """What goes wrong. `fault_json` has the parameters of each."""

    SERVER_BUSY = "server_busy"
    THROTTLE = "throttle"
    DETACH_LINK = "detach_link"
    DROP_CONNECTION = "drop_connection"
    DELAY = "delay"
    REFUSE_TOKEN = "refuse_token"
    EXPIRE_RETENTION = "expire_retention"
    STOP_ACCEPTING = "stop_accepting"


class Operation(StrEnum):
    """What a client does when a fault may hit it."""

    SEND = "send"
    RECEIVE = "receive"
    ATTACH = "attach"
    MANAGEMENT = "management"
    TOKEN = "token"
    CONNECT = "connect"


# The operations that each kind may be told to hit with the parameter `on`, and those that it hits
# without it. A receive is the next delivery of events on a link that is open.
MAY_HIT: Final[Mapping[Kind, tuple[Operation, ...]]] = MappingProxyType(
    {
        Kind.SERVER_BUSY: (
            Operation.SEND,
            Operation.RECEIVE,
            Operation.ATTACH,
            Operation.MANAGEMENT,
        ),
        Kind.THROTTLE: (Operation.SEND,),
        Kind.DETACH_LINK: (Operation.SEND, Operation.RECEIVE, Operation.ATTACH),
        Kind.DROP_CONNECTION: tuple(Operation),
        Kind.DELAY: tuple(Operation),
        Kind.REFUSE_TOKEN: (Operation.TOKEN,),
        Kind.EXPIRE_RETENTION: (Operation.RECEIVE, Operation.ATTACH),
        Kind.STOP_ACCEPTING: (Operation.CONNECT,),
    }
)
HITS: Final[Mapping[Kind, tuple[Operation, ...]]] = MappingProxyType(
    {
        **MAY_HIT,
        Kind.SERVER_BUSY: (Operation.SEND, Operation.ATTACH, Operation.MANAGEMENT),
        Kind.DROP_CONNECTION: (Operation.SEND, Operation.RECEIVE, Operation.ATTACH),
        Kind.DELAY: (Operation.SEND, Operation.RECEIVE),
    }
)
_MAY_BE_IMMEDIATE: Final = frozenset(
    (Kind.DETACH_LINK, Kind.DROP_CONNECTION, Kind.EXPIRE_RETENTION)
)


@dataclass(frozen=True, slots=True)
class Target:
    """The place of an operation: what is done, and to what."""

    operation: Operation
    hub: str | None = None
    partition: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `id` is given by the plan."""

    kind: Kind
    hub: str | None = None
    partition: str | None = None
    group: str | None = None
    times: int | None = None
    until: float | None = None
    parameters: Mapping[str, ParameterValue] = field(default_factory=lambda: NO_PARAMETERS)
    id: str = ""

    @property
    def is_immediate(self) -> bool:
        """Whether it acts at once on what exists, rather than waiting for operations."""
        return self.kind in _MAY_BE_IMMEDIATE and self.times is None and self.until is None

    def is_over(self, now: float) -> bool:
        """Whether it can hit nothing more."""
        return self.times == 0 or (self.until is not None and now >= self.until)

    def is_at(self, hub: str | None, partition: str | None, group: str | None) -> bool:
        """Whether a place, such as that of an existing link, is one that the fault means."""
        return (
            _same(self.hub, hub)
            and (self.partition is None or self.partition == partition)
            and _same(self.group, group)
        )

    def hits(self, target: Target) -> bool:
        """Whether an operation is one that the fault waits for."""
        on = self.parameters.get("on", HITS[self.kind])
        return (
            isinstance(on, tuple)
            and target.operation in on
            and self.is_at(target.hub, target.partition, target.group)
        )


def _same(wanted: str | None, found: str | None) -> bool:
    return wanted is None or (found is not None and wanted.lower() == found.lower())


class FaultPlan:
    """The standing faults, in the order in which they were added."""

    def __init__(self) -> None:
        self._standing: dict[str, Fault] = {}
        self._added = 0

    def __bool__(self) -> bool:
        """Whether any fault stands: a cheap question for busy paths to ask before `take`."""
        return bool(self._standing)

    def add(self, fault: Fault) -> Fault:
        """The fault with its id. An immediate one is not kept: the caller carries it out now."""
        self._added += 1
        added = replace(fault, id=f"fault-{self._added}")
        if not added.is_immediate:
            self._standing[added.id] = added
        return added

    def remove(self, fault_id: str) -> bool:
        """Ends a fault. False if there is none of this id."""
        return self._standing.pop(fault_id, None) is not None

    def clear(self) -> None:
        """Ends all faults."""
        self._standing.clear()

    def list(self, now: float) -> tuple[Fault, ...]:
        """The faults that still stand, oldest first."""
        self._drop_ended(now)
        return tuple(self._standing.values())

    def stands(self, fault_id: str) -> bool:
        """Whether a fault may still hit something, as far as it was looked at lately."""
        return fault_id in self._standing

    def take(self, kind: Kind, target: Target, now: float) -> Fault | None:
        """The fault of this kind that hits this operation, counted down; None if none does."""
        if not self._standing:
            return None
        self._drop_ended(now)
        for fault in self._standing.values():
            if fault.kind == kind and fault.hits(target):
                self._count_down(fault)
                return fault
        return None

    def _count_down(self, fault: Fault) -> None:
        if fault.times is None:
            return
        if fault.times > 1:
            self._standing[fault.id] = replace(fault, times=fault.times - 1)
        else:
            del self._standing[fault.id]

    def _drop_ended(self, now: float) -> None:
        for fault_id in [key for key, fault in self._standing.items() if fault.is_over(now)]:
            del self._standing[fault_id]


def delay_of(faults: FaultPlan, target: Target, now: float) -> float:
    """How many seconds a `delay` fault holds this operation up, counted down; 0 if none does."""
    fault = faults.take(Kind.DELAY, target, now)
    return 0.0 if fault is None else number(fault.parameters.get("seconds"))


def number(value: ParameterValue | None) -> float:
    """A parameter of a fault that is a number; 0 where it is not there."""
    return float(value) if isinstance(value, int | float) else 0.0


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many events a throttled sender may still send, and when that was reckoned."""

    events: float
    reckoned_at: float


def spend(
    allowance: Allowance | None, events_per_second: float, events: int, now: float
) -> tuple[Allowance, bool]:
    """Spends from the allowance of a `throttle` fault: what is left, and whether it was enough.

    It fills at the given rate and holds one second's worth, but a delivery that is larger than
    that passes when the allowance is full, or it never could.
    """
    if allowance is None:
        saved = events_per_second
    else:
        elapsed = max(0.0, now - allowance.reckoned_at)
        saved = min(events_per_second, allowance.events + elapsed * events_per_second)
    if saved >= min(events, events_per_second):
        return Allowance(saved - events, now), True
    return Allowance(saved, now), False
