"""How much of each partition a micro-batch reads: fair, within limits of events and bytes. Pure.

Rules:
- Water is poured in: who has little gets all of it, the others share what is left evenly. First by
  events, then by bytes, with the size that events of a partition have been seen to have.
- A partition that has an event gets at least one, whatever the limits: none is held up by others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidegate.model import PartitionId

# What an event is taken to have before any was seen.
_FIRST_GUESS_BYTES = 1_000.0
# Of a new average so much is what was seen last.
_NEWS = 0.3


@dataclass(frozen=True, slots=True)
class Limit:
    """Of one micro-batch; 0 is none."""

    events: int = 0
    bytes: int = 0

    def or_else(self, other: Limit) -> Limit:
        """What this one says, and the other where it says nothing."""
        return Limit(self.events or other.events, self.bytes or other.bytes)


class Sizes:
    """The average size of an event, learned for each partition."""

    def __init__(self) -> None:
        self._known: dict[PartitionId, float] = {}

    def learn(self, partition: PartitionId, events: int, size: int) -> None:
        """So many events had so many bytes."""
        if events <= 0 or size <= 0:
            return
        seen, before = size / events, self._known.get(partition)
        self._known[partition] = seen if before is None else before + _NEWS * (seen - before)

    def of(self, partition: PartitionId) -> float:
        """Bytes of an event; of a partition of which nothing is known, as in the others."""
        found = self._known.get(partition)
        if found is not None:
            return found
        if not self._known:
            return _FIRST_GUESS_BYTES
        return sum(self._known.values()) / len(self._known)


def admit(waiting: Mapping[PartitionId, int], limit: Limit, sizes: Sizes) -> dict[PartitionId, int]:
    """How many events of each partition are read, of those that wait; none that has none."""
    names = [partition for partition, events in waiting.items() if events > 0]
    events = [waiting[name] for name in names]
    if limit.events:
        events = _shared(events, limit.events)
    if limit.bytes:
        size_of = [sizes.of(name) for name in names]
        wanted = [count * size for count, size in zip(events, size_of, strict=True)]
        level = _level(wanted, limit.bytes)
        events = [
            min(count, max(int(level / size), 1))
            for count, size in zip(events, size_of, strict=True)
        ]
    return dict(zip(names, events, strict=True))


def _shared(amounts: Sequence[int], total: int) -> list[int]:
    """Whole numbers of at least 1, which come to the total where that can be."""
    level = int(_level(amounts, total))
    shares = [min(amount, max(level, 1)) for amount in amounts]
    left = total - sum(shares)
    for place, amount in enumerate(amounts):
        if left > 0 and amount > shares[place]:
            shares[place] += 1
            left -= 1
    return shares


def _level(amounts: Sequence[float], total: float) -> float:
    """How high the water stands: nobody gets more, and all that is below it gets all it wants."""
    left, level = float(total), 0.0
    for place, amount in enumerate(sorted(amounts)):
        share = left / (len(amounts) - place)
        if amount > share:
            return share
        left -= amount
        level = amount
    return level
