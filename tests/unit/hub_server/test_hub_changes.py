"""Naming a hub again, and growing it: nothing is taken away, and all of it happens or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.hub_bench import Bench
from support.hub_messages import data
from support.hub_operations import RECEIVE, SEND, store_an_event
from tidegate_amqp import Accepted
from tidegate_hub.broker import Broker
from tidegate_hub.conditions import ENTITY_UPDATED
from tidegate_hub.config import HubSpec
from tidegate_hub.storage import Retention, Store
from tidegate_hub.storage.errors import StorageError, StorageFull
from tidegate_hub.storage.retention import KEEP_FOR_EVER

DAY_MS = 86_400_000
Start = Callable[..., Broker]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a broker on one data directory; starting again ends the one before."""
    stores: list[Store] = []

    def start_again(retention: Retention = KEEP_FOR_EVER) -> Broker:
        for store in stores:
            store.close()
        stores.append(Store(tmp_path / "data", fsync="never"))
        broker = Broker(stores[-1], "localhost", clock_ms=lambda: 1_000, retention=retention)
        broker.load_hubs()
        return broker

    yield start_again
    for store in stores:
        store.close()


def test_naming_a_hub_again_leaves_its_retention(start: Start) -> None:
    kept = Retention(DAY_MS, 10**9)
    start().add_hub(HubSpec("telemetry", 4, retention_hours=24, retention_bytes=10**9))
    broker = start()
    assert broker.add_hub(HubSpec("telemetry", 4)).retention == kept
    assert broker.add_hub(HubSpec("telemetry", 6, ("analytics",))).retention == kept
    assert start().hubs.get("telemetry").retention == kept


def test_naming_a_hub_again_changes_only_the_retention_that_is_given(start: Start) -> None:
    broker = start()
    broker.add_hub(HubSpec("telemetry", 4, retention_hours=24, retention_bytes=10**9))
    hub = broker.add_hub(HubSpec("telemetry", 4, retention_hours=48))
    assert hub.retention == Retention(2 * DAY_MS, 10**9)
    assert start().hubs.get("telemetry").retention == Retention(2 * DAY_MS, 10**9)


def test_options_of_the_server_change_only_the_retention_that_they_set(start: Start) -> None:
    start().add_hub(HubSpec("telemetry", 4, retention_hours=24, retention_bytes=10**9))
    broker = start(Retention(max_bytes=5_000))
    assert broker.hubs.get("telemetry").retention == Retention(DAY_MS, 5_000)
    assert broker.add_hub(HubSpec("telemetry", 4)).retention == Retention(DAY_MS, 5_000)
    assert broker.add_hub(HubSpec("small", 4)).retention == Retention(None, 5_000)
    assert start().hubs.get("telemetry").retention == Retention(DAY_MS, 5_000)


def test_naming_a_hub_again_takes_no_partitions_or_groups_away(start: Start) -> None:
    start().add_hub(HubSpec("telemetry", 4, ("analytics",)))
    hub = start().add_hub(HubSpec("TELEMETRY", 2, ("Analytics", "billing")))
    assert (hub.name, len(hub.partitions)) == ("telemetry", 4)
    assert list(hub.groups.values()) == ["$Default", "analytics", "billing"]


def test_naming_a_hub_again_with_nothing_new_writes_nothing(start: Start, tmp_path: Path) -> None:
    start().add_hub(HubSpec("telemetry", 4))
    saved = tmp_path / "data" / "hubs.json"
    before = saved.stat().st_ino
    start().add_hub(HubSpec("telemetry", 4))
    assert saved.stat().st_ino == before


class FullStore(Store):
    """A store that has no room for what a test names."""

    is_full_for = ""

    def save_hub(self, *arguments: object, **settings: object) -> object:  # type: ignore[override]
        self._refuse("hubs")
        return super().save_hub(*arguments, **settings)  # type: ignore[arg-type]

    def open_log(self, hub: str, partition: str) -> object:  # type: ignore[override]
        self._refuse(partition)
        return super().open_log(hub, partition)

    def _refuse(self, what: str) -> None:
        if what == self.is_full_for:
            raise StorageFull("/data")


@pytest.mark.parametrize("full_for", ["hubs", "3"])
@pytest.mark.parametrize("how", ["grow", "add"])
def test_growing_on_a_full_disk_adds_no_partition_that_a_restart_would_lose(
    full_for: str, how: str
) -> None:
    store = FullStore(None)
    bench = Bench(store=store)
    hub = bench.add_hub("telemetry", 1)
    peer = bench.open()
    link = peer.attach_sender(SEND)
    store.is_full_for = full_for
    wanted = HubSpec("telemetry", 4, ("billing",), retention_hours=1)
    with pytest.raises(StorageFull):
        if how == "grow":
            bench.broker.grow_hub("telemetry", 4)
        else:
            bench.broker.add_hub(wanted)
    (saved,) = store.load_hubs()
    assert len(hub.partitions) == saved.partitions == 1
    assert (list(hub.groups), hub.retention) == (["$default"], KEEP_FOR_EVER)
    assert peer.outcome(peer.send(link, data(b"x"))).state == Accepted()
    store.is_full_for = ""
    bench.broker.add_hub(wanted)
    assert [partition.id for partition in hub.partitions] == ["0", "1", "2", "3"]


@pytest.mark.parametrize("how", ["grow", "add"])
def test_however_partitions_are_added_links_are_told_to_attach_again(
    bench: Bench, how: str
) -> None:
    peer = bench.open()
    session = peer.begin()
    links = [peer.attach_sender(SEND, session), peer.attach_receiver(RECEIVE, session)]
    if how == "grow":
        bench.broker.grow_hub("telemetry", 3)
    else:
        bench.add_hub("telemetry", 3)
    for link in links:
        assert peer.refusal(link).condition == ENTITY_UPDATED


def test_adding_nothing_leaves_links_alone(bench: Bench) -> None:
    peer = bench.open()
    link = peer.attach_sender(SEND)
    bench.add_hub("telemetry", 2, "billing")
    bench.broker.grow_hub("telemetry", 1)
    assert peer.outcome(peer.send(link, data(b"x"))).state == Accepted()


def test_under_always_a_reader_gets_an_event_only_when_it_is_on_disk(tmp_path: Path) -> None:
    store = Store(tmp_path / "data", fsync="always")
    bench = Bench(store=store)
    bench.add_hub()
    due: list[Callable[[StorageError | None], None]] = []
    bench.broker.when_durable = due.append
    peer = bench.open()
    link = peer.attach_receiver(RECEIVE)
    link.grant(10)
    peer.flush()
    store_an_event(bench)
    bench.settle()
    assert not peer.pump(), "it was sent before it was flushed"
    store.sync()
    for confirm in due:
        confirm(None)
    assert len(peer.messages(link, 1)) == 1
    store.close()
