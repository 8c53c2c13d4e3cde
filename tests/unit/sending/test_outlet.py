"""A link that batches go out on: nothing is lost whatever the service answers."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from tidegate.sending.outlet import Outlet
from tidegate.sending.packing import Batch
from tidegate.sources.native.refusals import Kind, passing
from tidegate_amqp import Accepted, Error, Rejected, Released, SenderLink
from tidegate_amqp.performatives import Attach


class Wire:
    """As much of a link as an outlet uses; keeps what was sent on it."""

    def __init__(self, credit: int = 1_000) -> None:
        self.sendable = credit
        self.sent: list[bytes] = []

    def send(self, payload: bytes, *, tag: bytes, message_format: int) -> int:
        assert self.sendable > 0
        self.sendable -= 1
        self.sent.append(payload)
        return len(self.sent) - 1


def batch(number: int) -> Batch:
    return Batch("", f"{number:04}".encode(), 10)


def an_outlet(wire: Wire) -> Outlet:
    outlet = Outlet("hub", "localhost/hub")
    outlet.link = cast(SenderLink, wire)
    return outlet


BUSY = Rejected(Error("com.microsoft:server-busy", "come back later"))
FORBIDDEN = Rejected(Error("amqp:unauthorized-access", "no"))


def test_batches_go_out_in_order_as_far_as_credit_reaches() -> None:
    wire = Wire(credit=3)
    outlet = an_outlet(wire)
    for number in range(5):
        outlet.put(batch(number))
    assert wire.sent == [b"0000", b"0001", b"0002"]
    wire.sendable = 10
    outlet.on_credit()
    assert wire.sent[3:] == [b"0003", b"0004"]


def test_what_is_accepted_is_counted_once_and_is_no_longer_unfinished() -> None:
    outlet = an_outlet(Wire())
    for number in range(3):
        outlet.put(batch(number))
    outlet.on_outcome(0, 1, Accepted())
    outlet.on_outcome(0, 1, Accepted())
    assert outlet.accepted == 20
    assert outlet.unfinished_bytes == 4


def test_deliveries_of_others_on_the_same_session_are_not_ours() -> None:
    outlet = an_outlet(Wire())
    outlet.on_outcome(0, 500, Accepted())
    assert outlet.accepted == 0


def test_after_a_loss_all_that_was_under_way_goes_out_again_first_and_in_order() -> None:
    outlet = an_outlet(Wire(credit=3))
    for number in range(5):
        outlet.put(batch(number))
    outlet.on_outcome(0, 0, Accepted())
    outlet.on_trouble(passing("lost"))
    outlet.trouble, again = None, Wire()
    outlet.link = cast(SenderLink, again)
    outlet.pump()
    assert again.sent == [b"0001", b"0002", b"0003", b"0004"]


def test_a_refused_batch_waits_until_somebody_decides_to_go_on() -> None:
    wire = Wire()
    outlet = an_outlet(wire)
    outlet.put(batch(0))
    outlet.on_outcome(0, 0, BUSY)
    assert outlet.trouble is not None
    assert outlet.trouble.kind is Kind.PASSING
    assert outlet.trouble.at_least_s > 0
    outlet.on_credit()
    assert wire.sent == [b"0000"]
    outlet.trouble = None
    outlet.pump()
    assert wire.sent == [b"0000", b"0000"]


def test_what_will_not_come_right_is_fatal_and_what_is_released_is_not() -> None:
    for state, kind in ((FORBIDDEN, Kind.FATAL), (Released(), Kind.PASSING)):
        outlet = an_outlet(Wire())
        outlet.put(batch(0))
        outlet.on_outcome(0, 0, state)
        assert outlet.trouble is not None
        assert outlet.trouble.kind is kind


def test_a_link_that_takes_less_says_so_and_one_that_takes_more_changes_nothing() -> None:
    outlet = an_outlet(Wire())
    for size, limit in ((262_144, 262_144), (1 << 40, 1_048_576), (0, 1_048_576)):
        fresh = Outlet("hub", "place")
        fresh.on_attached(Attach(name="x", handle=0, role=False, max_message_size=size))
        assert fresh.limit == limit
    assert outlet.limit == 1_048_576


@given(
    st.integers(1, 40),
    st.lists(
        st.tuples(st.sampled_from(["accept", "busy", "lose"]), st.integers(0, 5)), max_size=40
    ),
)
def test_every_batch_is_accepted_in_the_end_whatever_happens_on_the_way(
    batches: int, happenings: list[tuple[str, int]]
) -> None:
    outlet, wire = an_outlet(Wire(credit=4)), Wire(credit=4)
    outlet.link = cast(SenderLink, wire)
    accepted: set[bytes] = set()
    for number in range(batches):
        outlet.put(batch(number))

    def answer(state: Any) -> None:
        for number in sorted(outlet._under_way):
            if isinstance(state, Accepted):
                accepted.add(wire.sent[number])
            outlet.on_outcome(number, number, state)
            break

    for happening, credit in [*happenings, *[("accept", 5)] * (2 * batches + 2)]:
        wire.sendable += credit
        if happening == "lose":
            outlet.on_trouble(passing("lost"))
            wire = Wire(credit=4)
        else:
            answer(Accepted() if happening == "accept" else BUSY)
        outlet.trouble, outlet.link = None, cast(SenderLink, wire)
        outlet.pump()
    assert accepted == {batch(number).payload for number in range(batches)}
    assert outlet.accepted == 10 * batches
    assert outlet.unfinished_bytes == 0
