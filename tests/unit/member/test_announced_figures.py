"""Figures in the member blob: in time, seldom enough, and in the way of nothing that matters."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from support.member_desk import Desk, alone
from tidegate.member import messages as m
from tidegate.model import Figures, Presence
from tidegate.ports import Announce, Refusal, RenewPresence
from tidegate.settings import MemberSettings

SETTINGS = MemberSettings("a")
EVERY_S, KEEP_S = SETTINGS.figures_every_s, SETTINGS.figures_keep_s
SOON_S = SETTINGS.figures_soon_s


def measured(desk: Desk, name: str, handled: int, *stuck: str) -> None:
    figures = MappingProxyType({"0": Figures(1000, handled)})
    desk.tell(name, m.FiguresMeasured(desk.now, figures, frozenset(stuck)))


def live(desk: Desk, name: str, seconds: float, step_s: float = 0.25) -> None:
    """Time passes, and the member is woken whenever it asked for that."""
    end = desk.now + seconds
    while desk.now < end - 1e-9:
        desk.now += step_s
        if desk.members[name].wake_at <= desk.now:
            desk.renew(name)
            desk.tell(name, m.Woken(desk.now))


def shown(desk: Desk, name: str) -> Presence:
    return desk.listing().members[name]


def announced(desk: Desk, name: str) -> int:
    return len(desk.operations(name, Announce))


def test_figures_are_in_the_ledger_2_s_after_they_changed() -> None:
    desk = alone()
    measured(desk, "a", 10)
    live(desk, "a", EVERY_S)
    assert shown(desk, "a").figures == {"0": Figures(1000, 10)}
    measured(desk, "a", 20)
    live(desk, "a", EVERY_S)
    found = shown(desk, "a")
    assert found.figures == {"0": Figures(1000, 20)}
    assert desk.now - EVERY_S <= found.figures_at <= desk.now


def test_figures_that_change_all_the_time_cost_one_write_in_2_s() -> None:
    desk = alone()
    before = announced(desk, "a")
    for number in range(60):
        measured(desk, "a", number)
        live(desk, "a", 1.0)
    assert 60 / EVERY_S - 2 <= announced(desk, "a") - before <= 60 / EVERY_S + 1


def waiting(desk: Desk, end: int, handled: int, handling: float) -> None:
    said = MappingProxyType({"0": Figures(end, handled, handling=handling)})
    desk.tell("a", m.FiguresMeasured(desk.now, said, frozenset()))


def test_while_more_and_more_events_wait_figures_are_told_twice_as_often() -> None:
    desk = alone()
    waiting(desk, 1000, 1000, 20.0)
    live(desk, "a", EVERY_S)
    before = announced(desk, "a")
    for second in range(1, 7):
        waiting(desk, 1000 + 200 * second, 1000 + 100 * second, 60.0)
        live(desk, "a", SOON_S)
        assert shown(desk, "a").figures["0"].end == 1000 + 200 * second, second
    assert announced(desk, "a") - before <= 6


@pytest.mark.parametrize(
    ("more", "handling"), [(10, 0.0), (10, 5.0), (900, 1000.0)], ids=["few", "slow", "fast"]
)
def test_what_comes_and_goes_costs_no_more_writes(more: int, handling: float) -> None:
    """So many are handled within a moment."""
    desk = alone()
    waiting(desk, 1000, 1000, handling)
    live(desk, "a", EVERY_S)
    before = announced(desk, "a")
    for number in range(1, 21):
        end = 1000 + 1000 * number
        waiting(desk, end, end - more * (number % 2), handling)
        live(desk, "a", SOON_S)
    assert announced(desk, "a") - before <= 20 * SOON_S / EVERY_S + 1


def test_figures_that_do_not_change_are_told_again_every_30_s() -> None:
    desk = alone()
    before = announced(desk, "a")
    for _ in range(120):
        measured(desk, "a", 7)
        live(desk, "a", 1.0)
        assert not shown(desk, "a").figures or desk.now - shown(desk, "a").figures_at <= KEEP_S
    assert announced(desk, "a") - before in (120 / KEEP_S, 120 / KEEP_S + 1)


def test_a_member_without_figures_announces_nothing_of_its_own_accord() -> None:
    desk = alone()
    before = announced(desk, "a")
    live(desk, "a", 120.0)
    assert announced(desk, "a") == before


def test_a_partition_that_is_stuck_is_told_at_once() -> None:
    desk = alone()
    measured(desk, "a", 10)
    measured(desk, "a", 10, "0")
    assert shown(desk, "a").stuck == {"0"}
    measured(desk, "a", 10)
    assert shown(desk, "a").stuck == frozenset()


def test_a_circuit_breaker_that_opens_is_told_at_once() -> None:
    desk = alone()
    stuck = frozenset({"0"})
    nothing = MappingProxyType[str, Figures]({})
    desk.tell("a", m.FiguresMeasured(desk.now, nothing, stuck))
    assert shown(desk, "a").open_circuits == frozenset()
    desk.tell("a", m.FiguresMeasured(desk.now, nothing, stuck, open_circuits=stuck))
    assert shown(desk, "a").open_circuits == {"0"}
    desk.tell("a", m.FiguresMeasured(desk.now, nothing, stuck))
    assert shown(desk, "a").open_circuits == frozenset()


def not_read(desk: Desk, trouble: str, *partitions: str) -> None:
    nothing = MappingProxyType[str, Figures]({})
    unread = frozenset(partitions)
    desk.tell("a", m.FiguresMeasured(desk.now, nothing, frozenset(), unread, trouble))


def test_a_partition_that_cannot_be_read_is_told_at_once_and_why() -> None:
    desk = alone()
    remedy = "Create it, or name one that is there."
    not_read(desk, f"There is no such consumer group. {remedy} " + 80 * "words ", "0")
    assert shown(desk, "a").unread == {"0"}
    assert shown(desk, "a").trouble.startswith(f"There is no such consumer group. {remedy} words")
    assert shown(desk, "a").trouble.endswith("words …")
    not_read(desk, "")
    assert (shown(desk, "a").unread, shown(desk, "a").trouble) == (frozenset(), "")


def test_an_error_whose_words_differ_each_time_costs_one_write_in_30_s() -> None:
    desk = alone()
    not_read(desk, "error 0", "0")
    before = announced(desk, "a")
    for number in range(1, 121):
        not_read(desk, f"error {number}", "0")
        live(desk, "a", 1.0)
        assert number - int(shown(desk, "a").trouble.split()[1]) <= KEEP_S
    assert announced(desk, "a") - before in (120 / KEEP_S, 120 / KEEP_S + 1)


def test_a_partition_whose_handler_hangs_is_told_as_stuck() -> None:
    desk = alone()
    serial = desk.members["a"].tenures["0"].serial
    desk.tell("a", m.ReaderGaveUp(desk.now, "0", serial, "it hangs"))
    desk.look()
    assert shown(desk, "a").stuck == {"0"}


def test_what_others_act_upon_does_not_wait_for_the_time_of_figures() -> None:
    desk = alone()
    measured(desk, "a", 10)
    live(desk, "a", EVERY_S)
    desk.tell("a", m.LoadsMeasured(desk.now, (("0", 0.5),)))
    assert shown(desk, "a").loads == {"0": 0.5}
    assert shown(desk, "a").figures == {"0": Figures(1000, 10)}, "they go along with it"


def test_a_renewal_does_not_wait_for_an_announcement_that_hangs() -> None:
    desk = alone()
    desk.is_held_back = lambda _, operation: isinstance(operation, Announce)
    measured(desk, "a", 10)
    live(desk, "a", EVERY_S)
    sent, renewed = announced(desk, "a"), len(desk.operations("a", RenewPresence))
    for number in range(30):
        measured(desk, "a", number)
        live(desk, "a", 1.0)
    assert announced(desk, "a") == sent, "one at a time"
    assert len(desk.operations("a", RenewPresence)) - renewed in (5, 6, 7)
    assert shown(desk, "a").is_alive


def test_an_announcement_that_failed_is_sent_again_a_second_later_and_no_sooner() -> None:
    desk = alone()
    desk.is_held_back = lambda _, operation: isinstance(operation, Announce)
    desk.tell("a", m.LoadsMeasured(desk.now, (("0", 0.5),)))
    sent = desk.operations("a", Announce)[-1]
    count = announced(desk, "a")
    for _ in range(5):
        busy = m.Answered(desk.now, desk.now, None, sent, None, Refusal.BUSY, "slow down")
        desk.tell("a", busy)
    assert announced(desk, "a") == count
    live(desk, "a", 0.75)
    assert announced(desk, "a") == count
    live(desk, "a", 0.5)
    assert announced(desk, "a") == count + 1


def test_figures_that_failed_late_do_not_keep_the_member_awake() -> None:
    desk = alone()
    measured(desk, "a", 10)
    live(desk, "a", EVERY_S)
    desk.is_held_back = lambda _, operation: isinstance(operation, Announce)
    measured(desk, "a", 20)
    live(desk, "a", EVERY_S)
    sent = desk.operations("a", Announce)[-1]
    measured(desk, "a", 30)
    live(desk, "a", 3 * EVERY_S)
    lost = m.Answered(desk.now, desk.now, None, sent, None, Refusal.UNKNOWN, "no answer")
    desk.tell("a", lost)
    assert desk.members["a"].wake_at > desk.now
    desk.is_held_back = lambda *_: False
    live(desk, "a", 1.25)
    assert shown(desk, "a").figures == {"0": Figures(1000, 30)}


def test_a_member_says_its_pod_and_since_when_it_lives() -> None:
    desk = Desk("0")
    desk.join("a", pod_uid="5d4f", started_at=77.5)  # type: ignore[arg-type]
    desk.look()
    assert (shown(desk, "a").pod_uid, shown(desk, "a").started_at) == ("5d4f", 77.5)
