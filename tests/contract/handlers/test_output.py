"""What commands and handlers print: for programs, for people, and for readers who go away."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from contract.handlers.conftest import NewGroup
from support.command_group import CommandGroup
from support.unread_pipe import unread_pipe
from tidegate_http.output import NOT_READ

POISON = """
from seen import see
def handle(events, context):
    print("a handler's own line")
    for event in events:
        number = event.body_as_json()["n"]
        if number % 10 == 3 and context.member != "replay" or number == 13:
            raise ValueError(f"\x1b[2J{number} is poison")
        see(context.partition, number)
"""
PUT_ASIDE = "{onFailure: deadLetter, attempts: 1, backoff: {firstSeconds: 0.01}}"


def unread(group: CommandGroup, *words: str) -> subprocess.CompletedProcess[str]:
    """A command whose standard output nobody reads."""
    with unread_pipe() as pipe:
        return subprocess.run(
            [Path(sys.executable).with_name("tidegate"), *words],
            env=group.environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=subprocess.PIPE,
            text=True, check=False, timeout=100,
        )  # fmt: skip


@pytest.fixture
def group(new_group: NewGroup) -> CommandGroup:
    """Three of its events were put aside."""
    made = new_group(POISON, delivery=PUT_ASIDE)
    made.send("1", 0, 30)
    made.start("a")
    made.wait_until_seen(27, 60)
    made.stop("a")
    return made


def test_dead_letters_are_an_object_a_line_for_programs_and_plain_text_for_people(
    group: CommandGroup,
) -> None:
    file = ("--file", str(group.file))
    lines = group.command("deadletters", "list", "--json", *file).stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["1/3", "1/13", "1/23"]
    people = group.command("deadletters", "list", *file).stdout
    assert "\x1b" not in people and "3 is poison" in people
    replayed = group.command("deadletters", "replay", "--all", "--json", *file)
    told = [json.loads(line) for line in replayed.stdout.splitlines()]
    assert [(each["id"], each["done"]) for each in told] == [
        ("1/3", True), ("1/13", False), ("1/23", True)
    ]  # fmt: skip
    assert "13 is poison" in told[1]["error"] and replayed.returncode == 1
    assert "a handler's own line" in replayed.stderr
    group.command("deadletters", "replay", "--all", "--to-hub", *file)
    assert group.command("deadletters", "list", "--json", *file).stdout == ""


def test_a_list_that_nobody_reads_to_its_end_ends_without_a_word(
    group: CommandGroup,
) -> None:
    for words in (("list", "--json"), ("list",), ("show", "1/13"), ("replay", "1/3")):
        result = unread(group, "deadletters", *words, "--file", str(group.file))
        said = result.stderr.replace("a handler's own line\n", "")
        assert (result.returncode, said) == (NOT_READ, ""), words


def test_a_member_whose_output_nobody_reads_stops_cleanly_and_fails_no_event(
    new_group: NewGroup,
) -> None:
    group = new_group(
        """
from seen import see
def handle(events, context):
    print("a line", flush=True)
    for event in events:
        see(context.partition, event.body_as_json()["n"])
""",
        delivery=PUT_ASIDE,
    )
    group.send("0", 0, 50)
    member = unread(group, "run", str(group.file), "--name", "a", "--log-format", "text")
    assert member.returncode == NOT_READ, member.stderr
    assert member.stderr.count("tidegate: standard output cannot be written: Broken pipe") == 1
    group.start("b")
    group.wait_for_output("b", "reading", 60)
    group.wait_until_seen(50, 60)
    group.stop("b")
    assert set(group.counts().values()) == {1}, "the clean stop wrote its checkpoints"
    listed = group.command("deadletters", "list", "--file", str(group.file))
    assert listed.stdout == "no dead letters\n"
