"""Partitions that nobody reads on although somebody owns them: seen, moved, and set aside. Pure.

Rules:
- A partition stands still when its owner lives and is the same, events come to it, and its position
  has not moved for the limit. Whose handler fails, hangs or has halted, and whose source
  refuses to be read, says so itself, and is left alone: that is no silence, and another owner
  meets the same.
- It is first given to another member, by a pin, until its position moves. Where the second member
  stands still at the same position as well, nobody reads the partition for a while (quarantine), so
  that it holds up nobody; then it is tried again.
- A position that moves ends it all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from tidegate.model import MemberName, PartitionId
from tidegate_operator.scaling.nouns import PartitionSample, Sample

# Members that stood still at one position before nobody reads it.
_TRIED_MOST = 2
_QUARANTINE_S, _QUARANTINE_MOST_S = 900.0, 7200.0


@dataclass(frozen=True, slots=True)
class Watched:
    """A partition that has something waiting, and where it stands."""

    owner: MemberName | None
    handled: int
    since: float
    # Where it ended when it began to stand.
    end: int
    # Who stood still at this position, and who is to have it.
    tried: tuple[MemberName, ...] = ()
    pinned_to: MemberName | None = None
    quarantined_until: float | None = None
    quarantine_s: float = _QUARANTINE_S


@dataclass(frozen=True, slots=True)
class Standstill:
    """A partition that stands still, and what is done about it."""

    partition: PartitionId
    handled: int
    tried: tuple[MemberName, ...]
    to: MemberName | None = None
    is_quarantined: bool = False

    @property
    def text(self) -> str:
        """Without a full stop at its end."""
        who = ", ".join(self.tried)
        stands = (
            f"partition {self.partition} stands at {self.handled} while events come, although "
            f"{who} owned it and lived"
        )
        if self.is_quarantined:
            return f"{stands}: nobody reads it for a while, then it is tried again"
        if self.to is None:
            return f"{stands}: there is nobody else to give it to"
        return f"{stands}: {self.to} is given it"


@dataclass(frozen=True, slots=True)
class Watch:
    """What is watched of a group."""

    partitions: Mapping[PartitionId, Watched] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def pins(self) -> dict[PartitionId, MemberName]:
        return {p: w.pinned_to for p, w in self.partitions.items() if w.pinned_to is not None}

    @property
    def quarantined(self) -> frozenset[PartitionId]:
        return frozenset(
            p for p, watched in self.partitions.items() if watched.quarantined_until is not None
        )

    @property
    def standing(self) -> tuple[Standstill, ...]:
        return tuple(
            Standstill(
                partition,
                watched.handled,
                watched.tried,
                watched.pinned_to,
                watched.quarantined_until is not None,
            )
            for partition, watched in self.partitions.items()
            if watched.tried
        )


def watched(
    watch: Watch,
    sample: Sample,
    takers: Mapping[MemberName, int],
    pinned: Collection[PartitionId],
    limit_s: float,
) -> Watch:
    """With one look more. `takers`: members that live and stay, and how many partitions each owns;
    `pinned`: partitions that a person has pinned, which stay where they are."""
    found: dict[PartitionId, Watched] = {}
    for partition, seen in sample.partitions.items():
        before = watch.partitions.get(partition)
        now = _partition(before, seen, sample.at)
        if now is not None:
            stands = sample.at - now.since >= limit_s and seen.end is not None
            if stands and now.quarantined_until is None and (seen.end or 0) > now.end:
                free = {name: count for name, count in takers.items() if partition not in pinned}
                now = _stands(now, free, sample.at)
            found[partition] = now
    return Watch(MappingProxyType(found))


def _partition(before: Watched | None, seen: PartitionSample, at: float) -> Watched | None:
    """None where it does not stand, or nobody can say so."""
    if before is not None and before.quarantined_until is not None:
        if seen.handled is not None and seen.handled != before.handled:
            return None
        if at < before.quarantined_until:
            return before
        longer_s = min(before.quarantine_s * 2, _QUARANTINE_MOST_S)
        return replace(before, quarantined_until=None, since=at, tried=(), quarantine_s=longer_s)
    if seen.is_stuck or seen.is_unread or seen.is_paused:
        return None
    if seen.lag is None or seen.handled is None or seen.end is None:
        # What is not known neither stands nor moves.
        return replace(before, since=at) if before is not None and before.tried else None
    if not seen.lag or (before is not None and seen.handled != before.handled):
        return None
    if before is None:
        return Watched(seen.owner, seen.handled, at, seen.end) if seen.owner is not None else None
    if seen.owner != before.owner:
        return replace(before, owner=seen.owner, since=at, end=seen.end)
    return before if seen.owner is not None else replace(before, since=at)


def _stands(now: Watched, takers: Mapping[MemberName, int], at: float) -> Watched:
    tried = now.tried
    if now.owner is not None and now.owner not in tried:
        tried = (*tried, now.owner)
    if len(tried) >= _TRIED_MOST:
        until = at + now.quarantine_s
        return replace(now, tried=tried, pinned_to=None, quarantined_until=until)
    others = sorted((count, name) for name, count in takers.items() if name not in tried)
    return replace(now, tried=tried, pinned_to=others[0][1] if others else None)
