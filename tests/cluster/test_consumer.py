"""A consumer in a cluster, deployed by hand: it reaches the hub and Azurite by their Services.

Its handler is in a ConfigMap beside the group file; where the servers are is a Secret.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

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

# Coroutines, which run one at a time: functions on threads would print into each other's lines.
HANDLER = """
async def handle(events, context):
    print("handled", context.partition, len(events), flush=True)

async def on_close(partition, reason):
    print("closed", partition, flush=True)
"""
HEALTH_PORT = 8080
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
            yield service.get_container_client("group")


@pytest.fixture(scope="module")
def consumer(servers: Kubectl) -> str:
    """The name of a consumer that runs."""
    files = {"handler.py": HANDLER, "group.yaml": json.dumps(group_file())}
    servers.said(
        "create", "secret", "generic", "servers",
        f"--from-literal=EVENTS={hub_connection('hub')}",
        f"--from-literal=LEDGER={azurite_connection('azurite')}",
    )  # fmt: skip
    runs = container(
        args=[
            "consumer", "/group/group.yaml", "--listen", f"0.0.0.0:{HEALTH_PORT}",
            "--log-format", "json", "--grace-s", str(GRACE_SECONDS - 5),
        ],
        envFrom=[{"secretRef": {"name": "servers"}}],
        volumeMounts=[{"name": "group", "mountPath": "/group", "readOnly": True}],
        readinessProbe={"httpGet": {"path": "/readyz", "port": HEALTH_PORT}, "periodSeconds": 1},
        livenessProbe={"httpGet": {"path": "/healthz", "port": HEALTH_PORT}},
    )  # fmt: skip
    volumes = [{"name": "group", "configMap": {"name": "group"}}]
    servers.apply(
        config_map("group", files),
        deployment("consumer", runs, volumes=volumes, terminationGracePeriodSeconds=GRACE_SECONDS),
    )
    servers.wait_until_ready("consumer")
    return "consumer"


def group_file() -> dict[str, Any]:
    """A group that reads the hub from its beginning; its container is made where it is missing."""
    event_hubs = {
        "hub": "telemetry",
        "connectionString": {"env": "EVENTS"},
        "start": "earliest",
    }
    return {
        "apiVersion": "tidegate.dev/v1alpha1",
        "kind": "ConsumerGroup",
        "metadata": {"name": "telemetry"},
        "spec": {
            "source": {"eventHubs": event_hubs},
            "ledger": {"container": "group", "connectionString": {"env": "LEDGER"}, "create": True},
            "handler": {"code": "handler.py:handle"},
        },
    }


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
    return sum(int(words[2]) for words in lines if words and words[0] == "handled")


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
        log = read_to_the_end()
    closed = sorted(line for line in log.splitlines() if line.startswith("closed "))
    assert closed == [f"closed {partition}" for partition in range(PARTITIONS)], log
