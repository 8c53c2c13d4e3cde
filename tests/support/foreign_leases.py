"""Leases of a processor of Microsoft's in a lease container, and all that stands there.

Rules: they are what its hosts write; nobody renews them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from support.foreign_host import ForeignHost
from tidegate.ledger.cosmos.access import CosmosSettings
from tidegate.ledger.cosmos.dialects import Dialect
from tidegate.ledger.cosmos.leases import Processor, ProcessorLeases
from tidegate.ledger.cosmos.requests import LeaseContainer
from tidegate_cosmos.testing import RunningCosmos


async def write_leases(
    cosmos: RunningCosmos, database: str, monitored: str, leases: str, *, dialect: str, prefix: str
) -> None:
    """One lease of the whole container, read up to its third change, with an owner."""
    settings = CosmosSettings(database, leases, connection_string=cosmos.connection_string)
    processor = Processor(Dialect(dialect), replace(settings, container=monitored), prefix)
    items = LeaseContainer(settings)
    try:
        theirs = ProcessorLeases(items, processor)
        await theirs.survey()
        host = ForeignHost(items, theirs.of, processor.dialect, prefix)
        await host.make("-FF", '"3"')
        await host.take("-FF")
    finally:
        await items.close()


def documents(cosmos: RunningCosmos, database: str, leases: str) -> dict[str, dict[str, Any]]:
    """All that stands there, with the service's own fields, by id."""
    return {item["id"]: item for item in cosmos.items(database, leases)}
