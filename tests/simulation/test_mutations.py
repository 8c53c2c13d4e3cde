"""The checkers can fail: each weaker member is caught, by a checker that is named for it."""

from __future__ import annotations

import pytest

from simulation.hostile import hanging, hostile, stubborn
from simulation.judge import CHECKERS
from simulation.mutations import MUTATIONS, Mutation
from simulation.run import run_script


@pytest.mark.slow
@pytest.mark.parametrize(
    "mutation", [pytest.param(m, id=m.name.replace(" ", "-")) for m in MUTATIONS]
)
def test_a_weaker_member_is_caught_where(mutation: Mutation) -> None:
    assert mutation.caught() is not None, (
        f"{mutation.seeds} worlds, and none of {sorted(mutation.caught_by)} noticed"
    )


@pytest.mark.slow
@pytest.mark.parametrize("begin", range(0, 200, 50))
def test_the_real_member_passes_in_hostile_worlds(begin: int) -> None:
    """Otherwise a mutation could be caught for something that it did not do."""
    for worlds in (hostile, stubborn, hanging):
        failed = {
            seed: outcome.problems[:3]
            for seed in range(begin, begin + 50)
            if (outcome := run_script(worlds(seed))).problems
        }
        assert not failed


def test_there_is_a_mutation_for_each_of_the_ten_rules() -> None:
    assert {mutation.rule for mutation in MUTATIONS} >= set(range(1, 11))


def test_there_is_a_mutation_for_each_checker() -> None:
    """One that this checker alone has to catch."""
    alone = {name for m in MUTATIONS if len(m.caught_by) == 1 for name in m.caught_by}
    assert alone == set(CHECKERS)
