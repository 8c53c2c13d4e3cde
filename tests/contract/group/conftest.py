"""A group of real processes for each test, on a hub and an Azurite that the session shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.group import Group, a_group
from tidegate_hub.testing import RunningHub

NewGroup = Callable[[int], Group]


@pytest.fixture
def new_group(hub_server: RunningHub, azurite: str, tmp_path: Path) -> Iterator[NewGroup]:
    """Makes a group of so many partitions, with events coming to each all the time."""
    with ExitStack() as groups:

        def make(partitions: int) -> Group:
            return groups.enter_context(a_group(hub_server, azurite, tmp_path, partitions))

        yield make
