"""How long a group waits before it has fewer: as long as it was told to, however long that is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate_operator.scaling import Decision, History, Policy, Reason, Sample, decided, looked
from tidegate_operator.scaling.history import most_wanted
from tidegate_operator.scaling.nouns import Inputs
from unit.operator.scaling.small_traffic import Traffic

LOOK_S = 50
DAY_S = 86400.0


@pytest.mark.parametrize("stable_s", [7000.0, 14400.0])
def test_fewer_are_waited_for_as_long_as_was_asked_for_above_two_hours_as_well(
    stable_s: float,
) -> None:
    policy = Policy(max=4, stable_s=stable_s, idle_s=DAY_S)
    world = Traffic(lambda _, s: 90.0 if s < 120 else 5.0, policy, partitions=4).run(200)
    assert world.replicas == 4
    while world.now < stable_s:
        world.look_after(LOOK_S)
        assert world.replicas == 4, world.last
    while world.replicas == 4:
        assert world.now < 2 * stable_s, world.last
        world.look_after(LOOK_S)


def test_what_was_needed_is_remembered_for_a_day_by_no_more_entries_than_consumers() -> None:
    history, policy = History(), Policy(max=16, stable_s=DAY_S)
    for look in range(int(DAY_S / LOOK_S)):
        at, count = float(look * LOOK_S), 16 - look * 16 // int(DAY_S / LOOK_S)
        history = looked(history, Sample(at, {}, replicas=16, members=16), policy)
        history = replace(history, known_since=0.0)
        decision = Decision(16, Reason.WAITING, "", Inputs(calm=count))
        history = decided(history, decision, at)
        assert len(history.wanted) <= 16
    assert most_wanted(history, at, DAY_S - LOOK_S) == 16
    assert most_wanted(history, at, 60.0) == 1
