"""Storage that throttles writes is left alone for a while, and costs nobody a tenure."""

from __future__ import annotations

import pytest

from support.member_desk import Desk, alone
from tidegate.member import messages as m
from tidegate.model import Position
from tidegate.ports import Operation, Refusal, WriteCheckpoint, WriteOwnership

LOST = (Refusal.BUSY, Refusal.UNKNOWN)
TIMES = 30


def live(desk: Desk, seconds: float, *, renews: bool = True) -> None:
    for _ in range(round(seconds * 4)):
        desk.now += 0.25
        if renews:
            desk.renew("a")
        desk.tell("a", m.Woken(desk.now))


@pytest.mark.parametrize("refusal", LOST)
def test_an_epoch_that_storage_does_not_take_is_tried_until_it_does_with_pauses(
    refusal: Refusal,
) -> None:
    desk = Desk("0")
    desk.refused[WriteOwnership] = [refusal] * TIMES
    desk.join("a")
    live(desk, 4.0)
    assert 6 <= len(desk.operations("a", WriteOwnership)) <= 9
    live(desk, TIMES * 0.5)
    assert desk.reading("a") == ["0"]
    assert desk.reports("a") == []


@pytest.mark.parametrize("refusal", LOST)
def test_a_checkpoint_that_storage_does_not_take_is_tried_until_it_does_with_pauses(
    refusal: Refusal,
) -> None:
    desk = alone()
    live(desk, 10.0)
    before = len(desk.operations("a", WriteCheckpoint))
    desk.refused[WriteCheckpoint] = [refusal] * TIMES
    desk.handled("a", "0", 3)
    live(desk, 4.0)
    assert 6 <= len(desk.operations("a", WriteCheckpoint)) - before <= 9
    live(desk, TIMES * 0.5)
    assert desk.listing().checkpoints["0"].position == Position("3", 3)
    assert desk.reading("a") == ["0"]
    assert desk.reports("a") == []


def refused_with(desk: Desk, asked_s: float) -> Operation:
    """The epoch's write of `a` is refused by storage that asks for so long a pause."""
    write = desk.operations("a", WriteOwnership)[-1]
    key = ("0", desk.members["a"].tenures["0"].serial)
    desk.tell(
        "a", m.Answered(desk.now, desk.now, key, write, None, Refusal.BUSY, "slow down", asked_s)
    )
    return write


def waiting() -> Desk:
    """`a` has the lease, and waits for the answer to its epoch's write."""
    desk = Desk("0")
    desk.is_held_back = lambda _, operation: isinstance(operation, WriteOwnership)
    desk.join("a")
    desk.look()
    assert len(desk.operations("a", WriteOwnership)) == 1
    return desk


@pytest.mark.parametrize(("asked_s", "pause_s"), [(0.0, 0.5), (2.0, 2.0), (60.0, 5.0)])
def test_the_pause_is_the_one_that_storage_asks_for_but_not_longer_than_others_can_wait(
    asked_s: float, pause_s: float
) -> None:
    desk = waiting()
    refused_with(desk, asked_s)
    live(desk, pause_s - 0.25)
    assert len(desk.operations("a", WriteOwnership)) == 1
    live(desk, 0.25)
    assert len(desk.operations("a", WriteOwnership)) == 2


def test_a_pause_ends_with_the_lease_and_nothing_is_written_after_that() -> None:
    desk = waiting()
    tenure = desk.members["a"].tenures["0"]
    desk.now = tenure.valid_until - 1.0
    refused_with(desk, 60.0)
    assert desk.members["a"].wake_at <= tenure.valid_until
    live(desk, 6.0, renews=False)
    assert desk.reports("a") == ["lapsed"]
    assert len(desk.operations("a", WriteOwnership)) == 1
    desk.is_held_back = lambda *_: False
    live(desk, 1.0)
    assert desk.reading("a") == ["0"]
