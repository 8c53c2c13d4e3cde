"""P1, P3 to P8, P13 and exact states in worlds whose ranges split and merge.

A test that fails names its seeds; `python tests/simulation/container_run.py --seed N --trace`
replays one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from simulation.container_run import run_seed
from simulation.container_script import container_script
from simulation.mutants import whole_member
from simulation.mutants.whole_member import Patches
from simulation.script import Kind
from tidegate.member.heritage import Family
from tidegate.member.taking import Taking
from tidegate.model import Checkpoint, PartitionId
from tidegate.ports.lineage import Heritage
from tidegate.sources.cosmos import lineage
from tidegate.sources.cosmos.lineage import FeedRanges
from tidegate.sources.cosmos.places import Place, place_of

_CHUNK = 35
_SEEDS = 350


def problems(seeds: range) -> dict[int, list[str]]:
    return {seed: found[:3] for seed in seeds if (found := run_seed(seed)[1])}


def test_every_property_holds_in_a_world_of_each_kind() -> None:
    assert problems(range(7)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(7, _SEEDS, _CHUNK))
def test_every_property_holds_in_worlds_from(first: int) -> None:
    assert problems(range(first, first + _CHUNK)) == {}


def test_worlds_split_and_merge_while_members_read() -> None:
    said = [str(record) for seed in range(7) for record in run_seed(seed)[0].records]
    for kind in ("range-split", "range-merged"):
        assert sum(kind in each for each in said) > 3, f"no world had a {kind}"


@pytest.mark.parametrize(("by", "seen"), [(5, "P13"), (-5, "P4")])
def test_a_child_that_begins_elsewhere_than_its_parent_ended_is_noticed(
    by: int, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkers see what they are for."""
    right = FeedRanges.heritage

    def wrong(self: FeedRanges, partition: PartitionId, parents: Sequence[Checkpoint]) -> Heritage:
        found = right(self, partition, parents)
        place = place_of(found.position, partition)
        feeds = tuple(
            replace(feed, token=None if by < 0 else feed.token, lsn=max(feed.lsn + by, -1))
            for feed in place.feeds
        )
        return replace(found, position=Place(place.rid, feeds).position)

    monkeypatch.setattr(FeedRanges, "heritage", wrong)
    found = [text for seed in range(21) for text in run_seed(seed)[1]]
    assert any(text.startswith(seen) for text in found), found[:5]


def problems_of(seeds: Sequence[int], checker: str) -> Iterator[str]:
    return (text for seed in seeds for text in run_seed(seed)[1] if text.startswith(checker))


def begins_late() -> Patches:
    """What begins where others ended is claimed only half a minute after it was first to be had."""
    real = Taking.take

    def take(self: Taking, sight: Any, planned: Any, now: float, hurried: Any) -> Any:
        seen = self.__dict__.setdefault("seen_new", {})
        new = [id for id in planned if id not in sight.listing.ownerships]
        early = {id for id in new if now - seen.setdefault(id, now) <= 30.0}
        return real(self, sight, set(planned) - early, now, hurried)

    return [(Taking, "take", take)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seen", "weaker", "kind"),
    [
        ("P6", whole_member.claims_late, Kind.KILLS),
        ("P6", whole_member.no_scratch, Kind.KILLS),
        ("P6", begins_late, Kind.CALM),
        ("P7", whole_member.plan_unsticky, Kind.CALM),
        ("P7", whole_member.no_stall_watch, Kind.STALL),
    ],
)
def test_a_weaker_member_is_noticed_by(
    seen: str, weaker: Callable[[], Patches], kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the two checkers sees what it is for, in worlds where nothing else is amiss."""
    worlds = [seed for seed in range(_SEEDS) if container_script(seed).kind is kind]
    assert not list(problems_of(worlds, seen))
    for target, attribute, replacement in weaker():
        monkeypatch.setattr(target, attribute, replacement)
    assert next(problems_of(worlds, seen), ""), "nobody noticed"


# Storage stalls while a member takes a new partition over, and the service splits its range.
_STALLED_SEED = 14227


def unasked(_: Family) -> Generator[None, None, bool]:
    yield from ()
    return True


def test_who_was_stalled_in_taking_over_begins_with_nothing_that_others_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run_seed(_STALLED_SEED)[1] == []
    right = lineage._live

    def blind(rows: Sequence[Any], pending: Any) -> list[Any]:
        return right([replace(row, has_begun=True) for row in rows], pending)

    monkeypatch.setattr(Family, "may_begin", unasked)
    assert run_seed(_STALLED_SEED)[1] == [], "a listing alone shows it, too"
    monkeypatch.setattr(lineage, "_live", blind)
    assert any(text.startswith("P4") for text in run_seed(_STALLED_SEED)[1]), "it is not seen"
