"""What a running member says of itself in the ledger: enough to tell lag without asking the hub."""

from __future__ import annotations

import time

import pytest

from contract.handlers.conftest import NewGroup
from support.command_group import CommandGroup
from support.wait import wait_until
from tidegate.model import Figures, Presence
from tidegate_hub.testing import RunningHub

pytestmark = pytest.mark.slow

# 100 events a second in partition 0; whatever comes in partition 1 fails.
SLOW_AND_STUCK = """
import time
from seen import see
def handle(events, context):
    if context.partition == "1":
        raise ValueError("poison")
    for event in events:
        time.sleep(0.01)
        see(context.partition, event.body_as_json()["n"])
"""
SEES = """
from seen import see
def handle(events, context):
    for event in events:
        see(context.partition, event.body_as_json()["n"])
"""
POD = "5d4f8b7c-9a1e-4f00-8000-000000000001"
EVENTS = 1000


def said(group: CommandGroup, name: str) -> Presence:
    return group.listing().members[name]


def told_of(group: CommandGroup, partition: str) -> Figures:
    """What its owner tells of a partition."""
    told = [row.figures for row in group.listing().members.values() if partition in row.figures]
    return told[0][partition] if told else Figures()


def busy(group: CommandGroup, partition: str) -> Figures | None:
    """The same once its handler works on events, and the source has said where they end."""
    found = told_of(group, partition)
    is_at_work = found.busy > 0.8 and (found.handled or 0) > 0
    return found if is_at_work and found.end is not None else None


@pytest.mark.parametrize("transport", ["native", "sdk"])
def test_a_member_tells_how_far_it_is_and_how_busy(
    new_group: NewGroup, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEGATE_POD_UID", POD)
    group = new_group(
        SLOW_AND_STUCK,
        source=f"transport: {transport}",
        delivery="{batch: {maxEvents: 20}, backoff: {firstSeconds: 0.05, mostSeconds: 0.2}}",
    )
    sent_at = time.time()
    group.send("0", 0, EVENTS)
    group.send("1", 0, 10)
    began_at = time.time()
    group.start("a")

    found = wait_until(lambda: busy(group, "0"), 40, "a busy partition to be told")
    listing = group.listing()
    assert found is not None
    assert found.end == EVENTS - 1
    assert found.handled is not None
    assert found.handled < EVENTS
    assert found.behind_s is not None
    assert 0 < found.behind_s < time.time() - sent_at
    # The handler takes 10 ms an event, or more where the machine is busy.
    assert 5 < found.handling < 120
    assert (found.arriving, found.begins_at) == (0.0, None)
    member = listing.members["a"]
    assert member.pod_uid == POD
    assert began_at <= member.started_at <= time.time()
    assert 0 <= listing.server_time - member.figures_at <= 30

    wait_until(lambda: said(group, "a").stuck == {"1"}, 20, "the stuck partition to be told")
    wait_until(lambda: told_of(group, "1").end == 9, 10, "the end of that to be told")
    assert (told_of(group, "1").handled, told_of(group, "1").handling) == (-1, 0.0)

    group.wait_until_seen(EVENTS, 60)
    wait_until(
        lambda: told_of(group, "0").handled == EVENTS - 1,
        10,
        "the last event to be told as handled",
        detail=lambda: told_of(group, "0"),
    )
    assert told_of(group, "0").behind_s == 0.0
    group.stop("a")
    assert group.listing().members == {}


def test_what_retention_took_is_reported_and_told_in_the_ledger(
    new_group: NewGroup, hub_server: RunningHub
) -> None:
    group = new_group(SEES, partitions=1)
    group.send("0", 0, 20)
    group.start("a")
    group.wait_until_seen(20, 40)
    group.stop("a")
    group.send("0", 20, 50)
    hub_server.inject("expire_retention", hub=group.hub_name, partition="0", before_sequence=30)
    group.start("b")
    group.wait_for_output("b", "events 20 to 29 are gone", 40)
    group.wait_until_seen(40, 40)
    wait_until(
        lambda: (told_of(group, "0").begins_at, told_of(group, "0").end) == (30, 49),
        40,
        "the loss to be told, and the end",
        detail=lambda: told_of(group, "0"),
    )
    group.stop("b")
    assert group.output("b").count("are gone") == 1
