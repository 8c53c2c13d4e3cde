"""Two machines do whatever is legal, in any order, over a wire that is slow in any way.

Checked all the time: nobody is given up, credit and windows are kept to, and what arrives on a
link is what was sent on it, in order. At the end everything that was sent has arrived.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from support.amqp_pair import sent_frames
from tidegate_amqp import (
    Accepted,
    Connection,
    ConnectionSettings,
    Error,
    Link,
    ReceiverLink,
    Released,
    SenderLink,
    Session,
    Source,
    Target,
)
from tidegate_amqp.events import (
    ConnectionFailed,
    CreditChanged,
    Delivery,
    Event,
    LinkAttached,
    Outcome,
)
from tidegate_amqp.performatives import Begin, Detach, Transfer

SIDES = st.sampled_from(["client", "server"])
LIMIT_EXCEEDED = "amqp:link:transfer-limit-exceeded"


class Conversation(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        one = ConnectionSettings("one", max_frame_size=512, incoming_window=6)
        other = ConnectionSettings("other", max_frame_size=700, incoming_window=3)
        self.machines = {
            "client": Connection(one, initiator=True),
            "server": Connection(other, initiator=False),
        }
        self.wire = {"client": bytearray(), "server": bytearray()}
        self.sent: dict[str, list[bytes]] = defaultdict(list)
        self.arrived: dict[str, list[bytes]] = defaultdict(list)
        self.unsettled: list[Delivery] = []
        # What was made of the deliveries that a session sent, as told and as given.
        self.outcomes: dict[tuple[Session, int], str] = {}
        self.given: dict[tuple[Session, int], str] = {}
        self.names = 0
        self.gone: set[str] = set()
        # How many transfers a side has written on a channel, and how many it may.
        self.transfers: dict[tuple[str, int], int] = defaultdict(int)
        self.allowed: dict[tuple[str, int], int] = {}
        self.carry_all()
        self.machines["client"].begin()
        self.carry_all()

    # --- the wire

    def write(self, side: str) -> None:
        chunks = self.machines[side].take_output()
        for each in sent_frames(chunks):
            self._check_written(side, each.channel, each.performative)
        self.wire[side] += b"".join(chunks)

    def _check_written(self, side: str, channel: int, performative: Any) -> None:
        if isinstance(performative, Begin):
            self.transfers[side, channel] = 0
        elif isinstance(performative, Transfer) and channel in self.machines[side].sessions:
            self.transfers[side, channel] += 1
            assert self.transfers[side, channel] < self.allowed[side, channel]
        elif isinstance(performative, Detach):
            assert performative.error is None or performative.error.condition != LIMIT_EXCEEDED

    def carry(self, side: str, size: int) -> None:
        """Brings so many bytes that a side wrote to the other one."""
        self.write(side)
        other = "server" if side == "client" else "client"
        data = bytes(self.wire[side][:size])
        del self.wire[side][:size]
        for event in self.machines[other].receive(data):
            self._answer(other, event)
        self._note_windows(other)

    def _note_windows(self, side: str) -> None:
        machine = self.machines[side]
        for channel, session in machine.sessions.items():
            may = session.next_outgoing_id + session.remote_incoming_window
            self.allowed[side, channel] = max(may, self.allowed.get((side, channel), 0))

    def _answer(self, side: str, event: Event) -> None:
        assert not isinstance(event, ConnectionFailed), event
        if isinstance(event, LinkAttached) and not event.link.is_attached:
            event.link.accept(event.attach)
        elif isinstance(event, CreditChanged) and event.link.drain:
            event.link.finish_drain()
        elif isinstance(event, Delivery):
            self.arrived[event.link.name].append(event.payload)
            if not event.settled:
                self.unsettled.append(event)
        elif isinstance(event, Outcome):
            for number in range(event.first, event.last + 1):
                self.outcomes[event.session, number] = type(event.state).__name__

    def carry_all(self) -> None:
        quiet = False
        while not quiet:
            for side in ("client", "server"):
                self.carry(side, 1 << 30)
            for side in ("client", "server"):
                self.write(side)
            quiet = not any(self.wire.values())

    # --- what may be done

    def links(self, kind: type[Link]) -> list[Any]:
        return [
            link
            for machine in self.machines.values()
            for session in machine.sessions.values()
            for link in session.links.values()
            if isinstance(link, kind) and link.is_attached and not link.is_gone
        ]

    @rule(side=SIDES, size=st.integers(1, 2_000))
    def carry_some(self, side: str, size: int) -> None:
        self.carry(side, size)

    @rule()
    def carry_everything(self) -> None:
        self.carry_all()

    @precondition(lambda self: self.names < 6)
    @rule(side=SIDES, sends=st.booleans())
    def attach(self, side: str, sends: bool) -> None:
        sessions = [each for each in self.machines[side].sessions.values() if each.is_live]
        if not sessions:
            return
        self.names += 1
        name = f"link {self.names}"
        ask = sessions[0].attach_sender if sends else sessions[0].attach_receiver
        ask(name, Source("a"), Target("b"))

    @precondition(lambda self: self.links(ReceiverLink))
    @rule(choice=st.integers(0, 9), credit=st.integers(0, 8), drain=st.booleans())
    def grant(self, choice: int, credit: int, drain: bool) -> None:
        receivers = self.links(ReceiverLink)
        receivers[choice % len(receivers)].grant(credit, drain=drain and choice > 7)

    @precondition(lambda self: any(each.credit for each in self.links(SenderLink)))
    @rule(choice=st.integers(0, 9), size=st.integers(0, 3_000), settled=st.booleans())
    def send(self, choice: int, size: int, settled: bool) -> None:
        senders = [each for each in self.links(SenderLink) if each.credit]
        link = senders[choice % len(senders)]
        payload = b"%d:" % len(self.sent[link.name]) + b"s" * size
        link.send(payload, tag=b"t", settled=settled)
        self.sent[link.name].append(payload)

    @precondition(lambda self: any(each.sendable for each in self.links(SenderLink)))
    @rule(choice=st.integers(0, 9), sizes=st.lists(st.integers(0, 900), min_size=1, max_size=6))
    def send_run(self, choice: int, sizes: list[int]) -> None:
        senders = [each for each in self.links(SenderLink) if each.sendable]
        link = senders[choice % len(senders)]
        slices = [b"r" * size for size in sizes[: link.sendable]]
        ends = [sum(map(len, slices[: at + 1])) for at in range(len(slices))]
        link.send_run(b"".join(slices), ends, 0, b">")
        self.sent[link.name] += [b">" + each for each in slices]

    @precondition(lambda self: self.unsettled)
    @rule(choice=st.integers(0, 9), accept=st.booleans())
    def settle(self, choice: int, accept: bool) -> None:
        delivery = self.unsettled.pop(choice % len(self.unsettled))
        session = delivery.link.session
        sender = self._other_end(session)
        delivery.link.settle(delivery.delivery_id, Accepted() if accept else Released())
        if session.is_live and sender is not None:
            self.given[sender, delivery.delivery_id] = "Accepted" if accept else "Released"

    def _other_end(self, session: Session) -> Session | None:
        here = session.connection
        (there,) = (each for each in self.machines.values() if each is not here)
        return there.by_remote_channel.get(session.channel)

    @precondition(lambda self: self.names < 6)
    @rule(side=SIDES)
    def begin(self, side: str) -> None:
        if len(self.machines[side].sessions) < 3:
            self.machines[side].begin()

    @rule(side=SIDES, choice=st.integers(0, 20))
    def end(self, side: str, choice: int) -> None:
        sessions = list(self.machines[side].sessions.values())
        if choice < len(sessions):
            self.gone.update(link.name for link in sessions[choice].links.values())
            other = self._other_end(sessions[choice])
            if other is not None:
                self.gone.update(link.name for link in other.links.values())
            sessions[choice].end()

    @precondition(lambda self: self.links(Link))
    @rule(choice=st.integers(0, 9), with_error=st.booleans())
    def detach(self, choice: int, with_error: bool) -> None:
        links = self.links(Link)
        link = links[choice % len(links)]
        self.gone.add(link.name)
        link.detach(Error("amqp:link:stolen", "taken") if with_error else None)

    # --- what is always true

    @invariant()
    def credit_and_windows_are_never_negative(self) -> None:
        for machine in self.machines.values():
            assert not machine.is_closed
            for session in machine.sessions.values():
                assert session.remote_incoming_window >= 0
                assert all(link.credit >= 0 for link in session.links.values())

    @invariant()
    def what_arrives_is_what_was_sent_in_order(self) -> None:
        for name, payloads in self.arrived.items():
            assert payloads == self.sent[name][: len(payloads)]

    @invariant()
    def outcomes_are_those_that_were_given(self) -> None:
        for key, outcome in self.outcomes.items():
            assert self.given[key] == outcome

    def teardown(self) -> None:
        self.carry_all()
        for name, payloads in self.sent.items():
            if name not in self.gone:
                assert self.arrived[name] == payloads
        for machine in self.machines.values():
            for session in machine.sessions.values():
                assert session.sendable > 0 or not session.is_begun
        self._both_ends_agree_about_credit()
        lost = {key for key in self.given if not key[0].is_live}
        assert self.outcomes.keys() | lost == self.given.keys() | lost

    def _both_ends_agree_about_credit(self) -> None:
        counts: dict[str, set[tuple[int, int]]] = defaultdict(set)
        for link in self.links(Link):
            counts[link.name].add((link.delivery_count, link.credit))
        assert all(len(each) == 1 for each in counts.values()), counts


Conversation.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
test_two_machines_that_do_what_is_legal_never_break = Conversation.TestCase


def test_a_conversation_knows_its_frames() -> None:
    """The checks above see begin, flow and transfer frames: none of them is blind."""
    talk = Conversation()
    talk.attach("client", True)
    talk.carry_all()
    talk.grant(0, 5, False)
    talk.carry_all()
    talk.send(0, 2_000, False)
    talk.carry_all()
    talk.settle(0, True)
    talk.carry_all()
    assert talk.transfers["client", 0] >= 3
    assert len(talk.arrived["link 1"]) == 1
    assert list(talk.outcomes.values()) == ["Accepted"]
    talk.teardown()
