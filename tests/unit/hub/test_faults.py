"""Scripted faults hit what they name, as often and as long as they say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tidegate_hub.fault_json import FaultError, from_json, to_json
from tidegate_hub.faults import (
    Allowance,
    Fault,
    FaultPlan,
    Kind,
    Operation,
    Target,
    spend,
)

NOW = 100.0
SEND = Target(Operation.SEND, "telemetry", "0")
ATTACH = Target(Operation.ATTACH, "telemetry", "0", "$default")


def plan_of(*faults: Fault) -> FaultPlan:
    plan = FaultPlan()
    for fault in faults:
        plan.add(fault)
    return plan


HITS = [
    ("no place named", Fault(Kind.SERVER_BUSY), SEND, True),
    ("the hub, in another case", Fault(Kind.SERVER_BUSY, "Telemetry"), SEND, True),
    ("another hub", Fault(Kind.SERVER_BUSY, "other"), SEND, False),
    ("the partition", Fault(Kind.SERVER_BUSY, "telemetry", "0"), SEND, True),
    ("another partition", Fault(Kind.SERVER_BUSY, "telemetry", "1"), SEND, False),
    ("a partition, for a send to any", Fault(Kind.SERVER_BUSY, None, "0"),
     Target(Operation.SEND, "telemetry"), False),
    ("a group, for a send", Fault(Kind.SERVER_BUSY, group="$Default"), SEND, False),
    ("a group, for its receiver", Fault(Kind.SERVER_BUSY, group="$Default"), ATTACH, True),
    ("another group", Fault(Kind.SERVER_BUSY, group="other"), ATTACH, False),
    ("an operation that it does not name",
     Fault(Kind.SERVER_BUSY, parameters={"on": ("send",)}), ATTACH, False),
    ("an operation that it names",
     Fault(Kind.SERVER_BUSY, parameters={"on": ("attach",)}), ATTACH, True),
    ("an operation that this kind never hits", Fault(Kind.REFUSE_TOKEN), SEND, False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "target", "hit"), [row[1:] for row in HITS], ids=[row[0] for row in HITS]
)
def test_a_fault_hits_the_place_that_it_names(fault: Fault, target: Target, hit: bool) -> None:
    taken = plan_of(fault).take(fault.kind, target, NOW)
    assert (taken is not None) is hit


def test_a_fault_is_used_up_after_its_times() -> None:
    plan = plan_of(Fault(Kind.SERVER_BUSY, times=2))
    assert plan.take(Kind.SERVER_BUSY, replace(SEND, hub="any"), NOW)
    assert plan.list(NOW)[0].times == 1
    assert plan.take(Kind.SERVER_BUSY, SEND, NOW)
    assert plan.take(Kind.SERVER_BUSY, SEND, NOW) is None
    assert plan.list(NOW) == ()
    assert not plan


def test_an_operation_that_is_not_hit_uses_nothing_up() -> None:
    plan = plan_of(Fault(Kind.SERVER_BUSY, "other", times=1))
    assert plan.take(Kind.SERVER_BUSY, SEND, NOW) is None
    assert plan.take(Kind.DELAY, Target(Operation.SEND, "other"), NOW) is None
    assert plan.list(NOW)[0].times == 1


def test_a_fault_ends_at_its_moment() -> None:
    plan = plan_of(Fault(Kind.DELAY, until=NOW + 5, parameters={"seconds": 1.0}))
    assert plan.take(Kind.DELAY, SEND, NOW + 4.9)
    assert plan.take(Kind.DELAY, SEND, NOW + 5) is None
    assert plan.list(NOW) == ()


def test_a_fault_without_end_stands_until_it_is_removed() -> None:
    plan = FaultPlan()
    added = plan.add(Fault(Kind.STOP_ACCEPTING))
    connect = Target(Operation.CONNECT)
    assert all(plan.take(Kind.STOP_ACCEPTING, connect, NOW + hour) for hour in range(50))
    assert plan.remove(added.id)
    assert not plan.remove(added.id)
    assert plan.take(Kind.STOP_ACCEPTING, connect, NOW) is None


def test_the_oldest_fault_is_taken_first() -> None:
    plan = plan_of(Fault(Kind.DELAY, times=1), Fault(Kind.DELAY, times=1))
    taken = [plan.take(Kind.DELAY, SEND, NOW) for _ in range(3)]
    assert [fault and fault.id for fault in taken] == ["fault-1", "fault-2", None]


def test_ids_are_never_given_twice() -> None:
    plan = FaultPlan()
    first = plan.add(Fault(Kind.DELAY))
    plan.clear()
    assert plan.add(Fault(Kind.DELAY)).id != first.id


@pytest.mark.parametrize(
    ("fault", "immediate"),
    [
        (Fault(Kind.DETACH_LINK), True),
        (Fault(Kind.DROP_CONNECTION, "telemetry"), True),
        (Fault(Kind.EXPIRE_RETENTION), True),
        (Fault(Kind.DETACH_LINK, times=1), False),
        (Fault(Kind.DROP_CONNECTION, until=NOW + 1), False),
        (Fault(Kind.SERVER_BUSY), False),
        (Fault(Kind.STOP_ACCEPTING), False),
    ],
)
def test_only_a_fault_with_nothing_to_wait_for_is_immediate(fault: Fault, immediate: bool) -> None:
    plan = FaultPlan()
    added = plan.add(fault)
    assert added.is_immediate is immediate
    assert added.id
    assert bool(plan) is not immediate


def test_an_immediate_fault_knows_the_links_that_it_means() -> None:
    fault = Fault(Kind.DETACH_LINK, "Telemetry", group="$DEFAULT")
    assert fault.is_at("telemetry", "0", "$default")
    assert not fault.is_at("telemetry", "0", None)
    assert not fault.is_at("other", "0", "$default")


def test_a_throttled_sender_gets_its_rate_and_no_more() -> None:
    allowance: Allowance | None = None
    passed = 0
    for tick in range(1001):
        allowance, enough = spend(allowance, 10.0, 1, NOW + tick / 100)
        passed += enough
    assert 105 <= passed <= 110  # a second's worth at once, then ten a second for ten seconds


def test_a_delivery_larger_than_the_rate_passes_once_the_allowance_is_full() -> None:
    allowance, enough = spend(None, 10.0, 50, NOW)
    assert enough
    allowance, enough = spend(allowance, 10.0, 1, NOW + 3)
    assert not enough
    allowance, enough = spend(allowance, 10.0, 1, NOW + 4.2)
    assert enough


READ: list[tuple[dict[str, Any], Fault]] = [
    ({"kind": "stop_accepting"}, Fault(Kind.STOP_ACCEPTING)),
    ({"kind": "server_busy", "hub": "telemetry", "partition": 3, "times": 2},
     Fault(Kind.SERVER_BUSY, "telemetry", "3", times=2, parameters={"wait_seconds": 4})),
    ({"kind": "server_busy", "parameters": {"on": "send"}},
     Fault(Kind.SERVER_BUSY, parameters={"on": ("send",), "wait_seconds": 4})),
    ({"kind": "delay", "for_seconds": 5, "parameters": {"seconds": 0.5, "on": ["attach"]}},
     Fault(Kind.DELAY, until=NOW + 5, parameters={"seconds": 0.5, "on": ("attach",)})),
    ({"kind": "throttle", "until": 200, "parameters": {"events_per_second": 10}},
     Fault(Kind.THROTTLE, until=200.0, parameters={"events_per_second": 10.0})),
    ({"kind": "detach_link", "group": "g", "parameters": {"condition": "amqp:internal-error"}},
     Fault(Kind.DETACH_LINK, group="g", parameters={
         "condition": "amqp:internal-error",
         "description": "The link was detached by a scripted fault."})),
    ({"kind": "expire_retention", "hub": "h", "parameters": {"before_sequence": 7}},
     Fault(Kind.EXPIRE_RETENTION, "h", parameters={"before_sequence": 7})),
    ({"kind": "expire_retention", "times": 2, "for_seconds": 5},
     Fault(Kind.EXPIRE_RETENTION, times=2, until=NOW + 5)),
]  # fmt: skip


@pytest.mark.parametrize(("data", "fault"), READ, ids=[data["kind"] for data, _ in READ])
def test_a_fault_is_read_from_json_and_written_back(data: dict[str, Any], fault: Fault) -> None:
    read = from_json(data, NOW)
    assert read == fault
    assert from_json(to_json(read), NOW + 50) == fault


def test_a_standing_fault_shows_its_id() -> None:
    added = FaultPlan().add(from_json({"kind": "refuse_token", "times": 1}, NOW))
    assert to_json(added) == {"id": "fault-1", "kind": "refuse_token", "times": 1}
    assert from_json(to_json(added), NOW) == Fault(Kind.REFUSE_TOKEN, times=1)


WRONG: list[tuple[object, str, str]] = [
    ([], "fault", "expected an object, found []"),
    ({}, "kind", "expected one of server_busy, throttle, detach_link"),
    ({"kind": "explode"}, "kind", 'found "explode"'),
    ({"kind": "delay", "time": 3}, "fault", 'found "time"'),
    ({"kind": "server_busy", "times": "three"}, "times", "a whole number from 1, found \"three\""),
    ({"kind": "server_busy", "times": 0}, "times", "found 0"),
    ({"kind": "server_busy", "times": True}, "times", "found true"),
    ({"kind": "server_busy", "hub": 7}, "hub", "expected a text that is not empty, found 7"),
    ({"kind": "server_busy", "hub": ""}, "hub", 'found ""'),
    ({"kind": "server_busy", "partition": 1.5}, "partition", "found 1.5"),
    ({"kind": "server_busy", "for_seconds": -1}, "for_seconds", "a number greater than 0"),
    ({"kind": "server_busy", "until": "soon"}, "until", 'expected a number, found "soon"'),
    ({"kind": "server_busy", "until": float("nan")}, "until", "expected a number, found NaN"),
    ({"kind": "server_busy", "until": 5, "for_seconds": 5}, "for_seconds", "nothing beside until"),
    ({"kind": "server_busy", "parameters": [1]}, "parameters", "expected an object, found [1]"),
    ({"kind": "server_busy", "parameters": {"seconds": 1}}, "parameters", 'found "seconds"'),
    ({"kind": "server_busy", "parameters": {"on": ["token"]}}, "parameters.on", "some of send"),
    ({"kind": "server_busy", "parameters": {"on": []}}, "parameters.on", "found []"),
    ({"kind": "delay"}, "parameters.seconds", "a number greater than 0, found null"),
    ({"kind": "delay", "parameters": {"seconds": "1"}}, "parameters.seconds", 'found "1"'),
    ({"kind": "throttle", "group": "g", "parameters": {"events_per_second": 1}}, "group",
     "throttle may name hub, partition"),
    ({"kind": "stop_accepting", "hub": "h"}, "hub", "stop_accepting may name no place"),
    ({"kind": "refuse_token", "parameters": {"x": 1}}, "parameters", "only no keys"),
    ({"kind": "expire_retention", "parameters": {"before_sequence": -1}},
     "parameters.before_sequence", "a whole number from 0"),
    ({"kind": "delay", "hub": ["x" * 1000]}, "hub", "…"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "field", "words"), WRONG, ids=[row[2] for row in WRONG])
def test_a_wrong_fault_says_which_field_and_what_was_expected(
    data: object, field: str, words: str
) -> None:
    with pytest.raises(FaultError) as caught:
        from_json(data, NOW)
    assert caught.value.field == field
    assert words in str(caught.value)
    assert len(str(caught.value)) < 300
