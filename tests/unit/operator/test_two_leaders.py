"""For as long as two operators can believe that they lead, they write no sizes in turn.

That is until the next renewal of the one whose Lease was taken while its clock stood still: see
leader.py, and `test_leader.py` for the bound.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from tidegate_operator.settings import OperatorSettings
from unit.operator.sized_world import SizedWorld
from unit.operator.small_world import SmallOperator

# Minutes of a group's life each: `make test` runs them.
pytestmark = pytest.mark.slow

SETTINGS = OperatorSettings(identity="a", leader_namespace="tidegate", image="x")
# Requests of a busy API server are in it.
BOTH_S = SETTINGS.renew_s + 2.0
# The Lease of who stands still is taken after its time.
STOOD_S = SETTINGS.lease_s + SETTINGS.renew_s
GROWS_AT, FALLS_AT = 120.0, 240.0


def ten_fold(_: int, seconds: float) -> float:
    """Of each of eight partitions."""
    return 50.0 if GROWS_AT <= seconds < FALLS_AT else 5.0


def sizes_with_two(wakes_at: float, seed: int) -> list[int]:
    """What the Deployment's size was, one after the other.

    One operator stands still until then, and another one has taken its Lease; both act on for a
    while, and then the second alone.
    """
    world = SizedWorld(ten_fold, seed=seed)
    sizes = [world.replicas]

    def go_on(seconds: float) -> None:
        for _ in range(int(seconds * 2)):
            world.run(0.5)
            if world.replicas != sizes[-1]:
                sizes.append(world.replicas)

    go_on(wakes_at - STOOD_S)
    asleep = world.operators.pop()
    go_on(SETTINGS.lease_s)
    world.operators.append(SmallOperator())
    go_on(SETTINGS.renew_s)
    world.operators.append(asleep)
    go_on(BOTH_S)
    world.operators.remove(asleep)
    go_on(FALLS_AT - world.seconds)
    return sizes


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("after_s", [-2.0, 1.0, 4.0, 8.0, 14.0, 22.0])
def test_a_size_is_raised_once_and_not_taken_back(after_s: float, seed: int) -> None:
    sizes = sizes_with_two(GROWS_AT + after_s, seed)
    assert sizes[0] < sizes[-1] and all(before < after for before, after in pairwise(sizes)), sizes
    assert len(sizes) <= 3, f"by both, or by one: {sizes}"
