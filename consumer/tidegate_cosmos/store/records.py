"""What the store did, done again from its records: for keeping everything on disk. Pure.

Rules:

- Records are JSON objects. Played in order on an empty account, they give the same account: the
  same ranges, items, feeds, resource ids and ETags.
- `records_of` is the shortest story of an account. It leaves out versions of items that are no
  longer the newest, and says so by where the feed of all versions begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tidegate_cosmos.store import names
from tidegate_cosmos.store.account import Account, Database
from tidegate_cosmos.store.containers import Container
from tidegate_cosmos.store.items import Change, Item
from tidegate_cosmos.store.keys import Span
from tidegate_cosmos.store.notes import Record, change_record, container_record, database_record
from tidegate_cosmos.store.problems import StoreProblem
from tidegate_cosmos.store.ranges import Range

FORMAT = 2


# What a record ends with whose values are none: the last is of numbers that are too large.
_UNPLAYABLE = (LookupError, TypeError, ValueError, AttributeError, OverflowError)


class RecordProblem(ValueError):
    """A record that cannot be played: it is not of this format, or does not fit the ones before."""


def play(account: Account, record: Mapping[str, Any]) -> None:
    """Does what a record says. Raises RecordProblem."""
    try:
        _PLAYS[record["kind"]](account, record)
    except (*_UNPLAYABLE, StoreProblem) as error:
        raise RecordProblem(f"{type(error).__name__}: {error}") from error


def records_of(account: Account) -> Iterator[Record]:
    """The records that make an account."""
    yield {"kind": "account", "format": FORMAT, "salt": account.salt}
    for database in account.databases.values():
        yield database_record(database)
        for container in database.containers.values():
            yield container_record(database, container, is_story=True)
            for held in container.ranges:
                for change in held.log:
                    if held.items.get(change.item.place) is change.current:
                        yield change_record(container, held, change)
    yield {"kind": "made", "databases": account.databases_made}


def _play_account(account: Account, record: Mapping[str, Any]) -> None:
    if record["format"] != FORMAT:
        raise RecordProblem(f"expected format {FORMAT}, found {record['format']!r:.20}")
    account.salt = int(record["salt"])


def _play_made(account: Account, record: Mapping[str, Any]) -> None:
    account.databases_made = max(account.databases_made, int(record["databases"]))


def _play_database(account: Account, record: Mapping[str, Any]) -> None:
    database = Database(
        dict(record["described"]),
        bytes.fromhex(record["raw_rid"]),
        float(record["at"]),
        containers_made=int(record["containers_made"]),
    )
    account.databases[database.id] = database
    account.databases_made += 1


def _play_dropped_database(account: Account, record: Mapping[str, Any]) -> None:
    del account.databases[record["database"]]


def _play_container(account: Account, record: Mapping[str, Any]) -> None:
    database = account.databases[record["database"]]
    container = Container(
        dict(record["described"]),
        bytes.fromhex(record["raw_rid"]),
        int(record["salt"]),
        float(record["at"]),
        [_range(each) for each in record["ranges"]],
        int(record["throughput"]),
        int(record["written"]),
        int(record["items_made"]),
        int(record["ranges_made"]),
    )
    database.containers[container.id] = container
    database.containers_made = int(record["containers_made"])


def _range(described: Mapping[str, Any]) -> Range:
    return Range(
        int(described["number"]),
        Span(described["least"], described["beyond"]),
        tuple(described["parents"]),
        int(described["lsn"]),
        versions_from=int(described["versions_from"]),
    )


def _play_described(account: Account, record: Mapping[str, Any]) -> None:
    container = _container(account, record)
    container.described = dict(record["described"])
    container.throughput = int(record["throughput"])
    container.restored()


def _play_dropped_container(account: Account, record: Mapping[str, Any]) -> None:
    container = _container(account, record)
    del account.database(names.rid(container.raw_rid[:4])).containers[container.id]


def _play_change(account: Account, record: Mapping[str, Any]) -> None:
    container = _container(account, record)
    held = container.range_of(record["range"])
    effective, item_id = record["place"]
    place = (str(effective), str(item_id))
    previous = held.items.get(place)
    current = None
    lsn, at = int(record["lsn"]), float(record["at"])
    if record["document"] is not None:
        document = dict(record["document"])
        values = container.key.values_of(document)
        current = Item(place, values, int(record["number"]), document, lsn, at)
    elif previous is None:
        return  # the deletion of an item that the shortest story has left out
    held.lsn = max(held.lsn, lsn)
    held.write(Change(lsn, at, record["operation"], current, previous, bool(record["expired"])))
    container.written = max(container.written, int(record["written"]))
    container.items_made = max(container.items_made, int(record["number"]))


def _play_split(account: Account, record: Mapping[str, Any]) -> None:
    _container(account, record).split(record["range"], record["at"])


def _play_merge(account: Account, record: Mapping[str, Any]) -> None:
    _container(account, record).merge(*record["ranges"])


def _container(account: Account, record: Mapping[str, Any]) -> Container:
    for database in account.databases.values():
        for container in database.containers.values():
            if container.rid == record["container"]:
                return container
    raise RecordProblem(f"there is no container {record['container']!r:.40}")


_PLAYS: dict[str, Callable[[Account, Mapping[str, Any]], None]] = {
    "account": _play_account,
    "made": _play_made,
    "database": _play_database,
    "database-dropped": _play_dropped_database,
    "container": _play_container,
    "container-described": _play_described,
    "container-dropped": _play_dropped_container,
    "change": _play_change,
    "split": _play_split,
    "merge": _play_merge,
}
