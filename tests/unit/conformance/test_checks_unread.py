"""How long nobody may read: of who is killed, of who stands still, and of who had most leases."""

from __future__ import annotations

from dataclasses import replace

from support.conformance_runs import SETTING, calls, verdict, whole
from tidegate_operator.conformance.record import Disturbed, Owned, Record
from tidegate_operator.conformance.verdicts import Outcome


def paused(unread_until: float) -> Record:
    """`a` stands still from 20.3 on, and is still heard of at 20.2; `b` reads on."""
    record = whole()
    record.disturbed = [Disturbed("pause", 20.0, 41.0, 42.0, "a", ("0",), ("a", "b"), ("a", "b"))]
    record.handled = [
        *calls("a#1", "0", 1, 0, 19),
        *(row._replace(at=20.2) for row in calls("a#1", "0", 1, 20, 20)),
        *calls("b#1", "0", 2, 21, 99, unread_until - 21.5),
        *calls("b#1", "1", 1, 0, 99),
    ]
    return record


def test_who_stands_still_is_judged_by_the_longest_time_without_a_call_not_by_its_own_last() -> (
    None
):
    found = verdict(paused(100.0), "P6")
    assert found.outcome is Outcome.BROKEN and "0 was not read for 79.8 s" in found.cases[0]
    found = verdict(paused(38.0), "P6")
    assert found.outcome is Outcome.HELD and found.figures["longest s"] == 17.8


def test_a_gap_that_begins_while_who_stands_still_counts_also_when_calls_came_before_it() -> None:
    record = paused(36.0)
    record.handled = [row for row in record.handled if not (row.who == "b#1" and 37 < row.at < 66)]
    assert "0 was not read for 29.0 s" in verdict(record, "P6").cases[0]


def test_a_partition_that_nobody_reads_after_a_pause_is_never_read_again() -> None:
    record = paused(40.0)
    record.handled = [row for row in record.handled if row.partition == "1" or row.at < 20]
    assert "0 was never read again" in verdict(record, "P6").cases[0]


def killed(lost: int, of: int, unread_s: float, kind: str = "force") -> Record:
    """`a` has so many of all partitions when it is killed, and is read on after so long."""
    names = [str(number) for number in range(of)]
    record = Record(replace(SETTING, partitions=of), began=0.0, ended=100.0)
    record.owned = [
        Owned(-1.0, name, "a" if number < lost else "b", 1) for number, name in enumerate(names)
    ]
    its = tuple(names[:lost])
    record.disturbed = [Disturbed(kind, 20.0, 79.0, 80.0, "a", its, ("a", "b"), ("b", "c"))]
    for name in names:
        record.handled += calls("a#1" if name in its else "b#1", name, 1, 0, 19)
        shift = unread_s - 0.5 if name in its else 0.0
        record.handled += calls("b#1", name, 2, 20, 99, shift)
    return record


def test_who_had_more_than_half_of_the_leases_is_followed_one_lease_later_and_no_more() -> None:
    assert verdict(killed(2, 3, 32.0), "P6").outcome is Outcome.HELD
    assert "34 s are allowed" in verdict(killed(2, 3, 38.0), "P6").cases[0]


def test_half_of_the_leases_or_one_alone_look_like_no_stall() -> None:
    for lost, of in ((2, 4), (1, 1)):
        found = verdict(killed(lost, of, 30.0), "P6")
        assert "19 s are allowed" in found.cases[0]


def test_without_an_operator_only_what_the_dead_had_may_stand_still_for_another_lease() -> None:
    record = killed(2, 3, 32.0, "operator-away")
    assert verdict(record, "P11").outcome is Outcome.HELD
    record.handled = [row for row in record.handled if row.partition != "2" or not 30 < row.at < 60]
    assert verdict(record, "P11").cases[0].startswith("2 was not read for")
