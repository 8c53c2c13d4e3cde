"""From an official processor to our members and back: same container, same group.

The official one is an unmodified EventHubConsumerClient with the unmodified BlobCheckpointStore.
What is promised: after clean stops no event is handled twice or passed over, in either direction;
its live partitions are left alone until `takes_from_foreign` says otherwise; after that it takes
nothing back, because our ownership blobs are leased and our epoch is higher at the hub.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.storage.blob import ContainerClient

from support.group import Group, a_group
from support.official_processor import OfficialProcessor
from support.wait import wait_until
from tidegate_hub.testing import RunningHub

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
PARTITIONS = 4
# A processor of either kind starts within this on a machine that is busy.
PATIENCE_S = 90


@pytest.fixture
def group(hub_server: RunningHub, azurite: str, tmp_path: Path) -> Iterator[Group]:
    host = f"localhost:{hub_server.port}"
    with a_group(hub_server, azurite, tmp_path, PARTITIONS, host=host) as made:
        yield made


def official(group: Group, hub: RunningHub, azurite: str) -> OfficialProcessor:
    return OfficialProcessor(hub, azurite, group.container, group.hub_name)


def handled_by(group: Group) -> Counter[tuple[str, int]]:
    """What our members' handlers were given."""
    return Counter(
        (batch.partition, sequence)
        for batch in group.batches()
        for sequence in range(batch.first, batch.last + 1)
    )


def of(processor: OfficialProcessor) -> Counter[tuple[str, int]]:
    return Counter(
        (partition, sequence) for partition, seen in processor.handled.items() for sequence in seen
    )


def missing(handled: Counter[tuple[str, int]]) -> list[tuple[str, int]]:
    last = dict(sorted(handled))
    return [
        (partition, sequence)
        for partition, end in last.items()
        for sequence in range(end)
        if (partition, sequence) not in handled
    ]


def owners(group: Group, azurite: str) -> dict[str, str]:
    """What each ownership blob says, by its name."""
    with ContainerClient.from_connection_string(azurite, group.container) as container:
        blobs = container.list_blobs(include=["metadata"])
        return {
            blob.name: (blob.metadata or {}).get("ownerid") or ""
            for blob in blobs
            if "/ownership/" in blob.name
        }


def is_present(group: Group, azurite: str, name: str) -> bool:
    with ContainerClient.from_connection_string(azurite, group.container) as container:
        blobs = {blob.name: blob.lease.state for blob in container.list_blobs()}
    return any(key.endswith(f"/member/{name}") and blobs[key] == "leased" for key in blobs)


def test_each_resumes_where_the_other_stopped_and_no_event_is_handled_twice(
    group: Group, hub_server: RunningHub, azurite: str
) -> None:
    with official(group, hub_server, azurite) as before:
        before.wait_until_handled(PARTITIONS, 20, PATIENCE_S)
    names = owners(group, azurite)
    group.start("a")
    group.wait_until_read_by({"a"}, PATIENCE_S)
    assert set(owners(group, azurite)) == set(names), "the same blobs, byte for byte"
    group.stop("a")
    with official(group, hub_server, azurite) as after:
        after.wait_until_handled(PARTITIONS, 20, PATIENCE_S)
    handled = of(before) + handled_by(group) + of(after)
    assert handled_by(group)
    assert [event for event, times in handled.items() if times > 1] == []
    assert missing(handled) == []


def test_its_live_partitions_are_left_alone_until_the_explicit_switch_and_it_takes_none_back(
    group: Group, hub_server: RunningHub, azurite: str
) -> None:
    with official(group, hub_server, azurite) as processor:
        processor.wait_until_handled(PARTITIONS, 20, PATIENCE_S)
        its = owners(group, azurite)
        group.start("a")
        wait_until(lambda: is_present(group, azurite, "a"), PATIENCE_S, "a to take part")
        processor.wait_until_handled(PARTITIONS, 30, PATIENCE_S)
        assert group.batches() == []
        assert owners(group, azurite) == its
        group.stop("a")
        group.start("b", settings={"takes_from_foreign": True})
        group.wait_until_read_by({"b"}, PATIENCE_S)
        # It goes on trying: it lists, believes to have claimed, and is refused by the hub.
        errors = len(processor.errors)
        wait_until(
            lambda: len(processor.errors) > errors + PARTITIONS,
            PATIENCE_S,
            "the official processor to be refused again and again",
        )
        ours = owners(group, azurite)
        assert all(owner.startswith("b/") for owner in ours.values()), ours
        assert set(group.readers(0).values()) == {"b"}
    group.stop("b")
    assert missing(of(processor) + handled_by(group)) == []
