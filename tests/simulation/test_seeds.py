"""Every property holds in every world: 500 of them here, `make simulate SEEDS=10000` for more.

A test that fails names its seeds; `python tests/simulation/run.py --seed N --trace` replays one.
"""

from __future__ import annotations

from itertools import islice

import pytest

from simulation.draw import draw, kind_of
from simulation.history import line
from simulation.run import run_script
from simulation.script import Kind
from simulation.world import World

SEEDS = 500
_CHUNK = 12


def _chunks() -> list[tuple[Kind, list[int]]]:
    """The seeds, by kind, in pieces that several processes can share."""
    chunks: list[tuple[Kind, list[int]]] = []
    for kind in Kind:
        seeds = iter([seed for seed in range(SEEDS) if kind_of(seed) is kind])
        while piece := list(islice(seeds, _CHUNK)):
            chunks.append((kind, piece))
    return chunks


@pytest.mark.slow
@pytest.mark.parametrize(
    "seeds", [pytest.param(seeds, id=f"{kind}-from-{seeds[0]}") for kind, seeds in _chunks()]
)
def test_every_property_holds_in_worlds_of(seeds: list[int]) -> None:
    failed = {
        seed: outcome.problems[:3] for seed in seeds if (outcome := run_script(draw(seed))).problems
    }
    assert not failed, "replay with: python tests/simulation/run.py --seed N --trace"


def test_every_kind_of_world_is_among_the_seeds() -> None:
    assert {kind_of(seed) for seed in range(SEEDS)} == set(Kind)


def test_one_seed_decides_everything() -> None:
    seed = next(seed for seed in range(100) if kind_of(seed) is Kind.EVERYTHING)
    worlds = [World(draw(seed)) for _ in range(2)]
    for world in worlds:
        world.run()
    first, second = ([line(record) for record in world.records] for world in worlds)
    assert first == second
    assert len(first) > 100
