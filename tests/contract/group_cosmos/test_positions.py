"""Positions that mean nothing to the service: said, left as they are, mended by a rewind."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from azure.cosmos import CosmosClient
from azure.storage.blob import BlobServiceClient

from support.container_group import DATABASE, HANDLER, ContainerGroup
from support.wait import wait_until
from tidegate.model import PartitionId, Position
from tidegate.ports import lost_position

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NewGroup = Callable[..., ContainerGroup]
_TIDEGATE = Path(sys.executable).with_name("tidegate")


def the_container_is_made_anew(group: ContainerGroup) -> None:
    with CosmosClient(group.cosmos.endpoint, group.cosmos.key) as client:
        client.get_database_client(DATABASE).delete_container(group.name)
    group.cosmos.add_container(DATABASE, group.name, "/home")
    again, group.written = group.written, 0
    group.write(again)


def the_token_is_of_what_never_was(group: ContainerGroup) -> None:
    """As of a range that has lost its end, or that keeps versions no longer."""
    with BlobServiceClient.from_connection_string(group.environment["STORAGE"]) as service:
        container = service.get_container_client(group.name)
        for found in container.list_blobs(include=["metadata"]):
            if "/checkpoint/" in found.name:
                metadata = dict(found.metadata)
                metadata["offset"] = re.sub("@e[^@]*@", "@e%22987654321%22@", metadata["offset"])
                container.get_blob_client(found.name).set_blob_metadata(metadata)


def words(group: ContainerGroup) -> str:
    """What its members announce of a lost position."""
    members = group.listing().members.values()
    return next(filter(None, (lost_position(each.trouble) for each in members)), "")


def rewind(group: ContainerGroup, to: str = "earliest") -> str:
    """What the command says, once it is done."""
    rewound = subprocess.run(
        [_TIDEGATE, "rewind", group.file, "--to", to],
        env=group.environment,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert rewound.returncode == 0, rewound.stdout + rewound.stderr + group.outputs()
    return rewound.stdout


def stored(group: ContainerGroup) -> dict[PartitionId, tuple[Position, bytes | None]]:
    listing = group.listing()
    return {p: (each.position, each.state) for p, each in listing.checkpoints.items()}


@pytest.mark.parametrize(
    ("spoil", "is_read"),
    [
        (the_container_is_made_anew, False),
        (the_container_is_made_anew, True),
        (the_token_is_of_what_never_was, False),
    ],
)
def test_a_lost_position_is_said_left_alone_and_mended_by_a_rewind_while_its_owner_lives(
    new_group: NewGroup, spoil: Callable[[ContainerGroup], None], is_read: bool
) -> None:
    """Also where a member reads while it is lost."""
    group = new_group(ranges=1)
    group.write(20)
    group.start("a")
    group.wait_until_all_seen(60)
    group.stop("a")
    if is_read:
        before = stored(group)
        group.start("a")
        group.write(1)
        wait_until(lambda: stored(group) != before, 60, "a checkpoint", group.outputs)
        before = stored(group)
        spoil(group)
    else:
        spoil(group)
        before = stored(group)
        group.start("a")
    said = wait_until(lambda: words(group), 90, "it to be announced", group.outputs)
    assert "-ff" in said
    assert stored(group) == before, "nothing is overwritten"
    assert group.repeats() == 0, "nothing was read"
    rewind(group)
    wait_until(lambda: group.repeats() == group.written, 60, "all to be given again", group.outputs)
    wait_until(lambda: not words(group), 60, "it to be said no more", group.outputs)
    group.stop("a")
    assert not group.missing()


def with_checkpoints_in_cosmos(group: ContainerGroup) -> None:
    """Its checkpoints in a container of Cosmos DB in place of Blob storage."""
    name = f"{group.name}-checkpoints"
    group.cosmos.add_container(DATABASE, name, "/id")
    place = f"{{database: home, container: {name}, connectionString: {{env: COSMOS}}}}"
    text = group.file.read_text()
    (line,) = [each for each in text.splitlines() if each.startswith("  ledger:")]
    group.file.write_text(text.replace(line, f"  ledger: {{cosmos: {place}}}"))


def with_checkpoints_in_blobs(group: ContainerGroup) -> None:
    """As it is."""


COUNTING = """
from seen import see
async def handle(changes, context):
    context.state["seen"] = context.state.get("seen", 0) + len(changes)
    for change in changes:
        see("h", context.member, context.partition, context.epoch, change["n"], change.lsn)
"""


def the_container_has_other_ranges(group: ContainerGroup, ranges: int, count: int) -> None:
    """It was deleted and made again, and has so many other items."""
    with CosmosClient(group.cosmos.endpoint, group.cosmos.key) as client:
        client.get_database_client(DATABASE).delete_container(group.name)
    group.cosmos.add_container(DATABASE, group.name, "/home", ranges=ranges)
    group.write(count)


@pytest.mark.parametrize("store", [with_checkpoints_in_blobs, with_checkpoints_in_cosmos])
@pytest.mark.parametrize(
    ("before", "after", "handler"),
    [(4, 2, HANDLER), (4, 3, HANDLER), (4, 5, COUNTING), (2, 3, HANDLER), (4, 1, COUNTING)],
)
def test_a_container_with_another_number_of_ranges_is_read_after_one_rewind_each_item_once(
    new_group: NewGroup,
    store: Callable[[ContainerGroup], None],
    before: int,
    after: int,
    handler: str,
) -> None:
    group = new_group(handler, ranges=before)
    store(group)
    group.write(80)
    group.start("a", "b")
    group.wait_until_all_seen(90)
    group.stop("b")
    the_container_has_other_ranges(group, after, 120)
    wait_until(lambda: words(group), 90, "it to be announced", group.outputs)
    assert group.seen().total() == 80, "nothing of the new one was read"
    rewind(group)
    group.wait_until_all_seen(90)
    group.start("b")
    group.wait_until_owned_by({"a", "b"} if after > 1 else {"a"}, 90)
    group.write(40)
    group.wait_until_all_seen(60)
    group.stop("a", "b")
    assert group.repeats() == 0, "each item is given once"
    assert not words(group)


def test_a_container_with_other_ranges_is_read_after_a_rewind_from_before_its_members_start(
    new_group: NewGroup,
) -> None:
    """Whoever reads a partition first carries it out."""
    group = new_group(ranges=4)
    group.write(80)
    group.start("a")
    group.wait_until_all_seen(90)
    group.stop("a")
    the_container_has_other_ranges(group, 3, 120)
    rewind(group)
    group.start("a")
    group.wait_until_all_seen(120)
    group.wait_until_owned_by({"a"}, 60)
    group.stop("a")
    assert group.repeats() == 0
