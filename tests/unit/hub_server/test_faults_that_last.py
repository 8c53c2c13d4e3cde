"""Faults that stand for a count or a time: what they count, and what they leave behind."""

from __future__ import annotations

from support.hub_bench import Bench
from support.hub_messages import data
from support.hub_operations import RECEIVE, SEND, attempt, store_an_event
from tidegate_hub.publisher import CREDIT, MAX_HELD_BYTES
from unit.hub_server.test_faults_in_depth import bodies, send_together, stored


def test_retention_that_expires_for_a_count_passes_so_many_receivers(bench: Bench) -> None:
    for body in (b"1", b"2", b"3"):
        store_an_event(bench, body)
    bench.inject("expire_retention", times=1, before_sequence=2)
    peer = bench.open()
    assert stored(bench) == [b"1", b"2", b"3"]
    link = peer.attach_receiver(RECEIVE)
    assert stored(bench) == [b"3"]
    link.grant(10)
    assert bodies(peer, link, 1) == [b"3"]
    assert bench.broker.faults.list(bench.now) == ()


def test_retention_may_pass_a_receiver_that_is_open(bench: Bench) -> None:
    peer = bench.open()
    link = peer.attach_receiver(RECEIVE)
    for body in (b"1", b"2"):
        store_an_event(bench, body)
    bench.inject("expire_retention", times=1)
    link.grant(10)
    peer.until_quiet()
    assert stored(bench) == []
    store_an_event(bench, b"3")
    assert bodies(peer, link, 1) == [b"3"]


def test_retention_that_expires_for_a_time_leaves_what_it_does_not_mean(bench: Bench) -> None:
    for body in (b"1", b"2", b"3"):
        store_an_event(bench, body)
    bench.inject(
        "expire_retention", hub="telemetry", partition="0", for_seconds=5.0, before_sequence=1
    )
    peer = bench.open()
    link = peer.attach_receiver(RECEIVE)
    link.grant(10)
    assert bodies(peer, link, 2) == [b"2", b"3"]
    bench.pass_time(5)
    assert bench.broker.faults.list(bench.now) == ()


def test_a_delay_for_a_count_holds_up_so_many_deliveries(bench: Bench) -> None:
    bench.inject("delay", times=2, seconds=5.0, on="send")
    peer = bench.open()
    link = peer.attach_sender(SEND)
    send_together(peer, link, b"1")
    bench.pass_time(3)
    send_together(peer, link, b"2")
    bench.pass_time(2)
    assert stored(bench) == [b"1"]
    send_together(peer, link, b"3")
    assert stored(bench) == [b"1"]
    bench.pass_time(3)
    assert stored(bench) == [b"1", b"2", b"3"]
    assert bench.broker.faults.list(bench.now) == ()


def test_a_sender_gets_no_more_credit_while_much_is_held_up(bench: Bench) -> None:
    bench.inject("delay", for_seconds=100.0, seconds=5.0, on="send")
    peer = bench.open()
    link = peer.attach_sender(SEND)
    large = data(b"x" * 1_000_000)
    count = MAX_HELD_BYTES // 1_000_000 + 1
    for _ in range(count):
        peer.send(link, large)
    peer.until_quiet()
    assert link.credit == 0
    bench.pass_time(5)
    peer.until_quiet()
    assert len(stored(bench)) == count
    assert link.credit == CREDIT


def test_throttles_that_have_ended_leave_no_allowance_behind(bench: Bench) -> None:
    for _ in range(20):
        bench.inject("throttle", times=1, events_per_second=1)
        attempt(bench, "send")
    assert len(bench.broker.hubs.get("telemetry").allowances) == 1
