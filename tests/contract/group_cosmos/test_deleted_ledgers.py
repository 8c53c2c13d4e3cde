"""The container of a group's ledger is deleted while members read a change feed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from azure.cosmos import CosmosClient
from azure.cosmos.exceptions import CosmosResourceNotFoundError
from azure.storage.blob import ContainerClient

from support.container_group import DATABASE, ContainerGroup
from support.wait import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NewGroup = Callable[..., ContainerGroup]
# Items that came after the last checkpoint, in 5 s, and those of a page under way.
REPEATS_AT_MOST = 800


def with_ledger(group: ContainerGroup, line: str) -> Path:
    """Its file with another ledger."""
    lines = group.file.read_text(encoding="utf-8").splitlines()
    (place,) = [at for at, each in enumerate(lines) if each.startswith("  ledger:")]
    file = group.folder / "other.yaml"
    file.write_text("\n".join([*lines[:place], line, *lines[place + 1 :]]) + "\n", encoding="utf-8")
    return file


def on_blobs(group: ContainerGroup) -> str:
    return (
        f"  ledger: {{container: {group.name}, connectionString: {{env: STORAGE}}, create: true}}"
    )


def on_leases(group: ContainerGroup) -> str:
    leases = f"{group.name}-leases"
    group.cosmos.add_container(DATABASE, leases, "/id")
    return (
        f"  ledger: {{cosmos: {{database: {DATABASE}, container: {leases}, "
        "connectionString: {env: COSMOS}, create: true}}"
    )


def delete_blobs(group: ContainerGroup) -> None:
    storage = group.environment["STORAGE"]
    with ContainerClient.from_connection_string(storage, group.name) as container:
        container.delete_container()


def delete_leases(group: ContainerGroup) -> None:
    with CosmosClient(group.cosmos.endpoint, group.cosmos.key) as client:
        client.get_database_client(DATABASE).delete_container(f"{group.name}-leases")


def checkpoints(group: ContainerGroup, *, is_blob: bool) -> int:
    """How many checkpoints there are."""
    if is_blob:
        storage = group.environment["STORAGE"]
        with ContainerClient.from_connection_string(storage, group.name) as container:
            if not container.exists():
                return 0
            return sum("/checkpoint/" in name for name in container.list_blob_names())
    with CosmosClient(group.cosmos.endpoint, group.cosmos.key) as client:
        leases = client.get_database_client(DATABASE).get_container_client(f"{group.name}-leases")
        try:
            items = list(leases.read_all_items())
        except CosmosResourceNotFoundError:
            return 0
        return sum("!checkpoint!" in str(item["id"]) for item in items)


@pytest.mark.parametrize("is_blob", [True, False], ids=["blobs", "leases"])
@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_members_write_a_deleted_ledger_again_and_nothing_is_passed_over(
    new_group: NewGroup, start: str, *, is_blob: bool
) -> None:
    group = new_group(ranges=4, start=start)
    file = with_ledger(group, on_blobs(group) if is_blob else on_leases(group))
    group.start("a", "b", file=file)
    wait_until(lambda: checkpoints(group, is_blob=is_blob) == 4, 90, "checkpoints", group.outputs)
    with group.writing(per_s=100):
        wait_until(lambda: len(group.readers()) == 4, 90, "all to be read", group.outputs)
        before = group.written
        (delete_blobs if is_blob else delete_leases)(group)
        wait_until(
            lambda: checkpoints(group, is_blob=is_blob) == 4,
            60,
            "the checkpoints to be written again",
            group.outputs,
        )
        wait_until(lambda: group.written > before + 100, 120, "items to be written", group.outputs)
    group.wait_until_all_seen(90)
    group.stop("a", "b")
    assert "were deleted from the ledger" in group.output("a") + group.output("b")
    assert group.repeats() <= REPEATS_AT_MOST
