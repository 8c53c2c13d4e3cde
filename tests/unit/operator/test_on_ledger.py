"""A roster that storage refuses: told, tried less and less often, and at once where it may go."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from itertools import pairwise

import pytest

from support.operated_world import KEY, NAME, OperatedWorld
from tidegate.model import Roster
from tidegate.ports import Break, LedgerError, Refusal, WriteRoster
from tidegate_operator.kinds import SECRET, ObjectName
from tidegate_operator.model import BreakLease, Steps
from tidegate_operator.on_ledger import on_ledger


@pytest.fixture
def world() -> OperatedWorld:
    world = OperatedWorld()
    world.put_secret()
    world.create(replicas=2)
    return world


def refuse(world: OperatedWorld, refusal: Refusal) -> None:
    world.ledger.takes_no_roster = LedgerError(refusal, "the blob 'roster' is not to be had")


def tries(world: OperatedWorld) -> int:
    """How often the roster was tried in the last round."""
    return sum(isinstance(each, WriteRoster) for each in world.ledger.performed)


def tried_at(world: OperatedWorld, rounds: int) -> list[float]:
    found = []
    for _ in range(rounds):
        world.round()
        found += [world.now] * tries(world)
    return found


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        (Refusal.DENIED, "LedgerDenied"),
        (Refusal.UNKNOWN, "LedgerUnreachable"),
        (Refusal.BUSY, "LedgerUnreachable"),
        (Refusal.INVALID, "LedgerInvalid"),
        (Refusal.CHANGED, "RosterRefused"),
        (Refusal.HELD, "RosterRefused"),
    ],
)
def test_it_is_tried_less_and_less_often_and_told_until_it_is_written(
    world: OperatedWorld, refusal: Refusal, reason: str
) -> None:
    refuse(world, refusal)
    at = tried_at(world, 180)
    assert [later - earlier for earlier, later in pairwise(at)] == [1, 2, 4, 8, 16, 32, 60]
    for _ in range(30):
        world.round()
        found = world.condition("Ready")
        assert found[1] == reason or reason == "LedgerUnreachable"
        assert "blob 'roster' is not to be had" in found[2]
    world.ledger.takes_no_roster = None
    assert len(tried_at(world, 60)) == 1
    assert "'roster'" not in world.condition("Ready")[2]
    assert "RosterRefused" not in world.notes.troubles


def test_a_group_whose_roster_is_refused_is_looked_at_less_often(world: OperatedWorld) -> None:
    refuse(world, Refusal.DENIED)
    assert world.round().again_s <= 1.0
    assert [world.round().again_s for _ in range(20)][-1] == Steps().again_s
    world.ledger.takes_no_roster = None
    tried_at(world, 60)
    refuse(world, Refusal.CHANGED)
    world.kube.edit(NAME, {"spec": {"pausedPartitions": ["7"]}})
    assert world.round().again_s <= 0.5, "somebody may only have been quicker"


def test_one_who_was_quicker_is_no_refusal(world: OperatedWorld) -> None:
    """Another roster stands each time, so that ours is tried anew at once, and is not told."""
    etags = [""]

    def somebody_writes() -> None:
        written = WriteRoster(Roster(generation=len(etags), is_paused=True), etags[-1])
        etags.append(str(world.ledger.memory.perform_at(written, world.now)))

    for _ in range(5):
        world.ledger.meanwhile = somebody_writes
        world.round()
        assert tries(world) == 1
        assert world.condition("Ready")[1] != "RosterRefused"
    world.round()
    assert tries(world) == 1
    world.round()
    assert tries(world) == 0, "it is written"


OTHERS = base64.b64encode(
    b"DefaultEndpointsProtocol=http;AccountName=a;AccountKey=b3RoZXI=;"
    b"BlobEndpoint=http://127.0.0.1:1/a"
).decode()


@pytest.mark.parametrize(
    ("change", "within"),
    [
        (lambda world: world.kube.edit(NAME, {"spec": {"pausedPartitions": ["7"]}}), 1),
        (
            lambda world: world.ledger.memory.perform_at(
                WriteRoster(Roster(generation=9, is_paused=True), ""), world.now
            ),
            1,
        ),
        (
            lambda world: world.kube.edit(
                ObjectName(SECRET, KEY.namespace, "azure"), {"data": {"storage": OTHERS}}
            ),
            31,
        ),
    ],
    ids=["it says something else", "another one stands", "the credentials are others"],
)
def test_it_is_tried_at_once_where(
    world: OperatedWorld, change: Callable[[OperatedWorld], object], within: int
) -> None:
    refuse(world, Refusal.DENIED)
    tried_at(world, 70)
    assert tried_at(world, 10) == []
    change(world)
    world.ledger.takes_no_roster = None
    assert len(tried_at(world, within)) == 1


def test_it_is_tried_at_once_where_the_ledger_can_be_listed_again(world: OperatedWorld) -> None:
    refuse(world, Refusal.UNKNOWN)
    tried_at(world, 70)
    world.cut_off_storage()
    world.round(after_s=16.0)
    assert tries(world) == 0, "nothing is decided on a listing that is old"
    world.ledger.problem = world.ledger.takes_no_roster = None
    assert len(tried_at(world, 1)) == 1


def test_leases_of_the_dead_are_ended_although_the_roster_is_refused(world: OperatedWorld) -> None:
    """But not in the round in which it is: who takes the partitions is to know who leaves."""
    refuse(world, Refusal.DENIED)
    world.round()
    seen = world.notes.seen
    assert seen is not None
    step = BreakLease("0", "etag", "m0", "its container has ended")
    steps = Steps(roster=Roster(generation=5), breaks=(step,))

    def broken() -> int:
        world.ledger.performed.clear()
        asyncio.run(on_ledger(world.edges, seen, world.notes, steps))
        return sum(isinstance(each, Break) for each in world.ledger.performed)

    assert broken() == 0
    assert broken() == 1
