"""The JSON of the admin API: a schema for every body that it takes or gives. Pure data.

Rules: bodies that come in are checked by these very schemas (`check`), and tests hold every answer
to its own; the OpenAPI document shows them as they are.
"""

from __future__ import annotations

from typing import Any, Final

from tidegate_http.openapi import ref
from tidegate_hub.admin.fault_schemas import FAULT_SCHEMAS
from tidegate_hub.config import (
    DEFAULT_PARTITIONS,
    GROUP_NAME_LENGTH_MAX,
    HUB_NAME_LENGTH_MAX,
    PARTITIONS_MAX,
)
from tidegate_hub.faults import Kind

Schema = dict[str, Any]

_COUNT: Final = {"type": "integer", "minimum": 0}
_TEXT: Final = {"type": "string"}
_NAME: Final = {
    "type": "string",
    "pattern": r"^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\Z",
    "description": "letters, digits, '.', '-' and '_', with a letter or a digit at both ends",
}
_TIME: Final = {"type": "string", "format": "date-time"}
_MAYBE_TIME: Final = {"type": ["string", "null"], "format": "date-time"}
_MAYBE_TEXT: Final = {"type": ["string", "null"]}
_MAYBE_NUMBER: Final = {"type": ["integer", "null"]}


def _said(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


def _object(properties: Schema, required: list[str] | None = None) -> Schema:
    """An object with nothing else in it; all of it is required unless said otherwise."""
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "required": list(properties) if required is None else required,
    }


def _list_of(name: str, key: str) -> Schema:
    return _object({key: {"type": "array", "items": ref(name)}})


_RETENTION = _object(
    {
        "hours": _said(
            {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1_000_000},
            "Events older than this are dropped; null: never for their age.",
        ),
        "bytes": _said(
            {"type": ["integer", "null"], "minimum": 1},
            "Each partition keeps its newest events up to this size; null: any size.",
        ),
    },
    required=[],
)
_PARTITIONS = {"type": "integer", "minimum": 1, "maximum": PARTITIONS_MAX}

_TAKEN: Final[dict[str, Schema]] = {
    "NewHub": _object(
        {
            "name": {**_NAME, "minLength": 1, "maxLength": HUB_NAME_LENGTH_MAX},
            "partitions": {**_PARTITIONS, "default": DEFAULT_PARTITIONS},
            "groups": _said(
                {
                    "type": "array",
                    "items": {
                        **_NAME,
                        "pattern": rf"{_NAME['pattern']}|^\$[Dd][Ee][Ff][Aa][Uu][Ll][Tt]\Z",
                        "minLength": 1,
                        "maxLength": GROUP_NAME_LENGTH_MAX,
                    },
                    "maxItems": 1_000,
                },
                "Consumer groups. $Default is always there, named or not.",
            ),
            "retention": _said(
                ref("Retention"), "What is not given is as the server was started with."
            ),
        },
        required=["name"],
    ),
    "Retention": _RETENTION,
    "PartitionTotal": _object(
        {"total": _said(_PARTITIONS, "How many partitions the hub shall have in all.")}
    ),
    "NewFault": {
        "oneOf": [ref(name) for name in FAULT_SCHEMAS],
        "discriminator": {"propertyName": "kind"},
    },
    **FAULT_SCHEMAS,
}

_GIVEN: Final[dict[str, Schema]] = {
    "Hub": _object(
        {
            "name": _TEXT,
            "partition_count": _COUNT,
            "groups": {"type": "array", "items": _TEXT},
            "created_at": _TIME,
            "retention": ref("Retention"),
            "events": _said(_COUNT, "The events that are kept."),
            "bytes": _said(_COUNT, "Their size."),
            "publishers": _said(_COUNT, "Links that send to it."),
            "receivers": _said(_COUNT, "Links that receive from it."),
        }
    ),
    "HubList": _list_of("Hub", "hubs"),
    "Partition": _object(
        {
            "id": _TEXT,
            "first_sequence": _said(_COUNT, "Of the oldest event that is kept."),
            "next_sequence": _said(_COUNT, "That the next event will have."),
            "events": _said(_COUNT, "The events that are kept."),
            "bytes": _said(_COUNT, "Their size."),
            "stored_bytes": _said(_COUNT, "What they take in segments, headers included."),
            "first_offset": _said(_MAYBE_TEXT, "Of the oldest event; null where none is kept."),
            "last_offset": _said(_TEXT, "Of the last event ever; -1 where there was none."),
            "first_enqueued_at": _MAYBE_TIME,
            "last_enqueued_at": _MAYBE_TIME,
            "receivers": {"type": "array", "items": ref("Receiver")},
        }
    ),
    "PartitionList": _list_of("Partition", "partitions"),
    "Receiver": _object(
        {
            "connection": _said(_COUNT, "The number of its connection."),
            "client": _said(_TEXT, "The name that the client's container gave itself."),
            "group": _TEXT,
            "name": _said(_MAYBE_TEXT, "The receiver's own name, if it has one."),
            "epoch": _said(_MAYBE_NUMBER, "Its owner level; null: it shares the partition."),
            "position": _said(_COUNT, "The sequence number of the event that it gets next."),
            "behind": _said(_COUNT, "How many kept events it has not been sent yet."),
            "credit": _said(_COUNT, "How many events it is ready to take now."),
        }
    ),
    "Link": _object(
        {
            "role": {"type": "string", "enum": ["publisher", "receiver"]},
            "hub": _TEXT,
            "partition": _MAYBE_TEXT,
            "group": _MAYBE_TEXT,
            "epoch": _MAYBE_NUMBER,
        }
    ),
    "Connection": _object(
        {
            "number": _COUNT,
            "peer": _said(_TEXT, "The address that it came from."),
            "client": _said(_TEXT, "The name that the client's container gave itself."),
            "product": _said(_MAYBE_TEXT, "The client library, if it says so."),
            "links": {"type": "array", "items": ref("Link")},
        }
    ),
    "ConnectionList": _list_of("Connection", "connections"),
    "Fault": _object(
        {
            "id": _TEXT,
            "kind": {"type": "string", "enum": [str(kind) for kind in Kind]},
            "hub": _TEXT,
            "partition": _TEXT,
            "group": _TEXT,
            "times": _said(_COUNT, "How many operations it will still hit."),
            "until": _said({"type": "number"}, "When it ends, in seconds since 1970."),
            "parameters": {"type": "object"},
            "is_standing": _said(
                {"type": "boolean"}, "Whether it waits for operations; else it has acted at once."
            ),
        },
        required=["id", "kind", "is_standing"],
    ),
    "FaultList": _list_of("Fault", "faults"),
    "Stats": _object(
        {
            "at": _said(_TIME, "When this was read; a rate is the difference of two readings."),
            "events_in": _COUNT,
            "events_out": _COUNT,
            "bytes_in": _COUNT,
            "deliveries_in": _COUNT,
            "deliveries_refused": _COUNT,
            "connections_opened": _COUNT,
            "connections": _said(_COUNT, "Open now."),
            "hubs": _COUNT,
            "partitions": _COUNT,
            "events": _said(_COUNT, "Kept now, in all hubs."),
            "bytes": _said(_COUNT, "Their size."),
            "standing_faults": _COUNT,
        }
    ),
    "Health": _object({"status": {"type": "string", "const": "ok"}}),
    "Problem": _object(
        {
            "title": _TEXT,
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": _said(_TEXT, "What was wrong."),
            "expected": _said(_TEXT, "What would have been right."),
            "field": _said(_TEXT, "Which field, header or part of the path was wrong."),
        },
        required=["title", "status", "detail"],
    ),
}

SCHEMAS: Final[dict[str, Schema]] = {**_TAKEN, **_GIVEN}
