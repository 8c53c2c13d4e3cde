"""What the store has just done, as records for whoever keeps it on disk. Pure.

Rules: records are JSON objects, made at once, so that nothing that is done later shows in them. The
store writes them only into an outbox that somebody gave it, and who gave it takes them out before
the request that made them is answered. `records` plays them again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from tidegate_cosmos.store.account import Database
    from tidegate_cosmos.store.containers import Container
    from tidegate_cosmos.store.items import Change
    from tidegate_cosmos.store.ranges import Range

Record: TypeAlias = dict[str, Any]
Outbox: TypeAlias = list[Record]


def database_record(database: Database) -> Record:
    return {
        "kind": "database",
        "described": database.described,
        "raw_rid": database.raw_rid.hex(),
        "at": database.made_at,
        "containers_made": database.containers_made,
    }


def container_record(database: Database, container: Container, *, is_story: bool = False) -> Record:
    """A container with its ranges as they are, and without its items."""
    return {
        "kind": "container",
        "database": database.id,
        "described": container.described,
        "raw_rid": container.raw_rid.hex(),
        "salt": container.salt,
        "at": container.made_at,
        "throughput": container.throughput,
        "written": container.written,
        "items_made": container.items_made,
        "ranges_made": container.ranges_made,
        "containers_made": database.containers_made,
        "ranges": [
            {
                "number": held.number,
                "least": held.span.least,
                "beyond": held.span.beyond,
                "parents": list(held.parents),
                "lsn": held.lsn,
                "versions_from": held.lsn if is_story else held.versions_from,
            }
            for held in container.ranges
        ],
    }


def change_record(container: Container, held: Range, change: Change) -> Record:
    item = change.item
    return {
        "kind": "change",
        "container": container.rid,
        "range": held.id,
        "lsn": change.lsn,
        "at": change.at,
        "operation": change.operation,
        "expired": change.has_expired,
        "place": list(item.place),
        "number": item.number,
        "document": None if change.current is None else change.current.document,
        "written": container.written,
    }


def database_dropped(database: Database) -> Record:
    return {"kind": "database-dropped", "database": database.id}


def container_dropped(container: Container) -> Record:
    return {"kind": "container-dropped", "container": container.rid}


def container_described(container: Container) -> Record:
    """The description or the throughput is another one."""
    return {
        "kind": "container-described",
        "container": container.rid,
        "described": container.described,
        "throughput": container.throughput,
    }


def range_split(container: Container, range_id: str, at: str) -> Record:
    return {"kind": "split", "container": container.rid, "range": range_id, "at": at}


def ranges_merged(container: Container, first: Range, second: Range) -> Record:
    return {"kind": "merge", "container": container.rid, "ranges": [first.id, second.id]}
