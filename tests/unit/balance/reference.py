"""What a plan must reach, reckoned independently: bounds for counts and the true minimum of moves.

Rules: nothing here is taken from tidegate.balance but its nouns, and nothing is clever: exact
fractions, and every way to hand out the ceilings is tried.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from tidegate.balance import PartitionFacts, Snapshot


def takers_of(snapshot: Snapshot) -> dict[str, Fraction]:
    """Who shall own partitions in the end, with weights; empty where all are leaving."""
    present = {m.name: m for m in snapshot.members}
    takers = {
        name: Fraction(str(member.weight))
        for name, member in present.items()
        if not member.is_leaving
    }
    known = sorted(Fraction(str(m.weight)) for m in snapshot.members if m.weight > 0)
    usual = known[(len(known) - 1) // 2] if known else Fraction(1)
    takers |= {name: usual for name in snapshot.expected if name not in present}
    if takers and not any(takers.values()):
        takers = dict.fromkeys(takers, Fraction(1))
    return takers


def unpaused(snapshot: Snapshot) -> list[PartitionFacts]:
    return [p for p in snapshot.partitions if not p.is_paused]


def decliners(snapshot: Snapshot, partition: PartitionFacts) -> set[str]:
    return {member.name for member in snapshot.members if partition.id in member.declines}


def able(snapshot: Snapshot, partition: PartitionFacts) -> list[str]:
    """Who is present and may be given a partition that somebody declines."""
    weights = takers_of(snapshot)
    staying = {member.name for member in snapshot.members if not member.is_leaving}
    cannot = decliners(snapshot, partition)
    return sorted(name for name in staying - cannot if weights.get(name))


def fixed_of(snapshot: Snapshot) -> dict[str, str]:
    """Who has to have which partition: by a pin, or because somebody declines it."""
    weights = takers_of(snapshot)
    fixed = {}
    for place, partition in enumerate(sorted(snapshot.partitions, key=lambda p: int(p.id))):
        if partition.is_paused:
            continue
        choices = able(snapshot, partition) if decliners(snapshot, partition) else []
        if partition.pinned_to in (choices or weights):
            fixed[partition.id] = str(partition.pinned_to)
        elif choices:
            is_kept = partition.owner in choices
            fixed[partition.id] = str(partition.owner) if is_kept else choices[place % len(choices)]
    return fixed


def bounds(snapshot: Snapshot) -> dict[str, tuple[int, int]]:
    """Each taker's lowest and highest count; one whom pins overfill has its pins."""
    weights = takers_of(snapshot)
    pinned = Counter(fixed_of(snapshot).values())
    result: dict[str, tuple[int, int]] = {}
    while True:
        rest = len(unpaused(snapshot)) - sum(count for count, _ in result.values())
        open_weights = {name: w for name, w in weights.items() if name not in result}
        whole = sum(open_weights.values()) or Fraction(1)
        parts = {name: rest * weight / whole for name, weight in open_weights.items()}
        overfull = [name for name, part in parts.items() if pinned[name] > part]
        if not overfull:
            break
        result |= {name: (pinned[name], pinned[name]) for name in overfull}
    return result | {n: (math.floor(part), math.ceil(part)) for n, part in parts.items()}


def count_vectors(snapshot: Snapshot) -> Iterator[dict[str, int]]:
    """Every way to hand out the ceilings."""
    limits = bounds(snapshot)
    spare = len(unpaused(snapshot)) - sum(lowest for lowest, _ in limits.values())
    loose = [name for name, (lowest, highest) in limits.items() if highest > lowest]
    for chosen in itertools.combinations(loose, spare):
        yield {name: lowest + (name in chosen) for name, (lowest, _) in limits.items()}


def fewest_moves(snapshot: Snapshot) -> int:
    """The fewest moves away from living owners that lead to counts within bounds."""
    takers = takers_of(snapshot)
    alive = {member.name for member in snapshot.members}
    fixed = fixed_of(snapshot)
    pinned = Counter(fixed.values())
    must_go = 0
    may_stay: Counter[str] = Counter()
    for partition in unpaused(snapshot):
        owner = partition.owner
        if owner is None or owner not in alive:
            continue
        pin = fixed.get(partition.id)
        if owner not in takers or (pin is not None and pin != owner):
            must_go += 1
        elif pin is None:
            may_stay[owner] += 1
    return must_go + min(
        sum(max(0, may_stay[name] + pinned[name] - counts[name]) for name in takers)
        for counts in count_vectors(snapshot)
    )


def fewest_moves_of_all_assignments(snapshot: Snapshot) -> int:
    """The same for a tiny group without pins, by trying every assignment there is."""
    limits = bounds(snapshot)
    partitions = unpaused(snapshot)
    best = len(partitions)
    for choice in itertools.product(sorted(limits), repeat=len(partitions)):
        counts = Counter(choice)
        if all(low <= counts[name] <= high for name, (low, high) in limits.items()):
            moves = sum(
                p.owner is not None and p.owner != name
                for p, name in zip(partitions, choice, strict=True)
            )
            best = min(best, moves)
    return best
