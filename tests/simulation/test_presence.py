"""Member blobs in worlds: those of the dead go in the end, and old announcements do no harm."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulation.history import Did
from simulation.judge import judge
from simulation.scenarios import members, script
from simulation.script import Kind, Script, Trouble, What
from simulation.weather import Rates
from simulation.world import World
from tidegate.model import Listing
from tidegate.ports import Announce, Forget, List

KILLED_AT = 60.0
# The dead member's lease, and twenty more.
KEPT_S = 21 * 15.0
# A call that the service was too busy for is made again four leases later; the second victim's
# turn comes 50 s after the first one's.
ALL_GONE_S = KEPT_S + 150.0


def names(world: World) -> set[str]:
    listing = world.ledger.perform_at(List(), world.clock.now)
    assert isinstance(listing, Listing)
    return set(listing.members)


# In world 2 the service is too busy for one and the same call twice.
@pytest.mark.parametrize("seed", [0, 1, 3, 4, 5])
def test_dead_members_are_forgotten_and_sleepers_come_back(seed: int) -> None:
    made = script(
        seed,
        6,
        [
            *members(0, 4),
            Trouble(KILLED_AT, What.KILL, "m01", then="nothing"),
            # The one who forgets by rights is killed as well; the next takes its place.
            Trouble(KILLED_AT + 50.0, What.KILL, "m00", then="nothing"),
            Trouble(KILLED_AT, What.SLEEP, "m03", length_s=ALL_GONE_S + 20.0),
        ],
        event_every_s=20.0,
        kind=Kind.PAUSES,
        rates=Rates(lost_reply=0.1, twice=0.1, busy=0.1),
    )
    world = World(made)
    world.clock.run_until(KILLED_AT + KEPT_S - 20.0)
    assert names(world) == {"m00", "m01", "m02", "m03"}
    world.clock.run_until(KILLED_AT + ALL_GONE_S)
    # The sleeper's blob is gone as well, while it sleeps.
    assert names(world) == {"m02"}
    facts = world.run()
    assert judge(world.records, facts) == []
    world.clock.run_until(world.clock.now + 120.0)
    assert names(world) == {"m02", "m03"}
    forgotten = [
        record.operation.name
        for record in world.records
        if isinstance(record, Did)
        and isinstance(record.operation, Forget)
        and record.refusal is None
    ]
    assert {"m00", "m01", "m03"} == set(forgotten)


def _announced_twice(seed: int) -> Script:
    """Members that come and go, and nothing that is sent is sent but once."""
    joined = members(0, 5, spread_s=20.0)
    stops = [Trouble(40.0 + 15.0 * number, What.STOP, f"m{number:02d}") for number in range(3)]
    made = script(seed, 8, [*joined, *stops, *members(5, 8, at=45.0, spread_s=60.0)])
    return replace(made, kind=Kind.STORAGE, rates=Rates(twice=0.9))


@pytest.mark.parametrize("seed", range(10))
def test_old_announcements_that_come_late_do_no_harm(seed: int) -> None:
    world = World(_announced_twice(seed))
    facts = world.run()
    assert judge(world.records, facts) == []
    announced: dict[str, list[object]] = {}
    for record in world.records:
        if isinstance(record, Did) and isinstance(record.operation, Announce):
            announced.setdefault(record.who, []).append(record.operation)
    assert any(
        later[place] in later[: place - 1]
        for later in announced.values()
        for place in range(2, len(later))
    ), "no announcement came late behind another: the world is too kind"
    listing = world.ledger.perform_at(List(), world.clock.now)
    assert isinstance(listing, Listing)
    for name in facts.names:
        assert listing.members[name].wants == {}
        assert not listing.members[name].is_leaving
