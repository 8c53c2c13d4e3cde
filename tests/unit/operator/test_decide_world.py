"""What the operator decides, followed in a little world: moves, victims, and standing still."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate_operator.decide import Memory
from unit.operator.small_world import SmallOperator, SmallWorld, Weather

# Hours of a group's life: `make test` runs them.
pytestmark = pytest.mark.slow

EXAMPLES = settings(max_examples=60, deadline=None)


def begun(partitions: int, pods: int, seed: int = 0) -> SmallWorld:
    """A group that has long been there."""
    world = SmallWorld(partitions, pods, seed)
    world.run(60.0)
    assert_converged(world, pods)
    world.moved.clear()
    return world


def assert_converged(world: SmallWorld, pods: int) -> None:
    """As many pods as are wanted, all of one revision, that share all partitions; and no writes."""
    before = world.roster_writes, world.cluster_writes
    moved = Counter(world.moved)
    world.run(200.0)
    assert (world.roster_writes, world.cluster_writes) == before, "it does not stand still"
    assert world.moved == moved
    assert world.problems == []
    live = {pod.name for pod in world.cluster.pods.values() if pod.is_active and pod.revision}
    assert len(live) == pods
    assert {pod.revision for pod in world.cluster.pods.values()} <= {world.cluster.revision, ""}
    assert not any(pod.cost == -1000 for pod in world.cluster.pods.values())
    if not world.members:
        return
    counts = Counter(dict.fromkeys(world.members, 0)) + Counter()
    counts.update(world.owners().values())
    if not world.wish.is_paused:
        assert world.owners().keys() == world.tenures.keys()
        shares = [counts[name] for name in world.members]
        assert max(shares) - min(shares) <= 1
    else:
        assert world.owners() == {}


@pytest.mark.parametrize("pods", [2, 3, 5, 8])
@pytest.mark.parametrize("partitions", [16, 21])
@pytest.mark.parametrize("seed", range(3))
def test_in_a_rollout_each_partition_moves_once(pods: int, partitions: int, seed: int) -> None:
    world = begun(partitions, pods, seed)
    world.cluster.roll("r2")
    world.run(30.0 * pods)
    assert world.moved == dict.fromkeys(world.tenures, 1)
    assert_converged(world, pods)


@pytest.mark.parametrize("seed", range(3))
def test_each_partition_moves_once_although_the_operator_is_restarted_in_the_middle(
    seed: int,
) -> None:
    world = begun(16, 4, seed)
    world.cluster.roll("r2")
    for _ in range(30):
        world.run(world.dice.choice((0.5, 2.0, 6.0)))
        world.restart_operator()
    world.run(60.0)
    assert world.moved == dict.fromkeys(world.tenures, 1)
    assert_converged(world, 4)


@pytest.mark.parametrize(("before", "after", "fewest"), [(8, 4, 8), (4, 1, 12), (4, 3, 4)])
def test_scaling_in_takes_the_fewest_moves(before: int, after: int, fewest: int) -> None:
    world = begun(16, before)
    world.wish = replace(world.wish, replicas=after)
    world.run(60.0)
    assert world.moved.total() == fewest
    assert_converged(world, after)


def test_to_zero_and_back() -> None:
    world = begun(16, 4)
    world.wish = replace(world.wish, replicas=0)
    world.run(60.0)
    assert_converged(world, 0)
    assert world.owners() == {}
    world.moved.clear()
    world.wish = replace(world.wish, replicas=4)
    world.run(60.0)
    assert world.moved == dict.fromkeys(world.tenures, 1), "none is taken to be given away again"
    assert_converged(world, 4)


def test_a_pause_and_its_end() -> None:
    world = begun(16, 4)
    world.wish = replace(world.wish, is_paused=True, paused_replicas=1)
    world.run(60.0)
    assert_converged(world, 1)
    world.wish = replace(world.wish, is_paused=False)
    world.run(60.0)
    assert_converged(world, 4)


@pytest.mark.parametrize("pods", [4, 6, 8])
def test_shrinking_in_the_middle_of_a_rollout_spares_the_new_pods(pods: int) -> None:
    world = begun(16, pods)
    world.cluster.roll("r2")
    world.run(8.0)
    world.wish = replace(world.wish, replicas=2)
    world.run(240.0)
    assert world.moved.total() == 16, "from the old pods to the two that stay, and nowhere else"
    assert_converged(world, 2)


def test_a_rollout_back_converges() -> None:
    world = begun(16, 5)
    world.cluster.roll("r2")
    world.run(15.0)
    world.cluster.roll("r1")
    world.run(120.0)
    assert_converged(world, 5)


def test_a_rollout_whose_pods_never_come_moves_nothing_and_can_be_taken_back() -> None:
    world = begun(16, 4)
    world.cluster.broken.add("bad")
    world.cluster.roll("bad")
    world.run(300.0)
    assert world.moved.total() == 0
    world.cluster.roll("r1")
    world.run(120.0)
    assert world.moved.total() == 0
    assert_converged(world, 4)


def test_an_operator_that_is_down_for_an_hour_finds_the_group_at_work() -> None:
    world = begun(16, 4)
    world.operators[0].is_up = False
    world.kill(sorted(world.members)[0])
    world.cluster.delete(sorted(world.members)[1])
    world.run(3600.0)
    assert world.owners().keys() == world.tenures.keys()
    world.operators[0].is_up = True
    world.operators[0].memory = Memory()
    world.run(30.0)
    assert_converged(world, 4)


@pytest.mark.parametrize("how", ["kill", "evict", "vanish"])
def test_members_that_die_are_replaced(how: str) -> None:
    world = begun(16, 4)
    getattr(world, how)(sorted(world.members)[0])
    world.run(60.0)
    assert_converged(world, 4)


def test_who_dies_for_good_is_replaced_before_its_lease_ends() -> None:
    world = begun(16, 4)
    victim = sorted(world.members)[0]
    pod = world.cluster.pods[victim]
    pod.is_deleting = True
    world.kill(victim)
    world.run(3.0)
    assert world.owners().keys() == world.tenures.keys()
    assert victim not in world.owners().values()


# --- anything, in any order


def _someone(world: SmallWorld, number: int) -> str:
    names = sorted(world.cluster.pods)
    return names[number % len(names)] if names else ""


def _delete(world: SmallWorld, number: int) -> None:
    if world.cluster.pods:
        world.cluster.delete(_someone(world, number))


def _scale(world: SmallWorld, number: int) -> None:
    world.wish = replace(world.wish, replicas=number % 9)


def _pause(world: SmallWorld, number: int) -> None:
    world.wish = replace(world.wish, is_paused=number % 2 == 0, paused_replicas=number % 3)


def _second_operator(world: SmallWorld, number: int) -> None:
    if len(world.operators) == 1:
        world.operators.append(SmallOperator())
    else:
        del world.operators[number % 2]


def _roll(world: SmallWorld, number: int) -> None:
    revision = f"r{number % 4}"
    if number % 4 == 3:
        world.cluster.broken.add(revision)
    world.cluster.roll(revision)


Act = Callable[[SmallWorld, int], Any]
ACTS: dict[str, Act] = {
    "scale": _scale,
    "scale the Deployment": lambda w, n: w.size_by_hand(n % 9),
    "roll": _roll,
    "pause": _pause,
    "kill": lambda w, n: w.kill(_someone(w, n)),
    "evict": lambda w, n: w.evict(_someone(w, n)),
    "vanish": lambda w, n: w.vanish(_someone(w, n)),
    "delete": _delete,
    "by hand": lambda w, n: w.cluster.make_by_hand(f"hand{n}", w.now),
    "restart": lambda w, _: w.restart_operator(),
    "two operators": _second_operator,
    "silent watch": lambda w, n: setattr(w.operators[0], "is_watch_silent", n % 2 == 0),
    "storage away": lambda w, n: setattr(w.operators[0], "is_storage_down", n % 2 == 0),
    "operator down": lambda w, n: setattr(w.operators[0], "is_up", n % 2 == 1),
}
acts = st.lists(
    st.tuples(st.sampled_from(sorted(ACTS)), st.integers(0, 40), st.sampled_from((0.5, 3, 20, 70))),
    max_size=12,
)
share = st.sampled_from((0.0, 0.1, 0.4))


def befallen(
    befalls: list[tuple[str, int, float]], pods: int, weather: Weather, seed: int
) -> SmallWorld:
    """A world after all that, in which all is well again, with one operator; long after."""
    world = SmallWorld(12, pods, seed)
    world.weather = weather
    for name, number, seconds in befalls:
        ACTS[name](world, number)
        world.run(seconds)
    world.weather = Weather()
    del world.operators[1:]
    operator = world.operators[0]
    operator.is_up, operator.is_watch_silent, operator.is_storage_down = True, False, False
    world.wish = replace(world.wish, is_paused=False)
    world.cluster.roll("r9")
    # The longest back-off of the kubelet, and the limits of the operator after it.
    world.run(600.0)
    return world


@pytest.mark.slow
@EXAMPLES
@given(acts, st.integers(1, 6), share, share, share, st.integers(0, 1000))
def test_whatever_befalls_a_group_it_converges_and_no_victim_is_stopped_with_partitions_in_hand(
    befalls: list[tuple[str, int, float]],
    pods: int,
    lost: float,
    late: float,
    stale: float,
    seed: int,
) -> None:
    world = befallen(befalls, pods, Weather(lost, late, stale), seed)
    assert world.wish.replicas is not None
    assert_converged(world, world.wish.replicas)
