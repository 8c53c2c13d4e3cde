"""Their rules for taking a lease from a living host, and ours beside them."""

from __future__ import annotations

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tidegate.ledger.cosmos.sharing import CYCLE_S, Held, to_take

LONG_AGO = 1000.0


def held(**counts: int) -> dict[str, Held]:
    """So many leases of each owner; ours begin with `m`."""
    owners = [owner for owner, count in counts.items() for _ in range(count)]
    return {f"{at:02d}": Held(owner, owner[0] == "m") for at, owner in enumerate(owners)}


def test_who_has_nothing_takes_one_from_the_host_with_most() -> None:
    leases = held(java1=3, java2=5)
    taken = to_take(leases, ["m1"], LONG_AGO)
    assert taken is not None
    assert leases[taken].owner == "java2"


def test_one_lease_is_taken_in_a_cycle() -> None:
    assert to_take(held(java1=8), ["m1"], CYCLE_S - 0.1) is None
    assert to_take(held(java1=8), ["m1"], CYCLE_S) is not None


def test_who_has_a_fair_number_takes_nothing() -> None:
    assert to_take(held(java1=4, m1=4), ["m1"], LONG_AGO) is None
    assert to_take(held(java1=3, m1=2), ["m1"], LONG_AGO) is None, "5 by 2 is 3, and java1 has 3"
    assert to_take(held(java1=5, m1=0), ["m1"], LONG_AGO) is not None


def test_each_member_counts_as_a_host() -> None:
    assert to_take(held(java1=8, m1=4, m2=4), ["m1", "m2"], LONG_AGO) is not None
    assert to_take(held(java1=6, m1=5, m2=5), ["m1", "m2"], LONG_AGO) is None


def test_what_is_free_goes_first_and_members_alone_take_from_nobody() -> None:
    assert to_take(held(java1=8) | {"99": Held(None)}, ["m1"], LONG_AGO) is None
    assert to_take(held(m1=8), ["m1", "m2"], LONG_AGO) is None
    assert to_take(held(java1=8), [], LONG_AGO) is None


@given(st.integers(1, 40), st.integers(1, 4), st.integers(1, 4))
def test_taking_ends_with_equal_counts_and_then_nothing_moves(
    leases: int, foreign: int, ours: int
) -> None:
    """Their hosts take by the same rule, each for itself, one lease in a cycle."""
    members = {f"m{at}" for at in range(ours)}
    hosts = [f"java{at}" for at in range(foreign)]
    owners = dict.fromkeys((f"{at:02d}" for at in range(leases)), "java0")

    def takes(name: str, own: set[str]) -> bool:
        seen = {id: Held(owner, owner in own) for id, owner in owners.items()}
        partition = to_take(seen, own, LONG_AGO)
        if partition is not None:
            owners[partition] = name
        return partition is not None

    for _ in range(leases * 2 + 2):
        counts = Counter(owners.values())
        poorest = min(members, key=lambda name: (counts[name], name))
        if not any([takes(poorest, members), *(takes(host, {host}) for host in hosts)]):
            break
    else:
        raise AssertionError(f"leases still move: {Counter(owners.values())}")
    counts = Counter(owners.values())
    fair = math.ceil(leases / len(members | counts.keys()))
    assert max(counts.values()) <= fair
