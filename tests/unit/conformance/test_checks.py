"""Each property holds in a run that was as it should be, and is found broken where it is broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from support.conformance_runs import SETTING, calls, told, verdict, whole
from tidegate_operator.conformance.judge import is_passed, verdicts
from tidegate_operator.conformance.record import (
    Disturbed,
    Handled,
    OperatorAct,
    Owned,
    Record,
    Stored,
)
from tidegate_operator.conformance.verdicts import PROPERTIES, Outcome


def test_every_property_has_a_check_and_all_hold_in_a_run_that_was_as_it_should_be() -> None:
    found = verdicts(whole())
    assert [each.name for each in found] == list(PROPERTIES)
    assert not [each for each in found if each.outcome is Outcome.BROKEN]
    not_tried = [each.name for each in found if each.outcome is Outcome.NOT_TRIED]
    assert not_tried == ["P13"], "a hub has no ranges, and all else was tried"
    assert is_passed(found, whole())


def late_epoch(record: Record) -> None:
    record.stored.append(Stored(90.0, "0", 95, 1))


def epoch_of_two(record: Record) -> None:
    record.handled.append(Handled(99.0, "z#1", "1", 2, "1", 99, 99))


def lost_in_the_middle(record: Record) -> None:
    record.handled = [row for row in record.handled if not (row.stream == "0" and row.first == 30)]


def lost_at_the_end(record: Record) -> None:
    record.sent["1"] = (0, 101)


def checkpoint_ahead(record: Record) -> None:
    record.stored.append(Stored(30.0, "1", 45, 1))


def checkpoint_back(record: Record) -> None:
    record.stored.append(Stored(99.5, "0", 50, 2))


def again_after_a_clean_stop(record: Record) -> None:
    record.handled += [Handled(50.3, "c#1", "1", 2, "1", 49, 49)]


def too_many_again(record: Record) -> None:
    record.handled += [
        Handled(24.0 + number / 100, "a#2", "0", 2, "0", number, number) for number in range(5, 20)
    ]


def out_of_order(record: Record) -> None:
    record.handled = [
        row._replace(first=row.first ^ 1, last=row.last ^ 1) if row.partition == "1" else row
        for row in record.handled
    ]


def long_without_a_reader(record: Record) -> None:
    record.handled = [
        row._replace(at=row.at + 20) if row.who == "a#2" else row for row in record.handled
    ]


def needless_move(record: Record) -> None:
    record.owned += [Owned(22.0, "1", "a", 2), Owned(22.5, "1", "b", 3)]


def not_settled(record: Record) -> None:
    record.disturbed[0] = replace(record.disturbed[0], settled=None)


def restless(record: Record) -> None:
    record.owned += [Owned(40.0, "1", "a", 2)]


def too_many_pods(record: Record) -> None:
    record.told.append(told(99.0, {}, replicas=5))


def shrunk_unknowing(record: Record) -> None:
    (row,) = (each for each in record.told if each.at == 69.0)
    record.told.append(row._replace(at=row.at + 0.2, replicas=1))


def nobody_reads_without_an_operator(record: Record) -> None:
    record.disturbed[3] = replace(record.disturbed[3], began=71.0, ended=99.0, settled=99.5)
    record.handled = [row for row in record.handled if not (row.partition == "1" and row.at > 72)]


def status_is_old(record: Record) -> None:
    record.told = [
        row._replace(owners={"0": "a", "1": "b"}) if row.at < 59 else row for row in record.told
    ]


def two_act(record: Record) -> None:
    record.acts.append(OperatorAct(95.0, "one", "HandingOver"))


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("P1", late_epoch), ("P1", epoch_of_two),
        ("P2", lost_in_the_middle), ("P2", lost_at_the_end), ("P2", checkpoint_ahead),
        ("P3", checkpoint_back),
        ("P4", again_after_a_clean_stop), ("P4", too_many_again),
        ("P5", out_of_order), ("P6", long_without_a_reader),
        ("P7", needless_move), ("P8", not_settled), ("P8", restless),
        ("P9", too_many_pods), ("P10", shrunk_unknowing),
        ("P11", nobody_reads_without_an_operator),
        ("P12", status_is_old), ("P14", two_act),
    ],
)  # fmt: skip
def test_a_run_in_which_it_is_broken_says_so_and_does_not_pass(
    name: str, broken: Callable[[Record], None]
) -> None:
    record = whole()
    broken(record)
    found = verdict(record, name)
    assert found.outcome is Outcome.BROKEN and found.cases, found
    assert not is_passed(verdicts(record), record)


def test_moves_after_a_kill_are_needless_only_where_the_kubelet_began_it_again_at_once() -> None:
    record = whole()
    needless_move(record)
    record.pods = [each._replace(at=40.0) if each.at == 21.0 else each for each in record.pods]
    assert verdict(record, "P7").outcome is Outcome.HELD


def test_what_a_kill_left_to_be_handled_again_is_not_laid_to_the_next_step() -> None:
    record = whole()
    # `b` is killed, and who comes in its place reads on so late that a scale-in has begun.
    record.disturbed = [
        Disturbed("kill", 44.0, 44.1, 46.0, "b", ("1",), ("a", "b"), ("a", "b")),
        Disturbed("scale-in", 48.0, 49.0, 52.0, "b", ("1",), ("a", "b"), ("a", "b")),
    ]
    record.handled = [row for row in record.handled if row.partition != "1" or row.at < 44.0]
    late = [Handled(50.0, "b#2", "1", 2, "1", 40, 99)]
    record.handled += late
    assert verdict(record, "P4").outcome is Outcome.HELD
    # Nothing but a clean step between the call before and this one.
    record.disturbed = record.disturbed[1:]
    assert verdict(record, "P4").cases == ("1: 4 events again after scale-in; at most 0",)


def untouched(record: Record) -> None:
    record.disturbed = []


def without_checkpoints(record: Record) -> None:
    record.stored = []


def without_calls(record: Record) -> None:
    record.handled = []


def nothing_sent(record: Record) -> None:
    record.sent = {}


def of_one_size(record: Record) -> None:
    record.told = [row._replace(replicas=2) for row in record.told]


def always_known(record: Record) -> None:
    record.told = [row._replace(is_lag_known=True) for row in record.told]


def no_smaller_when_it_knew(record: Record) -> None:
    record.told = [row for row in record.told if row.at != 69.8]


def only_one_acted(record: Record) -> None:
    record.acts = record.acts[:1]


def nothing_moved(record: Record) -> None:
    record.owned = [row for row in record.owned if row.at < 0]


@pytest.mark.parametrize(
    ("name", "tame"),
    [
        ("P1", without_checkpoints), ("P2", nothing_sent), ("P3", without_checkpoints),
        ("P4", untouched), ("P5", without_calls), ("P6", untouched), ("P7", untouched),
        ("P8", untouched), ("P9", of_one_size), ("P10", always_known),
        ("P10", no_smaller_when_it_knew), ("P11", untouched),
        ("P12", nothing_moved), ("P14", untouched), ("P14", only_one_acted),
    ],
)  # fmt: skip
def test_what_was_not_provoked_is_not_tried_with_its_reason_and_has_not_held(
    name: str, tame: Callable[[Record], None]
) -> None:
    record = whole()
    tame(record)
    found = verdict(record, name)
    assert found.outcome is Outcome.NOT_TRIED and found.said, found


def test_a_run_with_a_trouble_of_its_own_proves_nothing() -> None:
    record = whole()
    record.troubles.append("the sender ended")
    assert not is_passed(verdicts(record), record)


def test_a_run_in_which_nothing_was_tried_does_not_pass() -> None:
    record = Record(SETTING)
    assert not is_passed(verdicts(record), record)


def test_a_refused_disturbance_is_judged_by_nobody_and_its_reason_is_said() -> None:
    record = whole()
    record.disturbed = [
        replace(each, refused="no right to it") if each.kind == "operators" else each
        for each in record.disturbed
    ]
    assert verdict(record, "P14").said == "no right to it"


def test_what_moves_while_a_step_fails_is_not_said_to_move_though_nothing_was_done() -> None:
    record = whole()
    record.owned += [Owned(40.0, "1", "a", 2), Owned(41.0, "1", "b", 3)]
    assert verdict(record, "P8").outcome is Outcome.BROKEN
    record.disturbed.append(Disturbed("merge", 39.0, 42.0, 43.0, refused="it took too long"))
    assert verdict(record, "P8").outcome is Outcome.HELD


def test_events_that_come_again_within_what_was_not_checkpointed_are_allowed() -> None:
    record = whole()
    record.handled = [row for row in record.handled if row.who != "a#2"]
    record.handled += calls("a#2", "0", 2, 18, 99, 6.0)
    assert verdict(record, "P4").outcome is Outcome.HELD
    assert verdict(record, "P4").figures["again"] == 2
