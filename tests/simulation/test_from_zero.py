"""A group that stopped as a whole starts again as if it had never been: no needless move."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulation.judge import judge
from simulation.scenarios import CHANGE_AT, figures, members, script
from simulation.script import RosterFacts, Script, Trouble, What
from simulation.world import World

COUNT, PARTITIONS = 8, 32


def to_zero_and_back(seed: int, *, has_roster: bool) -> Script:
    """All stop at the same moment, and as many new ones start later, one after the other."""
    stops = [Trouble(30.0, What.STOP, f"m{number:02d}") for number in range(COUNT)]
    spread_s = 8.0 if has_roster else 1.5
    joins = members(COUNT, 2 * COUNT, CHANGE_AT, spread_s)
    roster = RosterFacts(expected=tuple(trouble.member for trouble in joins))
    said = [Trouble(CHANGE_AT - 10.0, What.ROSTER, roster=roster)] if has_roster else []
    return script(seed, PARTITIONS, [*members(0, COUNT), *stops, *said, *joins])


@pytest.mark.parametrize("has_roster", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_each_partition_moves_once_when_the_whole_group_comes_back(
    seed: int, has_roster: bool
) -> None:
    world = World(to_zero_and_back(seed, has_roster=has_roster))
    facts = world.run()
    assert judge(world.records, replace(facts, script=world.script)) == []
    got = figures(world.records, CHANGE_AT)
    assert got.moves == PARTITIONS
    assert got.duplicates == 0
    assert got.balanced_s < 10.0 + 10.0  # of which the change itself comes up to ten late
    assert {name: owned for name, owned in got.owners.items() if owned} == {
        f"m{number:02d}": PARTITIONS // COUNT for number in range(COUNT, 2 * COUNT)
    }
