"""Plain handlers that compute, with events waiting: partitions move while calls run."""

from __future__ import annotations

from collections import Counter

import pytest

from contract.handlers.conftest import NewGroup
from support.command_group import CommandGroup
from support.wait import wait_until

pytestmark = pytest.mark.slow

PARTITIONS, EVENTS = 16, 250
COMPUTES = """
import time
from seen import see
def handle(events, context):
    for event in events:
        until = time.thread_time() + 0.01
        while time.thread_time() < until:
            sum(range(200))
        see(context.partition, event.body_as_json()["n"])
    see("by", context.member, len(events))
"""
POOL = """
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from seen import see

pool = ProcessPoolExecutor(2, mp_context=get_context("spawn"))

def work(partition, numbers):
    for number in numbers:
        see(partition, number)
    see("worked", "in", os.getpid())

def handle(events, context):
    numbers = [event.body_as_json()["n"] for event in events]
    return pool.submit(work, context.partition, numbers)

def on_stop():
    pool.shutdown()
    see("stopped")
"""


def members(group: CommandGroup) -> set[str]:
    return {words[1] for words in group.seen() if words[0] == "by"}


def owned(group: CommandGroup) -> Counter[str]:
    rows = group.listing().ownerships.values()
    return Counter(row.owner.name for row in rows if row.owner and row.lease.is_held)


@pytest.mark.timed
def test_members_that_come_get_their_share_while_events_wait_and_go_without_repeating_any(
    new_group: NewGroup,
) -> None:
    """By batches of 500, one call of each partition would have all that waits."""
    group = new_group(COMPUTES, partitions=PARTITIONS)
    for partition in range(PARTITIONS):
        group.send(str(partition), 0, EVENTS)
    group.start("a")
    group.wait_until_seen(1, 60)
    for name in ("b", "c", "d"):
        group.start(name)
    wait_until(lambda: members(group) == {"a", "b", "c", "d"}, 120, "all to handle events")
    assert len(group.counts()) < PARTITIONS * EVENTS, "nothing waits any more"
    for name in ("b", "c", "d"):
        group.stop(name)
    wait_until(lambda: owned(group) == {"a": PARTITIONS}, 60, "one to have all again")
    group.wait_until_seen(PARTITIONS * EVENTS, 300)
    group.stop("a")
    assert set(group.counts().values()) == {1}
    assert not any("did not give it within" in group.output(name) for name in "abcd")


def test_a_handler_may_return_the_future_of_a_process_pool(new_group: NewGroup) -> None:
    group = new_group(POOL)
    for partition in ("0", "1"):
        group.send(partition, 0, 100)
    group.start("a")
    group.wait_until_seen(200, 60)
    member = str(group.pid("a"))
    group.stop("a")
    assert set(group.counts().values()) == {1}
    workers = {words[2] for words in group.seen() if words[0] == "worked"}
    assert workers and member not in workers
    assert group.seen()[-1] == ["stopped"]
