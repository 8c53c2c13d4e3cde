"""Groups that are run by `tidegate run`, on a hub and an Azurite that the session shares."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from support.command_group import CommandGroup, a_command_group
from tidegate_hub.testing import RunningHub


class NewGroup(Protocol):
    """Makes a group with this handler."""

    def __call__(
        self, handler: str, *, partitions: int = 2, delivery: str = "{}", source: str = ...
    ) -> CommandGroup: ...


@pytest.fixture
def new_group(hub_server: RunningHub, azurite: str, tmp_path: Path) -> Iterator[NewGroup]:
    with ExitStack() as groups:

        def make(
            handler: str,
            *,
            partitions: int = 2,
            delivery: str = "{}",
            source: str = "transport: native",
        ) -> CommandGroup:
            group = a_command_group(
                hub_server,
                azurite,
                tmp_path,
                handler,
                partitions=partitions,
                delivery=delivery,
                source=source,
            )
            return groups.enter_context(group)

        yield make
