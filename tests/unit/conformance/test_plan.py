"""The plan of a run is the seed's alone, and has each disturbance once before any comes twice."""

from __future__ import annotations

import random

from tidegate_operator.conformance.plan import CALM_S, KINDS, is_begun, left_out, planned

ALL = frozenset({"pods", "exec", "scale", "proxy", "hub", "operator"})


def plan(seed: int, seconds: float, can: frozenset[str] = ALL) -> list[str]:
    return [step.kind for step in planned(random.Random(seed).random, seconds, can)]


def test_the_same_seed_gives_the_same_plan_and_another_one_another() -> None:
    assert plan(1, 600) == plan(1, 600)
    assert len({tuple(plan(seed, 600)) for seed in range(20)}) == 20


def test_a_longer_run_begins_as_a_shorter_one_of_its_seed() -> None:
    short, long = plan(5, 180), plan(5, 3600)
    assert long[: len(short) - 1] == short[: len(short) - 1]


def test_a_run_of_three_minutes_has_what_proves_something_and_fits() -> None:
    for seed in range(50):
        kinds = plan(seed, 180)
        assert sum(KINDS[kind].takes_s + CALM_S for kind in kinds) <= 180
        assert kinds.count("scale-in") == kinds.count("scale-out")
        first = {name for name, kind in KINDS.items() if kind.turn == 0 and kind.needs <= ALL}
        assert set(kinds[: len(first)]) == first


def test_only_what_is_asked_for_is_done_and_what_ends_it() -> None:
    steps = planned(random.Random(1).random, 300, ALL, ("storage-away", "scale-in"))
    assert {step.kind for step in steps} == {"storage-away", "scale-in", "scale-out"}


def test_a_run_of_six_minutes_tries_that_an_unknown_lag_scales_nothing_in() -> None:
    ranges = frozenset({"pods", "exec", "scale", "proxy", "operator", "ranges"})
    for seed in range(50):
        assert "storage-away" in plan(seed, 360)
        assert {"split", "merge", "storage-away"} <= set(plan(seed, 360, ranges))


def test_what_a_step_began_is_ended_also_when_the_time_is_over_and_never_without_it() -> None:
    assert is_begun("merge", "split", -9.0) and is_begun("scale-out", "scale-in", 0.0)
    assert not is_begun("merge", "kill", 600.0) and not is_begun("scale-out", "", 600.0)
    both = KINDS["split"].takes_s + KINDS["merge"].takes_s + 2 * CALM_S
    assert is_begun("split", "kill", both) and not is_begun("split", "kill", both - 1)


def test_a_run_of_ten_minutes_has_every_disturbance_that_it_can_have() -> None:
    for seed in range(50):
        assert set(plan(seed, 600)) == KINDS.keys() - left_out(ALL).keys()


def test_what_a_run_cannot_do_is_left_out_and_named() -> None:
    assert left_out(frozenset({"scale", "spark"}))["kill"] == "exec"
    assert "split" not in plan(3, 3600)
    assert set(plan(3, 3600, frozenset({"scale"}))) == {"scale-in", "scale-out", "shut"}
