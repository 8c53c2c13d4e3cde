"""A group that reads a Cosmos container, with its ledger in a lease container as Java's hosts do.

Every item is numbered: none is lost through a change of size and a pod that is killed, and only
what was not checkpointed then is given again.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from azure.storage.blob import ContainerClient

from support.cluster_container import DATABASE, Read, container_group
from support.cluster_faults import delete_and_kill
from support.cluster_release import Release

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]

NAME, RATE, PODS = "leased", 20.0, 2
# Of one pod of two: what it handles between two checkpoints, and the batch at hand.
AGAIN_AT_MOST = round(RATE / PODS * (1.0 + 0.5)) + 10
LEDGER = {
    "cosmos": {
        "database": DATABASE,
        "container": "leases",
        "create": True,
        "connectionString": {"secret": "cosmos", "key": "account"},
        "dialect": "javaEpk",
        "prefix": f"{NAME}-",
    }
}
# Where the handler writes down what it was given: a group without Blob storage has no such secret.
_SEEN = {
    "name": "SEEN",
    "valueFrom": {"secretKeyRef": {"name": "tidegate-embedded", "key": "storage"}},
}


@pytest.fixture
def read(release: Release, storage: str) -> Iterator[Read]:
    with container_group(
        release,
        storage,
        name=NAME,
        ledger=LEDGER,
        scaling={"min": 1, "max": 4, "mode": "External"},
        template={"spec": {"containers": [{"name": "consumer", "env": [_SEEN]}]}},
    ) as read:
        yield read


def test_a_group_on_leases_of_javas_kind_changes_its_size_and_survives_a_killed_pod(
    read: Read, storage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    group = read.group
    read.send(RATE)
    group.scale(PODS)
    group.until_settled(PODS, 120)
    known = ("exact", "estimated")
    group.until("the lag to be known", lambda: group.status().get("lagKind") in known, 60)
    before = read.seen()
    assert before.total() == len(before), "nobody was killed yet"
    killed = group.pod_names()[0]
    delete_and_kill(group.kubectl, killed)
    group.until("another pod", lambda: killed not in group.pod_names(), 60)
    group.until_settled(PODS, 120)
    group.scale(1)
    group.until_settled(1, 120)
    read.send(0)
    read.until_all_seen(60)
    group.until("no lag", lambda: group.status().get("lag") == 0, 60)
    seen = read.seen()
    again = seen.total() - len(seen)
    with capsys.disabled():
        print(f"\n1 -> {PODS}, {killed} killed, -> 1; {len(seen)} items, {again} given twice")
    assert sorted(seen) == list(range(read.written()))
    assert again <= AGAIN_AT_MOST
    assert not read.disorder()
    with ContainerClient.from_connection_string(storage, NAME) as blobs:
        assert not blobs.exists(), "no blob is written for its ledger"
