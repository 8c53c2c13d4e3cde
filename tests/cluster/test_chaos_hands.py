"""What hands do to a group's ledger while it is read: a lease broken, a checkpoint deleted or set
back, the container deleted, its Secret made wrong or given another name of the hub; with every
event counted.
"""

from __future__ import annotations

import base64

import pytest
from azure.storage.blob import BlobClient, BlobLeaseClient

from support.cluster_api import until
from support.cluster_chaos import NAME, PODS, Chaos
from support.cluster_chaos_group import secret
from support.cluster_counting import DUPLICATES_AT_MOST

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PARTITION = "4"
TICK_S = 5.0
# Events come five times a second.
BACK = 25


def blob_of(chaos: Chaos, kind: str) -> BlobClient:
    (name,) = (
        each
        for each in chaos.container.list_blob_names()
        if each.endswith(f"/{kind}/{PARTITION}") and not each.startswith("deadletters/")
    )
    return chaos.container.get_blob_client(name)


def sequence(blob: BlobClient) -> int:
    """Of a checkpoint that a member of ours has written; -1 for any other, or none."""
    if not blob.exists():
        return -1
    found = blob.get_blob_properties().metadata
    return int(found["sequencenumber"]) if "epoch" in found else -1


def test_a_lease_that_is_broken_by_hand_is_taken_again(chaos: Chaos) -> None:
    blob = blob_of(chaos, "ownership")
    with chaos.struck("lease-broken", duplicates=DUPLICATES_AT_MOST) as seen:
        BlobLeaseClient(blob).break_lease(lease_break_period=0)
        until(lambda: blob.get_blob_properties().lease.state == "leased", 30, "somebody to take it")
        chaos.until_settled()
    assert {each.partition for each in seen.changes} <= {PARTITION}
    assert seen.longest_pause_s < 2 * TICK_S


def test_a_checkpoint_that_is_deleted_is_written_again_from_memory(chaos: Chaos) -> None:
    blob = blob_of(chaos, "checkpoint")
    before = sequence(blob)
    with chaos.struck("checkpoint-deleted") as seen:
        blob.delete_blob()
        until(lambda: sequence(blob) >= before, 30, "the checkpoint to be there again")
        chaos.until_settled()
    assert not seen.changes and seen.longest_pause_s < TICK_S


def test_a_checkpoint_that_is_set_back_is_written_again_from_memory(chaos: Chaos) -> None:
    blob = blob_of(chaos, "checkpoint")
    old = blob.get_blob_properties().metadata
    until(lambda: sequence(blob) >= int(old["sequencenumber"]) + BACK, 30, "the partition to go on")
    # As another processor writes it: nothing of ours.
    theirs = {key: old[key] for key in ("offset", "sequencenumber")}
    with chaos.struck("checkpoint-set-back", set_back_by=BACK) as seen:
        before = sequence(blob)
        blob.set_blob_metadata(theirs)
        until(lambda: sequence(blob) > before, 30, "the checkpoint to be what it was")
        chaos.until_settled()
    assert not seen.changes and seen.longest_pause_s < TICK_S


def test_a_secret_that_is_made_wrong_is_told_and_what_reads_reads_on(chaos: Chaos) -> None:
    found = chaos.kubectl.read("secret", NAME)["data"]
    decoded = {key: base64.b64decode(text).decode() for key, text in found.items()}
    wrong = decoded["events"].replace("SAS_KEY_VALUE", "SAS_NO_VALUE")
    with chaos.struck("secret-wrong") as seen:
        chaos.kubectl.apply(secret(wrong, decoded["storage"]))
        chaos.group.until("it to be told", lambda: chaos.group.reason() != "", 60)
        told = chaos.group.reason()
        chaos.until_read_on()
        chaos.kubectl.apply(secret(decoded["events"], decoded["storage"]))
        chaos.until_settled(PODS, 180)
    chaos.notes.add("secret-wrong", told=told)
    assert seen.longest_pause_s < TICK_S


def test_a_container_that_is_deleted_is_made_and_written_again(chaos: Chaos) -> None:
    chaos.until_rested()
    before = {name: seen[-1] for name, seen in chaos.ledger.checkpoints().items()}
    with chaos.measured() as seen:
        chaos.container.delete_container()
        until(lambda: sequence_again(chaos) >= before[PARTITION].sequence, 60, "the checkpoints")
        chaos.group.until("the condition", lambda: chaos.group.is_so("CheckpointsRestored"), 60)
        chaos.until_settled()
    print(seen.told("container-deleted"))
    chaos.until_kept()
    assert not seen.changes and seen.longest_pause_s < 2 * TICK_S
    assert seen.duplicates <= DUPLICATES_AT_MOST
    assert chaos.group.events("WrittenAgain")


def sequence_again(chaos: Chaos) -> int:
    """Of the checkpoint of the partition, where the container is there again."""
    if not chaos.container.exists():
        return -1
    names = chaos.container.list_blob_names()
    found = [each for each in names if each.endswith(f"/checkpoint/{PARTITION}")]
    return max((sequence(chaos.container.get_blob_client(each)) for each in found), default=-1)


def test_the_hub_under_another_name_is_refused_until_the_ledgers_name_is_written(
    chaos: Chaos,
) -> None:
    found = chaos.kubectl.read("secret", NAME)["data"]
    decoded = {key: base64.b64decode(text).decode() for key, text in found.items()}
    host = decoded["events"].partition("//")[2].partition(";")[0]
    renamed = decoded["events"].replace(".svc:", ".svc.cluster.local:")
    assert renamed != decoded["events"]
    chaos.until_rested()
    with chaos.measured() as seen:
        chaos.kubectl.apply(secret(renamed, decoded["storage"]))
        # A pod that begins now knows the new name alone.
        chaos.kubectl.said("delete", "pod", chaos.group.pod_names()[0], "--wait=false")
        chaos.group.until(
            "the new name to be refused", lambda: chaos.group.reason() == "SourceRenamed", 120
        )
        chaos.until_read_on()
        chaos.group.patch(ledger={"host": host})
        chaos.until_settled(PODS, 240)
        chaos.group.patch(ledger={"host": None})
        chaos.kubectl.apply(secret(decoded["events"], decoded["storage"]))
        chaos.until_settled(PODS, 240)
    print(seen.told("source-renamed"))
    assert seen.duplicates == 0
