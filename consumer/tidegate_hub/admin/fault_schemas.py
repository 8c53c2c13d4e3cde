"""The schemas of faults, one for each kind, from the tables that the faults themselves go by.

Rules: pure data. What a kind may name and hit is taken from `faults`; a test holds what is written
here (parameters and places) to what `fault_json` accepts.
"""

from __future__ import annotations

from typing import Any, Final

from tidegate_hub.faults import HITS, MAY_HIT, Kind

_LONGEST_TEXT: Final = 1_024
_SECONDS_MAX: Final = 10 * 366 * 86_400

_PLACES: Final[dict[str, Any]] = {
    "hub": {
        "type": "string",
        "minLength": 1,
        "description": "Only at this hub. Without it: at every hub.",
    },
    "partition": {
        "type": ["string", "integer"],
        "description": "Only at the partition of this id.",
    },
    "group": {
        "type": "string",
        "minLength": 1,
        "description": "Only for receivers of this consumer group, and so never for sends.",
    },
}
_LASTING: Final[dict[str, Any]] = {
    "times": {
        "type": "integer",
        "minimum": 1,
        "description": "How many operations it hits before it ends.",
    },
    "for_seconds": {
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": _SECONDS_MAX,
        "description": "How long it stands. Not together with `until`.",
    },
    "until": {
        "type": "number",
        "description": "When it ends, in seconds since 1970. Not together with `for_seconds`.",
    },
}
_TEXT: Final = {"type": "string", "minLength": 1, "maxLength": _LONGEST_TEXT}

DESCRIPTIONS: Final = {
    Kind.SERVER_BUSY: "Operations are refused with com.microsoft:server-busy.",
    Kind.THROTTLE: "Sends beyond a number of events a second are refused as throttled.",
    Kind.DETACH_LINK: "Links are detached with an error. At once, unless it lasts.",
    Kind.DROP_CONNECTION: "Connections are cut without a word. At once, unless it lasts.",
    Kind.DELAY: "Operations take this much longer.",
    Kind.REFUSE_TOKEN: "Tokens are refused as if their signature were wrong.",
    Kind.EXPIRE_RETENTION: "Events are dropped, as if they were too old. At once, unless it lasts: "
    "then before a receiver attaches or receives.",
    Kind.STOP_ACCEPTING: "New connections are cut as they come in.",
}
_PLACES_OF: Final = {
    **dict.fromkeys(Kind, tuple(_PLACES)),
    Kind.THROTTLE: ("hub", "partition"),
    Kind.REFUSE_TOKEN: ("hub",),
    Kind.EXPIRE_RETENTION: ("hub", "partition"),
    Kind.STOP_ACCEPTING: (),
}
_PARAMETERS: Final[dict[Kind, dict[str, Any]]] = {
    Kind.SERVER_BUSY: {
        "wait_seconds": {
            "type": "integer",
            "minimum": 0,
            "maximum": _SECONDS_MAX,
            "default": 4,
            "description": "How long the error asks the client to wait.",
        }
    },
    Kind.THROTTLE: {
        "events_per_second": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "How many events a second still pass.",
        }
    },
    Kind.DETACH_LINK: {
        "condition": {
            **_TEXT,
            "pattern": "^[!-~]+$",
            "default": "amqp:link:detach-forced",
            "description": "an AMQP error condition, in ASCII without spaces",
        },
        "description": {**_TEXT, "description": "The words that go with the condition."},
    },
    Kind.DELAY: {
        "seconds": {
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": _SECONDS_MAX,
            "description": "How much longer an operation takes.",
        }
    },
    Kind.EXPIRE_RETENTION: {
        "before_sequence": {
            "type": "integer",
            "minimum": 0,
            "description": "Drop the events below this sequence number. Without it: all.",
        }
    },
}
_NEEDED: Final = {Kind.THROTTLE: "events_per_second", Kind.DELAY: "seconds"}
# Kinds whose operations can be chosen.
_WITH_ON: Final = (Kind.SERVER_BUSY, Kind.DETACH_LINK, Kind.DROP_CONNECTION, Kind.DELAY)

EXAMPLES: Final[dict[str, dict[str, Any]]] = {
    Kind.SERVER_BUSY: {"kind": "server_busy", "times": 3},
    Kind.THROTTLE: {
        "kind": "throttle",
        "for_seconds": 30,
        "parameters": {"events_per_second": 100},
    },
    Kind.DETACH_LINK: {"kind": "detach_link"},
    Kind.DROP_CONNECTION: {"kind": "drop_connection"},
    Kind.DELAY: {
        "kind": "delay",
        "for_seconds": 30,
        "parameters": {"seconds": 0.5, "on": ["send"]},
    },
    Kind.REFUSE_TOKEN: {"kind": "refuse_token", "times": 1},
    Kind.EXPIRE_RETENTION: {"kind": "expire_retention"},
    Kind.STOP_ACCEPTING: {"kind": "stop_accepting", "for_seconds": 10},
}


def schema_name(kind: Kind) -> str:
    """`ServerBusyFault` for `server_busy`."""
    return "".join(part.capitalize() for part in kind.split("_")) + "Fault"


def _operations(kind: Kind) -> dict[str, Any]:
    names = [str(operation) for operation in MAY_HIT[kind]]
    usual = ", ".join(str(operation) for operation in HITS[kind])
    return {
        "type": "array",
        "items": {"type": "string", "enum": names},
        "minItems": 1,
        "description": f"Which operations it hits: some of {', '.join(names)}. Usually: {usual}.",
    }


def _parameters(kind: Kind) -> dict[str, Any]:
    properties = dict(_PARAMETERS.get(kind, {}))
    if kind in _WITH_ON:
        properties["on"] = _operations(kind)
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": [_NEEDED[kind]]} if kind in _NEEDED else schema


def fault_schema(kind: Kind) -> dict[str, Any]:
    """What a fault of this kind may say."""
    return {
        "type": "object",
        "description": DESCRIPTIONS[kind],
        "properties": {
            "kind": {"type": "string", "const": str(kind)},
            **{name: _PLACES[name] for name in _PLACES_OF[kind]},
            **_LASTING,
            "parameters": _parameters(kind),
        },
        "additionalProperties": False,
        "required": ["kind", "parameters"] if kind in _NEEDED else ["kind"],
    }


FAULT_SCHEMAS: Final = {schema_name(kind): fault_schema(kind) for kind in Kind}
