"""How many partitions each member shall own.

Rules:
- Pure. A share is the member's weight by the sum of weights; a member owns the floor or the
  ceiling of it.
- Who gets a ceiling: first those who own more than their floor already, for each of them saves a
  move. Among equals it is the larger remainder, then who came last, then the name, and never how
  far the moves have come: a plan that is half carried out must lead to the same place. Who came
  last, because in a rollout the others will leave: a new member takes exactly what the one that it
  replaces leaves behind.
- A member that is pinned more than its share owns its pins and nothing else; the others share what
  is left. So does a member that is kept for one hot partition.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.model import MemberName

# Weights are floating-point numbers: eight thirds of three are eight.
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Shares:
    """Counts of partitions by member."""

    counts: dict[MemberName, int]
    lowest: dict[MemberName, int]
    highest: dict[MemberName, int]


def shares_of(
    total: int,
    weights: Mapping[MemberName, float],
    held: Mapping[MemberName, int],
    pinned: Mapping[MemberName, int],
    full: Mapping[MemberName, int],
    places: Mapping[MemberName, int],
) -> Shares:
    """The counts that need the fewest moves.

    `held`: how many partitions a member may keep, and those it must own. `pinned`: how many it
    must own. `full`: members whose count is set already, and that count. `places`: the order in
    which they came.
    """
    counts = dict(full)
    parts, rest = _parts(total, weights, pinned, counts)
    lowest = {name: math.floor(part) for name, part in parts.items()}
    highest = {name: math.ceil(part) for name, part in parts.items()}
    spare = rest - sum(lowest.values())
    first = sorted(
        (name for name in parts if highest[name] > lowest[name]),
        key=lambda name: (
            held.get(name, 0) <= lowest[name],
            lowest[name] - parts[name],
            -places[name],
            name,
        ),
    )
    for place, name in enumerate(first):
        counts[name] = highest[name] if place < spare else lowest[name]
    for name in parts:
        counts.setdefault(name, lowest[name])
    return Shares(counts, counts | lowest, counts | highest)


def _parts(
    total: int,
    weights: Mapping[MemberName, float],
    pinned: Mapping[MemberName, int],
    counts: dict[MemberName, int],
) -> tuple[dict[MemberName, float], int]:
    """The exact shares of those whose count is open; adds to `counts` whom pins have filled."""
    while True:
        open_weights = {name: weight for name, weight in weights.items() if name not in counts}
        rest = total - sum(counts.values())
        whole = math.fsum(open_weights.values()) or 1.0
        parts = {name: round(rest * w / whole, _DIGITS) for name, w in open_weights.items()}
        filled = {name: pinned[name] for name in parts if pinned.get(name, 0) > parts[name]}
        if not filled:
            return parts, rest
        counts |= filled
