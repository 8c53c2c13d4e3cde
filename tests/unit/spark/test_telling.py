"""What members say of a batch that failed: what becomes of it, by the policy and by the cause."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tidegate.delivery.breaker import Breaker
from tidegate.delivery.policy import OnFailure, Policy
from tidegate.model import Position
from tidegate.ops import observer as facts
from tidegate.spark.positions import Turn, TurnRead
from tidegate.spark.telling import Telling


@pytest.mark.parametrize("on_failure", [OnFailure.DEAD_LETTER, OnFailure.HALT])
@pytest.mark.parametrize("blames", [True, False])
def test_what_is_no_fault_of_the_events_announces_neither_dead_letters_nor_a_halt(
    on_failure: OnFailure, blames: bool
) -> None:
    heard: list[facts.Fact] = []
    holder = SimpleNamespace(observer=SimpleNamespace(hear=heard.append))
    held = {"0": cast(Any, SimpleNamespace(partition="0", holder=holder))}
    telling = Telling(Policy(on_failure=on_failure, attempts=5), lambda: 100.0)
    for tries in range(1, 4):
        turns = {"0": Turn("0", 1, Position("9", 9), 20)}
        telling.failed(held, turns, "SourceError: gone", tries, blames_events=blames)
    (said,) = [
        each.report.message
        for each in heard
        if isinstance(each, facts.Reported) and each.report.kind == "stuck"
    ]
    assert (f"After 5 attempts: {on_failure}." in said) is blames
    assert ("until it succeeds" in said) is not blames


def test_an_open_circuit_breaker_is_told_once_and_its_end_too() -> None:
    heard: list[facts.Fact] = []
    holder = SimpleNamespace(observer=SimpleNamespace(hear=heard.append))
    one = cast(Any, SimpleNamespace(partition="0", holder=holder))
    policy = Policy(on_failure=OnFailure.DEAD_LETTER)
    telling, breaker = Telling(policy, lambda: 100.0), Breaker(policy.circuit_breaker)
    while breaker.lets_through():
        breaker.put_aside()
    turn = Turn("0", 1, Position("18", 18), 19)
    for _ in range(3):
        telling.stopped(one, turn, breaker, "ValueError: bad")
    assert telling.stuck({"0": one}) == ("0",)
    assert telling.stuck({}) == (), "whoever holds it now tells"
    telling.handled(one, TurnRead(1, "0", 1, "o19", 19, 1.0, 1, 10), turn, 0.1, 0.1)
    told = [(each.report.kind, each.report.message) for each in heard if hasattr(each, "report")]
    assert [kind for kind, _ in told] == ["circuit-open", "circuit-closed"]
    assert "the pipeline fails on 20 of the last 20 events" in told[0][1]
    assert "before event 19: ValueError: bad. Fix the pipeline" in told[0][1]
    assert telling.stuck({"0": one}) == ()
