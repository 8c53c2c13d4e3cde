"""A consumer in a cluster, deployed by hand: it reaches the hub and Azurite by their Services.

The program that it runs is in a ConfigMap, as a user's handler may be.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.eventhub import EventData, EventHubProducerClient
from azure.storage.blob import BlobServiceClient, ContainerClient

from support.cluster_kubectl import Kubectl
from support.cluster_manifests import (
    AZURITE_PORT,
    HUB_PORT,
    azurite_connection,
    config_map,
    container,
    deployment,
    hub_and_azurite,
    hub_connection,
)
from support.wait import wait_until

PROGRAM = Path(__file__).parents[1] / "support" / "member_process.py"
PARTITIONS, EVENTS = 4, 200
GRACE_SECONDS = 20


@pytest.fixture(scope="module")
def servers(inside: Kubectl) -> Kubectl:
    """The namespace with a hub and an Azurite in it that are ready."""
    inside.apply(*hub_and_azurite(f"telemetry:{PARTITIONS}"))
    inside.wait_until_ready("hub", "azurite", seconds=120)
    return inside


@pytest.fixture(scope="module")
def ledger(servers: Kubectl) -> Iterator[ContainerClient]:
    """The container of the group, reached from outside through a forwarded port."""
    with servers.forwarded("service/azurite", AZURITE_PORT) as port:
        address = azurite_connection("127.0.0.1", port)
        with BlobServiceClient.from_connection_string(address) as service:
            yield service.create_container("group")


@pytest.fixture(scope="module")
def consumer(servers: Kubectl, ledger: ContainerClient) -> str:
    """The name of a consumer that runs."""
    config = {
        "name": "consumer",
        "events": hub_connection("hub"),
        "host": "hub",
        "hub": "telemetry",
        "group": "$Default",
        "blobs": azurite_connection("azurite"),
        "container": "group",
        "log": "/dev/stdout",
    }
    files = {"member.py": PROGRAM.read_text(), "config.json": json.dumps(config)}
    runs = container(
        command=["tini", "--", "python", "/handler/member.py", "/handler/config.json"],
        volumeMounts=[{"name": "handler", "mountPath": "/handler", "readOnly": True}],
    )
    volumes = [{"name": "handler", "configMap": {"name": "handler"}}]
    servers.apply(
        config_map("handler", files),
        deployment("consumer", runs, volumes=volumes, terminationGracePeriodSeconds=GRACE_SECONDS),
    )
    servers.wait_until_ready("consumer")
    return "consumer"


def send(inside: Kubectl, count: int) -> None:
    """Send events to the hub from outside, spread over its partitions."""
    with inside.forwarded("service/hub", HUB_PORT) as port:
        producer = EventHubProducerClient.from_connection_string(
            hub_connection("localhost", port), eventhub_name="telemetry"
        )
        with producer:
            for partition in range(PARTITIONS):
                batch = producer.create_batch(partition_id=str(partition))
                for number in range(count // PARTITIONS):
                    batch.add(EventData(f"{number}"))
                producer.send_batch(batch)


def handled(inside: Kubectl, consumer: str) -> int:
    """How many events the consumer's handler has had, by its log."""
    lines = [line.split() for line in inside.log(f"deployment/{consumer}").splitlines()]
    return sum(int(words[5]) for words in lines if words and words[0] == "h")


def checkpoints(ledger: ContainerClient) -> dict[str, int]:
    """The last sequence number that each partition's checkpoint says was handled."""
    found = {}
    for blob in ledger.list_blobs(include=["metadata"]):
        if "/checkpoint/" in blob.name and blob.metadata:
            partition = blob.name.rpartition("/")[2]
            found[partition] = int(blob.metadata["sequencenumber"])
    return found


def test_it_reads_the_hub_and_checkpoints_to_azurite_by_the_names_of_their_services(
    servers: Kubectl, consumer: str, ledger: ContainerClient
) -> None:
    send(servers, EVENTS)
    wait_until(
        lambda: handled(servers, consumer) >= EVENTS,
        60,
        f"{EVENTS} events to be handled",
        lambda: servers.log(f"deployment/{consumer}")[-2000:],
    )
    expected = {str(partition): EVENTS // PARTITIONS - 1 for partition in range(PARTITIONS)}
    wait_until(lambda: checkpoints(ledger) == expected, 60, "checkpoints", lambda: str(
        [blob.name for blob in ledger.list_blobs()]))  # fmt: skip


def test_a_person_can_look_into_it(servers: Kubectl, consumer: str) -> None:
    said = servers.said("exec", f"deployment/{consumer}", "--", "tidegate", "--help")
    assert "usage: tidegate" in said
    assert servers.said("exec", f"deployment/{consumer}", "--", "id", "-u") == "65532\n"


def test_it_ends_cleanly_within_its_grace_when_it_is_told_to(
    servers: Kubectl, consumer: str
) -> None:
    (found,) = servers.read("pods", "--selector", f"app={consumer}")["items"]
    pod = found["metadata"]["name"]
    with servers.followed(pod) as read_to_the_end:
        servers.said("scale", f"deployment/{consumer}", "--replicas=0")
        servers.said("wait", "--for=delete", f"pod/{pod}", f"--timeout={GRACE_SECONDS + 20}s")
        last = read_to_the_end().splitlines()[-1]
    assert last.startswith("e "), f"its last line is {last!r}"
