"""Events: told when something becomes so, once, and never because it is still so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate.model import Figures, Roster
from tidegate_operator.model import BreakLease, Ends, Steps, Wish
from tidegate_operator.readiness import MAY_PASS
from unit.operator.looked_at import Looks, end, figures, stored
from unit.operator.observed import SERVER_NOW, group, pod, presence, starting


def settled() -> Looks:
    """A group that was looked at before, and is in order."""
    return Looks(group(2, 4)).look().look(after_s=1.0)


def test_a_group_in_order_tells_nothing_however_often_it_is_looked_at() -> None:
    looks = settled()
    assert [looks.look(after_s=5.0).events for _ in range(5)] == [[]] * 5


def test_a_group_that_becomes_ready_is_told_once() -> None:
    seen = group(2, 4)
    seen.pods["m1"] = starting("m1")
    looks = Looks(seen).look()
    assert looks.events == []
    seen.join("m1")
    assert ("Normal", "Ready") in looks.look(after_s=1.0).events
    assert looks.look(after_s=1.0).events == []


def test_what_is_wrong_is_told_when_it_begins_and_when_its_reason_changes() -> None:
    looks = settled()
    looks.fail("SettingsInvalid")
    told = [looks.look(after_s=1.0).events for _ in range(3)]
    assert told == [[("Warning", "SettingsInvalid")], [], []]
    looks.fail("SpecInvalid")
    assert looks.look(after_s=1.0).events == [("Warning", "SpecInvalid")]
    looks.failures = ()
    assert looks.look(after_s=1.0).events == [("Normal", "Ready")]


@pytest.mark.parametrize("reason", sorted(MAY_PASS))
def test_a_first_try_has_no_warning_of_what_is_only_late(reason: str) -> None:
    seen = group(2, 4)
    seen.pods["m1"] = starting("m1")
    looks = Looks(seen).fail(reason)
    told = [looks.look(after_s=1.0).events for _ in range(12)]
    assert told == [[]] * 12
    assert looks.condition("Ready").reason in (reason, "Joining"), "the status says it at once"
    looks.failures = ()
    seen.join("m1")
    assert looks.look(after_s=1.0).events == [("Normal", "Ready")]


def test_what_does_not_pass_is_told_after_15_s_once() -> None:
    looks = settled().fail("SecretMissing")
    told = [looks.look(after_s=1.0).events for _ in range(20)]
    assert told == [*[[]] * 15, [("Warning", "SecretMissing")], *[[]] * 4]
    looks.failures = ()
    assert looks.look(after_s=1.0).events == [("Normal", "Ready")]


def test_one_trouble_after_another_does_not_begin_the_15_s_anew() -> None:
    looks = settled()
    told = []
    for number in range(17):
        looks.fail("HubUnknown" if number % 2 else "SecretMissing")
        told += looks.look(after_s=1.0).events
    assert told[:1] == [("Warning", "HubUnknown")]


def test_another_operator_tells_nothing_again_that_the_resource_says_already() -> None:
    looks = settled().fail("SettingsInvalid").look(after_s=1.0)
    looks.seen.members["m1"] = presence("m1", stuck=frozenset({"1"}))
    looks.look(after_s=1.0)
    assert looks.restart().look(after_s=1.0).events == []


def test_a_handler_that_gets_stuck_and_goes_on_is_told_both_times() -> None:
    looks = settled()
    looks.seen.members["m1"] = presence("m1", stuck=frozenset({"1"}))
    assert looks.look(after_s=1.0).events == [("Warning", "HandlerFails")]
    looks.seen.members["m1"] = presence("m1", stuck=frozenset({"1", "3"}))
    assert looks.look(after_s=1.0).events == []
    looks.seen.members["m1"] = presence("m1")
    assert looks.look(after_s=1.0).events == [("Normal", "NotStuck")]


def test_lost_events_are_told_with_their_numbers() -> None:
    looks = settled()
    stored(looks.seen, "0", 90)
    figures(looks.seen, "m0", "0", Figures(end=199, handled=90, begins_at=150))
    assert looks.look(after_s=1.0).events == [("Warning", "EventsLost")]
    assert "events 91 to 149" in looks.notices[0].note


def test_pause_and_resume_are_told() -> None:
    looks = settled()
    usual = looks.seen.wish
    looks.seen.wish = Wish(is_paused=True, paused_replicas=2)
    assert looks.look(after_s=1.0).events == [("Normal", "Paused")]
    looks.seen.wish = usual
    looks.look(after_s=1.0)
    assert ("Normal", "Resumed") in looks.events


def test_a_change_of_the_size_is_told_when_it_begins_and_when_it_is_done() -> None:
    looks = settled()
    looks.look(after_s=1.0, steps=Steps(wanted=3, doing="growing from 2 to 3 pods"))
    assert looks.events == [("Normal", "ScalingOut")]
    assert looks.notices[0].note == "Growing from 2 to 3 pods."
    assert looks.seen.workload is not None
    looks.seen.workload = replace(looks.seen.workload, replicas=3)
    looks.seen.pods["m2"] = pod("m2")
    looks.seen.members["m2"] = presence("m2")
    looks.seen.owners["3"] = "m2"
    looks.look(after_s=5.0, steps=Steps(wanted=3))
    assert ("Normal", "AsWanted") in looks.events


def test_moves_are_told_when_they_begin_and_when_all_are_done() -> None:
    looks = settled()
    looks.seen.give_away(["m1"], "m0")
    assert looks.look(after_s=1.0).events == [("Normal", "Moving")]
    looks.seen.owners.update({"1": "m1"})
    assert looks.look(after_s=1.0).events == []
    looks.seen.owners.update({"3": "m1"})
    assert looks.look(after_s=1.0).events == [("Normal", "Balanced")]


def test_members_that_hand_over_are_told_once_by_name() -> None:
    looks = settled()
    steps = Steps(wanted=2, leaving=frozenset({"m1"}))
    assert looks.look(after_s=1.0, steps=steps).events == [("Normal", "HandingOver")]
    assert looks.notices[0].note == "Member m1 hands over its partitions, and will go."
    assert looks.look(after_s=1.0, steps=steps).events == []
    looks.seen.roster = Roster("e", 1, leaving=("m1",), written_at=SERVER_NOW)
    assert looks.restart().look(after_s=1.0).events[:1] != [("Normal", "HandingOver")]


def test_a_lease_that_is_broken_is_told_once_for_its_member() -> None:
    looks = settled()
    breaks = tuple(BreakLease(p, f"e{p}", "m1", "its pod was evicted") for p in ("1", "3"))
    looks.look(after_s=1.0, steps=Steps(wanted=2, breaks=breaks))
    assert looks.events == [("Normal", "LeaseBroken")]
    assert looks.notices[0].note == (
        "Member m1 is gone, so others take partitions 1 3 at once: its pod was evicted."
    )
    looks.look(after_s=1.0, steps=Steps(wanted=2, breaks=breaks))
    assert looks.events == []


def test_what_is_wrong_from_the_first_look_on_is_told() -> None:
    looks = Looks(group(0), ends=Ends({"0": end(9)})).fail("EngineNotThere").look()
    assert looks.events == [("Warning", "EngineNotThere")]


def test_a_note_is_no_longer_than_the_api_takes() -> None:
    looks = settled().fail("SettingsInvalid", "x" * 5000).look(after_s=1.0)
    assert [len(notice.note) <= 1024 for notice in looks.notices] == [True]


def test_a_pod_that_is_waited_for_is_named_beside_the_size_that_is_wanted() -> None:
    looks = settled().look(after_s=1.0, steps=Steps(wanted=2, doing="waiting for m1 to join"))
    assert looks.says("Scaling") == ("False", "AsWanted")
    assert looks.condition("Scaling").message == (
        "As many stand as are wanted: 2 pods. Waiting for m1 to join."
    )
