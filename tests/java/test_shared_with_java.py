"""Java's own change feed processor and members of ours share leases, both ways, under a writer.

Ranges are split and merged while items are written, and a host of each side is killed.
Nothing may be lost. What is handled twice is what had been handled since the last checkpoint when a
lease changed its owner without being given: a page, and what came meanwhile.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.shared_hosts import SharedHosts, shared_hosts
from tidegate_cosmos.testing import RunningCosmos

# Of one move: Java's page and ours, and what one range gets in the seconds until a member notices.
REPEATS_OF_A_MOVE = 80
SIDES = (("java-1", "ours-1"), ("ours-1", "java-1"))


def start(shared: SharedHosts, name: str) -> None:
    if name.startswith("java"):
        shared.start_java(name)
    else:
        shared.start_member(name)


def all_read_on(shared: SharedHosts, what: str) -> None:
    """All that is written until now is given to somebody."""
    until = shared.written
    shared.wait_until(lambda: not {n for n in shared.lost() if n < until}, what)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("sides", SIDES, ids=["java is there first", "ours are there first"])
def test_java_and_ours_share_leases_through_splits_a_merge_and_kills(
    sides: tuple[str, str], cosmos: RunningCosmos, tmp_path: Path
) -> None:
    with shared_hosts(cosmos, tmp_path) as shared:
        first, second = sides
        start(shared, first)
        shared.wait_until(lambda: shared.owners()[first] == 4, f"{first} owns all")
        start(shared, second)
        shared.wait_until(lambda: shared.has_equal_counts(first, second), "equal counts of two")
        for count in (5, 6):
            shared.split()
            shared.wait_until(lambda: len(shared.leases()) == count, f"{count} leases")  # noqa: B023
        shared.wait_until(lambda: shared.has_equal_counts(first, second), "equal counts again")
        all_read_on(shared, "what was written through the splits")
        shared.merge()
        all_read_on(shared, "what was written before the merge")
        start(shared, "ours-2")
        start(shared, "java-2")
        everybody = ("java-1", "java-2", "ours-1", "ours-2")
        shared.wait_until(lambda: shared.has_equal_counts(*everybody), "equal counts of four")
        for name in sides:
            shared.kill(name)
            shared.wait_until(lambda: shared.owners()[name] == 0, f"nothing is {name}'s")  # noqa: B023
            all_read_on(shared, f"what was written after {name} was killed")
        shared.end()
        all_read_on(shared, "everything")
        for name in ("ours-2", "java-2"):
            shared.stop(name)
        assert shared.lost() == set()
        print(f"written {shared.written}, again {shared.repeats()}, moves {shared.moves}")
        assert shared.repeats() <= shared.moves * REPEATS_OF_A_MOVE


@pytest.mark.timeout(300)
@pytest.mark.parametrize("owner", ["java-1", "ours-1"])
def test_leases_by_ids_of_ranges_are_shared_through_a_split_of_either_side(
    owner: str, cosmos: RunningCosmos, tmp_path: Path
) -> None:
    """As Java's processor with `handleChanges` has them."""
    with shared_hosts(cosmos, tmp_path, dialect="javaPk", ranges=2) as shared:
        shared.start_java("java-1")
        shared.wait_until(lambda: shared.owners()["java-1"] == 2, "java-1 owns all")
        shared.start_member("ours-1")
        shared.wait_until(lambda: shared.has_equal_counts("java-1", "ours-1"), "equal counts")
        shared.split_of(owner)
        shared.wait_until(lambda: len(shared.leases()) == 3, "a lease for each part")
        shared.wait_until(lambda: shared.has_equal_counts("java-1", "ours-1"), "equal counts again")
        all_read_on(shared, "what was written through the split")
        shared.end()
        all_read_on(shared, "everything")
        for name in ("ours-1", "java-1"):
            shared.stop(name)
        assert shared.lost() == set()
        assert shared.repeats() <= shared.moves * REPEATS_OF_A_MOVE
