"""A process that is asked to end does so within its grace period, whatever its handler does."""

from __future__ import annotations

import os
import pty
import select
import signal
import time
from pathlib import Path

import pytest

from contract.handlers.conftest import NewGroup
from support.command_group import CommandGroup
from support.wait import wait_until
from tidegate.commands.last_words import ELSEWHERE

pytestmark = pytest.mark.slow

# Long enough for a busy machine to come to where a handler hangs.
GRACE_S = 4.0
# These hang after the partitions were handed over: a busy machine takes longer to come there.
AT_THE_END = ("hangs in on_close", "hangs in on_stop")
GRACE_AT_THE_END_S = 12.0
# Beyond the grace period: the last second of a process that is cut, and a busy machine.
BEYOND_S = 5.0

HEAD = """\
import asyncio, atexit, threading, time
from seen import see
"""
# What hangs, and what the last line names. Each handler says `see("0", 0)` first.
HOSTILE = {
    "sleeps on the loop": (
        """
async def handle(events, context):
    see("0", 0)
    time.sleep(600)
""",
        "in handle",
    ),
    "computes on the loop": (
        """
async def handle(events, context):
    see("0", 0)
    while True:
        pass
""",
        "in handle",
    ),
    "waits for a lock on the loop": (
        """
async def handle(events, context):
    see("0", 0)
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
""",
        "in handle",
    ),
    "swallows its cancellation for ever": (
        """
async def handle(events, context):
    see("0", 0)
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            pass
""",
        "in handle",
    ),
    "leaves a task that refuses to be cancelled": (
        """
async def refuse():
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            pass
tasks = []
async def handle(events, context):
    tasks.append(asyncio.create_task(refuse()))
    see("0", 0)
""",
        "in refuse",
    ),
    "leaves a thread that is no daemon": (
        """
def work():
    time.sleep(600)
def handle(events, context):
    threading.Thread(target=work, name="left-behind", daemon=False).start()
    see("0", 0)
""",
        "thread 'left-behind' at",
    ),
    "leaves work in the loop's executor": (
        """
def work():
    time.sleep(600)
async def handle(events, context):
    asyncio.get_running_loop().run_in_executor(None, work)
    see("0", 0)
""",
        "in work",
    ),
    "leaves an exit hook that hangs": (
        """
def hook():
    time.sleep(600)
atexit.register(hook)
def handle(events, context):
    see("0", 0)
""",
        "in hook",
    ),
    "leaves an async generator that hangs": (
        """
async def numbers():
    try:
        yield 1
    finally:
        while True:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                pass
kept = []
async def handle(events, context):
    kept.append(numbers())
    await anext(kept[-1])
    see("0", 0)
""",
        "in numbers",
    ),
    "sleeps on its thread": (
        """
def handle(events, context):
    see("0", 0)
    time.sleep(600)
""",
        "in handle",
    ),
    "hangs in on_close": (
        """
async def handle(events, context):
    see("0", 0)
async def on_close(partition, reason):
    time.sleep(600)
""",
        "in on_close",
    ),
    "hangs in on_stop": (
        """
def handle(events, context):
    see("0", 0)
async def on_stop():
    time.sleep(600)
""",
        "in on_stop",
    ),
    "takes the signals for itself": (
        """
import signal
async def handle(events, context):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    see("0", 0)
    time.sleep(600)
""",
        "in handle",
    ),
    "takes away what wakes the loop at a signal": (
        """
import signal
async def handle(events, context):
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, print)
    see("0", 0)
    time.sleep(600)
""",
        "in handle",
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_the_grace_period_ends_a_process_whose_handler(new_group: NewGroup, what: str) -> None:
    code, named = HOSTILE[what]
    grace_s = GRACE_AT_THE_END_S if what in AT_THE_END else GRACE_S
    group = new_group(HEAD + code, partitions=1)
    words = _last_words(group)
    group.send("0", 0, 1)
    group.start("a", "--grace-s", str(grace_s))
    group.wait_until_seen(1, 30)
    asked = time.monotonic()
    group.signal("a", signal.SIGTERM)
    assert group.ended("a", grace_s + 30) == 130, group.output("a")
    took_s = time.monotonic() - asked
    print(f"stop of a handler that {what}: {took_s:.2f} s")
    assert grace_s - 0.1 < took_s < grace_s + BEYOND_S
    last = group.output("a").splitlines()[-1]
    assert last.startswith("tidegate: ended by force: ")
    assert named in last
    # What Kubernetes shows as the message of the container's end.
    assert last == f"tidegate: {words.read_text(encoding='utf-8')}"


@pytest.mark.parametrize(
    "what",
    [
        "computes on the loop",
        "swallows its cancellation for ever",
        "leaves a thread that is no daemon",
        "takes away what wakes the loop at a signal",
    ],
)
def test_a_second_signal_ends_a_process_at_once_whose_handler(
    new_group: NewGroup, what: str
) -> None:
    group = new_group(HEAD + HOSTILE[what][0], partitions=1)
    group.send("0", 0, 1)
    group.start("a", "--grace-s", "600")
    group.wait_until_seen(1, 30)
    group.signal("a", signal.SIGTERM)
    # The kernel keeps one signal of a kind: the second must not come before the first is taken.
    wait_until(lambda: _has_taken_signals(group.pid("a")), 30, "the first signal to be taken")
    asked = time.monotonic()
    group.signal("a", signal.SIGINT)
    assert group.ended("a", 60) == 130, group.output("a")
    took_s = time.monotonic() - asked
    print(f"second signal, a handler that {what}: {took_s:.2f} s")
    assert took_s < BEYOND_S


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_each_of_these_signals_is_a_clean_stop_and_a_further_sighup_does_not_cut_it(
    new_group: NewGroup, number: signal.Signals
) -> None:
    """A closed terminal sends SIGHUP twice: the kernel does, and the shell does."""
    group = new_group(
        HEAD + "def handle(events, context):\n"
        "    for event in events:\n"
        "        see(context.partition, event.body_as_json()['n'])\n"
        "    see('begun')\n"
        "    time.sleep(1)\n"
        "    see('done')\n",
        partitions=1,
    )
    group.send("0", 0, 10)
    group.start("a")
    wait_until(lambda: ["begun"] in group.seen(), 30, "the call to be under way")
    group.signal("a", number)
    group.wait_for_output("a", "Ask again to end at once", 30)
    group.signal("a", signal.SIGHUP)
    assert group.ended("a") == 0, group.output("a")
    # What ran was finished, and what is finished is in the checkpoint.
    assert group.seen()[-1] == ["done"]
    last = max(number for _, number in group.counts())
    assert group.listing().checkpoints["0"].position.sequence == last
    assert not group.listing().ownerships["0"].lease.is_held


def test_a_closed_terminal_is_a_clean_stop(new_group: NewGroup) -> None:
    group = new_group(
        HEAD + "def handle(events, context):\n"
        "    for event in events:\n"
        "        see(context.partition, event.body_as_json()['n'])\n"
    )
    group.send("0", 0, 10)
    pid, terminal = pty.fork()
    if pid == 0:
        group.become("a", TERM="xterm-256color")
    try:
        wait_until(lambda: _reads(terminal) and len(group.counts()) == 10, 60, "10 events")
    finally:
        os.close(terminal)
    status: list[int] = []

    def has_ended() -> bool:
        found, code = os.waitpid(pid, os.WNOHANG)
        status.append(code)
        return found == pid

    wait_until(has_ended, 30, "the member to end")
    assert os.waitstatus_to_exitcode(status[-1]) == 0
    listing = group.listing()
    assert listing.checkpoints["0"].position.sequence == 9
    assert not any(row.lease.is_held for row in listing.ownerships.values())


def _reads(terminal: int) -> bool:
    """Takes what was written to it: nobody writes more than it holds."""
    while select.select([terminal], [], [], 0)[0]:
        os.read(terminal, 65_536)
    return True


def test_who_was_started_by_nohup_goes_on_when_its_terminal_is_closed(new_group: NewGroup) -> None:
    group = new_group(
        HEAD + "def handle(events, context):\n"
        "    for event in events:\n"
        "        see(context.partition, event.body_as_json()['n'])\n",
        partitions=1,
    )
    group.start("a", within=("nohup",))
    group.wait_for_output("a", " reading ", 60)
    group.signal("a", signal.SIGHUP)
    group.send("0", 0, 10)
    group.wait_until_seen(10, 30)
    group.stop("a")


def test_an_import_that_refuses_to_be_ended_is_ended_by_force(new_group: NewGroup) -> None:
    group = new_group(
        HEAD + "def imports():\n"
        "    see('imports')\n"
        "    while True:\n"
        "        try:\n"
        "            time.sleep(600)\n"
        "        except BaseException:\n"
        "            pass\n"
        "imports()\n"
        "def handle(events, context): ...\n"
    )
    group.start("a")
    wait_until(lambda: ["imports"] in group.seen(), 30, "the handler to be imported")
    asked = time.monotonic()
    group.signal("a", signal.SIGTERM)
    assert group.ended("a") == 130
    assert time.monotonic() - asked < 3 + BEYOND_S
    assert "in imports" in group.output("a").splitlines()[-1]


def test_a_member_that_fails_ends_although_its_handler_has_left_a_thread(
    new_group: NewGroup,
) -> None:
    group = new_group(
        HEAD + "threading.Thread(target=lambda: time.sleep(600), daemon=False).start()\n"
        "raise ValueError('this module is broken')\n"
    )
    words = _last_words(group)
    group.start("a", "--grace-s", str(GRACE_S))
    assert group.ended("a", 30) == 78
    said = group.output("a").splitlines()
    assert "this module is broken" in said[0]
    assert said[1].startswith("tidegate: ended by force: it did not end within")
    assert words.read_text(encoding="utf-8").startswith("HandlerNotImported: ")


def test_code_in_c_that_takes_the_interpreters_lock_during_a_stop_is_named_and_ended(
    new_group: NewGroup,
) -> None:
    group = new_group(
        HEAD + "import ctypes\n"
        "def handle(events, context):\n"
        "    see('0', 0)\n"
        "def on_stop():\n"
        "    ctypes.PyDLL(None).sleep(600)\n",
        partitions=1,
    )
    group.send("0", 0, 1)
    group.start("a", "--grace-s", str(GRACE_AT_THE_END_S))
    group.wait_until_seen(1, 30)
    asked = time.monotonic()
    group.signal("a", signal.SIGTERM)
    # faulthandler's own code.
    assert group.ended("a", 30) == 1
    assert time.monotonic() - asked < GRACE_AT_THE_END_S + 3 + BEYOND_S
    assert "in on_stop" in group.output("a")


def test_a_child_that_was_forked_can_be_ended_and_its_end_is_not_ours(
    new_group: NewGroup,
) -> None:
    group = new_group(
        HEAD + "import multiprocessing\n"
        "fork = multiprocessing.get_context('fork')\n"
        "def handle(events, context):\n"
        "    child = fork.Process(target=time.sleep, args=(600,))\n"
        "    child.start()\n"
        "    child.terminate()\n"
        "    child.join(30)\n"
        "    see('child', child.exitcode)\n"
        "    for event in events:\n"
        "        see(context.partition, event.body_as_json()['n'])\n",
        partitions=1,
    )
    group.send("0", 0, 10)
    group.start("a")
    group.wait_until_seen(10, 60)
    assert group.seen()[0] == ["child", str(-signal.SIGTERM)]
    group.send("0", 10, 20)
    group.wait_until_seen(20, 30)
    group.stop("a")


def test_output_that_nobody_reads_does_not_keep_a_member_from_ending(new_group: NewGroup) -> None:
    group = new_group(
        HEAD + "def handle(events, context):\n"
        "    see('0', 0)\n"
        "    while True:\n"
        "        print('x' * 1000)\n",
        partitions=1,
    )
    group.send("0", 0, 1)
    reading, writing = os.pipe()
    try:
        group.start("a", "--grace-s", str(GRACE_S), stdout=writing)
        os.close(writing)
        group.wait_until_seen(1, 30)
        asked = time.monotonic()
        group.signal("a", signal.SIGTERM)
        assert group.ended("a", GRACE_S + 30) == 130
        assert time.monotonic() - asked < GRACE_S + BEYOND_S
    finally:
        os.close(reading)


def test_a_name_server_that_does_not_answer_does_not_keep_a_member_from_ending(
    new_group: NewGroup,
) -> None:
    group = new_group(
        HEAD + "import socket\n"
        "resolve = socket.getaddrinfo\n"
        "def slow(host, *arguments, **named):\n"
        "    if host == 'hub.example':\n"
        "        see('asked')\n"
        "        time.sleep(600)\n"
        "    return resolve(host, *arguments, **named)\n"
        "socket.getaddrinfo = slow\n"
        "def handle(events, context): ...\n"
    )
    events = group.environment["EVENTS"]
    group.environment["EVENTS"] = events.replace("localhost", "hub.example")
    group.start("a")
    wait_until(lambda: ["asked"] in group.seen(), 30, "the name to be asked for")
    asked = time.monotonic()
    group.stop("a")
    assert time.monotonic() - asked < BEYOND_S


def _last_words(group: CommandGroup) -> Path:
    """The file that a container has for the last words of its process."""
    place = group.folder / "last-words"
    place.touch()
    group.environment[ELSEWHERE] = str(place)
    return place


def _has_taken_signals(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    pending = [line.split()[1] for line in status if line.startswith(("SigPnd", "ShdPnd"))]
    return all(int(mask, 16) == 0 for mask in pending)
