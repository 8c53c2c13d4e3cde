"""The same hub under another name in the secret: a group continues, or does not start.

The embedded hub is reached as `localhost` and as `127.0.0.1`, which are two hosts to a ledger as an
alias or a private link is on Azure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.storage.blob import ContainerClient

from support.command_group import CommandGroup, a_command_group
from support.wait import wait_until
from tidegate_hub.testing import RunningHub

HANDLER = """
from seen import see
async def handle(events, context):
    for event in events:
        see(context.partition, event.body_as_json()["n"])
"""
PARTITIONS = 4
EVENTS = 200

pytestmark = pytest.mark.slow


@pytest.fixture
def group(hub_server: RunningHub, azurite: str, tmp_path: Path) -> Iterator[CommandGroup]:
    with a_command_group(hub_server, azurite, tmp_path, HANDLER, partitions=PARTITIONS) as made:
        yield made


def rename(group: CommandGroup) -> tuple[str, str]:
    """Members that start from now on reach the hub by another name; the names, old and new."""
    parts = dict(part.split("=", 1) for part in group.environment["EVENTS"].split(";") if part)
    old = parts["Endpoint"].partition("//")[2].rstrip("/")
    new = (
        old.replace("localhost", "127.0.0.1")
        if "localhost" in old
        else old.replace("127.0.0.1", "localhost")
    )
    assert old != new
    group.environment["EVENTS"] = group.environment["EVENTS"].replace(old, new)
    return old, new


def with_host(group: CommandGroup, host: str) -> Path:
    """The group file with the host of the ledger written in it."""
    text = group.file.read_text(encoding="utf-8")
    path = group.folder / f"host-{host.replace(':', '-')}.yaml"
    path.write_text(
        text.replace("ledger: {", f"ledger: {{host: {json.dumps(host)}, "), encoding="utf-8"
    )
    return path


def send(group: CommandGroup, first: int, end: int) -> None:
    for partition in range(PARTITIONS):
        group.send(str(partition), first, end)


def hosts(group: CommandGroup) -> set[str]:
    """The hosts under which there is a ledger."""
    storage = group.environment["STORAGE"]
    with ContainerClient.from_connection_string(storage, group.name) as container:
        names = list(container.list_blob_names())
    return {name.split("/")[0] for name in names if "/ownership/" in name}


def test_a_member_under_another_host_is_refused_and_those_who_run_go_on(
    group: CommandGroup,
) -> None:
    group.start("a")
    send(group, 0, EVENTS)
    group.wait_until_seen(PARTITIONS * EVENTS, 60)
    old, new = rename(group)
    group.start("b")
    assert group.ended("b") == 78
    said = group.output("b")
    assert f"is reached as '{new}' now" in said
    assert f"spec.ledger.host: {old} to continue" in said
    send(group, EVENTS, 2 * EVENTS)
    group.wait_until_seen(2 * PARTITIONS * EVENTS, 60)
    group.stop("a")
    assert set(group.counts().values()) == {1}
    assert hosts(group) == {old}


def test_with_the_old_host_written_members_go_on_at_the_checkpoints_beside_those_who_run(
    group: CommandGroup,
) -> None:
    group.start("a")
    send(group, 0, EVENTS)
    group.wait_until_seen(PARTITIONS * EVENTS, 60)
    old, _ = rename(group)
    group.start("b", file=with_host(group, old))
    group.wait_for_output("b", " reading ", 60)
    send(group, EVENTS, 2 * EVENTS)
    group.wait_until_seen(2 * PARTITIONS * EVENTS, 60)
    group.stop("a")
    group.stop("b")
    assert set(group.counts().values()) == {1}
    assert hosts(group) == {old}


def test_with_the_new_host_written_a_group_begins_anew_and_takes_nothing_from_who_reads(
    group: CommandGroup,
) -> None:
    group.start("a")
    send(group, 0, EVENTS)
    group.wait_until_seen(PARTITIONS * EVENTS, 60)
    _, new = rename(group)
    group.start("b", file=with_host(group, new))
    group.wait_for_output("b", "it is left to that reader", 60)
    send(group, EVENTS, 2 * EVENTS)
    group.wait_until_seen(2 * PARTITIONS * EVENTS, 60)
    assert set(group.counts().values()) == {1}
    assert "fenced" not in group.output("a")
    group.stop("a")
    # The positions are gone with the name: everything comes again, after the old members stopped.
    wait_until(
        lambda: (
            set(group.counts().values()) == {2} and len(group.counts()) == 2 * PARTITIONS * EVENTS
        ),
        90,
        "the new members to read from the beginning",
        lambda: group.output("b")[-3000:],
    )
    group.stop("b")
