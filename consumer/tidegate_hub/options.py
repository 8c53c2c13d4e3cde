"""What a hub server is told when it starts. Frozen; the command line and the fixture make it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tidegate_hub.config import HubSpec
from tidegate_hub.connection_string import DEFAULT_KEY, DEFAULT_KEY_NAME
from tidegate_hub.storage.retention import KEEP_FOR_EVER, Retention
from tidegate_hub.storage.store import MEMORY_BUDGET_BYTES, FsyncPolicy

DEFAULT_PORT = 5672


@dataclass(frozen=True, slots=True)
class Options:
    """One hub server. A port of 0 takes any that is free."""

    hubs: tuple[HubSpec, ...] = ()
    # Made where there would be no hub: none is named, and none is in the data directory.
    default_hubs: tuple[HubSpec, ...] = ()
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    tls_port: int | None = None
    certificate: Path | None = None
    private_key: Path | None = None
    admin_port: int | None = None
    admin_host: str = "127.0.0.1"
    data_directory: Path | None = None
    fsync: FsyncPolicy = "interval"
    memory_budget_bytes: int = MEMORY_BUDGET_BYTES
    retention: Retention = KEEP_FOR_EVER
    # The limit on the events of all hubs together; None: no limit.
    total_bytes: int | None = None
    is_checked: bool = False
    key_name: str = DEFAULT_KEY_NAME
    key: str = DEFAULT_KEY
    namespace: str = "localhost"
