"""Groups for an office, on a hub and an Azurite that the session shares."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.command_group import CommandGroup, a_command_group
from support.played_spark import PlayedSpark, played_spark
from tidegate_hub.testing import RunningHub

_HANDLER = """
from seen import see
def handle(events, context):
    for event in events:
        see(context.partition, event.body_as_json()["n"])
"""


@dataclass
class Place:
    """A group that Python pods and an office may join."""

    group: CommandGroup
    environment: dict[str, str]
    hub: RunningHub

    def office(self, **options: Any) -> Any:
        """An office without members, and what plays Spark beside it."""
        return played_spark(self.group.file, self.environment, **options)

    def send(self, first: int, end: int) -> int:
        """Numbered events to every partition; gives how many."""
        for partition in range(self.group.partitions):
            self.group.send(str(partition), first, end)
        return (end - first) * self.group.partitions


@pytest.fixture
def new_place(hub_server: RunningHub, azurite: str, tmp_path: Path) -> Iterator[Any]:
    with ExitStack() as groups:

        def make(partitions: int = 4, delivery: str = "{}") -> Place:
            group = groups.enter_context(
                a_command_group(
                    hub_server,
                    azurite,
                    tmp_path,
                    _HANDLER,
                    partitions=partitions,
                    delivery=delivery,
                )
            )
            events, storage = hub_server.connection_string, azurite
            environment = dict(os.environ) | {"EVENTS": events, "STORAGE": storage}
            return Place(group, environment, hub_server)

        yield make


__all__ = ["PlayedSpark"]
