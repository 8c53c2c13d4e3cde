"""A server in a thread of this process: real HTTP on a free port, for tests and examples.

    with running_cosmos() as cosmos:
        cosmos.add_container("home", "events", "/home", ranges=4)
        client = CosmosClient(cosmos.endpoint, cosmos.key)

Rules: every call returns after the server has done it; what is misspelt or names something that is
not there is an error (FaultError, StoreProblem), never passed over.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate_http.serving import Running, in_a_thread

if TYPE_CHECKING:
    from tidegate_cosmos.server import CosmosServer


class RunningCosmos(Running):
    """A server in a thread. Made by `running_cosmos`."""

    def __init__(self, server: CosmosServer, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._server = server
        self.port = server.port
        self.admin_port = server.admin_port
        self.endpoint = server.endpoint
        self.key = server.options.key
        self.connection_string = server.connection_string

    def add_container(
        self,
        database: str,
        container: str,
        key_path: str | list[str] = "/id",
        ranges: int | None = None,
        default_ttl: int | None = None,
    ) -> None:
        """Makes a container, and its database where there is none. One that is there stays."""
        self.call(
            lambda: self._server.add_container(database, container, key_path, ranges, default_ttl)
        )

    def ranges(self, database: str, container: str) -> dict[str, tuple[str, str]]:
        """The ranges by id, each with its least effective key and the one that it ends before."""

        def read() -> dict[str, tuple[str, str]]:
            held = self._server.container(database, container)
            return {each.id: (each.span.least, each.span.beyond) for each in held.ranges}

        return self.call(read)

    def split(
        self, database: str, container: str, range_id: str, at: str | None = None
    ) -> tuple[str, str]:
        """Splits a range in its middle, or at an effective key; gives the ids of the two."""

        def split() -> tuple[str, str]:
            first, second = self._server.split(database, container, range_id, at)
            return first.id, second.id

        return self.call(split)

    def merge(self, database: str, container: str, first_id: str, second_id: str) -> str:
        """Merges two neighbours; gives the id of the range that they become."""
        return self.call(lambda: self._server.merge(database, container, first_id, second_id).id)

    def inject(
        self,
        kind: str,
        *,
        operations: list[str] | None = None,
        database: str | None = None,
        container: str | None = None,
        range: str | None = None,
        item: str | None = None,
        client: str | None = None,
        times: int | None = None,
        for_seconds: float | None = None,
        **parameters: float,
    ) -> str:
        """Scripts a fault, as the admin API does; gives its id."""
        described: dict[str, Any] = {
            "kind": kind,
            "operations": operations,
            "database": database,
            "container": container,
            "range": range,
            "item": item,
            "client": client,
            "times": times,
            "for_seconds": for_seconds,
            "parameters": parameters,
        }
        wanted = {name: value for name, value in described.items() if value is not None}
        return self.call(lambda: self._server.inject(wanted).id)

    def end_fault(self, fault_id: str) -> bool:
        """Ends one scripted fault; False if it has ended already."""
        return self.call(lambda: self._server.service.faults.remove(fault_id))

    def fault_stands(self, fault_id: str) -> bool:
        """Whether a scripted fault may still hit something: one with `times` ends with the last."""

        def stands() -> bool:
            faults = self._server.service.faults
            return any(fault.id == fault_id for fault in faults.list(time.time()))

        return self.call(stands)

    def clear_faults(self) -> None:
        """Ends all scripted faults."""
        self.call(self._server.service.faults.clear)

    def requests(self) -> dict[str, int]:
        """How many requests were answered since the start, such as {"feed 304": 12}."""
        return self.call(lambda: dict(self._server.service.counters.requests))

    def charge(self, database: str, container: str) -> float:
        """The request units that a container has cost since the start."""
        charges = self._server.service.counters.charges
        return self.call(lambda: charges.get(f"{database}/{container}", 0.0))

    def items(self, database: str, container: str) -> list[dict[str, Any]]:
        """All items of a container as they are stored."""

        def read() -> list[dict[str, Any]]:
            held = self._server.container(database, container)
            held.advance(time.time())
            return [dict(item.document) for item in held.items()]

        return self.call(read)


@contextlib.contextmanager
def running_cosmos(*, data: Path | None = None, **options: Any) -> Iterator[RunningCosmos]:
    """A server on a free port until the block ends. Further options as in `Options`."""
    # Imported here, because pytest imports every plugin at its start, wanted or not.
    from tidegate_cosmos.options import Options  # noqa: PLC0415
    from tidegate_cosmos.server import CosmosServer  # noqa: PLC0415

    settings: dict[str, Any] = {"port": 0, "data_directory": data, **options}
    report = logging.getLogger("tidegate_cosmos").warning
    with in_a_thread(
        "tidegate-cosmos", lambda: CosmosServer(Options(**settings), report=report), RunningCosmos
    ) as running:
        yield running
