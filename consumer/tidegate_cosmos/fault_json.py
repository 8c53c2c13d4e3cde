"""A fault from JSON, and back. Pure.

Rules: a key that is not known, a place that a kind has no use for, and a number out of its limits
are errors that say what was expected: a fault that does nothing is the hardest mistake to find.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from tidegate_cosmos.faults import USUALLY_HIT, Fault, Kind, Operation
from tidegate_cosmos.store.account import Account
from tidegate_http.messages import shown

_PLACES: Final = ("database", "container", "range", "item", "client")
_KEYS: Final = ("kind", "operations", *_PLACES, "times", "for_seconds", "until", "parameters")
_SECONDS_MAX: Final = 10 * 366 * 86_400


class FaultError(ValueError):
    """A fault that cannot be: the field, what was expected, what was found."""

    def __init__(self, field: str, expected: str, found: object) -> None:
        super().__init__(f"{field}: expected {expected}, found {shown(found)}")
        self.field = field
        self.expected = expected


def from_json(data: Mapping[str, Any], now: float) -> Fault:
    """The fault that JSON describes. Raises FaultError."""
    for name in data:
        if name not in _KEYS:
            raise FaultError("fault", f"only the keys {_joined(_KEYS)}", name)
    if data.get("kind") not in list(Kind):
        raise FaultError("kind", f"one of {_joined(Kind)}", data.get("kind"))
    kind = Kind(data["kind"])
    return Fault(
        kind=kind,
        operations=_operations(data.get("operations")),
        **{name: _text(name, data[name]) for name in _PLACES if data.get(name) is not None},
        times=None if data.get("times") is None else _whole("times", data["times"], 1),
        until=_until(data, now),
        parameters=_parameters(kind, data.get("parameters")),
    )


def to_json(fault: Fault) -> dict[str, Any]:
    """What `from_json` takes, and the id."""
    told: dict[str, Any] = {"id": fault.id, "kind": str(fault.kind)}
    if fault.operations != USUALLY_HIT:
        told["operations"] = sorted(fault.operations)
    places = {name: getattr(fault, name) for name in _PLACES}
    told |= {name: value for name, value in places.items() if value is not None}
    if fault.times is not None:
        told["times"] = fault.times
    if fault.until is not None:
        told["until"] = fault.until
    return {**told, "parameters": dict(fault.parameters)}


def check_places(fault: Fault, account: Account) -> None:
    """Raises FaultError where the fault names a database or container that is not there."""
    databases = account.databases
    if fault.database is not None and fault.database not in databases:
        raise FaultError("database", f"one of {_joined(databases) or '(none)'}", fault.database)
    if fault.container is None:
        return
    meant = [databases[fault.database]] if fault.database else list(databases.values())
    names = sorted({name for database in meant for name in database.containers})
    if fault.container not in names:
        raise FaultError("container", f"one of {_joined(names) or '(none)'}", fault.container)


def _operations(found: object) -> frozenset[Operation]:
    if found is None:
        return USUALLY_HIT
    wanted = [found] if isinstance(found, str) else found
    known = list(Operation)
    if (
        not isinstance(wanted, list | tuple)
        or not wanted
        or not all(isinstance(each, str) and each in known for each in wanted)
    ):
        raise FaultError("operations", f"some of {_joined(known)}", found)
    return frozenset(Operation(each) for each in wanted)


def _text(name: str, found: object) -> str:
    if isinstance(found, int) and not isinstance(found, bool) and name == "range":
        return str(found)
    if not isinstance(found, str) or not found:
        raise FaultError(name, "a text that is not empty", found)
    return found


def _until(data: Mapping[str, Any], now: float) -> float | None:
    seconds, until = data.get("for_seconds"), data.get("until")
    if seconds is not None and until is not None:
        raise FaultError("for_seconds", "nothing beside until", seconds)
    if seconds is not None:
        return now + _above_0("for_seconds", seconds)
    return None if until is None else _number("until", until)


def _parameters(kind: Kind, found: object) -> Mapping[str, float]:
    known, given = _PARAMETERS[kind], {} if found is None else found
    if not isinstance(given, Mapping):
        raise FaultError("parameters", "an object", found)
    for name in given:
        if name not in known:
            raise FaultError("parameters", f"only {_joined(known) or 'no keys'} for {kind}", name)
    told = {name: known[name](f"parameters.{name}", value) for name, value in given.items()}
    if kind is Kind.THROTTLE and len(told) == 2:
        raise FaultError("parameters", "retry_after_ms or request_units_per_second", "both")
    if not told or kind is not Kind.THROTTLE:
        told = {**_DEFAULTS.get(kind, {}), **told}
    for name in _NEEDED.get(kind, ()):
        if name not in told:
            raise FaultError(f"parameters.{name}", "a number", None)
    return told


def _number(name: str, found: object) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise FaultError(name, "a number", found)
    # Compared as it is: a whole number may be too large for a float.
    if not -sys.float_info.max <= found <= sys.float_info.max:
        raise FaultError(name, "a number that can be reckoned with", found)
    return float(found)


def _above_0(name: str, found: object) -> float:
    number = _number(name, found)
    if not 0 < number <= _SECONDS_MAX:
        raise FaultError(name, f"a number above 0, and up to {_SECONDS_MAX}", found)
    return number


def _whole(name: str, found: object, least: int = 0, most: int = 10**9) -> int:
    if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= most:
        raise FaultError(name, f"a whole number from {least} to {most}", found)
    return found


def _status(name: str, found: object) -> int:
    return _whole(name, found, 400, 599)


def _joined(names: Iterable[object]) -> str:
    return ", ".join(map(str, names))


_PARAMETERS: Final[Mapping[Kind, Mapping[str, Callable[[str, object], float]]]] = {
    Kind.THROTTLE: {"retry_after_ms": _whole, "request_units_per_second": _above_0},
    Kind.REFUSE: {"status": _status, "substatus": _whole, "retry_after_ms": _whole},
    Kind.DELAY: {"seconds": _above_0},
    Kind.RESET: {},
    Kind.LOSE_REPLY: {},
    Kind.CUT_REPLY: {"bytes": _whole},
}
_DEFAULTS: Final[Mapping[Kind, Mapping[str, float]]] = {
    Kind.THROTTLE: {"retry_after_ms": 100},
    Kind.REFUSE: {"status": 503},
    Kind.CUT_REPLY: {"bytes": 200},
}
_NEEDED: Final[Mapping[Kind, tuple[str, ...]]] = {Kind.DELAY: ("seconds",)}
