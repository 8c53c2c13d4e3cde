"""What partitions cost is measured while members run, and a hot one gets a member for itself."""

from __future__ import annotations

from collections import Counter

import pytest

from contract.handlers.conftest import NewGroup
from support.command_group import CommandGroup
from support.steady_sender import steady_events
from support.wait import wait_until
from tidegate.ops.costs import WARM_UP_S
from tidegate_hub.testing import RunningHub

# Members are silent while they measure; the test waits for that.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

# 5 ms an event, as if it were written somewhere.
WORKS = """
import asyncio
import sys
from seen import see
async def on_open(partition):
    see("opened", partition, sys.argv[sys.argv.index("--name") + 1])
async def handle(events, context):
    for event in events:
        await asyncio.sleep(0.005)
"""
MEMBERS = ("a", "b", "c")
PARTITIONS = 6


def owned(group: CommandGroup) -> dict[str, set[str]]:
    rows = group.listing().ownerships.values()
    found: dict[str, set[str]] = {name: set() for name in MEMBERS}
    for row in rows:
        if row.owner is not None and row.lease.is_held:
            found[row.owner.name].add(row.partition)
    return found


def is_read_by_its_owners(group: CommandGroup) -> bool:
    """Whether each has two partitions, and has opened them: what is owned is opened later."""
    openers = {words[1]: words[2] for words in group.seen() if words[0] == "opened"}
    shares = owned(group)
    return {len(each) for each in shares.values()} == {2} and all(
        openers.get(partition) == name for name, each in shares.items() for partition in each
    )


def opened(group: CommandGroup) -> Counter[str]:
    return Counter(words[1] for words in group.seen() if words[0] == "opened")


def test_a_hot_partition_gets_a_member_for_itself_and_everything_else_stands_still(
    new_group: NewGroup, hub_server: RunningHub
) -> None:
    group = new_group(WORKS, partitions=PARTITIONS)
    for name in MEMBERS:
        group.start(name)
    wait_until(
        lambda: is_read_by_its_owners(group),
        60,
        "two partitions for each member",
        detail=lambda: owned(group),
    )
    before, opened_before = owned(group), opened(group)
    (keeper,) = (name for name, each in before.items() if "0" in each)
    (given,) = before[keeper] - {"0"}
    port, hub = hub_server.port, group.hub_name
    with (
        steady_events(port, hub, PARTITIONS, every_s=0.05),
        # Partition 0 gets six times as much as any other.
        steady_events(port, hub, 1, every_s=0.01),
    ):
        wait_until(
            lambda: owned(group)[keeper] == {"0"},
            WARM_UP_S + 120,
            "the hot partition to be alone",
            detail=lambda: (owned(group), group.listing().members),
        )
        wait_until(lambda: opened(group)[given] > opened_before[given], 60, "the move's end")
        listing = group.listing()
        assert 0.4 < listing.members[keeper].loads["0"] <= 1.0
        # Those who are done measuring have told: nothing else follows from what they say.
        wait_until(
            lambda: sum(len(each.loads) for each in group.listing().members.values()) >= PARTITIONS,
            WARM_UP_S,
            "all loads to be told",
            detail=lambda: group.listing().members,
        )
        assert opened(group) - opened_before == Counter({given: 1})
    for name in MEMBERS:
        group.stop(name)
