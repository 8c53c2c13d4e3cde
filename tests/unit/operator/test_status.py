"""The status as the resource shows it: true, bounded, and written only when it is worth it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest

from tidegate.group_file.names import camel_name
from tidegate.model import Figures
from tidegate_operator.local.shown import table
from tidegate_operator.model import Ends, Steps, Wish
from tidegate_operator.spec_status import ConditionShape, MemberShape, PartitionShape, StatusShape
from tidegate_operator.status import MEMBERS_TOLD, PARTITIONS_TOLD, due_after_s
from tidegate_operator.wording import time_text
from unit.operator.looked_at import Looks, end, figures, stored
from unit.operator.observed import NOW, Seen, group, pod, presence


def reading(handled: int = 95) -> Seen:
    """Two members that read four partitions, each 100 events long."""
    seen = group(2, 4, asked_before_s=0.5)
    for partition, owner in seen.owners.items():
        stored(seen, partition, 90, enqueued_at=NOW - 30)
        figures(seen, owner, partition, Figures(end=99, handled=handled, behind_s=1.5))
    return seen


def status(seen: Seen, **more: Any) -> dict[str, Any]:
    return dict(Looks(seen, **more).look().told)


def test_the_columns_say_what_there_is() -> None:
    told = status(reading())
    assert {key: value for key, value in told.items() if not isinstance(value, list)} == {
        "observedGeneration": 1,
        "observedTime": "1970-01-12T13:46:40Z",
        "source": "eventhubs",
        "state": "Balanced",
        "message": "Everybody owns what is due, and nothing moves.",
        "ready": "2/2",
        "wanted": 2,
        "replicas": 2,
        "selector": "tidegate.dev/group=home",
        "lag": 16,
        "lagKind": "exact",
        "lagPartitions": 4,
        "behind": "2s",
        "partitions": 4,
        "owned": 4,
        "unread": 0,
    }


@pytest.mark.parametrize(
    ("make", "state", "type"),
    [
        (lambda: group(2, 4), "Balanced", "Balanced"),
        (lambda: stuck(group(2, 4)), "Stuck", "Stuck"),
        (lambda: stuck(short(group(2, 4))), "Stuck", "Stuck"),
        (lambda: short(group(2, 4)), "Joining", "Ready"),
        (lambda: group(0), "NoPods", "Ready"),
    ],
    ids=["in order", "stuck", "stuck and one has not joined", "joining", "none"],
)
def test_the_word_and_the_message_are_of_one_condition(
    make: Callable[[], Seen], state: str, type: str
) -> None:
    told = status(make())
    message = next(each["message"] for each in told["conditions"] if each["type"] == type)
    assert (told["state"], told["message"]) == (state, message)
    columns = table([{"metadata": {"name": "home"}, "spec": {}, "status": told}], NOW, is_wide=True)
    assert columns[1].endswith(message)


def short(seen: Seen) -> Seen:
    """One pod has not joined yet."""
    seen.pods["m0"] = pod("m0", is_ready=False, age_s=5.0)
    return seen


def stuck(seen: Seen) -> Seen:
    """A handler fails again and again there."""
    seen.members["m1"] = presence("m1", stuck=frozenset({"1", "3"}))
    return seen


def test_each_partition_has_owner_epoch_position_and_lag() -> None:
    assert status(reading())["partitionStates"][1] == {
        "partition": "1",
        "owner": "m1",
        "epoch": 3,
        "sequenceNumber": 95,
        "lag": 4,
        "lagKind": "exact",
        "behindSeconds": 2.0,
    }


def test_each_member_has_what_it_owns_and_whether_it_goes() -> None:
    seen = reading()
    seen.members["by-hand"] = presence("by-hand", weight=2.0)
    seen.pods["m2"] = pod("m2", is_ready=False)
    told = Looks(seen).look(steps=Steps(wanted=2, leaving=frozenset({"m1"}))).told["members"]
    assert told == [
        {"name": "by-hand", "ready": True, "partitions": 0, "weight": 2.0, "leaving": False},
        {"name": "m0", "ready": True, "partitions": 2, "weight": 1.0, "leaving": False},
        {"name": "m1", "ready": True, "partitions": 2, "weight": 1.0, "leaving": True},
        {"name": "m2", "ready": False, "partitions": 0, "leaving": False},
    ]


def test_what_is_not_known_is_left_out_and_is_no_nought() -> None:
    told = status(group(2, 4, has_ledger=False))
    absent = ("lag", "behind", "partitions", "owned", "partitionStates")
    assert [key for key in absent if key in told] == []
    unknown = status(replace(reading(), asked_before_s=61.0))
    assert "lag" not in unknown
    assert (unknown["lagKind"], unknown["lagPartitions"]) == ("unknown", 0)
    assert unknown["partitions"] == 4
    assert "owned" not in unknown
    assert unknown["partitionStates"][0] == {"partition": "0", "lagKind": "unknown"}


def test_the_lag_says_of_how_many_partitions_it_is_the_sum() -> None:
    seen = reading()
    seen.members["m1"] = presence("m1")
    told = status(seen)
    assert (told["lag"], told["lagPartitions"], told["partitions"]) == (8, 2, 4)


def test_a_group_of_no_pods_is_told_of_by_the_source() -> None:
    seen = group(0)
    told = status(seen, ends=Ends({"0": end(9), "1": None}))
    assert (told["ready"], told["wanted"], told["partitions"], told["owned"]) == ("0/1", 1, 2, 0)


def test_a_paused_group_wants_the_pods_that_it_keeps() -> None:
    told = status(group(2, 4, wish=Wish(is_paused=True, paused_replicas=1)))
    assert (told["wanted"], told["ready"], told["state"]) == (1, "2/1", "Paused")


def test_a_large_group_has_a_status_of_bounded_size() -> None:
    seen = group(200, 1024)
    told = status(seen)
    assert len(told["members"]) == MEMBERS_TOLD
    assert "partitionStates" not in told
    assert (told["partitions"], told["owned"]) == (1024, 1024)
    assert len(status(group(32, PARTITIONS_TOLD))["partitionStates"]) == PARTITIONS_TOLD


def test_the_schema_has_every_field_that_is_told() -> None:
    told = status(reading())
    for shape, said in (
        (StatusShape, told),
        (ConditionShape, told["conditions"][0]),
        (MemberShape, told["members"][0]),
        (PartitionShape, told["partitionStates"][0]),
    ):
        names = {camel_name(each.name) for each in fields(shape)}
        assert set(said) - names == set()


# --- when it is worth writing


def test_nothing_is_written_over_the_same() -> None:
    told = status(reading())
    assert due_after_s(None, told) == 0.0
    assert due_after_s(told, dict(told)) is None


@pytest.mark.parametrize(
    ("later_s", "due"), [(5.0, None), (89.0, None), (90.0, 0.0), (3600.0, 0.0), (-5.0, 0.0)]
)
def test_the_same_is_written_again_for_its_time_now_and_then(
    later_s: float, due: float | None
) -> None:
    told = status(reading())
    assert due_after_s(told, {**told, "observedTime": time_text(NOW + later_s)}) == due


def test_a_status_without_a_time_gets_one_at_once() -> None:
    told = status(reading())
    before = {key: value for key, value in told.items() if key != "observedTime"}
    assert due_after_s(before, told) == 0.0


def test_figures_that_an_operator_lets_stand_keep_the_time_that_they_are_of() -> None:
    looks = Looks(reading()).look()
    before = looks.told
    looks.restart().seen.has_ledger = False
    after = looks.look(after_s=1.0).told
    assert (after["lag"], after["observedTime"]) == (before["lag"], before["observedTime"])
    looks.fail("LedgerUnreachable")
    assert looks.look(after_s=1.0).told["observedTime"] != before["observedTime"]


def test_a_new_owner_is_written_at_once() -> None:
    looks = Looks(reading()).look()
    before = looks.told
    looks.seen.owners["3"] = "m0"
    assert due_after_s(before, looks.look(after_s=1.0).told) == 0.0


def test_a_new_generation_is_written_at_once_although_nothing_else_is_new() -> None:
    told = status(reading())
    assert due_after_s(told, {**told, "observedGeneration": 2}) == 0.0


def test_a_condition_is_written_at_once_and_only_its_words_later() -> None:
    told = status(reading())
    (first, *others) = told["conditions"]
    flipped = {**told, "conditions": [{**first, "reason": "Other"}, *others]}
    assert due_after_s(told, flipped) == 0.0
    reworded = {**told, "conditions": [{**first, "message": "3 times by now"}, *others]}
    assert due_after_s(told, reworded) == 30.0


@pytest.mark.parametrize(
    ("lag", "behind", "written_after_s"),
    [
        pytest.param(1000, "60s", None, id="the same"),
        pytest.param(1050, "60s", 30.0, id="a little more"),
        pytest.param(2000, "60s", 5.0, id="twice as much"),
        pytest.param(1000, "90s", 5.0, id="half as long again"),
        pytest.param(1000, "62s", 30.0, id="a little longer"),
        pytest.param(1000, "5m", 5.0, id="minutes"),
        pytest.param(None, None, 5.0, id="unknown"),
    ],
)
def test_lag_is_written_when_a_person_would_say_that_it_has_changed(
    lag: int | None, behind: str | None, written_after_s: float | None
) -> None:
    before = {**status(reading()), "lag": 1000, "behind": "60s"}
    after = {**before, "lag": lag, "behind": behind}
    assert due_after_s(before, after) == written_after_s


def test_lag_that_comes_and_goes_in_a_moment_is_no_news() -> None:
    before = {**status(reading()), "lag": 10, "behind": "1s"}
    assert due_after_s(before, {**before, "lag": 300, "behind": "2s"}) == 30.0


def test_that_nothing_waits_any_more_is_told_within_seconds_however_shortly_it_waited() -> None:
    before = {**status(reading()), "lag": 2556, "behind": "3s"}
    assert due_after_s(before, {**before, "lag": 0, "behind": "0s"}) == 5.0
    nothing = {**before, "lag": 0, "behind": "0s"}
    assert due_after_s(nothing, {**nothing, "message": "the same in other words"}) == 30.0
