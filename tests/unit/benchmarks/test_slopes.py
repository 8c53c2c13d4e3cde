"""What grows is told from what does not, and from what a run is too short to tell."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from slopes import HOUR_S, slope_of
from soak_samples import Sample, lives_of, role_of, stood_still_s, task_samples, wrong_totals

LIMIT = 5.0


def life(
    per_hour: float, hours: float, *, level: float = 70.0, noise: float = 0.5, seed: int = 1
) -> list[tuple[float, float]]:
    dice = random.Random(seed)
    count = int(hours * HOUR_S / 5)
    return [
        (5.0 * at, level + per_hour * 5.0 * at / HOUR_S + dice.gauss(0, noise))
        for at in range(count)
    ]


def verdict(*lives: list[tuple[float, float]]) -> str:
    found = slope_of(lives)
    assert found is not None
    return found.verdict(LIMIT)


def test_what_stays_is_flat() -> None:
    assert verdict(life(0.0, 1.0)) == "flat"


def test_what_leaks_grows() -> None:
    assert verdict(life(30.0, 1.0)) == "grows"


def test_the_true_slope_is_in_the_interval_nineteen_times_in_twenty() -> None:
    found = [slope_of([life(30.0, 0.2, seed=seed)]) for seed in range(200)]
    hits = sum(each is not None and each.low < 30.0 < each.high for each in found)
    assert hits >= 180


def test_a_minutes_growth_is_not_taken_for_an_hours() -> None:
    assert verdict(life(30.0, 1 / 60, noise=0.0)) == "too short to tell"


def test_a_process_that_was_started_again_is_no_fall_and_no_rise() -> None:
    assert verdict(life(0.0, 0.5, level=70.0), life(0.0, 0.5, level=90.0, seed=2)) == "flat"
    grows = verdict(life(20.0, 0.5, level=70.0), life(20.0, 0.5, level=70.0, seed=2))
    assert grows == "grows"


def test_samples_that_are_alike_say_less_than_their_number() -> None:
    dice, level, wandering = random.Random(3), 0.0, []
    for at in range(720):
        level = 0.97 * level + dice.gauss(0, 0.5)
        wandering.append((5.0 * at, 70.0 + level))
    alike, apart = slope_of([wandering]), slope_of([life(0.0, 1.0)])
    assert alike is not None and apart is not None
    assert alike.high - alike.low > 5 * (apart.high - apart.low)


@pytest.mark.parametrize("lives", [[], [[]], [[(0.0, 1.0)] * 3], [[(5.0, 1.0)] * 9]])
def test_without_samples_there_is_no_slope(lives: list[list[tuple[float, float]]]) -> None:
    assert slope_of(lives) is None


def test_a_life_is_a_process_without_its_warm_up() -> None:
    samples = [
        Sample(0.0, float(at), "operator", str(at // 50), {"threads": float(at)})
        for at in range(100)
    ]
    samples.append(Sample(0.0, 7.0, "hub", "h", {"threads": 1.0}))
    first, second = lives_of(samples, "operator", "threads", 40.0)
    assert (first[0], first[-1], second[0]) == ((40.0, 40.0), (49.0, 49.0), (90.0, 90.0))


def test_time_in_which_the_machine_stood_still_is_told() -> None:
    assert stood_still_s([0.0, 5.0, 10.0, 400.0, 405.0], 5.0) == 390.0


def test_processes_are_known_by_their_commands() -> None:
    python = ["python", "-m"]
    run = [*python, "tidegate", "run", "pods/default/work-1-a/group.yaml"]
    assert role_of(run) == "consumer of work"
    assert role_of([*python, "tidegate_hub", "serve"]) == "hub"
    assert role_of(["node", "tools/azurite/dist/src/azurite.js"]) == "storage"
    assert role_of([*python, "tidegate", "send"]) is None


def test_a_state_that_counted_an_event_twice_or_not_at_all_is_found(tmp_path: Path) -> None:
    file = tmp_path / "totals.log"
    file.write_text("1.0 a#1 9 10 30\n2.0 a#1 19 20 31\n")
    assert wrong_totals(file) == []
    file.write_text("1.0 a#1 9 10 30\n2.0 a#1 19 21 31\n3.0 b#2 29 29 31\n")
    assert [line.split()[0] for line in wrong_totals(file)] == ["2.0", "3.0"]


def test_tasks_are_sampled_life_by_life_now_and_then(tmp_path: Path) -> None:
    file = tmp_path / "totals.log"
    lines = [f"{100 + at}.0 {who} 1 2 {30 + at}\n" for at in range(12) for who in ("a#1", "b#2")]
    file.write_text("".join(lines))
    found = list(task_samples(file, "consumer of work", 5.0))
    assert [(each.life, each.at, each.values["tasks"]) for each in found if each.life == "a#1"] == [
        ("a#1", 100.0, 30.0), ("a#1", 105.0, 35.0), ("a#1", 110.0, 40.0),
    ]  # fmt: skip
