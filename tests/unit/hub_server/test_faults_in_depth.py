"""What faults do beyond hitting an operation: what is stored then, in which order, and when."""

from __future__ import annotations

from typing import Any

import pytest

from support.amqp_peer import Peer
from support.hub_bench import Bench, wire_of
from support.hub_messages import batch, data, part, parts
from support.hub_operations import DONE, RECEIVE, SEND, attempt, store_an_event
from tidegate_amqp import Accepted, Rejected, Source, Target
from tidegate_amqp import events as happened
from tidegate_amqp.sections import BATCH_FORMAT, DATA, MESSAGE_ANNOTATIONS

OTHER_GROUP = "telemetry/ConsumerGroups/analytics/Partitions/0"


def stored(bench: Bench, partition: int = 0) -> list[bytes]:
    """The bodies of all events of a partition."""
    log = bench.broker.hubs.get("telemetry").partitions[partition].log
    bodies = []
    sequence = log.first_sequence
    while (held := log.batch_at(sequence)) is not None:
        start = 0
        for end in held.ends:
            bodies += [each.value for each in parts(held.payload[start:end]) if each.code == DATA]
            start = end
        sequence = held.next_sequence
    return bodies


def bodies(peer: Peer, link: Any, count: int) -> list[bytes]:
    return [part(each.payload, DATA) for each in peer.messages(link, count)]


def send_together(peer: Peer, link: Any, *messages: bytes) -> list[int]:
    """Several deliveries that reach the hub in one piece."""
    ids = [link.send(data(each), tag=each) for each in messages]
    peer.flush()
    return ids


def test_events_behind_a_delayed_one_stay_in_order(bench: Bench) -> None:
    bench.inject("delay", times=1, seconds=5.0, on="send")
    peer = bench.open()
    link = peer.attach_sender(SEND)
    send_together(peer, link, b"1", b"2")
    bench.pass_time(2)
    (last,) = send_together(peer, link, b"3")
    assert stored(bench) == []
    bench.pass_time(3)
    assert stored(bench) == [b"1", b"2", b"3"]
    assert peer.outcome(last).state == Accepted()


def test_a_delayed_event_is_stored_though_its_link_is_detached_meanwhile(bench: Bench) -> None:
    bench.inject("delay", times=1, seconds=5.0, on="send")
    peer = bench.open()
    link = peer.attach_sender(SEND)
    send_together(peer, link, b"1")
    link.detach()
    peer.until_quiet()
    bench.pass_time(5)
    assert stored(bench) == [b"1"]


def test_what_waits_behind_a_delay_is_lost_with_its_connection(bench: Bench) -> None:
    bench.inject("delay", times=1, seconds=5.0, on="send")
    peer = bench.open()
    send_together(peer, peer.attach_sender(SEND), b"1")
    peer.line.cut()
    bench.pass_time(5)
    assert stored(bench) == []


def test_a_delay_for_a_time_delays_each_send_once(bench: Bench) -> None:
    bench.inject("delay", for_seconds=100.0, seconds=2.0, on="send")
    for _ in range(3):
        assert attempt(bench, "send").seconds == 2.0
    assert len(stored(bench)) == 3


def test_credit_and_events_may_come_while_an_attach_is_delayed(bench: Bench) -> None:
    store_an_event(bench, b"1")
    bench.inject("delay", times=1, seconds=5.0, on="attach")
    peer = bench.open()
    link = peer.begin().attach_receiver("slow", Source(RECEIVE), Target("here"))
    link.state = type(link.state).ATTACHED  # so that credit can be given before the answer
    link.grant(10)
    peer.flush()
    bench.pass_time(4)
    peer.until_quiet()
    assert not peer.of(happened.LinkAttached)
    store_an_event(bench, b"2")
    bench.pass_time(1)
    assert bodies(peer, link, 2) == [b"1", b"2"]


def test_a_link_that_is_given_up_while_its_attach_is_delayed_leaves_nothing(bench: Bench) -> None:
    bench.inject("delay", times=1, seconds=5.0, on="attach")
    peer = bench.open()
    session = peer.begin()
    link = session.attach_receiver("slow", Source(RECEIVE), Target("here"))
    peer.flush()
    link.detach()
    peer.flush()
    bench.pass_time(5)
    hub = bench.broker.hubs.get("telemetry")
    assert not hub.links
    assert not hub.partitions[0].feeds["$Default"]
    assert attempt(bench, "attach") == DONE


def test_a_dropped_connection_stores_nothing_of_what_came_with_it(bench: Bench) -> None:
    bench.inject("drop_connection", times=1, on="send")
    peer = bench.open()
    send_together(peer, peer.attach_sender(SEND), b"1", b"2", b"3")
    peer.until_over()
    assert stored(bench) == []
    assert not peer.of(happened.Outcome)


def test_a_detached_link_stores_nothing_of_what_came_behind(bench: Bench) -> None:
    peer = bench.open()
    link = peer.attach_sender(SEND)
    bench.inject("detach_link", times=1, on="send")
    send_together(peer, link, b"1", b"2", b"3")
    peer.refusal(link)
    assert stored(bench) == []


def test_events_that_come_just_before_a_detach_of_the_client_are_stored(bench: Bench) -> None:
    peer = bench.open()
    link = peer.attach_sender(SEND)
    link.send(data(b"1"), tag=b"1", settled=True)
    link.send(data(b"2"), tag=b"2", settled=True)
    link.detach()
    peer.connection.close()
    peer.flush()
    assert stored(bench) == [b"1", b"2"]


def test_an_immediate_drop_cuts_only_who_is_there(bench: Bench) -> None:
    sending, receiving, idle = bench.open(), bench.open(), bench.open()
    sending.attach_sender(SEND)
    receiving.attach_receiver(OTHER_GROUP)
    bench.inject("drop_connection", group="analytics")
    assert [wire_of(each).was_cut for each in (sending, receiving, idle)] == [False, True, False]
    bench.inject("drop_connection", hub="telemetry")
    assert [wire_of(each).was_cut for each in (sending, receiving, idle)] == [True, True, False]
    bench.inject("drop_connection")
    assert wire_of(idle).was_cut
    assert bench.broker.faults.list(bench.now) == ()


def test_an_immediate_detach_ends_the_links_of_its_place(bench: Bench) -> None:
    peer = bench.open()
    sender, first = peer.attach_sender(SEND), peer.attach_receiver(RECEIVE)
    other = peer.attach_receiver(OTHER_GROUP)
    bench.inject("detach_link", group="$Default")
    assert peer.refusal(first).condition == "amqp:link:detach-forced"
    assert (sender.is_attached, other.is_attached) == (True, True)
    bench.inject("detach_link", on="send", condition="com.microsoft:entity-disabled")
    assert peer.refusal(sender).condition == "com.microsoft:entity-disabled"
    assert other.is_attached
    bench.inject("detach_link", partition="0")
    peer.refusal(other)
    assert attempt(bench, "send", peer) == DONE


def test_expired_events_are_gone_and_receivers_go_on_with_what_is_left(bench: Bench) -> None:
    for number in range(6):
        store_an_event(bench, b"%d" % number)
    peer = bench.open()
    link = peer.attach_receiver(RECEIVE)
    link.grant(2)
    assert bodies(peer, link, 2) == [b"0", b"1"]
    bench.inject("expire_retention", hub="telemetry", partition="0", before_sequence=4)
    link.grant(10)
    assert bodies(peer, link, 4)[2:] == [b"4", b"5"]
    bench.inject("expire_retention")
    assert stored(bench) == []
    store_an_event(bench, b"6")
    (*_, last) = peer.messages(link, 5)
    assert part(last.payload, MESSAGE_ANNOTATIONS)["x-opt-sequence-number"] == 6


@pytest.mark.parametrize("before", [0, 3, 1000])
def test_retention_expires_no_more_than_there_is(bench: Bench, before: int) -> None:
    for _ in range(3):
        store_an_event(bench)
    bench.inject("expire_retention", before_sequence=before)
    assert len(stored(bench)) == (3 if before == 0 else 0)


def test_a_throttled_sender_is_told_to_wait_and_may_send_again_later(bench: Bench) -> None:
    bench.inject("throttle", for_seconds=60.0, events_per_second=10)
    peer = bench.open()
    link = peer.attach_sender(SEND)
    ten = batch(*[data(b"x")] * 10)
    assert peer.publish(link, ten, message_format=BATCH_FORMAT) == Accepted()
    refused = peer.publish(link, data(b"x"))
    assert isinstance(refused, Rejected)
    assert refused.error.condition == "com.microsoft:server-busy"
    assert refused.error.description.startswith(
        "The request was terminated because the entity is being throttled. Error code : 50002. "
        "Please wait 4 seconds and try again."
    )
    bench.pass_time(1)
    assert peer.publish(link, ten, message_format=BATCH_FORMAT) == Accepted()
    bench.pass_time(60)
    for _ in range(3):
        assert peer.publish(link, ten, message_format=BATCH_FORMAT) == Accepted()
    assert len(stored(bench)) == 50


def test_a_throttle_for_a_count_looks_at_so_many_sends(bench: Bench) -> None:
    bench.inject("throttle", times=3, events_per_second=1)
    ends = [attempt(bench, "send").how for _ in range(5)]
    assert ends == ["done", "refused", "refused", "done", "done"]


def test_faults_are_taken_in_the_order_in_which_they_were_scripted(bench: Bench) -> None:
    bench.inject("detach_link", times=1, on="send", condition="a:first")
    bench.inject("detach_link", times=1, on="send", condition="a:second")
    assert [attempt(bench, "send").condition for _ in range(3)] == ["a:first", "a:second", ""]
