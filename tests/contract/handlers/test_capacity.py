"""Events that one consumer can handle a second, as the operator learns it from a real member.

Partitions of one process wait for each other: for the GIL, for a lock, for the loop. Their calls
take longer then, and the events cost no more. Other handlers wait for something outside, and their
calls run side by side. A little load shows the operator about what the member handles under a full
one.
"""

from __future__ import annotations

import time

import pytest
from azure.eventhub import EventData, EventHubProducerClient
from azure.eventhub.amqp import AmqpAnnotatedMessage

from contract.handlers.conftest import NewGroup
from support.command_group import CommandGroup
from support.wait import wait_until
from tidegate.model import Figures
from tidegate_hub.testing import RunningHub
from tidegate_operator.scaling import PartitionSample, Sample
from tidegate_operator.scaling.rates import Costs, costs_of, works_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

PARTITIONS = 4
# An event takes 10 ms. Each second so many come to each partition at once: a tenth of what a
# partition can have, and together less than half of what one call after the other can.
EACH_SECOND, LITTLE_S = 10, 14
ENOUGH = 1500
# Figures are of the last ten seconds.
LOOK_BACK_S = 12.0

GIL = """
import time
def handle(events, context):
    for _ in events:
        until = time.thread_time() + 0.01
        while time.thread_time() < until:
            pass
"""
LOCK = """
import threading, time
ONE_AT_A_TIME = threading.Lock()
def handle(events, context):
    for _ in events:
        with ONE_AT_A_TIME:
            time.sleep(0.01)
"""
LOOP = """
import asyncio, time
async def handle(events, context):
    for _ in events:
        time.sleep(0.01)
        await asyncio.sleep(0)
"""
THREADS = """
import time
def handle(events, context):
    for _ in events:
        time.sleep(0.01)
"""
ASYNC = """
import asyncio
async def handle(events, context):
    for _ in events:
        await asyncio.sleep(0.01)
"""


def told(group: CommandGroup) -> dict[str, Figures]:
    """What the member tells of all its partitions; empty before it tells of them all."""
    member = group.listing().members.get("a")
    figures = dict(member.figures) if member is not None else {}
    return figures if len(figures) == PARTITIONS else {}


def a_little_load(group: CommandGroup, hub: RunningHub) -> dict[str, Figures]:
    """The figures after events have come to all partitions at once, second by second."""
    client = EventHubProducerClient.from_connection_string(
        hub.connection_string, eventhub_name=group.hub_name
    )
    with client:
        begun = time.monotonic()
        for second in range(LITTLE_S):
            time.sleep(max(begun + second - time.monotonic(), 0.0))
            for partition in range(PARTITIONS):
                events: list[EventData | AmqpAnnotatedMessage] = [
                    EventData(b"{}") for _ in range(EACH_SECOND)
                ]
                client.send_batch(events, partition_id=str(partition))
    return told(group)


def under_full_load(group: CommandGroup) -> dict[str, Figures]:
    """The figures when all partitions have been at work for longer than figures look back."""
    for partition in range(PARTITIONS):
        group.send(str(partition), 0, ENOUGH)

    def is_full() -> bool:
        found = told(group).values()
        # Partitions that compute take turns: together they are at work all the time.
        used = sum(each.utilization or 0.0 for each in found)
        wait = min(((each.behind_s or 0.0) for each in found), default=0.0)
        is_busy = bool(found) and all(each.busy > 0.97 for each in found)
        return is_busy or (wait > LOOK_BACK_S and used > 0.97)

    wait_until(is_full, 60, "all partitions to be at work", detail=lambda: told(group))
    return told(group)


def learnt(figures: dict[str, Figures], lag: int, before: Costs | None = None) -> Costs:
    """What the operator knows after it has looked at these figures for a minute and a half."""
    rows = {
        partition: PartitionSample(
            lag=lag,
            handling=each.handling,
            busy=each.busy,
            utilization=each.utilization,
            owner="a",
        )
        for partition, each in figures.items()
    }
    costs = before or Costs()
    for look in range(45):
        works = works_of(Sample(2.0 * look, rows, 1, 1))
        costs = costs_of(costs, works, 2.0 * look, 2.0)
    return costs


def handled(figures: dict[str, Figures]) -> float:
    return sum(each.handling for each in figures.values())


def at_once(figures: dict[str, Figures]) -> float:
    """How many calls ran at once, on average, while any did."""
    parts = [each.utilization or 0.0 for each in figures.values()]
    return sum(each.busy for each in figures.values()) / sum(parts)


@pytest.mark.timed
@pytest.mark.parametrize("handler", [GIL, LOCK, LOOP], ids=["GIL", "lock", "loop"])
def test_what_a_call_waits_for_other_partitions_is_no_cost_of_its_events(
    new_group: NewGroup,
    hub_server: RunningHub,
    handler: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    group = new_group(handler, partitions=PARTITIONS, delivery="{batch: {maxEvents: 20}}")
    group.start("a")
    wait_until(lambda: told(group), 40, "the member to tell of all partitions")
    little = a_little_load(group, hub_server)
    by_little = learnt(little, lag=0)
    full = under_full_load(group)
    by_full = learnt(full, lag=1000, before=by_little)
    with capsys.disabled():
        print(
            f"\n{at_once(little):.1f} calls at once: {by_little.per_member:.0f}/s by a little "
            f"load, {by_full.per_member:.0f}/s by a full one, {handled(full):.0f}/s handled"
        )
    if handler != GIL:  # calls that compute wait for their turn, and seldom for each other
        assert at_once(little) > 2, "the calls did not wait for each other: this shows nothing"
    # Another process may have taken some of the machine in one of the two.
    assert 0.6 * handled(full) < (by_little.per_member or 0.0) < 1.7 * handled(full)
    assert by_full.per_member == pytest.approx(handled(full), rel=0.15)
    # One partition alone could have all of it.
    assert by_full.per_partition == pytest.approx(handled(full), rel=0.4)


@pytest.mark.parametrize("handler", [THREADS, ASYNC], ids=["threads", "async"])
def test_calls_that_wait_for_something_outside_are_worth_as_many_as_run_at_once(
    new_group: NewGroup,
    hub_server: RunningHub,
    handler: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    group = new_group(handler, partitions=PARTITIONS, delivery="{batch: {maxEvents: 20}}")
    group.start("a")
    wait_until(lambda: told(group), 40, "the member to tell of all partitions")
    little = a_little_load(group, hub_server)
    by_little = learnt(little, lag=0)
    full = under_full_load(group)
    by_full = learnt(full, lag=1000, before=by_little)
    one = handled(full) / PARTITIONS
    with capsys.disabled():
        print(
            f"\n{at_once(little):.1f} calls at once: {by_little.per_member:.0f}/s by a little "
            f"load, {by_full.per_member:.0f}/s by a full one, {handled(full):.0f}/s handled"
        )
    assert at_once(full) == pytest.approx(PARTITIONS, abs=0.2)
    assert 1.3 * one < (by_little.per_member or 0.0) < 1.2 * handled(full)
    assert by_full.per_member == pytest.approx(handled(full), rel=0.15)
