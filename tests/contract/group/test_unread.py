"""A hub without the consumer group: the member says in the ledger what it cannot read and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command_group import CommandGroup, a_command_group
from support.wait import wait_until
from tidegate.model import Presence
from tidegate_hub.testing import RunningHub

pytestmark = pytest.mark.slow
HANDLER = "def handle(events, context): ...\n"
TOLD_WITHIN_S = 15.0


@pytest.fixture
def group(hub_server: RunningHub, azurite: str, tmp_path: Path) -> Iterator[CommandGroup]:
    source = "transport: native, consumerGroup: alarms"
    with a_command_group(hub_server, azurite, tmp_path, HANDLER, source=source) as made:
        yield made


def test_a_missing_consumer_group_is_told_in_time_and_forgotten_when_it_is_there(
    group: CommandGroup, hub_server: RunningHub
) -> None:
    def said() -> Presence | None:
        return group.listing().members.get("a")

    def is_owner() -> bool:
        rows = group.listing().ownerships.values()
        return len(rows) == group.partitions and all(row.owner is not None for row in rows)

    group.start("a")
    wait_until(lambda: said() is not None and is_owner(), 60, "the member to own", said)
    wait_until(
        lambda: (found := said()) is not None and found.unread == {"0", "1"},
        TOLD_WITHIN_S,
        "both partitions to be told",
        lambda: (said(), group.output("a")[-3000:]),
    )
    found = said()
    assert found is not None
    assert "amqp:not-found" in found.trouble and "alarms" in found.trouble
    assert "SharedAccess" not in found.trouble and len(found.trouble) <= 400

    assert group.output("a").count("kind=reader-failed") == 2, "once for each partition"

    hub_server.add_hub(group.name, 2, ["alarms"])
    wait_until(
        lambda: (found := said()) is not None and not found.unread and not found.trouble,
        60,
        "nothing to be told any more",
        lambda: (said(), group.output("a")[-3000:]),
    )
    assert group.output("a").count("kind=reader-failed") == 2
    wait_until(lambda: group.output("a").count("kind=reads-again") == 2, 30, "the end to be told")
    group.stop("a")
