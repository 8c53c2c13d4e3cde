"""The real operator in worlds with real members: P1 to P8 hold, its acts are fenced, it converges.

A test that fails names its seeds; `python tests/simulation/operator_run.py --seed N --trace`
replays one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest

from simulation import operator_checks, scenarios
from simulation.history import Did
from simulation.judge import judge
from simulation.operator_run import problems_of, trace
from simulation.operator_script import NAMES, OperatorScript, draw, exact, rolled_out
from simulation.operator_world import OperatorWorld
from simulation.scenarios import CHANGE_AT, Figures, figures, percentile
from simulation.script import Kind
from tidegate.ports import Break, WriteRoster
from tidegate_operator import breaks, roster, scale_in

SEEDS = 150
_CHUNK = 25
PARTITIONS, PODS = 16, 4


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, SEEDS, _CHUNK))
def test_every_property_holds_whatever_befalls_the_cluster_and_its_operator(first: int) -> None:
    failed = {
        seed: problems[:3]
        for seed in range(first, first + _CHUNK)
        if (problems := problems_of(draw(seed))[0])
    }
    assert not failed


def test_everything_that_may_befall_a_group_is_among_the_seeds() -> None:
    drawn = [draw(seed) for seed in range(SEEDS)]
    assert {name for script in drawn for _, name, _ in script.befalls} == set(NAMES)
    assert any(script.api_lost and script.api_late for script in drawn)


def test_one_seed_decides_everything() -> None:
    worlds = [problems_of(draw(7))[1] for _ in range(2)]
    assert trace(worlds[0]) == trace(worlds[1])


def at_once(*_: object, **__: object) -> scale_in.Verdict:
    return scale_in.Verdict(True, "")


def never(*_: object, **__: object) -> scale_in.Verdict:
    return scale_in.Verdict(False, "never")


WEAKER: list[tuple[str, object, dict[str, Any]]] = [
    ("shrinks at once", scale_in, {"verdict": at_once}),
    ("never shrinks", scale_in, {"verdict": never}),
    (
        "takes a process for dead because another of its pod has ended",
        breaks,
        {"_is_life_of": lambda *_: True, "_why_for_good": lambda *_: "it has ended"},
    ),
    ("writes the roster again and again", roster, {"is_said": lambda *_: False}),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "weaker"),
    [pytest.param(*weaker[1:], id=weaker[0].replace(" ", "-")) for weaker in WEAKER],
)
def test_an_operator_is_caught_that(target: object, weaker: dict[str, Any]) -> None:
    """Otherwise the worlds above would prove nothing."""
    with patch.multiple(target, **weaker):
        assert any(
            problem.startswith(operator_checks.NAME)
            for seed in range(60)
            for problem in problems_of(draw(seed))[0]
        )


# --- exact scenarios


def ran(script: OperatorScript) -> tuple[OperatorWorld, Figures]:
    world = OperatorWorld(script)
    facts = world.run()
    assert judge(world.records, facts) == []
    assert operator_checks.check(world) == []
    return world, figures(world.records, CHANGE_AT)


def befallen(
    seed: int, *names: tuple[float, str, int], kind: Kind = Kind.CALM
) -> tuple[OperatorWorld, Figures]:
    """A group of four that has long been there, and what befalls it, in seconds from then on."""
    befalls = tuple((CHANGE_AT + seed + at, name, number) for at, name, number in names)
    return ran(exact(seed, PARTITIONS, PODS, befalls, CHANGE_AT + 60.0, kind))


@pytest.mark.parametrize("seed", range(4))
def test_in_a_rollout_each_partition_moves_once_and_nothing_is_handled_twice(seed: int) -> None:
    world, got = befallen(seed, (0.0, "roll", 2))
    assert got.moves == PARTITIONS
    assert got.duplicates == 0
    assert got.idle(0.95) < 2.0
    assert {stopped.why for stopped in world.journal.stopped} == {"rolled"}


ROLLOUTS = 40


@pytest.mark.slow
@pytest.mark.parametrize("partitions", [PARTITIONS, PARTITIONS + 1, 23])
def test_in_a_rollout_each_partition_moves_once_however_slow_each_part_of_the_cluster_is(
    partitions: int,
) -> None:
    moves: dict[int, int] = {}
    idle: list[float] = []
    for seed in range(ROLLOUTS):
        script = rolled_out(seed, partitions, PODS)
        world = OperatorWorld(script)
        facts = world.run()
        got = figures(world.records, script.befalls[-1][0])
        assert judge(world.records, facts) == [], seed
        assert got.duplicates == 0, seed
        moves[seed] = got.moves
        idle += got.idle_s
    assert set(moves.values()) == {partitions}, moves
    print(f"\n{ROLLOUTS} rollouts: idle p95 {percentile(sorted(idle), 0.95):.2f} s")


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_an_old_pod_whose_probe_gets_no_answer_at_the_rollouts_begin_costs_no_move(
    seed: int,
) -> None:
    """Kubernetes ends it first: it must be the one that was told to hand over."""
    for number in range(PODS):
        _, got = befallen(seed, (0.0, "roll", 2), (0.5, "unheard", number))
        assert got.moves == PARTITIONS
        assert got.duplicates == 0


@pytest.mark.parametrize("seed", range(4))
def test_a_group_that_shrinks_hands_over_what_must_move_and_no_more(seed: int) -> None:
    world, got = befallen(seed, (0.0, "scale", 2))
    assert got.moves == PARTITIONS // 2
    assert got.duplicates == 0
    assert got.idle(0.95) < 2.0
    assert [stopped.why for stopped in world.journal.stopped] == ["scaled"] * 2
    assert not any(stopped.held for stopped in world.journal.stopped)


@pytest.mark.parametrize("seed", range(4))
def test_to_zero_and_back_nothing_is_handled_twice(seed: int) -> None:
    _, got = befallen(seed, (0.0, "scale", 0), (30.0, "scale", 4))
    assert got.duplicates == 0
    assert got.moves == PARTITIONS


@pytest.mark.parametrize("seed", range(4))
def test_a_pause_and_its_end_handle_nothing_twice(seed: int) -> None:
    world, got = befallen(seed, (0.0, "pause", 4), (30.0, "pause", 1))
    assert got.duplicates == 0
    assert not any(stopped.held for stopped in world.journal.stopped)


@pytest.mark.parametrize("start_s", [3.0, 20.0])
def test_what_a_deleted_pod_had_does_not_wait_for_the_pod_that_replaces_it(start_s: float) -> None:
    idle: list[float] = []
    for seed in range(8):
        script = exact(
            seed, PARTITIONS, PODS, ((CHANGE_AT + seed, "delete", seed),), CHANGE_AT + 60.0
        )
        _, got = ran(replace(script, start_s=start_s))
        assert got.duplicates == 0
        idle += got.idle_s
    assert scenarios.percentile(sorted(idle), 0.95) < 2.0


def test_what_a_pod_had_that_is_evicted_is_read_again_within_three_seconds() -> None:
    idle: list[float] = []
    for seed in range(8):
        world, got = befallen(seed, (0.0, "evict", seed), kind=Kind.KILLS)
        idle += got.idle_s
        assert any(_did(record, Break) for record in world.records)
    assert scenarios.percentile(sorted(idle), 0.95) < 3.0


def test_a_container_that_restarts_in_place_moves_nothing() -> None:
    for seed in range(4):
        world, got = befallen(seed, (0.0, "kill", seed), kind=Kind.KILLS)
        assert got.moves == 0
        assert got.idle_s
        assert not any(_did(record, Break) for record in world.records)


@pytest.mark.parametrize("seed", range(3))
def test_where_nothing_befalls_a_group_its_operator_writes_nothing(seed: int) -> None:
    world, got = befallen(seed)
    assert got.moves == 0
    written = [record.at for record in world.records if _did(record, WriteRoster)]
    assert written
    assert max(written) < 30.0, "until all have joined"


def _did(record: object, kind: type) -> bool:
    return isinstance(record, Did) and isinstance(record.operation, kind)
