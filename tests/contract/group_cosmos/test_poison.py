"""A group that meets a poison document: it is put aside whole, once, and given again if asked."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.container_group import DATABASE, ContainerGroup
from support.wait import wait_until

pytestmark = pytest.mark.slow

NewGroup = Callable[..., ContainerGroup]
TIDEGATE = Path(sys.executable).with_name("tidegate")
# Three are poison until somebody replays them.
HANDLER = """
from seen import see
async def handle(changes, context):
    for change in changes:
        if change["n"] in (3, 40, 77) and context.member != "replay":
            raise ValueError(f"{change['n']} is poison")
    for change in changes:
        see("h", context.member, context.partition, context.epoch, change["n"], change.lsn)
"""
TO = (
    "{onFailure: deadLetter, attempts: 2, backoff: {firstSeconds: 0.01}, "
    "deadLetters: {cosmos: {database: home, container: %s}}}"
)


def ask(group: ContainerGroup, *words: str) -> subprocess.CompletedProcess[str]:
    action, *rest = words
    told = [str(TIDEGATE), "deadletters", action, "--file", str(group.file), *rest]
    return subprocess.run(
        told, env=group.environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_a_poison_document_is_put_aside_in_a_container_listed_shown_and_replayed(
    new_group: NewGroup,
) -> None:
    group = new_group(HANDLER, delivery=TO % "poison")
    group.cosmos.add_container(DATABASE, "poison", "/partition")
    group.write(100)
    group.start("a", "b")
    wait_until(lambda: len(group.missing()) == 3, 60, "all but the poison", group.outputs)
    wait_until(lambda: len(group.cosmos.items(DATABASE, "poison")) == 3, 30, "three letters")
    group.stop("a", "b")
    group.start("c")
    group.write(10)
    wait_until(lambda: len(group.missing()) == 3, 60, "what came since", group.outputs)
    group.stop("c")
    assert group.missing() == [3, 40, 77]
    assert len(group.cosmos.items(DATABASE, "poison")) == 3, "who comes later passes them by"
    assert group.repeats() == 0
    lines = ask(group, "list").stdout.splitlines()
    assert sorted(line.split("  ")[-1] for line in lines) == [
        f"ValueError: {number} is poison" for number in (3, 40, 77)
    ]
    first = lines[0].split()[0]
    shown = json.loads(ask(group, "show", "--", first).stdout)
    assert (shown["attempts"], json.loads(shown["text"])["n"]) in ((2, 3), (2, 40), (2, 77))
    one = ask(group, "replay", "--", first)
    assert (one.returncode, one.stdout) == (0, f"{first}: done\n"), one.stderr
    assert len(ask(group, "list").stdout.splitlines()) == 2
    rest = ask(group, "replay", "--all")
    assert rest.returncode == 0, rest.stderr
    assert ask(group, "list").stdout == "no dead letters\n"
    assert group.missing() == []
    assert set(group.seen().values()) == {1}


def test_poison_waits_for_its_container_and_nothing_is_passed_until_it_is_put_aside(
    new_group: NewGroup,
) -> None:
    group = new_group(HANDLER, ranges=1, delivery=TO % "not-yet")
    group.write(100)
    group.start("a")
    said = "container 'not-yet' of database 'home' is not there (404)"
    wait_until(lambda: said in group.output("a"), 60, "the missing container", group.outputs)
    assert not {number for number in group.seen() if number > 3}, "the poison is not passed"
    group.cosmos.add_container(DATABASE, "not-yet", "/partition")
    wait_until(lambda: len(group.missing()) == 3, 60, "all but the poison", group.outputs)
    group.stop("a")
    assert len(group.cosmos.items(DATABASE, "not-yet")) == 3
    assert group.repeats() == 0


def test_a_letter_of_a_container_is_not_sent_to_a_hub(new_group: NewGroup) -> None:
    group = new_group(HANDLER, delivery="{onFailure: deadLetter, attempts: 1}")
    group.write(10)
    group.start("a")
    wait_until(lambda: group.missing() == [3], 60, "all but the poison", group.outputs)
    group.stop("a")
    refused = ask(group, "replay", "--all", "--to-hub")
    assert refused.returncode != 0
    assert "this group reads a container, and --to-hub sends to a hub" in refused.stderr
    done = ask(group, "replay", "--all")
    assert done.returncode == 0, done.stderr
    assert group.missing() == []
