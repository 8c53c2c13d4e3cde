"""What the admin API needs of the server, its schemas, and what its document says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol, TypeAlias

from tidegate_cosmos.faults import Fault, Kind, Operation
from tidegate_cosmos.service import Service
from tidegate_cosmos.store.account import RANGES_MAX
from tidegate_cosmos.store.containers import Container
from tidegate_cosmos.store.ranges import Range
from tidegate_http import openapi, routes
from tidegate_http.openapi import ref


class CosmosControl(Protocol):
    """What the API needs of the server."""

    service: Service

    def add_container(
        self,
        database: str,
        name: str,
        key_path: str | list[str] = "/id",
        ranges: int | None = None,
        default_ttl: int | None = None,
    ) -> Container: ...

    def container(self, database: str, name: str) -> Container: ...

    def split(
        self, database: str, name: str, range_id: str, at: str | None
    ) -> tuple[Range, Range]: ...

    def merge(self, database: str, name: str, first_id: str, second_id: str) -> Range: ...

    def inject(self, described: Mapping[str, Any]) -> Fault: ...


Call: TypeAlias = routes.Call[CosmosControl]
Route: TypeAlias = routes.Route[CosmosControl]

_TEXT: Final = {"type": "string", "minLength": 1}
_COUNT: Final = {"type": "integer", "minimum": 0}


def _object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    """An object with nothing else in it; all of it is required unless said otherwise."""
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "required": list(properties) if required is None else required,
    }


def _list_of(name: str, key: str) -> dict[str, Any]:
    return _object({key: {"type": "array", "items": ref(name)}})


_FAULT: Final[dict[str, Any]] = {
    "kind": {"type": "string", "enum": [str(kind) for kind in Kind]},
    "operations": {
        "type": "array",
        "items": {"type": "string", "enum": [str(operation) for operation in Operation]},
        "minItems": 1,
        "description": "What it hits. Without it: all but account, metadata and ranges.",
    },
    "database": {**_TEXT, "description": "Only in this database."},
    "container": {**_TEXT, "description": "Only at this container."},
    "range": {"type": ["string", "integer"], "description": "Only at the range of this id."},
    "item": {**_TEXT, "description": "Only items whose id begins like this."},
    "client": {**_TEXT, "description": "Only clients whose User-Agent holds this."},
    "times": {"type": "integer", "minimum": 1, "description": "How many requests it hits."},
    "for_seconds": {"type": "number", "exclusiveMinimum": 0, "description": "How long it stands."},
    "until": {"type": "number", "description": "When it ends, in seconds since 1970."},
    "parameters": {"type": "object", "description": "What the kind needs to know."},
}

SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    "NewContainer": _object(
        {
            "database": _TEXT,
            "container": _TEXT,
            "key_path": {**_TEXT, "description": "The path of the partition key, such as /home."},
            "ranges": {"type": "integer", "minimum": 1, "maximum": RANGES_MAX},
            "default_ttl": {"type": "integer", "minimum": -1},
        },
        required=["database", "container"],
    ),
    "Container": _object(
        {"database": _TEXT, "container": _TEXT, "ranges": _COUNT, "items": _COUNT}
    ),
    "ContainerList": _list_of("Container", "containers"),
    "Range": _object(
        {
            "id": _TEXT,
            "least": {"type": "string", "description": "The first effective partition key."},
            "beyond": {"type": "string", "description": "The first one that it does not hold."},
            "lsn": _COUNT,
            "items": _COUNT,
            "parents": {"type": "array", "items": _TEXT},
        }
    ),
    "RangeList": _list_of("Range", "ranges"),
    "Split": _object(
        {"at": {**_TEXT, "description": "An effective partition key; without it the middle."}},
        required=[],
    ),
    "Merge": _object({"ranges": {"type": "array", "items": _TEXT, "minItems": 2, "maxItems": 2}}),
    "NewFault": _object(_FAULT, required=["kind"]),
    "Fault": _object({"id": _TEXT, **_FAULT}, required=["id", "kind", "parameters"]),
    "FaultList": _list_of("Fault", "faults"),
    "Stats": _object(
        {
            "requests": {"type": "object", "description": "Answers by operation and status."},
            "charges": {"type": "object", "description": "Request units by container."},
        }
    ),
    "Health": _object({"status": {"const": "ok"}}),
    "Problem": _object(
        {
            "title": _TEXT,
            "status": {"type": "integer"},
            "detail": _TEXT,
            "expected": _TEXT,
            "field": _TEXT,
        },
        required=["title", "status", "detail"],
    ),
}

ABOUT: Final = openapi.About(
    title="tidegate-cosmos admin API",
    description="Looks into a running tidegate-cosmos, splits and merges its ranges, and makes it "
    "fail on demand. It has no authentication: keep its port to yourself.",
    schemas=SCHEMAS,
    parameters={
        "database": ("The name of a database.", "home"),
        "container": ("The name of a container.", "events"),
        "range": ("The id of a range.", "0"),
        "id": ("The id of a fault.", "fault-1"),
    },
)
