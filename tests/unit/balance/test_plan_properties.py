"""What holds of every plan, whatever condition the group is in: properties.py, tried out.

Each property is tried on a hundred groups that hypothesis makes, and makes smaller where it fails,
and on thousands of simpler make. `pytest -s` prints how many it took until it had something to say
of so many.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.balance import Snapshot, plan
from unit.balance.groups import many_groups, random_group, snapshots, true_moves
from unit.balance.properties import PROPERTIES, Property
from unit.balance.reference import fewest_moves_of_all_assignments

GROUPS = 2000
dice_of_groups = st.randoms(use_true_random=False)


@pytest.mark.slow
@pytest.mark.parametrize("holds", [pytest.param(p, id=p.__name__) for p in PROPERTIES])
@given(group=snapshots(with_loads=True), dice=dice_of_groups)
@many_groups
def test_of_every_plan(holds: Property, group: Snapshot, dice: Random) -> None:
    holds(group, dice)


@pytest.mark.slow
@pytest.mark.parametrize("holds", [pytest.param(p, id=p.__name__) for p in PROPERTIES])
def test_in_thousands_of_groups(holds: Property) -> None:
    tried = count = 0
    while count < GROUPS:
        group = random_group(Random(tried))
        try:
            count += holds(group, Random(tried))
        except AssertionError as error:
            error.add_note(f"the group is random_group(Random({tried}))")
            raise
        tried += 1
        assert tried < 10 * GROUPS, "it has too seldom something to say"
    print(f"\n{count} of {tried} random groups: {holds.__name__}")


@given(
    snapshots(
        most_members=4, most_partitions=6, with_pins=False, with_roster=False, with_declines=False
    )
)
@many_groups
def test_no_assignment_within_the_weights_has_fewer_moves(group: Snapshot) -> None:
    assert len(true_moves(plan(group))) == fewest_moves_of_all_assignments(group)
