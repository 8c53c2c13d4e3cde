"""Faults from and to JSON, for the admin API and for scripts.

Rules:

- An object has `kind`, and optionally `hub`, `partition`, `group`, `times`, `for_seconds` or
  `until`, and `parameters`. Anything else is an error, so that a misspelt key is not ignored;
  only an `id`, as `to_json` writes it, is passed over.
- `for_seconds` counts from `now`; `until` is a moment on the same clock. Only one may be given.
- An error names the field, what was expected and what was found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from tidegate_http.messages import shown
from tidegate_hub.conditions import DETACH_FORCED
from tidegate_hub.faults import MAY_HIT, Fault, Kind, ParameterValue

_FIELDS: Final = frozenset(
    ("id", "kind", "hub", "partition", "group", "times", "for_seconds", "until", "parameters")
)
_PLACES: Final = frozenset(("hub", "partition", "group"))
_LONGEST_TEXT: Final = 1_024
_LARGEST_NUMBER: Final = 1e15

# The places that each kind may name: a token or a new connection has none that the hub could know.
_PLACES_OF: Final[Mapping[Kind, frozenset[str]]] = {
    Kind.SERVER_BUSY: _PLACES,
    Kind.THROTTLE: frozenset(("hub", "partition")),
    Kind.DETACH_LINK: _PLACES,
    Kind.DROP_CONNECTION: _PLACES,
    Kind.DELAY: _PLACES,
    Kind.REFUSE_TOKEN: frozenset(("hub",)),
    Kind.EXPIRE_RETENTION: frozenset(("hub", "partition")),
    Kind.STOP_ACCEPTING: frozenset(),
}

Parameter = Callable[[str, object], ParameterValue]


class FaultError(ValueError):
    """A fault that cannot be understood: which field, what was expected, what was found."""

    def __init__(self, field: str, expected: str, found: object) -> None:
        self.field = field
        self.expected = expected
        super().__init__(f"{field}: expected {expected}, found {shown(found)}")


def from_json(data: object, now: float) -> Fault:
    """The fault that a JSON value describes. Raises FaultError."""
    if not isinstance(data, dict):
        raise FaultError("fault", "an object", data)
    kind = _kind(data.get("kind"))
    for name in data:
        _check_field(name, kind)
    places = {name: _place(name, data[name]) for name in _PLACES if data.get(name) is not None}
    return Fault(
        kind=kind,
        times=_times(data.get("times")),
        until=_until(data, now),
        parameters=_parameters(kind, data.get("parameters")),
        **places,
    )


def to_json(fault: Fault) -> dict[str, Any]:
    """The fault as a JSON object; `from_json` reads it back, without its id."""
    data: dict[str, Any] = {"id": fault.id} if fault.id else {}
    data["kind"] = str(fault.kind)
    for name in ("hub", "partition", "group", "times", "until"):
        value = getattr(fault, name)
        if value is not None:
            data[name] = value
    if fault.parameters:
        data["parameters"] = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in fault.parameters.items()
        }
    return data


def _kind(found: object) -> Kind:
    try:
        return Kind(str(found))
    except ValueError:
        raise FaultError("kind", f"one of {_joined(Kind)}", found) from None


def _check_field(name: object, kind: Kind) -> None:
    if name not in _FIELDS:
        raise FaultError("fault", f"only the keys {_joined(sorted(_FIELDS))}", name)
    if name in _PLACES and name not in _PLACES_OF[kind]:
        allowed = _joined(sorted(_PLACES_OF[kind])) or "no place"
        raise FaultError(str(name), f"nothing, as {kind} may name {allowed}", name)


def _place(name: str, found: object) -> str:
    if name == "partition" and isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    return _text(name, found)


def _times(found: object) -> int | None:
    if found is None:
        return None
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise FaultError("times", "a whole number from 1", found)
    return found


def _until(data: Mapping[str, object], now: float) -> float | None:
    until, seconds = data.get("until"), data.get("for_seconds")
    if until is not None and seconds is not None:
        raise FaultError("for_seconds", "nothing beside until", seconds)
    if seconds is not None:
        return now + _positive("for_seconds", seconds)
    return None if until is None else _number("until", until)


def _parameters(kind: Kind, found: object) -> Mapping[str, ParameterValue]:
    known = _PARAMETERS[kind]
    given = {} if found is None else found
    if not isinstance(given, dict):
        raise FaultError("parameters", "an object", found)
    for name in given:
        if name not in known:
            raise FaultError("parameters", f"only {_joined(known) or 'no keys'} for {kind}", name)
    parameters = dict(_DEFAULTS.get(kind, {}))
    for name, value in given.items():
        parameters[name] = known[name](f"parameters.{name}", value)
    for name in _REQUIRED.get(kind, ()):
        if name not in parameters:
            raise FaultError(f"parameters.{name}", "a number greater than 0", None)
    return MappingProxyType(parameters)


def _number(name: str, found: object) -> float:
    if not isinstance(found, int | float) or isinstance(found, bool):
        raise FaultError(name, "a number", found)
    if abs(found) > _LARGEST_NUMBER or math.isnan(found):
        raise FaultError(name, "a number", found)
    return float(found)


def _positive(name: str, found: object) -> float:
    number = _number(name, found)
    if number <= 0:
        raise FaultError(name, "a number greater than 0", found)
    return number


def _count(name: str, found: object) -> int:
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise FaultError(name, "a whole number from 0", found)
    return found


def _text(name: str, found: object) -> str:
    if not isinstance(found, str) or not found:
        raise FaultError(name, "a text that is not empty", found)
    return found


def _words(name: str, found: object) -> str:
    """What goes over the wire in an error: not too long, and UTF-8."""
    text = _text(name, found)
    if len(text) > _LONGEST_TEXT or text.encode("utf-8", "replace").decode() != text:
        raise FaultError(name, f"1 to {_LONGEST_TEXT} characters of UTF-8", text[:80])
    return text


def _symbol(name: str, found: object) -> str:
    """A condition is an AMQP symbol, which is ASCII."""
    text = _words(name, found)
    if not text.isascii():
        raise FaultError(name, "an ASCII name such as amqp:link:detach-forced", text)
    return text


def _operations_of(kind: Kind) -> Parameter:
    def operations(name: str, found: object) -> tuple[str, ...]:
        wanted = [found] if isinstance(found, str) else found
        if not isinstance(wanted, list) or not wanted or not set(map(str, wanted)) <= set(known):
            raise FaultError(name, f"some of {_joined(known)}", found)
        return tuple(str(operation) for operation in wanted)

    known = tuple(str(operation) for operation in MAY_HIT[kind])
    return operations


def _joined(names: Iterable[object]) -> str:
    return ", ".join(str(name) for name in names)


_PARAMETERS: Final[Mapping[Kind, Mapping[str, Parameter]]] = {
    Kind.SERVER_BUSY: {"on": _operations_of(Kind.SERVER_BUSY), "wait_seconds": _count},
    Kind.THROTTLE: {"events_per_second": _positive},
    Kind.DETACH_LINK: {
        "on": _operations_of(Kind.DETACH_LINK),
        "condition": _symbol,
        "description": _words,
    },
    Kind.DROP_CONNECTION: {"on": _operations_of(Kind.DROP_CONNECTION)},
    Kind.DELAY: {"on": _operations_of(Kind.DELAY), "seconds": _positive},
    Kind.REFUSE_TOKEN: {},
    Kind.EXPIRE_RETENTION: {"before_sequence": _count},
    Kind.STOP_ACCEPTING: {},
}
_DEFAULTS: Final[Mapping[Kind, Mapping[str, ParameterValue]]] = {
    Kind.SERVER_BUSY: {"wait_seconds": 4},
    Kind.DETACH_LINK: {
        "condition": DETACH_FORCED,
        "description": "The link was detached by a scripted fault.",
    },
}
_REQUIRED: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.THROTTLE: ("events_per_second",),
    Kind.DELAY: ("seconds",),
}
