"""Random groups, and what it means to carry out a plan.

Rules: nothing here knows how a plan is made. `BALANCE_EXAMPLES` sets how many groups each property
is tried on.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tidegate.balance import MemberFacts, Move, PartitionFacts, Plan, Snapshot

EXAMPLES = int(os.environ.get("BALANCE_EXAMPLES", "100"))
many_groups = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)

WEIGHTS = (0.0, 0.1, 0.5, 1.0, 1.0, 2.0, 3.7)


def names(count: int, prefix: str = "m") -> tuple[str, ...]:
    return tuple(f"{prefix}{number:02}" for number in range(count))


def members(present: Iterable[str], leaving: Iterable[str] = ()) -> tuple[MemberFacts, ...]:
    going = set(leaving)
    return tuple(MemberFacts(name, is_leaving=name in going) for name in present)


def unowned(count: int, *, is_new: bool = False) -> tuple[PartitionFacts, ...]:
    return tuple(PartitionFacts(str(number), is_new=is_new) for number in range(count))


def owned(
    owners: Sequence[str], loads: Sequence[float | None] | None = None
) -> tuple[PartitionFacts, ...]:
    """One partition for each name: what it owns."""
    given = loads if loads is not None else [0.0] * len(owners)
    return tuple(
        PartitionFacts(str(number), owner, load)
        for number, (owner, load) in enumerate(zip(owners, given, strict=True))
    )


def carried_out(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """The group when every move of the plan has been made."""
    return replace(
        snapshot,
        partitions=tuple(
            replace(
                partition,
                owner=plan.assignment.get(partition.id),
                is_new=partition.is_new and partition.id not in plan.assignment,
            )
            for partition in snapshot.partitions
        ),
    )


def after(snapshot: Snapshot, moves: Iterable[Move]) -> Snapshot:
    """The group when these moves have been made, and no others."""
    targets = {move.partition: move.target for move in moves}
    return replace(
        snapshot,
        partitions=tuple(
            replace(partition, owner=targets[partition.id], is_new=False)
            if partition.id in targets
            else partition
            for partition in snapshot.partitions
        ),
    )


def with_members(
    snapshot: Snapshot, present: Sequence[MemberFacts], expected: Sequence[str] = ()
) -> Snapshot:
    """The group with other members; what the missing ones owned has no owner."""
    alive = {member.name for member in present}
    return replace(
        snapshot,
        members=tuple(present),
        expected=tuple(expected),
        partitions=tuple(
            replace(partition, owner=partition.owner if partition.owner in alive else None)
            for partition in snapshot.partitions
        ),
    )


def owners_of(snapshot: Snapshot) -> dict[str, str | None]:
    return {partition.id: partition.owner for partition in snapshot.partitions}


def counts_of(snapshot: Snapshot) -> Counter[str]:
    return Counter(p.owner for p in snapshot.partitions if p.owner and not p.is_paused)


def declining(snapshot: Snapshot, declines: Mapping[str, Iterable[str]]) -> Snapshot:
    """The group when these members decline these partitions and no others."""
    facts = (
        replace(member, declines=frozenset(declines.get(member.name, ())))
        for member in snapshot.members
    )
    return replace(snapshot, members=tuple(facts))


def true_moves(plan: Plan) -> list[Move]:
    """Moves away from a living owner: those that cost something."""
    return [move for move in plan.moves if move.source is not None]


# None: not known.
LOADS = (None, 0.0, 0.05, 0.1, 0.3, 0.5, 1.0, 3.0)


def random_group(dice: Random) -> Snapshot:
    """A group in any condition, as `snapshots` draws them, many times faster."""

    def perhaps() -> bool:
        return dice.random() < 0.5

    everybody = names(dice.randint(1, 9))
    is_weighted, has_leavers, has_pins, has_loads = perhaps(), perhaps(), perhaps(), perhaps()
    facts = tuple(
        MemberFacts(
            name, dice.choice(WEIGHTS) if is_weighted else 1.0, has_leavers and dice.random() < 0.4
        )
        for name in everybody
    )
    # Nobody, those who are there, or some of all that may ever be.
    possible = names(13)
    expected = dice.choice(((), everybody, dice.sample(possible, dice.randint(0, 13))))
    owners = [None, *dice.sample(everybody, dice.randint(1, len(everybody)))]
    partitions = []
    for number in range(dice.randint(0, 24)):
        owner = dice.choice(owners)
        pin = dice.choice((*everybody, "stranger")) if has_pins and dice.random() < 0.4 else None
        partitions.append(
            PartitionFacts(
                id=str(number),
                owner=owner,
                load=dice.choice(LOADS) if has_loads else 0.0,
                pinned_to=pin,
                is_paused=dice.random() < 0.1,
                is_new=owner is None and perhaps(),
                wanted_by=dice.choice((None, "stranger", *everybody)),
            )
        )
    group = Snapshot(facts, tuple(partitions), tuple(expected))
    if perhaps():
        return group
    # Some declined by many, or by all.
    share = dice.choice((0.1, 0.5, 1.0))
    declined = [str(number) for number in range(len(partitions)) if dice.random() < 0.3]
    return declining(
        group, {name: [id for id in declined if dice.random() < share] for name in everybody}
    )


@st.composite
def snapshots(
    draw: st.DrawFn,
    *,
    most_members: int = 9,
    most_partitions: int = 24,
    with_loads: bool = False,
    with_pins: bool = True,
    with_roster: bool = True,
    with_weights: bool = True,
    with_declines: bool = True,
) -> Snapshot:
    """A group in any condition: half-balanced, with orphans, with members coming and going."""
    everybody = names(draw(st.integers(1, most_members)))
    weights = st.sampled_from(WEIGHTS) if with_weights and draw(st.booleans()) else st.just(1.0)
    is_leaving = st.booleans() if with_roster and draw(st.booleans()) else st.just(False)
    facts = tuple(MemberFacts(name, draw(weights), draw(is_leaving)) for name in everybody)
    expected: tuple[str, ...] = ()
    if with_roster and draw(st.booleans()):
        expected = tuple(draw(st.lists(st.sampled_from(names(most_members + 4)), unique=True)))
    owner = st.sampled_from([None, *draw(st.lists(st.sampled_from(everybody), min_size=1))])
    pin = st.sampled_from([None, None, None, *everybody, "stranger"])
    load = st.sampled_from(LOADS) if with_loads else st.just(0.0)
    pinned = with_pins and draw(st.booleans())
    partitions = []
    for number in range(draw(st.integers(0, most_partitions))):
        owned_by = draw(owner)
        partitions.append(
            PartitionFacts(
                id=str(number),
                owner=owned_by,
                load=draw(load),
                pinned_to=draw(pin) if pinned else None,
                is_paused=draw(st.integers(0, 9)) == 0,
                is_new=owned_by is None and draw(st.booleans()),
                wanted_by=draw(st.sampled_from((None, "stranger", *everybody))),
            )
        )
    group = Snapshot(facts, tuple(partitions), expected)
    if not partitions or not with_declines or not draw(st.booleans()):
        return group
    some = st.lists(st.sampled_from([partition.id for partition in partitions]), max_size=4)
    return declining(group, {name: draw(some) for name in everybody})
