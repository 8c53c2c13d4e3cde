"""A snapshot made ready for planning: sorted, cleaned, and with the takers named.

Rules:
- Pure. Everything is in one order, so that the order of the snapshot cannot matter.
- A figure that makes no sense (negative, infinite, not a number) came from a blob that somebody
  damaged. It is replaced by the ordinary one, since a plan must be possible all the same.
- A partition of unknown load is taken to cost what the middle one of the others does. As one that
  costs nothing it would be exchanged for those that are known, and back once it is known.
- Loads become whole numbers, so that their sums are exact whatever the order.
- Takers are the members between whom everything is shared out in the end: those who are present
  and stay, and those who are expected and still waited for.
- The takers that came last replace the leaving members, one for one and in the same order.
- A partition that somebody declines is pinned to one who does not: to its owner, if that is such a
  one, else by its place in the order, so that the choice stands while moves are under way. Where
  nobody present can have it, it is planned as if nobody declined it: who gets it tries again, and
  that is the only way on.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from statistics import median_low

from tidegate.balance.facts import MemberFacts, PartitionFacts, Snapshot
from tidegate.model import MemberName, PartitionId

LOAD_UNITS = 1_000_000
_LOAD_MAX = 1e6
_WEIGHT_MAX = 1e6
# Of a partition's number: longer ones are names. Python refuses to read very long ones.
_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Group:
    """What is shared out, and between whom."""

    partitions: tuple[PartitionFacts, ...]  # without those that are paused
    owners: dict[PartitionId, MemberName]  # partitions of living owners only
    loads: dict[PartitionId, int]
    takers: dict[MemberName, float]  # their weights, not all zero
    stayers: tuple[MemberName, ...]  # present and not leaving
    leavers: tuple[MemberName, ...]  # present and leaving, in the order in which they end
    heirs: dict[MemberName, MemberName]  # by leaver: the taker that replaces it
    weights: dict[MemberName, float]  # of everybody present, as they say
    places: dict[MemberName, int]  # of the takers: the order in which they came
    pins: dict[PartitionId, MemberName]  # to takers only; with what is declined
    declined: dict[PartitionId, tuple[MemberName, ...]]  # by whom, where somebody else can have it
    band: float
    busy_from: int

    @property
    def is_awaiting(self) -> bool:
        """Whether somebody is expected who is not there yet."""
        return len(self.takers) > len(self.stayers)


def group_of(snapshot: Snapshot) -> Group:
    """The snapshot, ready for planning."""
    members = sorted(snapshot.members, key=lambda member: member.name)
    stayers = tuple(member.name for member in members if not member.is_leaving)
    weights = {member.name: _weight(member) for member in members}
    takers = _takers(snapshot, stayers, weights)
    ordered = sorted(snapshot.partitions, key=lambda partition: sort_key(partition.id))
    partitions = tuple(partition for partition in ordered if not partition.is_paused)
    decliners = _decliners(members)
    places, leavers = _places(snapshot, takers), _leavers(snapshot, members)
    willing = {name: takers[name] for name in stayers if takers[name] > 0}
    given = _given_to_the_willing(ordered, decliners, willing)
    pinned = {p.id: p.pinned_to for p in partitions if p.pinned_to in takers and p.pinned_to}
    return Group(
        partitions=partitions,
        owners={p.id: p.owner for p in partitions if p.owner is not None and p.owner in weights},
        loads=_loads(partitions),
        takers=takers,
        stayers=stayers,
        leavers=leavers,
        heirs=_heirs(leavers, places),
        weights=weights,
        places=places,
        pins=pinned | given,
        declined={id: decliners[id] for id in given},
        band=snapshot.band,
        busy_from=_units(snapshot.busy_from),
    )


def sort_key(id: PartitionId) -> tuple[int, str]:
    """Orders numbers as numbers, and any other names after them."""
    is_number = id.isascii() and id.isdecimal() and len(id) <= _DIGITS
    return (int(id), id) if is_number else (1 << 62, id)


def usable(weights: dict[MemberName, float]) -> dict[MemberName, float]:
    """The weights, or equal ones where nobody has any."""
    return weights if any(weights.values()) else dict.fromkeys(weights, 1.0)


def _takers(
    snapshot: Snapshot, stayers: Iterable[MemberName], weights: dict[MemberName, float]
) -> dict[MemberName, float]:
    takers = {name: weights[name] for name in stayers}
    # An absent member says nothing of its weight: take it for one of the usual kind.
    usual = median_low([weight for weight in weights.values() if weight > 0] or [1.0])
    takers |= {name: usual for name in snapshot.expected if name not in weights}
    return usable(dict(sorted(takers.items())))


def _decliners(members: Iterable[MemberFacts]) -> dict[PartitionId, tuple[MemberName, ...]]:
    found: dict[PartitionId, tuple[MemberName, ...]] = {}
    for member in members:
        for id in member.declines:
            found[id] = (*found.get(id, ()), member.name)
    return found


def _given_to_the_willing(
    ordered: Iterable[PartitionFacts],
    decliners: Mapping[PartitionId, Collection[MemberName]],
    willing: Iterable[MemberName],
) -> dict[PartitionId, MemberName]:
    """Who is to have each partition that somebody declines."""
    given: dict[PartitionId, MemberName] = {}
    for place, partition in enumerate(ordered):
        id = partition.id
        if id not in decliners or partition.is_paused:
            continue
        able = [name for name in willing if name not in decliners[id]]
        if able:
            fixed = (name for name in (partition.pinned_to, partition.owner) if name in able)
            given[id] = next(fixed, None) or able[place % len(able)]
    return given


def _leavers(snapshot: Snapshot, members: Iterable[MemberFacts]) -> tuple[MemberName, ...]:
    order = {name: place for place, name in enumerate(snapshot.leaving)}
    leaving = (member.name for member in members if member.is_leaving)
    return tuple(sorted(leaving, key=lambda name: (order.get(name, len(order)), name)))


def _heirs(
    leavers: Collection[MemberName], places: Mapping[MemberName, int]
) -> dict[MemberName, MemberName]:
    last = sorted(places, key=lambda name: (-places[name], name))[: len(leavers)]
    return dict(zip(leavers, reversed(last), strict=False))


def _places(snapshot: Snapshot, takers: Iterable[MemberName]) -> dict[MemberName, int]:
    """The order of `expected`; whoever is not on it came after it was written."""
    known = {name: place for place, name in enumerate(snapshot.expected)}
    return {name: known.get(name, len(known)) for name in takers}


def _weight(member: MemberFacts) -> float:
    weight = member.weight
    return min(weight, _WEIGHT_MAX) if math.isfinite(weight) and weight >= 0 else 1.0


def _loads(partitions: Iterable[PartitionFacts]) -> dict[PartitionId, int]:
    units = {p.id: None if p.load is None else _units(p.load) for p in partitions}
    usual = median_low([load for load in units.values() if load is not None] or [0])
    return {id: usual if load is None else load for id, load in units.items()}


def _units(load: float) -> int:
    return round(min(load, _LOAD_MAX) * LOAD_UNITS) if math.isfinite(load) and load > 0 else 0
