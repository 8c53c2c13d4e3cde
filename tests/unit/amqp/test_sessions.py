"""Sessions and connections: begun and ended from either end, with errors, limits and crossings."""

from __future__ import annotations

import pytest

from support.amqp_pair import SERVER, Pair, all_of, begun, failure, one, opened, said, tell
from support.amqp_samples import ATTACH_SENDER, BEGIN, OPEN
from tidegate_amqp import Accepted, ConnectionSettings, Error, MisuseError, Source, Target
from tidegate_amqp.events import (
    ConnectionClosed,
    ConnectionOpened,
    Event,
    LinkAttached,
    LinkDetached,
    SessionBegun,
    SessionEnded,
)
from tidegate_amqp.frames import EMPTY_FRAME
from tidegate_amqp.performatives import (
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Flow,
    Transfer,
)

GONE = Error("amqp:internal-error", "over")


def names(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def test_a_session_is_begun_by_the_client_and_answered_by_the_server() -> None:
    pair = Pair()
    ours, theirs = pair.session()
    assert one(pair.at_client, SessionBegun).session is ours
    assert (ours.remote_channel, theirs.remote_channel) == (0, 0)
    assert (ours.remote_incoming_window, theirs.remote_incoming_window) == (5_000, 5_000)


def test_both_ends_may_begin_sessions_at_the_same_time() -> None:
    pair = Pair()
    pair.pump()
    from_client, from_server = pair.client.begin(), pair.server.begin()
    pair.pump()
    assert len(pair.client.sessions) == len(pair.server.sessions) == 2
    assert from_client.channel == from_server.channel == 0
    link = from_client.attach_sender("a", Source("a"), Target("b"))
    other = from_server.attach_sender("b", Source("c"), Target("d"))
    pair.pump()
    assert [each.attach.name for each in all_of(pair.at_server, LinkAttached)] == ["a"]
    assert [each.attach.name for each in all_of(pair.at_client, LinkAttached)] == ["b"]
    assert not link.is_gone
    assert not other.is_gone


@pytest.mark.parametrize("ender", ["client", "server"])
@pytest.mark.parametrize("error", [None, GONE])
def test_either_end_may_end_a_session(ender: str, error: Error | None) -> None:
    pair = Pair()
    pair.receiver()
    sessions = {"client": pair.client.sessions[0], "server": pair.server.sessions[0]}
    events = {"client": pair.at_server, "server": pair.at_client}[ender]
    sessions[ender].end(error)
    pair.pump()
    assert names(events) == ["LinkDetached", "SessionEnded"]
    assert one(events, SessionEnded).error == one(events, LinkDetached).error == error
    assert pair.client.sessions == pair.server.sessions == {}
    assert pair.client.by_remote_channel == pair.server.by_remote_channel == {}


def test_ends_that_cross_are_not_answered_twice() -> None:
    pair = Pair()
    ours, theirs = pair.session()
    pair.forget()
    ours.end()
    theirs.end()
    pair.pump()
    assert [each.performative for each in pair.frames] == [End(), End()]
    assert names(pair.at_client) == names(pair.at_server) == ["SessionEnded"]


def test_a_channel_may_be_used_again_after_its_session() -> None:
    pair = Pair()
    for _ in range(3):
        ours, _ = pair.session()
        assert ours.channel == 0
        ours.end()
        pair.pump()
    assert len(all_of(pair.at_server, SessionEnded)) == 3


@pytest.mark.parametrize("error", [None, GONE])
@pytest.mark.parametrize("closer", ["client", "server"])
def test_either_end_may_close_the_connection(closer: str, error: Error | None) -> None:
    pair = Pair()
    pair.receiver()
    machine, events = {
        "client": (pair.client, pair.at_server),
        "server": (pair.server, pair.at_client),
    }[closer]
    machine.close(error)
    machine.close(error)
    pair.pump()
    assert names(events) == ["LinkDetached", "SessionEnded", "ConnectionClosed"]
    assert {each.error for each in events} == {error}  # type: ignore[union-attr]
    assert pair.client.is_closed
    assert pair.server.is_closed


def test_an_error_at_close_is_told_to_every_link_and_session_first() -> None:
    pair = Pair()
    ours, _ = pair.session()
    pair.receiver(ours)
    pair.sender(ours)
    pair.server.close(GONE)
    assert said(pair.server) == [
        Detach(0, True, GONE),
        Detach(1, True, GONE),
        End(GONE),
        Close(GONE),
    ]


def test_closes_that_cross_are_both_the_last_word() -> None:
    pair = Pair()
    pair.session()
    pair.forget()
    pair.client.close()
    pair.server.close()
    pair.pump()
    assert [each.performative for each in pair.frames] == [Close(), Close()]
    assert one(pair.at_client, ConnectionClosed) == one(pair.at_server, ConnectionClosed)


LATE = [
    Begin(None, 1, 10, 10),
    Attach("late", 7, True),
    Flow(1, 10, 1, 10, echo=True),
    Flow(1, 10, 1, 10, handle=99),
    Transfer(1, 0, b"", 0),
    Disposition(True, 0, 5, True, Accepted()),
    Detach(1, True),
    End(),
]


@pytest.mark.parametrize("late", LATE, ids=lambda each: type(each).__name__)
def test_what_comes_after_our_close_is_ignored_until_the_close_of_the_peer(late: object) -> None:
    server = begun()
    tell(server, ATTACH_SENDER)
    server.close()
    assert said(server) == [Close()]
    assert tell(server, late) == []
    assert one(tell(server, Close()), ConnectionClosed).error is None
    assert said(server) == []


@pytest.mark.parametrize("late", LATE[1:-1], ids=lambda each: type(each).__name__)
def test_what_comes_after_our_end_is_ignored_until_the_end_of_the_peer(late: object) -> None:
    server = begun(begin=BEGIN)
    tell(server, ATTACH_SENDER)
    server.sessions[0].end()
    assert said(server) == [End()]
    assert tell(server, late) == []
    assert "SessionEnded" in names(tell(server, End()))
    assert said(server) == []


def test_nothing_is_sent_on_a_session_after_its_end() -> None:
    pair = Pair()
    sender, _ = pair.sender(credit=5)
    session = sender.session
    session.end()
    assert sender.sendable == 0
    with pytest.raises(MisuseError):
        sender.send(b"late", tag=b"")
    with pytest.raises(MisuseError):
        session.attach_sender("late", Source(), Target())
    sender.detach()
    session.end()
    pair.client.close(GONE)
    assert said(pair.client) == [End(), Close(GONE)]


def test_what_was_settled_is_told_before_the_end_and_before_the_close() -> None:
    for finish in ("end", "close"):
        pair = Pair()
        _, receiver = pair.sender(credit=5)
        receiver.settle(0, Accepted())
        if finish == "end":
            receiver.session.end()
        else:
            pair.server.close()
        first, last = said(pair.server)
        assert (first, type(last).__name__.lower()) == (
            Disposition(True, 0, None, True, Accepted()),
            finish,
        )


def test_a_session_beyond_the_highest_channel_is_refused() -> None:
    server = opened(ConnectionSettings("server", channel_max=1))
    for channel in (0, 1):
        assert all_of(tell(server, BEGIN, channel=channel), SessionBegun)
    assert failure(tell(server, BEGIN, channel=2)) == "amqp:resource-limit-exceeded"


def test_an_own_session_keeps_to_the_highest_channel_of_the_peer() -> None:
    server = opened(SERVER, OPEN._replace(channel_max=0))
    server.begin()
    with pytest.raises(MisuseError, match="channels"):
        server.begin()
    assert failure(tell(server, BEGIN, channel=3)) == "amqp:resource-limit-exceeded"


BROKEN = {
    "a begin on a channel in use": ([BEGIN], "amqp:illegal-state"),
    "a begin that answers nothing": ([Begin(9, 1, 1, 1)], "amqp:illegal-state"),
    "a flow for an unknown handle": ([Flow(1, 1, 1, 1, 5)], "amqp:session:unattached-handle"),
    "a transfer for an unknown handle": ([Transfer(5, 0)], "amqp:session:unattached-handle"),
    "a detach for an unknown handle": ([Detach(5)], "amqp:session:unattached-handle"),
    "a second attach on a handle": ([ATTACH_SENDER] * 2, "amqp:session:handle-in-use"),
    "a SASL performative": ([Error("amqp:not-found")], "amqp:decode-error"),
}


@pytest.mark.parametrize(("frames", "condition"), BROKEN.values(), ids=BROKEN)
def test_a_frame_that_is_not_allowed_ends_the_connection(
    frames: list[object], condition: str
) -> None:
    server = begun()
    assert failure(tell(server, *frames)) == condition
    assert said(server)[-1].error.condition == condition
    assert tell(server, End()) == []


@pytest.mark.parametrize("each", [*LATE[1:], Detach(0)], ids=lambda each: type(each).__name__)
def test_a_frame_on_a_channel_that_was_not_begun_ends_the_connection(each: object) -> None:
    assert failure(tell(begun(), each, channel=9)) == "amqp:illegal-state"


def test_a_frame_larger_than_was_agreed_ends_the_connection_before_it_arrives() -> None:
    server = begun()
    assert failure(server.receive(b"\x00\x01\x00\x01\x02\x00\x00\x00")) == (
        "amqp:connection:framing-error"
    )


def test_empty_frames_only_show_that_the_peer_lives() -> None:
    server = begun()
    assert server.receive(EMPTY_FRAME * 3) == []


def test_events_before_a_broken_frame_are_told() -> None:
    server = opened()
    events = tell(server, BEGIN, Flow(1, 1, 1, 1, 5), ATTACH_SENDER)
    assert names(events) == ["SessionBegun", "ConnectionFailed"]


def test_a_session_that_is_ended_before_it_is_answered_is_never_said_to_have_begun() -> None:
    pair = Pair()
    pair.pump()
    pair.client.begin().end()
    pair.pump()
    assert not all_of(pair.at_client, SessionBegun)
    assert all_of(pair.at_client, SessionEnded)
    assert all_of(pair.at_server, ConnectionOpened)


def test_an_error_of_unknown_form_is_told_as_an_internal_error() -> None:
    server = begun()
    ended = one(tell(server, End(Accepted())), SessionEnded)
    assert ended.error is not None
    assert ended.error.condition == "amqp:internal-error"


@pytest.mark.parametrize("late", LATE[1:], ids=lambda each: type(each).__name__)
def test_what_a_client_says_on_a_session_that_it_has_ended_is_passed_over(late: object) -> None:
    server = begun()
    tell(server, ATTACH_SENDER, End())
    said(server)
    assert tell(server, late) == []
    assert said(server) == []
    assert all_of(tell(server, Close()), ConnectionClosed)
