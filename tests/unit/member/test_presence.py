"""The member blob: what is announced stands, and those of the dead are removed in the end."""

from __future__ import annotations

from support.member_desk import Desk, alone
from tidegate.member import messages as m
from tidegate.model import Presence
from tidegate.ports import Announce, Forget, Join
from tidegate.settings import MemberSettings

LEASE_S = MemberSettings("a").lease_s
# As long as a dead member's blob is kept.
KEPT_S = 20 * LEASE_S


def announcements(desk: Desk, name: str) -> list[Presence]:
    return [op.presence for op in desk.operations(name, Announce) if isinstance(op, Announce)]


def test_an_old_announcement_that_comes_late_is_written_over() -> None:
    """It has no condition but the lease, so one sent twice can stand over a newer one."""
    desk = alone("0", "1")
    desk.join("b")
    desk.look()
    desk.look()
    late = next(op for op in desk.operations("b", Announce) if _wants(op))
    assert desk.listing().members["b"].wants == {}
    desk.ledger.perform_at(late, desk.now)
    assert desk.listing().members["b"].wants != {}
    desk.look()
    assert desk.listing().members["b"].wants == {}
    assert (desk.reading("a"), desk.reading("b")) == (["0"], ["1"])


def _wants(operation: object) -> bool:
    return isinstance(operation, Announce) and bool(operation.presence.wants)


def test_what_stands_is_not_announced_again() -> None:
    desk = alone("0", "1")
    desk.join("b")
    desk.look()
    count = len(announcements(desk, "b"))
    desk.look()
    desk.look()
    assert len(announcements(desk, "b")) == count


# -- the dead


def test_a_dead_members_blob_is_removed_by_the_first_by_name_of_those_who_live() -> None:
    desk = alone("0", "1")
    for name in ("b", "c"):
        desk.join(name)
    desk.look()
    began_at = desk.now
    while desk.now < began_at + KEPT_S + 2 * LEASE_S and "b" in desk.listing().members:
        desk.look("a", "c")
    assert set(desk.listing().members) == {"a", "c"}
    # Its lease runs out first.
    assert desk.now >= began_at + KEPT_S + LEASE_S - 5.0
    assert len(desk.operations("a", Forget)) == 1
    assert desk.operations("c", Forget) == []


def test_who_lives_again_before_its_time_is_not_forgotten() -> None:
    desk = alone("0", "1")
    desk.join("b")
    desk.look()
    began_at = desk.now
    while desk.now < began_at + KEPT_S - LEASE_S:
        desk.look("a")
    desk.look("b")
    desk.look("a")
    began_at = desk.now
    while desk.now < began_at + KEPT_S - LEASE_S:
        desk.look("a")
    assert desk.operations("a", Forget) == []
    assert set(desk.listing().members) == {"a", "b"}


def test_a_blob_that_somebody_has_leased_meanwhile_is_not_removed() -> None:
    desk = alone("0", "1")
    desk.join("b")
    desk.look()
    desk.is_held_back = lambda _, operation: isinstance(operation, Forget)
    began_at = desk.now
    while not desk.operations("a", Forget) and desk.now < began_at + KEPT_S + 4 * LEASE_S:
        desk.look("a")
    forget = desk.operations("a", Forget)[0]
    desk.ledger.perform_at(Join("b", "a fresh lease"), desk.now)
    desk.is_held_back = lambda *_: False
    refusal = desk.refusal_of(forget)
    assert refusal is not None
    assert "b" in desk.listing().members


def test_who_was_forgotten_while_it_slept_joins_anew() -> None:
    desk = alone("0", "1")
    desk.join("b")
    desk.look()
    began_at = desk.now
    while "b" in desk.listing().members and desk.now < began_at + KEPT_S + 4 * LEASE_S:
        desk.look("a")
    desk.tell("b", m.Woken(desk.now))
    for _ in range(4):
        desk.look()
    shown = desk.listing().members["b"]
    assert shown.is_alive
    assert desk.reading("a") + desk.reading("b") == ["0", "1"]
