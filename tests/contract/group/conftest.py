"""A group of real processes for each test, on a hub and an Azurite that the session shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.azurite import connection_string
from support.fault_proxy import FaultProxy, fault_proxy
from support.group import Group, a_group
from tidegate.ledger.access import BlobSettings
from tidegate_hub.testing import RunningHub

NewGroup = Callable[[int], Group]


@pytest.fixture
def new_group(hub_server: RunningHub, azurite: str, tmp_path: Path) -> Iterator[NewGroup]:
    """Makes a group of so many partitions, with events coming to each all the time."""
    with ExitStack() as groups:

        def make(partitions: int) -> Group:
            return groups.enter_context(a_group(hub_server, azurite, tmp_path, partitions))

        yield make


@pytest.fixture
def bad_storage(azurite: str) -> Iterator[FaultProxy]:
    """A proxy before Azurite, to be given faults; `through` has the way to it."""
    port = int(BlobSettings("any", connection_string=azurite).host.rpartition(":")[2])
    with fault_proxy(port) as proxy:
        yield proxy


@pytest.fixture
def through(bad_storage: FaultProxy) -> str:
    """The connection string of Azurite by way of the proxy."""
    return connection_string(bad_storage.port)
