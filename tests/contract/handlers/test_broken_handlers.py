"""`tidegate run` with a broken handler: the damage is bounded, and the group recovers."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest

from contract.handlers.conftest import NewGroup
from support.command_group import CommandGroup
from support.wait import wait_until
from tidegate.commands import wiring
from tidegate.model import Listing, Roster
from tidegate.ports import List, WriteRoster

pytestmark = pytest.mark.slow

# Ends its process three seconds after the first batch.
CRASHES = """
import os, threading, time
from seen import see
_bomb = threading.Timer(3.0, os._exit, (1,))
def handle(events, context):
    if not _bomb.is_alive():
        see("begins", events[0].body_as_json()["n"])
        _bomb.start()
    for event in events:
        see(context.partition, event.body_as_json()["n"])
    time.sleep(0.5)
"""
# Raises until there is a file `fixed` beside it.
RAISES = """
from pathlib import Path
from seen import see
def handle(events, context):
    if not Path(__file__).with_name("fixed").exists():
        raise TypeError("a bug in the handler")
    for event in events:
        see(context.partition, event.body_as_json()["n"])
"""


def begins(group: CommandGroup) -> list[int]:
    return [int(words[1]) for words in group.seen() if words[0] == "begins"]


def test_a_member_that_crashes_every_3_s_makes_progress_in_each_life(new_group: NewGroup) -> None:
    """Of a checkpoint every 60 s alone, none would ever be written."""
    delivery = "{checkpoint: {everySeconds: 60}, batch: {maxEvents: 10, targetSeconds: 0}}"
    group = new_group(CRASHES, partitions=1, delivery=delivery)
    group.send("0", 0, 200)
    for life in range(4):
        # With its scratch file a member need not wait for the lease of its last life.
        group.start("a", "--scratch", str(group.folder / "a.scratch"))
        assert group.ended("a") == 1, group.output("a")[-3000:]
        assert len(begins(group)) == life + 1
    assert begins(group) == [0, 10, 20, 30]


def letters(group: CommandGroup) -> list[int]:
    listed = group.command("deadletters", "list", "--json", "--file", str(group.file))
    assert listed.returncode == 0, listed.stderr
    return sorted(int(number) for number in re.findall(r'"0/(\d+)"', listed.stdout))


ASIDE = (
    "{{onFailure: deadLetter, attempts: 2, backoff: {{firstSeconds: 0.01, mostSeconds: 0.05}}, "
    "circuitBreaker: {{probeEverySeconds: {probe}}}}}"
)


def test_a_bug_in_a_handler_puts_19_events_aside_and_the_partition_goes_on_once_it_is_fixed(
    new_group: NewGroup,
) -> None:
    group = new_group(RAISES, partitions=1, delivery=ASIDE.format(probe=1))
    group.send("0", 0, 1000)
    group.start("a")
    group.wait_for_output("a", "the circuit breaker is open", 60)
    wait_until(
        lambda: group.listing().members["a"].open_circuits == {"0"}, 20, "the ledger to say so"
    )
    assert letters(group) == list(range(19))
    assert group.seen() == []
    (group.folder / "fixed").touch()
    group.wait_until_seen(981, 60)
    group.wait_for_output("a", "the circuit breaker is closed", 10)
    group.stop("a")
    assert letters(group) == list(range(19)), "nothing more was put aside"
    assert sorted(n for _, n in group.counts()) == list(range(19, 1000))
    assert set(group.counts().values()) == {1}


def pause(group: CommandGroup, *partitions: str) -> None:
    """What the operator writes for `pause`, and with no partition for `resume`."""

    async def write() -> None:
        setup = wiring.set_up(group.file, group.environment, runs_code=False)
        ledger = wiring.new_ledger(setup, is_member=False)
        try:
            listing = await ledger.perform(List())
            assert isinstance(listing, Listing)
            roster = listing.roster or Roster()
            paused = replace(roster, paused=frozenset(partitions))
            await ledger.perform(WriteRoster(paused, roster.etag))
        finally:
            await ledger.close()

    asyncio.run(write())


def test_pause_and_resume_close_the_breaker_without_a_restart_of_the_member(
    new_group: NewGroup,
) -> None:
    group = new_group(RAISES, partitions=1, delivery=ASIDE.format(probe=3600))
    group.send("0", 0, 100)
    group.start("a")
    group.wait_for_output("a", "the circuit breaker is open", 60)
    (group.folder / "fixed").touch()
    pause(group, "0")
    wait_until(lambda: not group.listing().ownerships["0"].lease.is_held, 30, "the pause")
    assert group.listing().checkpoints["0"].position.sequence == 18, "what failed is not passed"
    pause(group)
    group.wait_until_seen(81, 30)
    group.stop("a")
    assert sorted(n for _, n in group.counts()) == list(range(19, 100))
