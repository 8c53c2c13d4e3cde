"""What a group was seen to handle, with as many consumers as it has, while nothing waited. Pure.

What one consumer can handle is worked out from the time that its handler takes, and that depends on
how many consumers there are: partitions of one consumer hold each other up. So a number that is
enough can look too small, and a larger one, once it is there, too large. What was seen to be enough
is enough.

Rules: only what was handled over the whole time that figures are of counts, by consumers that were
all there, with nothing on its way. It says nothing while events wait in a partition, and is
forgotten with the number that it was seen with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate_operator.scaling.nouns import PartitionSample, Sample
from tidegate_operator.scaling.rates import FIGURES_S

# Less than what is handled in this does not wait, and neither do so few: they are on their way.
_ON_ITS_WAY_S, _FEW = 2.0, 3.0
# What wavers by less is the same.
_WAVERS = 1.1


@dataclass(frozen=True, slots=True)
class Proven:
    """So many consumers have handled so much."""

    count: int = 0
    # Since when there are so many, and nothing waits.
    since: float = 0.0
    # Events a second; 0 before anything was seen.
    rate: float = 0.0

    def is_enough(self, count: int, rate: float, at: float) -> bool:
        """Whether so many were seen to handle so much, or nearly so, and nothing waits now."""
        is_calm = at - self.since >= FIGURES_S
        return is_calm and count == self.count and rate <= self.rate * _WAVERS


def proven_of(before: Proven, sample: Sample) -> Proven:
    """With what a look shows."""
    count = sample.replicas
    if not sample.is_settled or sample.members != count or not count:
        return Proven()
    if before.count != count:
        before = Proven(count, sample.at)
    if any(_waits(seen) for seen in sample.partitions.values()):
        return replace(before, since=sample.at)
    if sample.at - before.since < FIGURES_S:
        return before
    handled = sum(seen.handling or 0.0 for seen in sample.partitions.values())
    return replace(before, rate=max(before.rate, handled))


def _waits(seen: PartitionSample) -> bool:
    """Also where it is not known."""
    if seen.is_paused:
        return False
    return seen.lag is None or seen.lag > max((seen.handling or 0.0) * _ON_ITS_WAY_S, _FEW)
