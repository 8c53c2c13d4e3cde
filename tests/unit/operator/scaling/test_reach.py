"""An objective out of reach: said when events wait for it, and not taken back and said again.

And no message says what its figures do not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import pytest

from tidegate_operator.scaling import Bound, Policy, Reason, Report
from tidegate_operator.scaling.report import document_of, restored
from unit.operator.scaling.small_traffic import Traffic

# Hours of a group's life: `make test` runs them.
pytestmark = pytest.mark.slow


def one_consumer(rate: Callable[[int], float]) -> Traffic:
    """At most one, which handles 100 events/s; `rate` is of all partitions."""
    return Traffic(lambda _, second: rate(second) / 8, policy=Policy(max=1), partitions=8)


def told(world: Traffic, seconds: int) -> list[tuple[int, Bound | None, float]]:
    """At each look: when, what stops the objective, and how many events wait."""
    found = []
    for _ in range(seconds // 2):
        world.run(2)
        assert world.last is not None
        found.append((world.now, world.last.bound, world.lag))
    return found


def changes(rows: list[tuple[int, Bound | None, float]]) -> list[tuple[int, Bound | None]]:
    return [(at, bound) for (_, before, _), (at, bound, _) in pairwise(rows) if bound is not before]


def test_while_nothing_waits_no_objective_is_out_of_reach() -> None:
    """As much comes as one consumer can just handle, now a little more and now a little less."""
    rows = told(one_consumer(lambda second: 90 if second % 20 < 10 else 104), 900)
    assert {bound for _, bound, _ in rows} == {None}


def test_a_burst_that_is_over_in_moments_is_not_said() -> None:
    rows = told(one_consumer(lambda second: 300 if second % 60 < 5 else 20), 900)
    assert max(lag for _, _, lag in rows) > 500
    assert {bound for _, bound, _ in rows} == {None}


@pytest.mark.parametrize("low", [90, 40, 110])
def test_too_much_is_said_once_however_it_wavers(low: int) -> None:
    world = one_consumer(lambda second: 240 - low if second % 20 < 10 else low)
    rows = told(world, 900)
    assert [bound for _, bound in changes(rows)] == [Bound.MAX]
    assert all(lag > 100 for _, bound, lag in rows if bound is not None)


def test_it_is_taken_back_once_when_what_waits_can_be_handled_in_time() -> None:
    rows = told(one_consumer(lambda second: 150 if 300 <= second < 500 else 20), 1200)
    (said_at, said), (over_at, over) = changes(rows)
    assert (said, over) == (Bound.MAX, None)
    assert 300 < said_at < 420 and 500 < over_at < 800


def test_an_operator_that_begins_anew_says_neither_that_it_is_over_nor_that_it_is_so_again() -> (
    None
):
    world = one_consumer(lambda _: 150)
    world.run(300)
    assert world.last is not None and world.last.bound is Bound.MAX
    said = document_of(Report(world.policy, world.history, world.last))
    world.history, _ = restored(said, float(world.now))
    assert {bound for _, bound, _ in told(world, 60)} == {Bound.MAX}


def test_a_hot_partition_whose_rate_wavers_is_said_once() -> None:
    world = Traffic(
        lambda p, s: (95.0 if s % 16 < 8 else 140.0) if p == 3 and s > 300 else 5.0, partitions=8
    )
    rows = told(world, 1200)
    assert [bound for _, bound in changes(rows)] == [Bound.PARTITION]


# --- words and figures

ARRIVE = re.compile(r"([\d,.]+) events/s arrive")
HANDLES = re.compile(r"one consumer handles ([\d,.]+)/s")
ENOUGH = re.compile(r"(\d+) consumers? (?:is|are) enough")
LOADS: dict[str, Callable[[int], float]] = {
    "steps": lambda s: 40 if s % 600 < 300 else 400,
    "peaks": lambda s: 1444 if s % 120 < 6 else 60,
    "wavers": lambda s: 190 if s % 20 < 10 else 110,
    "grows": lambda s: s / 2,
}


def number(found: re.Match[str] | None) -> float | None:
    return None if found is None else float(found[1].replace(",", ""))


@pytest.mark.parametrize("holds_up", [False, True])
@pytest.mark.parametrize("most", [2, 8])
@pytest.mark.parametrize("load", LOADS)
def test_what_is_called_enough_is_enough_by_the_figures_beside_it(
    load: str, most: int, holds_up: bool
) -> None:
    world = Traffic(
        lambda _, second: LOADS[load](second) / 8,
        policy=Policy(max=most),
        partitions=8,
        holds_up=holds_up,
    )
    called_enough = 0
    for _ in range(600):
        world.run(2)
        assert world.last is not None
        text = world.last.message
        enough = number(ENOUGH.search(text))
        rate, each = number(ARRIVE.search(text)), number(HANDLES.search(text))
        if enough is not None and rate is not None and each is not None:
            called_enough += 1
            assert rate <= enough * each * 1.02 + 1, text
        if world.last.bound is not None:
            assert text.startswith("the objective, no event is to wait longer than 60s, cannot")
            assert "raise it" in text or "make the handler faster" in text
    assert called_enough


def test_events_for_each_consumer_are_called_enough_by_what_waits() -> None:
    policy = Policy(within_s=None, lag_per_replica=1000, max=4)
    world = Traffic(lambda _, __: 200 / 8, policy=policy, partitions=8).run(300)
    assert world.last is not None
    assert world.last.reason is Reason.ENOUGH
    assert re.fullmatch(
        r"[\d,]+ events wait(?: \(.*\))?, and 1,000 are allowed for each consumer: "
        r"\d consumers? (?:is|are) enough",
        world.last.message,
    )


def test_what_lasts_is_asked_for_and_until_then_nobody_calls_it_enough() -> None:
    world = Traffic(lambda _, second: (20 if second < 300 else 130) / 16).run(300)
    texts = []
    while world.replicas == 1 and world.now < 600:
        world.run(2)
        assert world.last is not None
        if world.last.reason is Reason.ENOUGH and world.lag > 80:
            texts.append(world.last.message)
    assert world.replicas > 1
    assert texts
    assert all("is enough" not in text for text in texts)


@pytest.mark.parametrize("load", LOADS)
def test_fewer_are_not_said_to_do_by_figures_that_say_otherwise(load: str) -> None:
    world = Traffic(lambda _, second: LOADS[load](second) / 8, partitions=8)
    for _ in range(600):
        world.run(2)
        assert world.last is not None
        inputs, text = world.last.inputs, world.last.message
        do = number(re.search(r"(\d+) would do", text))
        if do is not None and inputs.arriving is not None and inputs.per_member is not None:
            assert inputs.arriving <= do * inputs.per_member * 1.02 + 1, text


def test_while_fewer_would_do_no_objective_is_out_of_reach() -> None:
    policy = Policy(within_s=None, lag_per_replica=500, max=3)
    world = Traffic(
        lambda _, second: (600 if 100 <= second < 260 else 40) / 8, policy=policy, partitions=8
    )
    seen = set()
    for _ in range(400):
        world.run(2)
        assert world.last is not None
        seen.add((world.last.reason, world.last.bound))
    assert (Reason.HELD, Bound.MAX) in seen
    assert (Reason.WAITING, None) in seen
    assert (Reason.WAITING, Bound.MAX) not in seen
