"""Groups that read a Cosmos container, on servers that the session shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from support.container_group import ContainerGroup, a_container_group
from tidegate_cosmos.testing import RunningCosmos

NewGroup = Callable[..., ContainerGroup]


@pytest.fixture
def new_group(cosmos_server: RunningCosmos, azurite: str, tmp_path: Path) -> Iterator[NewGroup]:
    """Makes a group; its members are started by the test."""
    with ExitStack() as groups:

        def make(*arguments: Any, **named: Any) -> ContainerGroup:
            group = a_container_group(cosmos_server, azurite, tmp_path, *arguments, **named)
            return groups.enter_context(group)

        yield make
