"""Group commit: an answer comes after a flush that began after its append, or says why not."""

from __future__ import annotations

import asyncio
import threading

import pytest

from support.hub_bench import Bench
from support.hub_messages import data
from support.hub_operations import SEND
from support.wait import wait_until_async
from tidegate_amqp import Accepted, Rejected
from tidegate_hub.durable import GroupCommit
from tidegate_hub.storage.errors import StorageError, StorageFull, SyncFailed
from tidegate_hub.storage.store import Store


class SlowStore(Store):
    """A store whose flush waits until the test lets it end."""

    def __init__(self) -> None:
        super().__init__(None)
        self.begun = 0
        self.may_end = threading.Semaphore(0)
        self.failure: StorageError | None = None

    def sync(self) -> None:
        self.begun += 1
        assert self.may_end.acquire(timeout=30), "the test did not let the flush end"
        if self.failure is not None:
            raise self.failure


async def test_what_comes_during_a_flush_waits_for_the_next_one() -> None:
    store, told = SlowStore(), list[str]()
    commit = GroupCommit(store)
    commit.when_durable(lambda _failure: told.append("first"))
    await wait_until_async(lambda: store.begun == 1, 5, "the first flush")
    commit.when_durable(lambda _failure: told.append("second"))
    commit.when_durable(lambda _failure: told.append("third"))
    assert told == []
    store.may_end.release()
    await wait_until_async(lambda: store.begun == 2, 5, "the second flush")
    assert told == ["first"]
    store.may_end.release()
    await commit.finish()
    assert told == ["first", "second", "third"]
    assert store.begun == 2


async def test_a_flush_that_fails_refuses_those_that_waited_for_it() -> None:
    store, told = SlowStore(), list[StorageError | None]()
    store.failure = SyncFailed("a.seg", "Input/output error")
    commit = GroupCommit(store)
    commit.when_durable(told.append)
    store.may_end.release()
    await commit.finish()
    assert told == [store.failure]


async def test_finishing_does_not_wait_for_what_comes_after_it() -> None:
    commit = GroupCommit(Store(None))

    def again(_failure: StorageError | None) -> None:
        commit.when_durable(again)

    commit.when_durable(again)
    await asyncio.wait_for(commit.finish(), 30)


async def test_finishing_waits_for_nothing_where_nothing_is_due() -> None:
    await GroupCommit(SlowStore()).finish()


async def test_a_confirmation_that_fails_is_reported_and_the_next_ones_are_given() -> None:
    reported, told = list[str](), list[str]()
    commit = GroupCommit(Store(None), reported.append)

    def fail(_failure: StorageError | None) -> None:
        raise LookupError("of the test")

    commit.when_durable(fail)
    commit.when_durable(lambda _failure: told.append("same flush"))
    await commit.finish()
    commit.when_durable(lambda _failure: told.append("next flush"))
    await commit.finish()
    assert told == ["same flush", "next flush"]
    assert reported == ["a send could not be answered after its flush: LookupError('of the test')"]


async def test_a_flush_that_fails_in_an_unknown_way_refuses_and_the_next_one_is_tried() -> None:
    class OddStore(Store):
        is_odd = True

        def sync(self) -> None:
            if self.is_odd:
                raise LookupError("of the test")

    store, told, reported = OddStore(None), list[StorageError | None](), list[str]()
    commit = GroupCommit(store, reported.append)
    commit.when_durable(told.append)
    await commit.finish()
    assert isinstance(told[0], StorageError)
    assert reported == ["a flush to disk failed: LookupError('of the test')"]
    store.is_odd = False
    commit.when_durable(told.append)
    await commit.finish()
    assert told[1] is None


async def test_finishing_gives_a_disk_up_that_hangs() -> None:
    store, told, reported = SlowStore(), list[StorageError | None](), list[str]()
    commit = GroupCommit(store, reported.append)
    commit.when_durable(told.append)
    await asyncio.wait_for(commit.finish(0.05), 30)
    assert told == []
    (line,) = reported
    assert line.endswith("1 sends stay unanswered")
    store.may_end.release()
    await commit.finish()


async def test_a_send_is_answered_only_when_it_is_on_disk() -> None:
    store = SlowStore()
    bench = Bench(store=store)
    bench.add_hub()
    commit = GroupCommit(store)
    bench.broker.when_durable = commit.when_durable
    peer = bench.open()
    link = peer.attach_sender(SEND)
    ids = [peer.send(link, data(b"x")) for _ in range(3)]
    await wait_until_async(lambda: store.begun == 1, 5, "the flush")
    assert not peer.pump()
    store.may_end.release()
    store.may_end.release()
    await commit.finish()
    assert [peer.outcome(each).state for each in ids] == [Accepted()] * 3


async def test_a_send_whose_flush_fails_is_rejected_and_reported_once() -> None:
    store = SlowStore()
    store.failure = SyncFailed("a.seg", "Input/output error")
    bench = Bench(store=store)
    bench.add_hub()
    commit = GroupCommit(store)
    bench.broker.when_durable = commit.when_durable
    peer = bench.open()
    link = peer.attach_sender(SEND)
    ids = [link.send(data(b"x"), tag=b"%d" % number) for number in range(3)]
    peer.flush()
    store.may_end.release()
    store.may_end.release()
    await commit.finish()
    for each in ids:
        state = peer.outcome(each).state
        assert isinstance(state, Rejected)
        assert state.error.condition == "amqp:internal-error"
    assert len(bench.reported) == 1
    assert "cannot flush a.seg" in bench.reported[0]


async def test_a_client_that_left_before_the_flush_harms_nobody() -> None:
    store = SlowStore()
    bench = Bench(store=store)
    bench.add_hub()
    commit = GroupCommit(store)
    bench.broker.when_durable = commit.when_durable
    gone, stays = bench.open(), bench.open()
    gone.send(gone.attach_sender(SEND), data(b"1"))
    kept = stays.send(stays.attach_sender(SEND), data(b"2"))
    gone.line.cut()
    store.may_end.release()
    store.may_end.release()
    await asyncio.wait_for(commit.finish(), 30)
    assert stays.outcome(kept).state == Accepted()


class RefusingStore(Store):
    """A store that writes nothing while it has a reason not to."""

    refusal: StorageError | None = None

    def open_log(self, hub: str, partition: str) -> object:  # type: ignore[override]
        log = super().open_log(hub, partition)
        append = log.append

        def refusing(messages: list[bytes], enqueued_ms: int) -> object:
            if self.refusal is not None:
                raise self.refusal
            return append(messages, enqueued_ms)

        log.append = refusing  # type: ignore[method-assign,assignment]
        return log


@pytest.mark.parametrize(
    ("refusal", "condition", "words"),
    [
        (StorageFull("/data"), "amqp:resource-limit-exceeded", "The disk that holds the hub's"),
        (SyncFailed("a.seg", "no"), "amqp:internal-error", "The hub cannot write to its disk"),
    ],
)
def test_a_store_that_refuses_is_told_to_the_sender_and_may_work_again(
    refusal: StorageError, condition: str, words: str
) -> None:
    store = RefusingStore(None)
    bench = Bench(store=store)
    bench.add_hub()
    peer = bench.open()
    link = peer.attach_sender(SEND)
    store.refusal = refusal
    for _ in range(5):
        state = peer.publish(link, data(b"x"))
        assert isinstance(state, Rejected)
        assert state.error.condition == condition
        assert state.error.description.startswith(words)
    assert bench.reported == [f"telemetry/0: a send was refused: {refusal}"]
    bench.pass_time(1)
    peer.publish(link, data(b"x"))
    assert len(bench.reported) == 2
    store.refusal = None
    assert peer.publish(link, data(b"x")) == Accepted()


def test_connections_that_break_hide_no_refusal_of_the_store() -> None:
    store = RefusingStore(None)
    bench = Bench(store=store)
    bench.add_hub()
    peer, broken = bench.open(), bench.open()
    link = peer.attach_sender(SEND)
    broken.line.write(b"\xff" * 8)
    broken.until_over()
    store.refusal = StorageFull("/data")
    peer.publish(link, data(b"x"))
    closed, refused = bench.reported
    assert "was closed: " in closed
    assert refused == f"telemetry/0: a send was refused: {store.refusal}"
