"""What a status says of a size is bounded, and an operator that begins reads it back."""

from __future__ import annotations

import functools
import json
import math
from typing import Any

import pytest

from tidegate_operator.scaling import Decision, Policy, Reason, Report
from tidegate_operator.scaling.report import document_of, restored
from tidegate_operator.scaling.trials import JOINED_WITHIN_S, Look, watched
from unit.operator.scaling.small_traffic import Traffic

# Hours of a group's life: `make test` runs them.
pytestmark = pytest.mark.slow

LONG_AFTER = math.inf


def reported(world: Traffic) -> dict[str, Any]:
    assert world.last is not None
    return document_of(Report(world.policy, world.history, world.last))


@functools.cache
def busy() -> Traffic:
    """A group that has grown and shrunk many times; all look at the same one."""
    world = Traffic(lambda _, s: 25.0 if s % 1200 >= 600 else 1.0)
    return world.run(9000)


def test_what_was_decided_comes_back_as_it_was_said() -> None:
    world = busy()
    said = json.loads(json.dumps(reported(world)))
    history, asked = restored(said, LONG_AFTER)
    assert asked == world.replicas
    assert [(each.before, each.decision.replicas) for each in history.records] == [
        (each.before, each.decision.replicas) for each in world.history.records
    ]
    assert history.costs.per_member == pytest.approx(world.history.costs.per_member or 0, rel=0.01)
    assert history.trials.start_s == pytest.approx(world.history.trials.start_s)


def test_the_last_ten_changes_are_kept_and_what_stayed_as_it_was_takes_no_place() -> None:
    said = reported(busy())
    decisions = said["decisions"]
    assert len(decisions) == 10
    assert all(each["before"] != each["to"] for each in decisions[:-1])
    assert len(json.dumps(said)) < 8000


def test_a_text_of_any_length_is_cut() -> None:
    world = busy()
    long = Decision(3, Reason.ENOUGH, "very " * 5000)
    said = document_of(Report(world.policy, world.history, long))
    assert len(said["message"]) <= 1024


def test_what_somebody_else_decides_is_not_gone_on_with() -> None:
    world = busy()
    assert world.last is not None
    report = Report(world.policy, world.history, world.last, instead="spec.replicas says 4")
    assert restored(document_of(report), LONG_AFTER)[1] is None


@pytest.mark.parametrize(
    "said",
    [
        None,
        {},
        {"wanted": "3", "mode": "Auto", "perConsumer": "fast", "decisions": [3, None, {}]},
        {"wanted": True, "perConsumer": True, "startSeconds": -4.0, "ofNoUseUntil": "soon"},
        {"wanted": 3, "mode": "Auto", "perConsumer": 0, "decisions": [{"time": "x", "to": 3}]},
        {"decisions": [{"time": "2025-01-01T00:00:00Z", "to": 3, "reason": "Because"}]},
    ],
)
def test_a_status_that_somebody_has_edited_harms_nobody(said: Any) -> None:
    history, _ = restored(said, LONG_AFTER)
    assert history.records == ()
    assert history.costs.per_member is None
    assert history.trials.start_s > 0


def test_a_step_that_was_just_asked_for_is_under_way_and_one_of_long_ago_is_not() -> None:
    world = Traffic(lambda _, s: 25.0 if s > 300 else 2.5, start_s=30).run(320)
    said = reported(world)
    (record,) = [each for each in world.history.records if each.before < each.decision.replicas]
    history, asked = restored(said, record.at + 10.0)
    step = history.trials.step
    assert step is not None and asked is not None
    assert (step.before, step.after) == (record.before, asked)
    assert history.trials.start_left_s(record.at + 10.0) < history.trials.start_s
    joined = watched(history.trials, Look(record.at + 60.0, asked, 0.0, 0.0, None))
    assert joined.step is not None and joined.step.joined_at is not None
    assert joined.starts_s == history.trials.starts_s, "nobody saw how long they took"
    assert restored(said, record.at + JOINED_WITHIN_S + 1.0)[0].trials.step is None
    assert restored({**said, "wanted": 1}, record.at + 10.0)[0].trials.step is None


def test_what_was_of_no_use_is_still_known_afterwards() -> None:
    world = Traffic(
        lambda _, s: 40.0 if s > 300 else 4.0, rate=lambda members: min(100.0, 250 / members)
    ).run(700)
    said = reported(world)
    assert said["ofNoUseAbove"] == 3
    world.history, _ = restored(said, LONG_AFTER)
    world.run(60)
    assert world.replicas == 3


def test_the_objective_is_said_as_it_is_written() -> None:
    policies = {
        "within 60s": Policy(),
        "drainWithin 5m": Policy(within_s=None, drain_within_s=300.0),
        "lagPerReplica 1000": Policy(within_s=None, lag_per_replica=1000),
    }
    for text, policy in policies.items():
        world = Traffic(lambda _, __: 1.0, policy=policy).run(20)
        assert reported(world)["objective"] == text
