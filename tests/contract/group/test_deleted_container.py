"""A person deletes the container of the ledger, or blobs in it, while members run.

The members write what they know again. Nothing is lost, no partition changes its owner, and what
comes again is no more than what was not checkpointed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from azure.core.exceptions import ResourceExistsError
from azure.storage.blob import BlobServiceClient, ContainerClient

from support.group import Group, a_group
from support.wait import wait_until
from tidegate_hub.testing import RunningHub

PARTITIONS = 8
EVERY_S = 0.05
CHECKPOINT_S = 5.0

pytestmark = pytest.mark.slow


@pytest.fixture(params=["latest", "earliest"])
def group(
    request: pytest.FixtureRequest, hub_server: RunningHub, azurite: str, tmp_path: Path
) -> Iterator[Group]:
    """A group that begins there; its members do not make the container."""
    with ExitStack() as stack:
        yield stack.enter_context(
            a_group(hub_server, azurite, tmp_path, PARTITIONS, every_s=EVERY_S, start=request.param)
        )


def delete_container(group: Group) -> None:
    with BlobServiceClient.from_connection_string(group.storage) as service:
        service.delete_container(group.container)


def gaps(group: Group) -> list[str]:
    """Events between the first and the last that were handled, and were passed over."""
    first: dict[str, int] = {}
    for batch in group.batches():
        first[batch.partition] = min(batch.first, first.get(batch.partition, batch.first))
    return [
        each for each in group.missing() if int(each.split(": ")[1]) > first[each.split(": ")[0]]
    ]


def wait_until_checkpointed(group: Group, seconds: float) -> None:
    """Waits until all blobs are there again."""

    def all_there() -> bool:
        with ContainerClient.from_connection_string(group.storage, group.container) as container:
            if not container.exists():
                return False
            names = list(container.list_blob_names())
        checkpoints = [name for name in names if "/checkpoint/" in name]
        ownerships = [name for name in names if "/ownership/" in name]
        return len(checkpoints) == len(ownerships) == PARTITIONS

    wait_until(all_there, seconds, "all blobs to be written again", group.standing)


def judge(group: Group) -> None:
    """Nothing was lost, and what came again is what one checkpoint interval holds at the most."""
    assert gaps(group) == []
    assert group.duplicates() <= PARTITIONS * (CHECKPOINT_S + 1.0) / EVERY_S


@pytest.mark.timed
def test_a_container_that_its_members_make_again_costs_nothing(group: Group) -> None:
    group.start("a", "b", "c", create=True)
    settled = group.wait_until_read_by({"a", "b", "c"}, 60)
    delete_container(group)
    deleted = time.time()
    group.wait_for_report("ledger-emptied", 20)
    wait_until_checkpointed(group, 20)
    group.wait_until_read_by({"a", "b", "c"}, 30, since=deleted + 3.0)
    assert group.moves(settled) == 0
    group.stop("a", "b", "c")
    judge(group)


def test_a_container_that_a_person_makes_again_is_filled_from_memory(group: Group) -> None:
    group.start("a", "b")
    settled = group.wait_until_read_by({"a", "b"}, 60)
    delete_container(group)
    group.wait_for_report("ledger-unreadable", 20)
    # Longer than a lease: everybody has stopped reading by then.
    group.wait_for_report("lapsed", 40)
    make_container(group)
    group.wait_for_report("ledger-emptied", 30)
    wait_until_checkpointed(group, 20)
    group.wait_until_read_by({"a", "b"}, 30, since=time.time())
    assert group.moves(settled) == 0
    group.stop("a", "b")
    judge(group)


def make_container(group: Group) -> None:
    """As a person makes it, who tries again while it is being deleted."""

    def is_made() -> bool:
        with BlobServiceClient.from_connection_string(group.storage) as service:
            try:
                service.create_container(group.container)
            except ResourceExistsError:
                return False
        return True

    wait_until(is_made, 60, "the container to be made")


def test_who_starts_while_the_ledger_is_empty_waits_for_those_who_know(group: Group) -> None:
    group.start("a", "b", create=True)
    group.wait_until_read_by({"a", "b"}, 60)
    # Its imports take longer than the members take to notice: the gate opens at the same moment.
    gate = group.directory / "gate"
    group.start("c", create=True, gate=str(gate))
    wait_until(lambda: group.are_ready(["c"]), 60, "the newcomer to be ready", group.outputs)
    gate.touch()
    delete_container(group)
    wait_until_checkpointed(group, 30)
    group.wait_until_read_by({"a", "b", "c"}, 60)
    group.stop("a", "b", "c")
    judge(group)


def test_a_member_that_is_stopped_at_once_leaves_its_checkpoints_behind(group: Group) -> None:
    group.start("a", create=True)
    group.wait_until_read_by({"a"}, 60)
    delete_container(group)
    group.stop("a")
    group.start("b", create=True)
    group.wait_until_read_by({"b"}, 60, since=time.time())
    group.stop("b")
    judge(group)


def test_a_checkpoint_that_is_deleted_stands_again_although_none_is_due(
    hub_server: RunningHub, azurite: str, tmp_path: Path
) -> None:
    with a_group(hub_server, azurite, tmp_path, 2, every_s=EVERY_S) as group:
        group.start("a", settings={"checkpoint_every_s": 3600.0})
        group.wait_until_read_by({"a"}, 60)
        with ContainerClient.from_connection_string(group.storage, group.container) as container:
            name = next(n for n in container.list_blob_names() if n.endswith("/checkpoint/0"))
            container.delete_blob(name)
            wait_until(
                lambda: container.get_blob_client(name).exists(),
                10,
                "the checkpoint to be written again",
                group.standing,
            )
        group.wait_for_report("checkpoint-restored", 5)
        group.stop("a")
        assert group.missing() == []
