"""`tidegate run` with real processes: what a user's handler sees, and what stopping costs."""

from __future__ import annotations

import json
import re
import signal
import time
from datetime import UTC, datetime

import pytest

from contract.handlers.conftest import NewGroup
from support.command_group import CommandGroup
from support.read_hub import read_all
from support.wait import wait_until
from tidegate_hub.testing import RunningHub

pytestmark = pytest.mark.slow

SEES = """
from seen import see
def handle(events, context):
    for event in events:
        see(context.partition, event.body_as_json()["n"])
"""
# Sums in the state; says who counted, and the sum that stands after each batch.
SUMS = """
from seen import see
async def handle(events, context):
    for event in events:
        number = event.body_as_json()["n"]
        context.state["sum"] = context.state.get("sum", 0) + number
        see(context.partition, number)
    see("sum", context.member, context.partition, context.state["sum"])
"""


@pytest.mark.parametrize("transport", ["native", "sdk"])
def test_a_clean_stop_and_a_new_start_handle_every_event_exactly_once(
    new_group: NewGroup, transport: str
) -> None:
    group = new_group(SEES, source=f"transport: {transport}")
    group.send("0", 0, 3000)
    group.start("a")
    group.wait_until_seen(200, 30)
    group.stop("a")
    group.send("1", 0, 1000)
    group.start("b")
    group.wait_until_seen(4000, 30)
    group.stop("b")
    assert set(group.counts().values()) == {1}


def test_what_the_state_holds_is_exact_although_members_are_killed(new_group: NewGroup) -> None:
    group = new_group(SUMS, delivery="{checkpoint: {everySeconds: 0.3}, batch: {maxEvents: 50}}")
    for round_ in range(2):
        group.send("0", round_ * 1000, round_ * 1000 + 1000)
        group.send("1", round_ * 1000, round_ * 1000 + 1000)
        group.start(f"m{round_}")
        group.wait_until_seen(round_ * 2000 + 500, 60)
        group.kill(f"m{round_}")
    group.start("last")
    # Each event may have been handled before the last kill, and be in a checkpoint or not. These
    # come after it, so that nobody but the last member tells their sums.
    for partition in ("0", "1"):
        group.send(partition, 2000, 2010)
    every = {"0": sum(range(2010)), "1": sum(range(2010))}
    wait_until(lambda: _sums(group, "last") == every, 60, "all sums", lambda: _sums(group, "last"))
    group.stop("last")
    assert _sums(group, "last") == every


def _sums(group: CommandGroup, member: str) -> dict[str, int]:
    """The sum of each partition that a member told last."""
    return {words[2]: int(words[3]) for words in group.seen() if words[:2] == ["sum", member]}


def test_poison_events_are_put_aside_listed_shown_and_replayed(new_group: NewGroup) -> None:
    group = new_group(
        "from seen import see\n"
        "def handle_event(event, context):\n"
        "    number = event.body_as_json()['n']\n"
        "    if number in (3, 700) and context.member != 'replay':\n"
        "        raise ValueError(f'{number} is poison')\n"
        "    see(context.partition, number)\n",
        delivery="{onFailure: deadLetter, attempts: 2, backoff: {firstSeconds: 0.01}}",
    )
    (group.folder / "group.yaml").write_text(
        group.file.read_text().replace(":handle", ":handle_event")
    )
    group.send("1", 0, 1000)
    group.start("a")
    group.wait_until_seen(998, 30)
    group.stop("a")
    file = ("--file", str(group.file))
    listed = group.command("deadletters", "list", *file)
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["1/3", "1/700"]
    assert "2 attempts  ValueError: 3 is poison" in listed.stdout
    shown = json.loads(group.command("deadletters", "show", "1/700", *file).stdout)
    assert (shown["text"], shown["attempts"], shown["member"]) == ('{"n": 700}', 2, "a")
    assert 'raise ValueError(f"' in shown["trace"].replace("f'", 'f"')
    replayed = group.command("deadletters", "replay", "--all", *file)
    assert replayed.returncode == 0, replayed.stderr
    assert group.command("deadletters", "list", *file).stdout == "no dead letters\n"
    assert set(group.counts().values()) == {1}
    assert len(group.counts()) == 1000


def test_a_rewind_while_the_group_runs_reads_again_from_there_with_a_state_cleared(
    new_group: NewGroup,
) -> None:
    group = new_group(SUMS)
    group.send("0", 0, 100)
    group.send("1", 0, 100)
    group.start("a")
    group.wait_until_seen(200, 30)
    time_between = time.time()
    wait_until(lambda: time.time() > time_between + 0.1, 5, "a moment between the events")
    group.send("0", 100, 130)
    group.wait_until_seen(230, 30)
    at = datetime.fromtimestamp(time_between, UTC).isoformat().replace("+00:00", "Z")
    rewound = group.command("rewind", str(group.file), "--to", at, "--partition", "0")
    assert rewound.returncode == 0, rewound.stderr
    assert "partition 0: done" in rewound.stdout
    again = sum(range(100, 130))
    wait_until(lambda: _sums(group, "a").get("0") == again, 60, "the sum of what was read again")
    group.stop("a")
    counts = group.counts()
    assert all(counts["0", number] == 2 for number in range(100, 130))
    assert all(counts["0", number] == 1 for number in range(100))


def test_a_rewind_beyond_the_end_of_a_partition_moves_nothing_and_says_what_to_write(
    new_group: NewGroup,
) -> None:
    group = new_group(SUMS)
    group.send("0", 0, 5)
    group.start("a")
    group.wait_until_seen(5, 30)
    group.stop("a")
    rewound = group.command("rewind", str(group.file), "--to", "110", "--partition", "0")
    assert rewound.returncode == 78
    assert "--to 110: partition 0 has no such place, and nothing was rewound" in rewound.stderr
    assert "deleted and made again" not in rewound.stderr


def test_a_second_signal_ends_at_once_and_says_what_that_costs(new_group: NewGroup) -> None:
    group = new_group(
        "from seen import see\nimport time\n"
        "def handle(events, context):\n"
        "    see(context.partition, events[0].body_as_json()['n'])\n"
        "    time.sleep(60)\n"
    )
    group.send("0", 0, 10)
    group.start("a")
    group.wait_until_seen(1, 30)
    group.signal("a", signal.SIGINT)
    group.wait_for_output("a", "stopping after SIGINT: the member finishes its batches", 30)
    group.wait_for_output("a", "Ask again to end at once", 30)
    asked = time.monotonic()
    group.signal("a", signal.SIGINT)
    assert group.ended("a") == 130
    # Long before its handler comes back.
    assert time.monotonic() - asked < 25
    assert re.search(r"Partitions 0(, 1)? were not handed over", group.output("a"))


def test_who_is_asked_to_stop_before_it_has_begun_ends_at_once_with_a_line(
    new_group: NewGroup,
) -> None:
    group = new_group(
        "from seen import see\nimport time\nsee('imports')\ntime.sleep(60)\n"
        "def handle(events, context): ...\n"
    )
    group.start("a")
    wait_until(lambda: ["imports"] in group.seen(), 30, "the handler to be imported")
    group.signal("a", signal.SIGTERM)
    assert group.ended("a", 30) == 0
    assert group.output("a") == "tidegate: SIGTERM: ended at once, for nothing is owned\n"


def test_on_stop_is_the_last_that_a_handler_hears(new_group: NewGroup) -> None:
    group = new_group(
        SEES + "def on_close(partition, reason):\n    see('closed', partition, reason)\n"
        "async def on_stop():\n    see('stopped')\n"
    )
    group.send("0", 0, 10)
    group.send("1", 0, 10)
    group.start("a")
    group.wait_until_seen(20, 30)
    group.stop("a")
    *_, one, other, last = group.seen()
    assert {tuple(one), tuple(other)} == {("closed", "0", "given"), ("closed", "1", "given")}
    assert last == ["stopped"]


def test_the_end_of_the_grace_ends_a_stop_that_takes_too_long(new_group: NewGroup) -> None:
    group = new_group(
        "from seen import see\nimport asyncio\n"
        "async def handle(events, context):\n"
        "    see(context.partition, events[0].body_as_json()['n'])\n"
        "    await asyncio.sleep(60)\n"
    )
    group.send("0", 0, 10)
    group.start("a", "--grace-s", "1")
    group.wait_until_seen(1, 30)
    group.signal("a", signal.SIGTERM)
    assert group.ended("a", 30) == 130
    assert "the 1 s of grace are over" in group.output("a")


def test_a_handler_that_hangs_is_told_then_its_partition_is_let_go_and_others_go_on(
    new_group: NewGroup,
) -> None:
    group = new_group(
        "from seen import see\nimport time\n"
        "def handle(events, context):\n"
        "    for event in events:\n"
        "        see(context.partition, event.body_as_json()['n'])\n"
        "    if context.partition == '0':\n"
        "        time.sleep(600)\n",
        delivery="{timeoutSeconds: 1, toldSeconds: 0.5}",
    )
    group.send("0", 0, 1)
    group.start("a")
    group.wait_for_output("a", "did not come back 0.5 s after it was told to stop", 30)
    group.send("1", 0, 50)
    group.wait_until_seen(51, 30)
    group.stop("a")


def test_what_hangs_in_one_member_is_handled_by_another_that_had_nothing_to_do(
    new_group: NewGroup,
) -> None:
    """By the shares alone it would stay with `a`, which tries again after 30 s."""
    group = new_group(
        "from seen import see\nimport time\n"
        "def handle(events, context):\n"
        "    if context.member == 'a':\n"
        "        see('hangs', 'in', 'a')\n"
        "        time.sleep(600)\n"
        "    for event in events:\n"
        "        see(context.partition, event.body_as_json()['n'])\n",
        partitions=1,
        delivery="{timeoutSeconds: 1, toldSeconds: 0.5}",
    )
    group.start("a")
    group.wait_for_output("a", " reading ", 60)
    # It is there, with nothing to do, before anything hangs: `a` would try again after 30 s.
    group.start("b")
    wait_until(lambda: "b" in group.listing().members, 60, "b to be there")
    group.send("0", 0, 20)
    group.wait_until_seen(20, 60)
    assert [words for words in group.seen() if words[0] == "hangs"] == [["hangs", "in", "a"]]
    group.stop("b")


def test_what_is_wrong_with_file_or_handler_is_one_line_and_exit_code_78(
    new_group: NewGroup,
) -> None:
    group = new_group("import no_such_module\n")
    ended = group.command("run", str(group.file))
    assert ended.returncode == 78
    assert "handler.py, line 1: import no_such_module" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    group.file.write_text(group.file.read_text().replace("handler:", "hander:"))
    ended = group.command("run", str(group.file))
    assert ended.returncode == 78
    assert "spec has no 'hander': did you mean 'handler'?" in ended.stderr


def test_a_kill_costs_no_more_duplicates_than_the_budget(new_group: NewGroup) -> None:
    group = new_group(SEES, partitions=1, delivery="{checkpoint: {duplicateBudget: 40}}")
    group.send("0", 0, 5000)
    group.start("a")
    group.wait_until_seen(500, 30)
    group.kill("a")
    group.start("b")
    # All may have been handled before the kill: these are not.
    group.send("0", 5000, 5010)
    group.wait_until_seen(5010, 60)
    group.stop("b")
    again = sum(count - 1 for count in group.counts().values())
    assert again <= 40


def test_dead_letters_go_to_a_hub_with_what_is_said_of_them(
    new_group: NewGroup, hub_server: RunningHub
) -> None:
    poison = f"poison-{time.monotonic_ns()}"
    hub_server.add_hub(poison, 1)
    group = new_group(
        "from seen import see\n"
        "def handle(events, context):\n"
        "    for event in events:\n"
        "        if event.body_as_json()['n'] == 5:\n"
        "            raise ValueError('five')\n"
        "    for event in events:\n"
        "        see(context.partition, event.body_as_json()['n'])\n",
        delivery="{onFailure: deadLetter, attempts: 1, deadLetters: {eventHub: {hub: "
        + poison
        + "}}}",
    )
    group.send("0", 0, 10)
    group.start("a")
    group.wait_until_seen(9, 30)
    group.stop("a")
    assert sorted(group.counts()) == [("0", n) for n in range(10) if n != 5]
    (letter,) = read_all(hub_server.connection_string, poison, 1)
    assert letter.body_as_str() == '{"n": 5}'
    assert letter.properties[b"tidegate-sequence-number"] == 5
    assert letter.properties[b"tidegate-error"] == b"ValueError: five"
