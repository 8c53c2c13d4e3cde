"""A partition that is handed over lies idle until its new owner tries its id: that is soon."""

from __future__ import annotations

from support.azurites_ledger import AzuritesLedger
from support.member_desk import Desk, alone
from tidegate.member import messages as m
from tidegate.ports import Change, ReadOwnership

LEASE_S = 15.0


def wanting() -> Desk:
    """`b` has announced what it wants of `a`, who has not looked yet."""
    desk = alone("0", "1")
    desk.join("b")
    while not desk.listing().members["b"].wants:
        desk.look("b")
    return desk


def tries(desk: Desk) -> int:
    return len(desk.operations("b", ReadOwnership))


def test_an_id_is_tried_every_tenth_of_a_second_after_it_was_announced() -> None:
    desk = wanting()
    before = tries(desk)
    for _ in range(10):
        desk.now = max(desk.members["b"].wake_at, desk.now)
        desk.tell("b", m.Woken(desk.now))
    assert tries(desk) - before >= 8


def test_the_receiver_has_the_partition_a_moment_after_the_change() -> None:
    desk = wanting()
    desk.look("a")
    assert desk.operations("a", Change)
    changed = desk.now
    while "1" not in desk.members["b"].tenures:
        desk.now = max(desk.members["b"].wake_at, desk.now)
        desk.tell("b", m.Woken(desk.now))
    assert desk.now - changed <= 0.2


def test_an_id_that_has_waited_long_is_tried_at_the_ticks_alone() -> None:
    desk = wanting()
    desk.now += 10
    desk.tell("b", m.Woken(desk.now))
    before, began = tries(desk), desk.now
    while desk.now - began < 5:
        desk.now = max(desk.members["b"].wake_at, desk.now)
        desk.tell("b", m.Woken(desk.now))
    assert 5 <= tries(desk) - before <= 15


def test_asking_for_a_partition_whose_owner_is_dead_never_prolongs_the_dead_owners_lease() -> None:
    """Azurite takes any id for a renewal of a lease that has ended."""
    desk = Desk("0", "1")
    desk.ledger = AzuritesLedger()
    desk.join("a")
    desk.look()
    killed = desk.now
    desk.now += LEASE_S - 2.0
    desk.join("b")
    while desk.reading("b") != ["0", "1"]:
        desk.now += 0.1
        desk.renew("b")
        desk.tell("b", m.Woken(desk.now))
        assert desk.now - killed < 2 * LEASE_S + 2.0, "rule 8 lets one lease period more pass"
    assert "fenced" not in desk.reports("b")
