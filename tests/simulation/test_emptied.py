"""A ledger that is emptied while members run: they write it again from memory.

Nothing is lost and no checkpoint goes back while the owner of each partition lives; what is handled
twice is no more than what a checkpoint interval holds. P2 and P3 make no exception for it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import pytest

from simulation import scenarios
from simulation.history import EMPTIED, ByHand, Did, Handled, Noted
from simulation.judge import judge
from simulation.scenarios import CHANGE_AT
from simulation.script import Kind, RosterFacts, Script, Trouble, What
from simulation.world import World
from tidegate.ports import Refusal, WriteCheckpoint

SEEDS = range(4)
PARTITIONS = 8
MEMBERS = 3

# How long the container is away, and how it is refused meanwhile. Azure refuses for 30 s or more.
AWAY = [
    pytest.param(0.0, "", id="back-at-once"),
    pytest.param(6.0, "busy", id="being-deleted-for-6-s"),
    pytest.param(40.0, "busy", id="being-deleted-for-40-s"),
    pytest.param(40.0, "absent", id="missing-for-40-s"),
]


def emptied(
    seed: int, away_s: float, how: str, *more: Trouble, starts_latest: bool, has_state: bool = True
) -> Script:
    trouble = Trouble(CHANGE_AT, What.EMPTY_LEDGER, length_s=away_s, then=how)
    made = scenarios.script(
        seed, PARTITIONS, [*scenarios.settled(seed, MEMBERS), trouble, *more], kind=Kind.HANDS
    )
    quiet_from = made.quiet_from + away_s + 20.0
    return replace(made, starts_latest=starts_latest, has_state=has_state, quiet_from=quiet_from)


def judged(script: Script) -> World:
    """The world, in which every property holds."""
    world = World(script)
    facts = world.run()
    assert judge(world.records, facts) == []
    assert any(isinstance(record, ByHand) and record.what == EMPTIED for record in world.records)
    return world


def reports(world: World, kind: str) -> int:
    return sum(isinstance(record, Noted) and kind in record.text for record in world.records)


@pytest.mark.parametrize("starts_latest", [False, True], ids=["earliest", "latest"])
@pytest.mark.parametrize(("away_s", "how"), AWAY)
def test_an_emptied_ledger_is_written_again_and_nothing_is_lost_or_moved(
    away_s: float, how: str, *, starts_latest: bool
) -> None:
    for seed in SEEDS:
        script = emptied(seed, away_s, how, starts_latest=starts_latest)
        world = judged(script)
        got = scenarios.figures(world.records, scenarios.changed_at(script))
        assert got.moves == 0
        # An event in 2 s and partition: at most one checkpoint interval of them comes again.
        assert got.duplicates <= PARTITIONS * 3
        assert reports(world, "ledger-emptied") >= 1


@pytest.mark.parametrize("starts_latest", [False, True], ids=["earliest", "latest"])
@pytest.mark.parametrize(("away_s", "how"), AWAY)
@pytest.mark.parametrize("is_expected", [False, True], ids=["unannounced", "expected"])
@pytest.mark.parametrize("late_s", [-0.5, 0.1, 1.0])
def test_who_joins_while_the_ledger_is_empty_begins_nothing_anew(
    late_s: float, away_s: float, how: str, *, is_expected: bool, starts_latest: bool
) -> None:
    joins = [Trouble(CHANGE_AT + away_s + late_s, What.JOIN, f"n{number}") for number in range(2)]
    if is_expected:
        names = (*(f"m{number:02d}" for number in range(MEMBERS)), "n0", "n1")
        said = Trouble(CHANGE_AT + away_s, What.ROSTER, roster=RosterFacts(expected=names))
        joins.append(said)
    for seed in SEEDS:
        script = emptied(seed, away_s, how, *joins, starts_latest=starts_latest)
        world = judged(script)
        got = scenarios.figures(world.records, scenarios.changed_at(script))
        assert got.duplicates <= PARTITIONS * 3
        assert len(got.owners) == MEMBERS + 2


@pytest.mark.parametrize("starts_latest", [False, True], ids=["earliest", "latest"])
def test_who_stops_before_it_has_noticed_leaves_its_checkpoints_behind(
    *, starts_latest: bool
) -> None:
    for seed in SEEDS:
        stops = [Trouble(CHANGE_AT + 0.3, What.STOP, f"m{number:02d}") for number in range(MEMBERS)]
        later = Trouble(CHANGE_AT + 20.0, What.JOIN, "n0")
        judged(emptied(seed, 0.0, "", *stops, later, starts_latest=starts_latest))


@pytest.mark.parametrize("starts_latest", [False, True], ids=["earliest", "latest"])
def test_what_a_dead_owner_had_is_written_again_by_who_has_seen_it(*, starts_latest: bool) -> None:
    for seed in SEEDS:
        kill = Trouble(CHANGE_AT + 0.1, What.KILL, "m01", then="nothing")
        joined = Trouble(CHANGE_AT + 1.0, What.JOIN, "n0")
        script = emptied(seed, 0.0, "", kill, joined, starts_latest=starts_latest, has_state=False)
        world = World(script)
        facts = world.run()
        assert facts.settled_at is not None
        # The newcomer skips events until it learns of the earlier position.
        assert unhandled(world) == {}


def unhandled(world: World) -> dict[str, set[int]]:
    """The events behind the first one that was handled, and that no handler finished."""
    handled: dict[str, set[int]] = defaultdict(set)
    for record in world.records:
        if isinstance(record, Handled):
            handled[record.partition].update(range(record.first, record.last + 1))
    missing = {
        partition: set(range(min(done), len(world.timetable[partition]))) - done
        for partition, done in handled.items()
    }
    return {partition: left for partition, left in missing.items() if left}


def test_a_checkpoint_that_is_deleted_is_written_again_without_a_new_event() -> None:
    for seed in SEEDS:
        script = scenarios.script(
            seed,
            2,
            [
                *scenarios.settled(seed, 2),
                Trouble(CHANGE_AT, What.DELETE_CHECKPOINT, partition="0"),
            ],
            kind=Kind.HANDS,
            event_every_s=1000.0,
        )
        script = replace(script, quiet_from=script.quiet_from + 15.0)
        world = World(script)
        facts = world.run()
        assert judge(world.records, facts) == []
        at = scenarios.changed_at(script)
        written = [
            record.at
            for record in world.records
            if isinstance(record, Did)
            and isinstance(record.operation, WriteCheckpoint)
            and record.refusal is None
            and record.operation.partition == "0"
            and record.at >= at
        ]
        assert written
        assert written[0] - at < script.settled_tick_s + 1.0


def test_a_refused_container_is_among_the_troubles() -> None:
    world = World(emptied(0, 6.0, "busy", starts_latest=True))
    world.run()
    assert any(
        isinstance(record, Did) and record.refusal is Refusal.BUSY for record in world.records
    )
