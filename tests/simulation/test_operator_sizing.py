"""The real operator sizes groups of real members by their lag: P1 to P8 hold, and P9, P10 and P14.

A test that fails names its seeds.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from simulation import operator_checks, operator_sizing_checks
from simulation.judge import judge
from simulation.operator_cluster import Cluster
from simulation.operator_script import exact
from simulation.operator_sizing import SizedOperatorWorld, SizedScript, drawn
from tidegate_operator import sizing
from tidegate_operator.scaling import Policy, Sample
from tidegate_operator.scaling.need import Need

SEEDS, QUICK = 120, 8
_CHUNK = 20


def problems_of(script: SizedScript) -> tuple[list[str], SizedOperatorWorld]:
    """What did not hold in a world, and the world."""
    world = SizedOperatorWorld(script)
    facts = world.run()
    found = [
        *judge(world.records, facts),
        *(
            violation
            for violation in operator_checks.check(world)
            if not operator_sizing_checks.is_undone(world, violation)
        ),
        *operator_sizing_checks.check(world),
    ]
    return [str(violation) for violation in found], world


def failed(seeds: range) -> dict[int, list[str]]:
    found = {seed: problems_of(drawn(seed))[0] for seed in seeds}
    return {seed: problems[:3] for seed, problems in found.items() if problems}


def test_whatever_befalls_a_group_its_size_stays_within_bounds_and_never_falls_unknown() -> None:
    assert failed(range(QUICK)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(QUICK, SEEDS, _CHUNK))
def test_it_holds_in_every_world(first: int) -> None:
    assert failed(range(first, first + _CHUNK)) == {}


def test_groups_grow_and_shrink_and_sleep_and_wake_among_the_seeds() -> None:
    worlds = [problems_of(drawn(seed))[1] for seed in range(QUICK)]
    decided = [each for world in worlds for each in world.decisions]
    assert any(each.wanted > each.before for each in decided)
    assert any(each.wanted < each.before for each in decided)
    assert any(each.wanted == 0 for each in decided)
    assert any(drawn(seed).silences for seed in range(QUICK))


def test_one_seed_decides_everything() -> None:
    first, second = (problems_of(drawn(3))[1] for _ in range(2))
    assert first.journal.scaled == second.journal.scaled
    assert [(each.at, each.wanted) for each in first.decisions] == [
        (each.at, each.wanted) for each in second.decisions
    ]


# --- exact scenarios


def loaded(*loads: tuple[float, float], seed: int = 0, **policy: Any) -> SizedScript:
    """Eight partitions and no weather; `loads`: from when on, an event every so many seconds."""
    base = exact(seed, 8, policy.pop("pods", 1), policy.pop("befalls", ()), 400.0)
    script = replace(base.base, handler_s=0.02)
    asked = replace(Policy(stable_s=30.0, idle_s=40.0), **policy)
    return SizedScript(replace(base, base=script), asked, loads)


@pytest.mark.parametrize("seed", range(3))
def test_ten_times_as_many_events_get_pods_within_5_s_and_nothing_is_handled_twice(
    seed: int,
) -> None:
    problems, world = problems_of(loaded((0.0, 0.8), (120.0, 0.08), (240.0, 0.8), seed=seed))
    assert problems == []
    grown = next(each for each in world.decisions if each.at > 60.0)
    assert grown.wanted > grown.before
    assert grown.at - 120.0 <= 5.0
    last = world.decisions[-1]
    assert last.wanted == 1
    assert last.at >= 240.0 + 30.0
    assert not any(stopped.held for stopped in world.journal.stopped)


def answers(seed: int, *, before: float, after: float) -> list[float]:
    """How long it took until more pods were asked for than there were, after the load rose: events
    a second, in all. At any time of anybody's looks."""
    at = 60.0 + Random(f"phase {seed}").random() * 4.0
    made = loaded((0.0, 8 / before), (at, 8 / after), seed=seed)
    # No noise: the cause is to have one time.
    world = SizedOperatorWorld(replace(made, is_even=True))
    world.clock.run_until(at)
    most, found = world.cluster.replicas, []
    world.clock.run_until(at + 20.0)
    for when, _, replicas in world.journal.scaled:
        if when > at and replicas > most:
            most = replicas
            found.append(round(when - at, 2))
    return found


PHASES, QUICK_PHASES = 200, 8


@pytest.mark.parametrize(
    ("before", "after", "first", "count"),
    [(10.0, 100.0, 0, QUICK_PHASES)]
    + [
        pytest.param(before, after, first, PHASES // 4, marks=pytest.mark.slow)
        for before, after in ((10.0, 100.0), (20.0, 200.0))
        for first in range(0, PHASES, PHASES // 4)
    ],
)
def test_what_is_clearly_too_much_is_answered_within_5_s_whatever_the_phases(
    before: float, after: float, first: int, count: int
) -> None:
    """Ten times as many events, which is twice or four times what there is can handle."""
    took = {seed: answers(seed, before=before, after=after) for seed in range(first, first + count)}
    assert {seed: found for seed, found in took.items() if len(found) != 1} == {}, "one jump"
    late = {seed: found for seed, found in took.items() if found[0] > 4.5}
    assert late == {}


@pytest.mark.parametrize("seed", range(3))
def test_a_steady_load_settles_and_stays(seed: int) -> None:
    problems, world = problems_of(loaded((0.0, 0.08), seed=seed))
    assert problems == []
    under_load = [each for each in world.decisions if each.at <= world.script.quiet_from]
    assert under_load[-1].at < 60.0
    assert all(each.wanted <= 4 for each in under_load), "three of them can do it"


@pytest.mark.parametrize("starts_latest", [False, True])
def test_a_group_at_zero_is_woken_within_5_s_and_every_event_is_handled(
    *, starts_latest: bool
) -> None:
    made = loaded((0.0, 1e9), (250.0, 0.5), min=0, pods=0)
    base = replace(made.operator.base, starts_latest=starts_latest)
    problems, world = problems_of(replace(made, operator=replace(made.operator, base=base)))
    assert problems == []
    slept, woke = world.decisions[:2]
    assert slept.wanted == 0, "after every partition was given a checkpoint"
    assert slept.at < 250.0
    first_at = min(times[0] for times in world.timetable.values() if times)
    assert woke.wanted >= 1
    assert woke.at - first_at <= 5.0


def of_two_operators(seed: int) -> SizedScript:
    """Both believe that they lead while the load rises."""
    return loaded((0.0, 0.8), (120.0, 0.08), seed=seed, befalls=((100.0, "two operators", 59),))


@pytest.mark.parametrize("seed", range(3))
def test_of_two_operators_that_see_the_load_rise_one_writes(seed: int) -> None:
    """They may come to different numbers for a while, and undo what the other does; but neither
    writes over what it has not seen, and no event is lost."""
    problems, world = problems_of(of_two_operators(seed))
    assert [each for each in problems if not each.startswith(operator_checks.NAME)] == []
    assert max(each.wanted for each in world.decisions) > 1


# --- an operator is caught that …


# The package gives the function of this name.
deciding = importlib.import_module("tidegate_operator.scaling.decide")
LOOK = sizing.sample_of


def _takes_unknown_for_nothing(*args: Any) -> Sample:
    sample = LOOK(*args)
    rows = {
        partition: replace(seen, lag=seen.lag or 0) for partition, seen in sample.partitions.items()
    }
    return replace(sample, partitions=rows)


def _wants_too_many(*_: object) -> Need:
    return Need(asked=20, calls=True, is_for_backlog=True, calm=20, is_reachable=True, waits=False)


def _writes_whatever_it_saw(cluster: Cluster, replicas: int, version: str) -> bool:
    cluster.replicas = replicas
    cluster.version += 1
    return True


WEAKER: list[tuple[str, Any, str, Callable[..., Any], Callable[[int], SizedScript]]] = [
    ("P10", sizing, "sample_of", _takes_unknown_for_nothing, drawn),
    ("P9", deciding, "need_of", _wants_too_many, drawn),
    ("P14", Cluster, "scale", _writes_whatever_it_saw, of_two_operators),
    ("are left", deciding._Deciding, "_fewer", lambda _: None, drawn),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("says", "target", "name", "weaker", "made"), WEAKER, ids=[each[0] for each in WEAKER]
)
def test_an_operator_is_caught_that_does_not_keep_it(
    says: str,
    target: Any,
    name: str,
    weaker: Callable[..., Any],
    made: Callable[[int], SizedScript],
) -> None:
    with patch.object(target, name, weaker):
        assert any(
            problem.startswith(operator_sizing_checks.NAME) and says in problem
            for seed in range(30)
            for problem in problems_of(made(seed))[0]
        )
