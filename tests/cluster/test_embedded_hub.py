"""The hub that the chart brings along takes millions of events, in the pod that the chart makes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.eventhub import EventData
from azure.eventhub.aio import EventHubConsumerClient

from support.cluster_kubectl import Kubectl
from support.cluster_manifests import HUB, HUB_PORT, TIDEGATE, container, hub_connection, pod
from support.cluster_release import SECRET, Release, a_release
from support.cluster_ways import steady_way
from support.helm_chart import Helm

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

EVENTS, SENDERS, PARTITIONS = 5_000_000, 2, 16
SENT_WITHIN_S = 600.0
# What the hub keeps in memory: more of them is on its disk.
MEMORY_MB = 64


@pytest.fixture
def alone(cluster: Kubectl, helm_program: Path, tmp_path: Path) -> Iterator[Release]:
    """A release with a separate hub: five million events push those of other tests out."""
    helm = Helm(helm_program, tmp_path, cluster.kubeconfig)
    hub = {"image": HUB, "hubs": [f"telemetry:{PARTITIONS}"]}
    with a_release(helm, cluster, embeddedHub=hub) as release:
        yield release


def sender(name: str, events: int) -> dict[str, object]:
    main = container(
        TIDEGATE,
        command=["tini", "--", "tidegate", "send", "--hub", "telemetry", "--homes", "1000",
                 "--count", str(events)],
        env=[{
            "name": "TIDEGATE_EVENTS_CONNECTION_STRING",
            "valueFrom": {"secretKeyRef": {"name": SECRET, "key": "events"}},
        }],
        volumeMounts=[{"name": "tmp", "mountPath": "/tmp"}],
    )  # fmt: skip
    return pod(name, main, volumes=[{"name": "tmp", "emptyDir": {}}])


def client(port: int) -> EventHubConsumerClient:
    return EventHubConsumerClient.from_connection_string(
        hub_connection("localhost", port), "$Default", eventhub_name="telemetry"
    )


async def partitions(port: int) -> list[tuple[int, int]]:
    """The oldest and the newest sequence number of each partition."""
    async with client(port) as asking:
        asked = [asking.get_partition_properties(str(each)) for each in range(PARTITIONS)]
        found = await asyncio.gather(*asked)
    return [
        (each["beginning_sequence_number"], each["last_enqueued_sequence_number"])
        for each in found
    ]  # fmt: skip


async def first_read(port: int, sequence: int) -> int:
    """The first event of partition 0 that is read from there on."""
    got: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def on_event(_: object, event: EventData | None) -> None:
        if event is not None and event.sequence_number is not None and not got.done():
            got.set_result(event.sequence_number)

    async with client(port) as reader:
        reading = asyncio.ensure_future(
            reader.receive(
                on_event=on_event, partition_id="0", starting_position=sequence,
                starting_position_inclusive=True,
            )
        )  # fmt: skip
        try:
            return await asyncio.wait_for(got, 60)
        finally:
            reading.cancel()
            await asyncio.wait([reading])


def test_the_charts_hub_takes_five_million_events(
    alone: Release, capsys: pytest.CaptureFixture[str]
) -> None:
    inside, names = alone.inside, [f"sender-{number}" for number in range(SENDERS)]
    begun = time.monotonic()
    inside.apply(*(sender(name, EVENTS // SENDERS) for name in names))
    for name in names:
        ended = inside.until_ended(name, SENT_WITHIN_S)
        assert ended["exitCode"] == 0, inside.log(name)
    took_s = time.monotonic() - begun
    (hub,) = alone.api.list("pods", "app.kubernetes.io/name=tidegate-hub")
    (status,) = hub["status"]["containerStatuses"]
    log = inside.log("deployment/tidegate-hub")
    assert status["restartCount"] == 0 and "refused" not in log, log
    used = inside.said("exec", "deployment/tidegate-hub", "--", "du", "-sm", "/var/tmp").split()[0]
    with steady_way(inside, "service/tidegate-hub", HUB_PORT) as port:
        found = asyncio.run(partitions(port))
        for sequence in found[0]:
            assert asyncio.run(first_read(port, sequence)) == sequence
    total = sum(newest + 1 for _, newest in found)
    kept = sum(newest + 1 - oldest for oldest, newest in found)
    with capsys.disabled():
        print(f"\n{total:,} events in {took_s:.0f} s; {kept:,} are kept, {used} MB on the disk")
    assert total == EVENTS
    assert int(used) > MEMORY_MB
