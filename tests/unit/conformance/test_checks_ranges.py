"""What changes while a run goes on: ranges that split and merge, others' operators, the network."""

from __future__ import annotations

import pytest

from support.conformance_runs import calls, on_cosmos, verdict, whole
from tidegate_operator.conformance.judge import is_passed, verdicts
from tidegate_operator.conformance.record import Disturbed, OperatorAct, Reached
from tidegate_operator.conformance.verdicts import Outcome


def test_a_split_is_tried_where_one_was_made_and_broken_where_its_parts_are_not_read() -> None:
    record = on_cosmos(whole())
    assert verdict(record, "P13").outcome is Outcome.NOT_TRIED
    record.disturbed.append(Disturbed("split", 88.0, 89.0, 90.0, "ranges"))
    assert verdict(record, "P13").outcome is Outcome.BROKEN
    record.handled = [
        row._replace(partition="1-a", epoch=1) if row.partition == "1" and row.at > 89 else row
        for row in record.handled
    ]
    assert verdict(record, "P13").outcome is Outcome.HELD
    record.handled = [row for row in record.handled if row.first != 70]
    assert verdict(record, "P13").outcome is Outcome.BROKEN


def test_a_range_that_came_later_need_not_have_been_read_while_the_operator_was_away() -> None:
    record = on_cosmos(whole())
    record.handled += calls("a#2", "later", 3, 92, 99)
    assert verdict(record, "P11").outcome is Outcome.HELD


def test_a_merge_that_gives_a_range_its_old_name_back_is_told_from_one_that_gives_nothing() -> None:
    record = on_cosmos(whole())
    part, merge = "1-a", Disturbed("merge", 88.0, 89.0, 90.0, "ranges")
    record.handled = [
        row._replace(partition=part, epoch=1) if row.partition == "1" and 60 < row.at < 89 else row
        for row in record.handled
    ]
    record.disturbed.append(merge)
    assert verdict(record, "P13").outcome is Outcome.HELD
    record.handled = [
        row._replace(partition=part, epoch=1) if row.partition == "1" and row.at >= 89 else row
        for row in record.handled
    ]
    assert verdict(record, "P13").outcome is Outcome.BROKEN


def test_an_operator_of_another_installation_is_named_as_that() -> None:
    record = whole()
    record.acts.append(OperatorAct(50.0, "stranger", "Moving"))
    (case,) = verdict(record, "P14").cases
    assert case.startswith("stranger told of the group and never held the Lease: another operator")


@pytest.mark.parametrize(
    ("reached", "outcome", "said"),
    [
        ((9090,), Outcome.NOT_TRIED, "not enforced by this cluster's network: port 9090 of pod a"),
        ((), Outcome.HELD, "enforced: 1 ports"),
    ],
)
def test_a_network_that_enforces_no_policy_is_told_and_breaks_no_run(
    reached: tuple[int, ...], outcome: Outcome, said: str
) -> None:
    record = whole()
    record.reached = [Reached(89.0, "a", (9090,), reached)]
    found = verdict(record, "NP")
    assert found.outcome is outcome and found.said.startswith(said)
    assert is_passed(verdicts(record), record)


def test_a_port_that_nobody_reaches_says_nothing_of_policies() -> None:
    record = whole()
    record.reached = [Reached(89.0, "a", (), ())]
    assert verdict(record, "NP").outcome is Outcome.NOT_TRIED
    record.reached = []
    assert verdict(record, "NP").outcome is Outcome.NOT_TRIED
