"""What hands do to a group's ledger while it is read: a lease broken, a checkpoint deleted or set
back, its Secret made wrong; with every event counted.
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
