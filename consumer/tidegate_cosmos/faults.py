"""Scripted faults: what goes wrong, with which requests, how often and until when. Pure.

Rules:

- A fault is a frozen value. It hits a request if everything that it names (operation, database,
  container, range, item, client) is the request's; an item is named by how its id begins, a client
  by a part of its User-Agent, the others by name.
- `times` counts the requests that it hits, and `until` is the moment at which it ends; without
  either it stands until it is removed. The oldest fault that hits a request is taken, and one at
  most.
- `throttle`, `refuse` and `reset` hit before anything is done; `delay`, `lose_reply` and
  `cut_reply` after it was done.
- `throttle` with `request_units_per_second` hits only what goes beyond them: the units of a request
  are taken when it was answered, so that what is left may be below nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

# Who waits as long as it was told finds its units there, whatever their sum was rounded to.
_ROUNDING: Final = 1e-6
NO_PARAMETERS: Final[Mapping[str, float]] = MappingProxyType({})


class Kind(StrEnum):
    """What goes wrong. `fault_json` has the parameters of each."""

    THROTTLE = "throttle"
    REFUSE = "refuse"
    DELAY = "delay"
    RESET = "reset"
    LOSE_REPLY = "lose_reply"
    CUT_REPLY = "cut_reply"


class Operation(StrEnum):
    """What a client asks for when a fault may hit it."""

    ACCOUNT = "account"
    METADATA = "metadata"
    RANGES = "ranges"
    CREATE = "create"
    UPSERT = "upsert"
    READ = "read"
    REPLACE = "replace"
    DELETE = "delete"
    QUERY = "query"
    FEED = "feed"


# Clients ask for the account and for ranges on their own; a fault hits that only if it says so.
USUALLY_HIT: Final = frozenset(Operation) - {
    Operation.ACCOUNT,
    Operation.METADATA,
    Operation.RANGES,
}


@dataclass(frozen=True, slots=True)
class Target:
    """A request as far as faults tell requests apart."""

    operation: Operation
    database: str | None = None
    container: str | None = None
    range: str | None = None
    item: str | None = None
    client: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `id` is given by the plan."""

    kind: Kind
    operations: frozenset[Operation] = USUALLY_HIT
    database: str | None = None
    container: str | None = None
    range: str | None = None
    item: str | None = None
    client: str | None = None
    times: int | None = None
    until: float | None = None
    parameters: Mapping[str, float] = field(default_factory=lambda: NO_PARAMETERS)
    id: str = ""

    def is_over(self, now: float) -> bool:
        """Whether it can hit nothing more."""
        return self.times == 0 or (self.until is not None and now >= self.until)

    def hits(self, target: Target) -> bool:
        return (
            target.operation in self.operations
            and self.database in (None, target.database)
            and self.container in (None, target.container)
            and self.range in (None, target.range)
            and (self.item is None or (target.item or "").startswith(self.item))
            and (self.client is None or self.client.lower() in target.client.lower())
        )


class FaultPlan:
    """The standing faults, in the order in which they were added."""

    def __init__(self) -> None:
        self._standing: dict[str, Fault] = {}
        self._left: dict[str, tuple[float, float]] = {}
        self._added = 0

    def __bool__(self) -> bool:
        """Whether any fault stands: a cheap question to ask before telling requests apart."""
        return bool(self._standing)

    def add(self, fault: Fault) -> Fault:
        """The fault with its id."""
        self._added += 1
        added = replace(fault, id=f"fault-{self._added}")
        self._standing[added.id] = added
        return added

    def remove(self, fault_id: str) -> bool:
        """Ends a fault. False if there is none of this id."""
        self._left.pop(fault_id, None)
        return self._standing.pop(fault_id, None) is not None

    def clear(self) -> None:
        """Ends all faults."""
        self._standing.clear()
        self._left.clear()

    def list(self, now: float) -> tuple[Fault, ...]:
        """The faults that still stand, oldest first."""
        self._drop_ended(now)
        return tuple(self._standing.values())

    def stands(self, fault_id: str) -> bool:
        """Whether a fault may still hit something, as far as it was looked at lately."""
        return fault_id in self._standing

    def take(self, target: Target, now: float) -> Fault | None:
        """The fault that hits this request, counted down; None if none does."""
        if not self._standing:
            return None
        self._drop_ended(now)
        for fault in self._standing.values():
            if fault.hits(target) and self._is_spent(fault, now):
                if fault.times is not None:
                    self._standing[fault.id] = replace(fault, times=fault.times - 1)
                return fault
        return None

    def spend(self, target: Target, units: float, now: float) -> None:
        """Takes the units of a request that was answered from what throttles allow."""
        for fault in self._standing.values():
            if "request_units_per_second" in fault.parameters and fault.hits(target):
                self._left[fault.id] = (self._units_left(fault, now) - units, now)

    def wait_of(self, fault: Fault, now: float) -> float:
        """How many seconds a throttled client should wait."""
        rate = fault.parameters.get("request_units_per_second")
        if rate is None:
            return fault.parameters["retry_after_ms"] / 1000
        return max(0.001, -self._units_left(fault, now) / rate)

    def _is_spent(self, fault: Fault, now: float) -> bool:
        if "request_units_per_second" not in fault.parameters:
            return True
        return self._units_left(fault, now) < -_ROUNDING

    def _units_left(self, fault: Fault, now: float) -> float:
        """What may still be spent: it fills at the rate, and holds one second's worth."""
        rate = fault.parameters["request_units_per_second"]
        left, at = self._left.get(fault.id, (rate, now))
        return min(rate, left + max(0.0, now - at) * rate)

    def _drop_ended(self, now: float) -> None:
        for fault_id in [key for key, fault in self._standing.items() if fault.is_over(now)]:
            self.remove(fault_id)
