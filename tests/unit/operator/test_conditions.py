"""The conditions beside Ready: what is so, why, and what can be done about it."""

from __future__ import annotations

import pytest

from tidegate.lag import LagKind
from tidegate.model import Figures, Flaw, LeaseState, Position
from tidegate_operator.model import Steps, Wish
from unit.operator.looked_at import NO_STEPS, Looks, figures, stored
from unit.operator.observed import NOW, SERVER_NOW, Seen, group, presence

ALL = [
    "Ready",
    "Balanced",
    "Scaling",
    "PartitionBound",
    "Stuck",
    "RetentionLoss",
    "StateBehind",
    "CheckpointsRestored",
    "Paused",
]


def looked(seen: Seen, steps: Steps = NO_STEPS, **more: object) -> Looks:
    return Looks(seen, **more).look(steps=steps)  # type: ignore[arg-type]


def message(looks: Looks, type: str) -> str:
    return looks.condition(type).message


def test_all_conditions_are_there_from_the_first_look_on() -> None:
    for seen in (group(2, 4), group(0), group(2, 4, has_ledger=False)):
        told = looked(seen).told["conditions"]
        assert [each["type"] for each in told] == ALL
        assert [each["type"] for each in told if not each["reason"] or not each["message"]] == []


def test_a_group_in_order_has_nothing_wrong() -> None:
    looks = looked(group(2, 4))
    assert {type: looks.says(type) for type in ALL[1:]} == {
        "Balanced": ("True", "Balanced"),
        "Scaling": ("False", "AsWanted"),
        "PartitionBound": ("False", "EnoughPartitions"),
        "Stuck": ("False", "NotStuck"),
        "RetentionLoss": ("False", "NothingLost"),
        "StateBehind": ("False", "StatesMatch"),
        "CheckpointsRestored": ("False", "Untouched"),
        "Paused": ("False", "NotPaused"),
    }


@pytest.mark.parametrize("type", ["Balanced", "Stuck", "StateBehind", "CheckpointsRestored"])
def test_what_a_listing_says_is_unknown_without_a_fresh_one(type: str) -> None:
    assert looked(group(2, 4, has_ledger=False)).says(type) == ("Unknown", "LedgerNotRead")
    assert looked(group(2, 4, asked_before_s=61.0)).says(type) == ("Unknown", "LedgerNotRead")


# --- Scaling and PartitionBound


def test_pods_that_are_still_to_come_or_to_go_are_told_with_what_is_being_done() -> None:
    out = looked(group(2, 8), Steps(wanted=4, doing="growing from 2 to 4 pods"))
    assert out.says("Scaling") == ("True", "ScalingOut")
    assert message(out, "Scaling") == "Growing from 2 to 4 pods."
    into = looked(group(4, 8), Steps(wanted=2))
    assert into.says("Scaling") == ("True", "ScalingIn")
    assert message(into, "Scaling") == "From 4 pods to 2."


def test_a_group_without_a_deployment_cannot_be_told_to_scale() -> None:
    assert looked(group(0, workload=None)).says("Scaling") == ("Unknown", "NoWorkload")


def test_pods_that_will_own_nothing_are_told() -> None:
    looks = looked(group(2, 4), Steps(wanted=6))
    assert looks.says("PartitionBound") == ("True", "MorePodsThanPartitions")
    assert "2 pods will own nothing" in message(looks, "PartitionBound")


def test_before_the_partitions_are_known_nobody_can_say_whether_pods_are_too_many() -> None:
    assert looked(group(1, 0)).says("PartitionBound") == ("Unknown", "PartitionsUnknown")


# --- Stuck


def test_a_batch_that_fails_again_and_again_is_told_with_its_partition_and_pod() -> None:
    seen = group(2, 4)
    seen.members["m1"] = presence("m1", stuck=frozenset({"1", "3"}))
    looks = looked(seen)
    assert looks.says("Stuck") == ("True", "HandlerFails")
    assert "partitions 1 3" in message(looks, "Stuck")
    assert "kubectl logs -n default m1" in message(looks, "Stuck")
    # True of every group, also of one that has it already.
    assert "onFailure: deadLetter puts such events aside" in message(looks, "Stuck")
    assert looks.told["state"] == "Stuck"
    assert looks.says("Ready") == ("True", "Ready")


def test_an_open_circuit_breaker_is_told_with_its_partition_and_how_to_resume() -> None:
    seen = group(2, 4)
    seen.members["m0"] = presence("m0", stuck=frozenset({"0"}))
    halted = frozenset({"3"})
    seen.members["m1"] = presence("m1", stuck=halted, open_circuits=halted)
    looks = looked(seen)
    assert looks.says("Stuck") == ("True", "CircuitOpen")
    text = message(looks, "Stuck")
    assert "recent events of partition 3" in text and "kubectl logs -n default m1" in text
    assert "Fix the handler and roll it out" in text
    assert "`kubectl consumergroup pause" in text
    assert "--partition=3 && kubectl consumergroup resume" in text
    assert looks.told["state"] == "Stuck"
    seen.members["m1"] = presence("m1")
    assert looks.look(after_s=1.0).says("Stuck") == ("True", "HandlerFails")


def test_a_handler_that_hangs_is_told_until_another_member_has_the_partition() -> None:
    seen = group(2, 4)
    hangs = frozenset({"1"})
    seen.members["m1"] = presence("m1", declines=hangs, stuck=hangs)
    looks = looked(seen)
    assert looks.says("Stuck") == ("True", "HandlerHangs")
    assert "m1 cannot handle partition 1 for now" in message(looks, "Stuck")
    seen.owners["1"] = "m0"
    assert looks.look(after_s=1.0).says("Stuck") == ("False", "NotStuck")


def test_what_the_dead_have_said_of_their_partitions_does_not_count() -> None:
    seen = group(2, 4)
    seen.members["m1"] = presence("m1", stuck=frozenset({"1"}), lease=LeaseState.EXPIRED)
    assert looked(seen).says("Stuck") == ("False", "NotStuck")


def test_whether_something_is_lost_is_unknown_where_no_lag_is_known() -> None:
    seen = group(1, 1)
    stored(seen, "0", 90)
    assert looked(seen).says("RetentionLoss") == ("Unknown", "LagUnknown")


# --- RetentionLoss and StateBehind


def test_events_that_retention_has_taken_are_told_by_their_numbers() -> None:
    seen = group(2, 4)
    for partition in seen.owners:
        stored(seen, partition, 90)
    figures(seen, "m0", "0", Figures(end=199, handled=90, begins_at=150))
    figures(seen, "m1", "1", Figures(end=199, handled=180, begins_at=150))
    looks = looked(seen)
    assert looks.says("RetentionLoss") == ("True", "EventsLost")
    text = message(looks, "RetentionLoss")
    assert "partition 0: events 91 to 149; partition 1: events before 150" in text
    assert looks.partition("0")["lagKind"] == LagKind.LOST
    assert looks.told["state"] == "RetentionLoss"


def test_where_the_lag_is_known_and_nothing_is_missing_nothing_is_lost() -> None:
    seen = group(1, 1)
    stored(seen, "0", 90)
    figures(seen, "m0", "0", Figures(end=199, handled=90))
    assert looked(seen).says("RetentionLoss") == ("False", "NothingLost")


def test_a_state_that_was_left_behind_is_told_with_both_remedies() -> None:
    seen = group(2, 4)
    stored(seen, "2", 90, state=b"{}", state_position=Position("1", 5))
    seen.owners["2"] = ""
    looks = looked(seen).look(after_s=16.0)
    assert looks.says("StateBehind") == ("True", "StateBehind")
    assert "partition 2" in message(looks, "StateBehind")
    assert "kubectl consumergroup rewind" in message(looks, "StateBehind")
    assert looks.told["state"] == "StateBehind"


def test_a_blob_that_cannot_be_read_is_told_in_the_words_of_the_ledger() -> None:
    seen = group(2, 4, flaws=(Flaw("…/checkpoint/1", "blob 'x' cannot be read: odd. Do.", "1"),))
    looks = looked(seen)
    assert looks.says("StateBehind") == ("True", "LedgerUnreadable")
    assert message(looks, "StateBehind").endswith("blob 'x' cannot be read: odd. Do.")


# --- CheckpointsRestored


def test_checkpoints_that_members_wrote_again_are_told_for_ten_minutes() -> None:
    seen = group(2, 4)
    seen.members["m0"] = presence("m0", restored_at=SERVER_NOW - 599.0)
    looks = looked(seen)
    assert looks.says("CheckpointsRestored") == ("True", "WrittenAgain")
    assert "m0" in message(looks, "CheckpointsRestored")
    assert looks.told["state"] == "Balanced"
    seen.members["m0"] = presence("m0", restored_at=SERVER_NOW - 601.0)
    assert looked(seen).says("CheckpointsRestored") == ("False", "Untouched")


# --- Paused


def test_a_paused_group_says_how_it_goes_on() -> None:
    looks = looked(group(2, 4, wish=Wish(is_paused=True, paused_replicas=1)))
    assert looks.says("Paused") == ("True", "AsAsked")
    assert "1 pod kept" in message(looks, "Paused")
    assert looks.told["state"] == "Paused"


def test_paused_partitions_are_told_and_the_group_is_not_paused() -> None:
    seen = group(2, 4, wish=Wish(paused_partitions=frozenset({"1"})))
    seen.owners["1"] = ""
    looks = looked(seen)
    assert looks.says("Paused") == ("False", "PartitionsPaused")
    assert looks.says("Ready") == ("True", "Ready")
    assert message(looks, "Ready").endswith("3 partitions have an owner.")


# --- times


def test_the_time_of_a_condition_is_that_of_its_last_flip() -> None:
    seen = group(2, 4)
    looks = looked(seen)
    begun = looks.condition("Stuck").since
    assert begun == "1970-01-12T13:46:40Z"
    assert int(NOW) == 1_000_000
    assert looks.look(after_s=60.0).condition("Stuck").since == begun
    seen.members["m1"] = presence("m1", stuck=frozenset({"1"}))
    flipped = looks.look(after_s=60.0).condition("Stuck").since
    assert flipped == "1970-01-12T13:48:40Z"
    seen.members["m1"] = presence("m1", stuck=frozenset({"1", "3"}))
    assert looks.look(after_s=60.0).condition("Stuck").since == flipped
