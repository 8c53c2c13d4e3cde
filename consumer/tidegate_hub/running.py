"""A hub server in a thread of this process: real AMQP on a free port, for tests and examples.

    with running_hub() as hub:
        hub.add_hub("telemetry", 16)
        client = EventHubProducerClient.from_connection_string(
            hub.connection_string, eventhub_name="telemetry")

Rules: every call returns after the server has done it; what is misspelt or names something that is
not there is an error (ConfigError, FaultError, HubError), never passed over.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate_http.serving import Running, in_a_thread

if TYPE_CHECKING:
    from tidegate_hub.server import HubServer


class RunningHub(Running):
    """A hub server in a thread. Made by `running_hub`."""

    def __init__(self, server: HubServer, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._server = server
        self.host = "localhost"
        self.port = server.port
        self.tls_port = server.tls_port
        self.admin_port = server.admin_port
        self.connection_string = server.connection_string()

    def add_hub(self, name: str, partitions: int = 4, groups: Sequence[str] = ()) -> None:
        """Makes a hub, or adds partitions and groups to the one that is there."""
        from tidegate_hub.config import checked_hub  # noqa: PLC0415 - see `running_hub`

        spec = checked_hub("add_hub", name, partitions, groups)
        self.call(lambda: self._server.broker.add_hub(spec))

    def grow_hub(self, name: str, partitions: int) -> None:
        """Adds partitions up to a total; connected clients are told to attach again."""
        from tidegate_hub.config import checked_hub  # noqa: PLC0415 - see `running_hub`

        spec = checked_hub("grow_hub", name, partitions)
        self.call(lambda: self._server.broker.grow_hub(spec.name, spec.partitions))

    def inject(
        self,
        kind: str,
        *,
        hub: str | None = None,
        partition: str | None = None,
        group: str | None = None,
        times: int | None = None,
        for_seconds: float | None = None,
        **parameters: Any,
    ) -> str:
        """Scripts a fault, as the admin API does; gives its id."""
        from tidegate_hub.fault_json import from_json  # noqa: PLC0415 - see `running_hub`
        from tidegate_hub.fault_places import check_places  # noqa: PLC0415 - see `running_hub`

        described: dict[str, Any] = {
            "kind": kind,
            "hub": hub,
            "partition": partition,
            "group": group,
            "times": times,
            "for_seconds": for_seconds,
            "parameters": parameters,
        }
        wanted = {name: value for name, value in described.items() if value is not None}
        fault = from_json(wanted, time.time())

        def inject() -> str:
            check_places(fault, self._server.broker.hubs)
            return self._server.inject(fault).id

        return self.call(inject)

    def end_fault(self, fault_id: str) -> bool:
        """Ends one scripted fault; False if it has ended already."""
        return self.call(lambda: self._server.broker.faults.remove(fault_id))

    def fault_stands(self, fault_id: str) -> bool:
        """Whether a scripted fault may still hit something: one with `times` ends with the last."""
        return self.call(lambda: self._server.broker.faults.stands(fault_id))

    def clear_faults(self) -> None:
        """Ends all scripted faults."""
        self.call(self._server.broker.faults.clear)

    def range_of(self, hub: str, partition: str) -> tuple[int, int]:
        """The first sequence number that is kept, and the one that the next event will have."""

        def read() -> tuple[int, int]:
            log = self._server.broker.hubs.get(hub).partition(partition).log
            return log.first_sequence, log.next_sequence

        return self.call(read)

    def connections(self) -> int:
        """How many clients are connected."""
        return self.call(lambda: len(self._server.clients))


@contextlib.contextmanager
def running_hub(
    *,
    check_sas: bool = False,
    data: Path | None = None,
    fsync: str = "interval",
    memory_mb: int = 64,
    **options: Any,
) -> Iterator[RunningHub]:
    """A hub server on a free port until the block ends. Further options as in `Options`."""
    # Imported here, because pytest imports every plugin at its start, wanted or not.
    from tidegate_hub.options import Options  # noqa: PLC0415
    from tidegate_hub.server import HubServer  # noqa: PLC0415

    settings: dict[str, Any] = {
        "port": 0,
        "is_checked": check_sas,
        "data_directory": data,
        "fsync": fsync,
        "memory_budget_bytes": memory_mb << 20,
        **options,
    }
    report = logging.getLogger("tidegate_hub").warning
    with in_a_thread(
        "tidegate-hub", lambda: HubServer(Options(**settings), report=report), RunningHub
    ) as running:
        yield running
