"""Handlers that end, deafen or litter their process: real processes, and no event is lost."""

from __future__ import annotations

import pytest

from contract.handlers.conftest import NewGroup
from support.command_group import CommandGroup

pytestmark = pytest.mark.slow

EVENTS = 200
DELIVERY = "{batch: {maxEvents: 20}, backoff: {firstSeconds: 0.01}}"
ONCE = """
import asyncio, os, sys, threading
from seen import see
def once():
    try:
        os.close(os.open(__file__ + ".once", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True
def good(events, context):
    for event in events:
        see(context.partition, event.body_as_json()["n"])
"""


def _all_in_order(group: CommandGroup) -> None:
    for partition in ("0", "1"):
        numbers = [int(words[1]) for words in group.seen() if words[0] == partition]
        # The first time that each is seen: what was not in a checkpoint comes again after an end.
        assert list(dict.fromkeys(numbers)) == list(range(EVENTS))


LIVES = {
    "a task that exits is left behind": (
        "async def leave(): sys.exit(0)\n"
        "async def handle(events, context):\n"
        "    if once(): asyncio.create_task(leave())\n"
        "    await asyncio.sleep(0)\n"
        "    good(events, context)\n",
        "sys.exit(0) was called",
    ),
    "a callback that is interrupted is left behind": (
        "def leave(): raise KeyboardInterrupt\n"
        "async def handle(events, context):\n"
        "    if once(): asyncio.get_running_loop().call_later(0.1, leave)\n"
        "    good(events, context)\n",
        "KeyboardInterrupt",
    ),
    "the loop is stopped": (
        "async def handle(events, context):\n"
        "    if once(): asyncio.get_running_loop().stop(); await asyncio.sleep(0)\n"
        "    good(events, context)\n",
        "Event loop stopped",
    ),
    "a thread that exits is left behind": (
        "def handle(events, context):\n"
        "    if once(): threading.Thread(target=sys.exit, args=(0,)).start()\n"
        "    good(events, context)\n",
        "",
    ),
    "the standard streams are closed": (
        "def handle(events, context):\n"
        "    if once():\n        sys.stdout.close(); sys.stderr.close()\n        raise ValueError\n"
        "    good(events, context)\n",
        "",
    ),
    "the standard streams are taken away": (
        "def handle(events, context):\n    sys.stdout = sys.stderr = None\n"
        "    if once(): raise ValueError\n"
        "    good(events, context)\n",
        "ValueError",
    ),
    "logging is shut down": (
        "import logging\n"
        "def handle(events, context):\n    logging.shutdown(); logging.disable()\n"
        "    if once(): raise ValueError\n"
        "    good(events, context)\n",
        "",
    ),
}


@pytest.mark.parametrize("name", LIVES)
def test_the_member_lives_and_ends_with_a_clean_stop(new_group: NewGroup, name: str) -> None:
    text, words = LIVES[name]
    group = new_group(ONCE + text, delivery=DELIVERY)
    for partition in ("0", "1"):
        group.send(partition, 0, EVENTS)
    group.start("a")
    group.wait_until_seen(2 * EVENTS, 60)
    if words:
        group.wait_for_output("a", words, 30)
    group.stop("a")
    _all_in_order(group)
    assert set(group.counts().values()) == {1}
    assert group.output("a").count(words) == 1 or not words


ENDS = {
    "os._exit(0)": ("if once(): os._exit(0)", 0),
    "a signal that nobody can catch": ("if once(): os.kill(os.getpid(), 9)", -9),
    "every task is cancelled": (
        "if once(): [task.cancel() for task in asyncio.all_tasks()]; await asyncio.sleep(1)",
        1,
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_what_ends_the_process_loses_nothing_for_the_next_member_reads_on(
    new_group: NewGroup, name: str
) -> None:
    code, expected = ENDS[name]
    group = new_group(
        f"{ONCE}async def handle(events, context):\n    {code}\n    good(events, context)\n",
        delivery=DELIVERY,
    )
    for partition in ("0", "1"):
        group.send(partition, 0, EVENTS)
    group.start("a")
    assert group.ended("a") == expected
    group.start("b")
    group.wait_until_seen(2 * EVENTS, 60)
    group.stop("b")
    _all_in_order(group)


def test_a_replay_runs_a_handler_of_any_kind_and_keeps_the_letter_of_one_that_exits(
    new_group: NewGroup,
) -> None:
    group = new_group(
        ONCE + "async def take(extra, events, context):\n"
        "    if context.member != 'replay': raise ValueError('poison')\n"
        "    if events[0].body_as_json()['n'] == 1: sys.exit(0)\n"
        "    good(events, context)\n"
        "import functools\nhandle = functools.partial(take, 1)\n",
        delivery="{onFailure: deadLetter, attempts: 1, backoff: {firstSeconds: 0.01}}",
        partitions=1,
    )
    group.send("0", 0, 3)
    group.start("a")
    group.wait_for_output("a", "dead letter 0/2 is at", 60)
    group.stop("a")
    file = ("--file", str(group.file))
    replayed = group.command("deadletters", "replay", "--all", *file)
    assert replayed.returncode == 1, replayed.stderr
    assert "0/1: failed again, and stays: sys.exit(0) was called" in replayed.stderr
    assert [int(words[1]) for words in group.seen()] == [0, 2]
    left = group.command("deadletters", "list", *file).stdout.splitlines()
    assert [line.split()[0] for line in left] == ["0/1"]
