"""Faults: what they hit, how often, and what a budget of request units lets through."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate_cosmos.fault_json import FaultError, from_json, to_json
from tidegate_cosmos.faults import Fault, FaultPlan, Kind, Operation, Target

FEED = Target(Operation.FEED, "sensors", "events", "0", client="azsdk-java-cosmos/4.81")


def fault(kind: str = "refuse", **described: Any) -> Fault:
    return from_json({"kind": kind, **described}, now=100)


@pytest.mark.parametrize(
    "named",
    [
        {},
        {"operations": ["feed", "read"]},
        {"database": "sensors", "container": "events", "range": 0},
        {"client": "JAVA"},
    ],
)
def test_a_fault_hits_what_it_names(named: dict[str, Any]) -> None:
    assert fault(**named).hits(FEED)


@pytest.mark.parametrize(
    "named",
    [
        {"operations": ["read"]},
        {"database": "other"},
        {"container": "leases"},
        {"range": "1"},
        {"item": "a"},
        {"client": "python"},
    ],
)
def test_a_fault_does_not_hit_anything_else(named: dict[str, Any]) -> None:
    assert not fault(**named).hits(FEED)


def test_what_clients_ask_on_their_own_is_hit_only_where_it_is_named() -> None:
    ranges = Target(Operation.RANGES, "sensors", "events")
    assert not fault().hits(ranges)
    assert fault(operations=["ranges"]).hits(ranges)


def test_an_item_is_named_by_how_its_id_begins() -> None:
    write = Target(Operation.REPLACE, "sensors", "leases", item="alarms..0")
    assert fault(item="alarms..").hits(write)
    assert not fault(item="others..").hits(write)


def test_a_fault_ends_after_its_times_or_its_time_and_the_oldest_is_taken() -> None:
    plan = FaultPlan()
    first = plan.add(fault("reset", times=2))
    second = plan.add(fault("refuse", for_seconds=10))
    taken = [plan.take(FEED, now=101) for _ in range(3)]
    assert [each.id if each else None for each in taken] == [first.id, first.id, second.id]
    assert not plan.stands(first.id)
    assert plan.take(FEED, now=110) is None
    assert plan.list(110) == ()
    assert not plan


def test_a_budget_lets_through_what_it_holds_and_says_how_long_to_wait() -> None:
    plan = FaultPlan()
    budget = plan.add(fault("throttle", parameters={"request_units_per_second": 10}))
    passed = 0
    while plan.take(FEED, now=200) is None:
        plan.spend(FEED, 4, now=200)
        passed += 1
    assert passed == 3, "10 units are there; the third request of 4 goes below nothing"
    assert plan.wait_of(budget, now=200) == pytest.approx(0.2)
    assert plan.take(FEED, now=200.1) is not None
    assert plan.take(FEED, now=200.2) is None
    other = Target(Operation.FEED, "sensors", "events", "1")
    assert plan.take(other, now=200.2) is None


def test_a_fault_is_told_as_it_was_described() -> None:
    told = {
        "kind": "throttle",
        "operations": ["feed"],
        "container": "events",
        "range": "3",
        "times": 4,
        "until": 150.0,
        "parameters": {"retry_after_ms": 20},
    }
    assert to_json(FaultPlan().add(from_json(told, now=0))) == {"id": "fault-1", **told}
    assert {kind: fault(kind, parameters=_NEEDED.get(kind)).parameters for kind in Kind} == {
        "throttle": {"retry_after_ms": 100},
        "refuse": {"status": 503},
        "delay": {"seconds": 2},
        "reset": {},
        "lose_reply": {},
        "cut_reply": {"bytes": 200},
    }


_NEEDED = {Kind.DELAY: {"seconds": 2}}


@pytest.mark.parametrize(
    ("described", "field"),
    [
        ({"kind": "x"}, "kind"),
        ({"kind": "reset", "partition": "0"}, "fault"),
        ({"kind": "reset", "operations": []}, "operations"),
        ({"kind": "reset", "times": True}, "times"),
        ({"kind": "reset", "container": ""}, "container"),
        ({"kind": "reset", "for_seconds": -1}, "for_seconds"),
        ({"kind": "reset", "for_seconds": 1, "until": 2}, "for_seconds"),
        ({"kind": "reset", "parameters": {"seconds": 1}}, "parameters"),
        ({"kind": "delay"}, "parameters.seconds"),
        ({"kind": "delay", "parameters": {"seconds": float("inf")}}, "parameters.seconds"),
        ({"kind": "delay", "parameters": {"seconds": 10**400}}, "parameters.seconds"),
        ({"kind": "refuse", "parameters": {"status": 302}}, "parameters.status"),
        (
            {
                "kind": "throttle",
                "parameters": {"retry_after_ms": 1, "request_units_per_second": 1},
            },
            "parameters",
        ),
    ],
)
def test_a_fault_that_cannot_be_names_its_field(described: dict[str, Any], field: str) -> None:
    with pytest.raises(FaultError) as refused:
        from_json(described, now=0)
    assert refused.value.field == field
