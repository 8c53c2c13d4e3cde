"""Databases and their containers. Pure.

Rules: databases and containers are found by name or by resource id. Numbers are never given twice,
so what was deleted and made again has another resource id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidegate_cosmos.store import names, notes
from tidegate_cosmos.store.containers import Container, checked_id
from tidegate_cosmos.store.problems import Exists, Malformed, NotFound

RANGES_MAX = 1_000
_UNITS_OF_A_RANGE = 10_000


@dataclass(slots=True)
class Database:
    """A database and its containers by name."""

    described: dict[str, Any]
    raw_rid: bytes
    made_at: float
    containers: dict[str, Container] = field(default_factory=dict)
    containers_made: int = 0

    @property
    def id(self) -> str:
        return str(self.described["id"])

    @property
    def rid(self) -> str:
        return names.rid(self.raw_rid)

    def container(self, name: str) -> Container:
        """A container, by name or resource id. Raises NotFound."""
        found = self.containers.get(name)
        if found is None:
            found = next((each for each in self.containers.values() if each.rid == name), None)
        if found is None:
            raise NotFound(f"There is no container {name[:80]!r} in database {self.id!r}.")
        return found


@dataclass(slots=True)
class Account:
    """All that a server holds. `ranges` is how many a container gets where nobody says."""

    salt: int
    ranges: int = 1
    databases: dict[str, Database] = field(default_factory=dict)
    databases_made: int = 0
    outbox: notes.Outbox | None = None

    def database(self, name: str) -> Database:
        """A database, by name or resource id. Raises NotFound."""
        found = self.databases.get(name)
        if found is None:
            found = next((each for each in self.databases.values() if each.rid == name), None)
        if found is None:
            raise NotFound(f"There is no database {name[:80]!r}.")
        return found

    def add_database(self, described: Mapping[str, Any], now: float) -> Database:
        """Raises Exists, Malformed."""
        name = checked_id(described)
        if name in self.databases:
            raise Exists(f"There is a database {name[:80]!r} already.")
        self.databases_made += 1
        raw = names.database_bytes(self.databases_made, self.salt)
        database = self.databases[name] = Database(dict(described), raw, now)
        self._note(notes.database_record(database))
        return database

    def drop_database(self, name: str) -> None:
        database = self.database(name)
        del self.databases[database.id]
        self._note(notes.database_dropped(database))

    def add_container(
        self,
        database: Database,
        described: Mapping[str, Any],
        now: float,
        throughput: int | None = None,
        ranges: int | None = None,
    ) -> Container:
        """Raises Exists, Malformed, KeyProblem. More throughput than a range has means more."""
        name = checked_id(described)
        if name in database.containers:
            raise Exists(f"There is a container {name[:80]!r} already.")
        units = 400 if throughput is None else throughput
        wanted = ranges or max(self.ranges, -(-units // _UNITS_OF_A_RANGE))
        if not 1 <= wanted <= RANGES_MAX:
            raise Malformed(f"A container has 1 to {RANGES_MAX} ranges, not {wanted}.")
        database.containers_made += 1
        raw = names.container_bytes(database.raw_rid, database.containers_made)
        container = Container(dict(described), raw, self.salt, now, throughput=units)
        container.divide(wanted)
        database.containers[name] = container
        self._note(notes.container_record(database, container))
        container.outbox = self.outbox
        return container

    def drop_container(self, database: Database, name: str) -> None:
        container = database.container(name)
        del database.containers[container.id]
        self._note(notes.container_dropped(container))

    def keep_notes(self) -> notes.Outbox:
        """Gives the outbox that takes all notes from now on."""
        self.outbox = []
        for database in self.databases.values():
            for container in database.containers.values():
                container.outbox = self.outbox
        return self.outbox

    def _note(self, record: notes.Record) -> None:
        if self.outbox is not None:
            self.outbox.append(record)
