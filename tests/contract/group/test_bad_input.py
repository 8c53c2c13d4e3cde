"""What people get wrong: a clear report names it, the other partitions and members go on, and
nothing of what was there is overwritten."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from azure.storage.blob import ContainerClient, ContainerSasPermissions, generate_container_sas

from support.azurite import ACCOUNT, ACCOUNT_KEY
from support.group import Group
from tidegate.ledger.access import BlobSettings

pytestmark = pytest.mark.slow

NewGroup = Callable[[int], Group]


def test_a_member_that_is_not_let_in_says_why_and_the_others_go_on(new_group: NewGroup) -> None:
    group = new_group(4)
    group.start("a")
    group.wait_until_read_by({"a"}, 60)
    wrong_key = group.storage.replace(ACCOUNT_KEY, ACCOUNT_KEY.swapcase())
    group.start("wrong-key", blobs=wrong_key)
    group.start("no-container", container="not-there")
    group.start("reads-only", blobs=with_sas(group, ContainerSasPermissions(read=True, list=True)))
    group.start("no-rights", blobs=with_sas(group, ContainerSasPermissions(create=True)))
    group.start("namesake", name="a")
    moment = time.time()

    said = group.wait_for_report("not-present", 60, of="wrong-key")
    assert "The account key was not accepted" in said and ACCOUNT in said
    said = group.wait_for_report("not-present", 60, of="no-container")
    assert "Container 'not-there' not found" in said and "Create it" in said
    said = group.wait_for_report("not-present", 60, of="reads-only")
    assert "The SAS does not allow this" in said and "racwdl" in said
    assert "The SAS does not allow this" in group.wait_for_report(
        "ledger-unreadable", 60, of="no-rights"
    )
    said = group.wait_for_report("name-taken", 60, of="namesake")
    assert "Give each process a name of its own" in said
    for line in group.reports():
        assert ACCOUNT_KEY not in line and "sig=" not in line and ACCOUNT_KEY.swapcase() not in line

    group.wait_until_read_by({"a"}, 60, since=moment)
    group.stop("wrong-key", "no-container", "reads-only", "no-rights", "namesake", "a")
    assert {batch.member for batch in group.batches()} == {"a"}
    assert group.missing() == []
    assert group.duplicates() == 0


def with_sas(group: Group, permission: ContainerSasPermissions) -> str:
    """A connection string that allows so much of the group's container."""
    settings = BlobSettings(group.container, connection_string=group.storage)
    sas = generate_container_sas(
        ACCOUNT,
        group.container,
        account_key=ACCOUNT_KEY,
        permission=permission,
        expiry=datetime.now(UTC) + timedelta(hours=1),
    )
    return f"BlobEndpoint=http://{settings.host}/{ACCOUNT};SharedAccessSignature={sas};"


def test_blobs_that_are_not_ours_are_named_and_left_and_the_other_partitions_go_on(
    new_group: NewGroup,
) -> None:
    group = new_group(6)
    prefix = f"localhost/{group.hub_name}/$default"
    spoilt = {
        f"{prefix}/ownership/1": {"ownerid": "b/1", "epoch": "many"},
        f"{prefix}/checkpoint/2": {"offset": "12", "sequencenumber": "twelve"},
        f"{prefix}/checkpoint/3": {"what": "a file of somebody else"},
        f"{prefix}/member/old": {"weight": "heavy"},
        f"{prefix}/roster": {"generation": "new"},
    }
    foreign = {
        f"{prefix}/ownership/4": {"ownerid": "official-processor"},
        f"{prefix}/notes/todo": {},
        f"{prefix}/ownership/0/deeper": {},
    }
    with ContainerClient.from_connection_string(group.storage, group.container) as container:
        for name, metadata in {**spoilt, **foreign}.items():
            container.upload_blob(name, b"", metadata=metadata)
        before = {blob.name: blob.etag for blob in container.list_blobs()}
        group.start("a")
        for name in spoilt:
            group.wait_for_words(f"blob '{name}' cannot be read", 60)
        read = set(group.wait_for_readers(2, 60))
        assert read == {"0", "5"}
        after = {blob.name: blob.etag for blob in container.list_blobs()}
        assert {name: after[name] for name in before} == before

        for name in spoilt:
            container.delete_blob(name)
        assert set(group.wait_for_readers(5, 60)) == {"0", "1", "2", "3", "5"}
    group.stop("a")
    assert group.missing() == []
