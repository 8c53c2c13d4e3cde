"""Rewinds on a roster, and off it again; and what `--to` says."""

from __future__ import annotations

import pytest

from tidegate.commands.rewind import start_of
from tidegate.commands.rosters import is_done, with_rewinds, without
from tidegate.ledger.members import read_roster, roster_metadata
from tidegate.model import Checkpoint, Listing, Position, Rewind, Roster
from tidegate.settings import SettingsError

NEW = (Rewind("new", "0", Position("5", 5)), Rewind("new", "1", at=60.0))


def listing(
    roster: Roster | None, server_time: float = 100.0, rewound: dict[str, str] | None = None
) -> Listing:
    checkpoints = {
        partition: Checkpoint(partition, "e", Position(), 1, "", rewound_by=by)
        for partition, by in (rewound or {}).items()
    }
    return Listing({}, checkpoints, {}, roster, server_time)


def test_all_else_on_the_roster_stays() -> None:
    before = Roster("e", 7, ("a", "b"), ("b",), {"0": "a"}, frozenset("3"), written_at=99.0)
    after = with_rewinds(listing(before), NEW)
    assert after.rewinds == NEW
    assert (after.generation, after.expected, after.leaving) == (8, ("a", "b"), ("b",))
    assert (after.pins, after.paused) == ({"0": "a"}, frozenset("3"))


def test_a_stale_roster_does_not_come_to_life_again() -> None:
    before = Roster("e", 7, ("a",), ("b",), {"0": "a"}, written_at=100.0)
    after = with_rewinds(listing(before, server_time=1_000.0), NEW)
    assert (after.expected, after.leaving, after.pins) == ((), (), {"0": "a"})


def test_an_earlier_rewind_of_the_same_partition_is_replaced_and_one_that_is_done_goes() -> None:
    old = (Rewind("old", "0"), Rewind("old", "2"), Rewind("other", "3"))
    before = Roster(rewinds=old, written_at=99.0)
    after = with_rewinds(listing(before, rewound={"3": "other"}), NEW)
    assert after.rewinds == (Rewind("old", "2"), *NEW)


def test_where_there_is_no_roster_one_is_made() -> None:
    assert with_rewinds(listing(None), NEW).rewinds == NEW


def test_what_is_done_is_struck_off_and_nothing_is_written_where_nothing_changes() -> None:
    roster = Roster(rewinds=NEW, written_at=99.0)
    seen = listing(roster, rewound={"0": "new", "1": "old"})
    assert [is_done(seen, rewind) for rewind in NEW] == [True, False]
    struck = without(seen, "new", {"0"})
    assert struck is not None
    assert struck.rewinds == NEW[1:]
    assert without(seen, "new", set()) is None


def test_a_roster_with_rewinds_is_read_as_it_was_written() -> None:
    metadata = roster_metadata(Roster(rewinds=NEW))
    assert read_roster("", 0.0, metadata).rewinds == NEW


@pytest.mark.parametrize(
    ("text", "kind", "at", "position"),
    [
        ("earliest", "earliest", None, None),
        ("latest", "latest", None, None),
        ("4711", "position", None, Position(sequence=4711)),
        ("1970-01-01T00:01:00Z", "time", 60.0, None),
        ("1970-01-01T01:01:00+01:00", "time", 60.0, None),
    ],
)
def test_where_to(text: str, kind: str, at: float | None, position: Position | None) -> None:
    start = start_of(text)
    assert (start.kind, start.at, start.position) == (kind, at, position)


@pytest.mark.parametrize("text", ["", "yesterday", "-5", "1970-01-01T00:01:00"])
def test_a_place_that_cannot_be_understood_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="--to"):
        start_of(text)
