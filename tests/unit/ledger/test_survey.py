"""What `tidegate ledger check` finds: each wrong thing has a name, a place and a remedy."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from tidegate.ledger.survey import Range, findings, rows, table
from tidegate.model import (
    Checkpoint,
    Flaw,
    LeaseState,
    Listing,
    Owner,
    Ownership,
    Position,
    Presence,
)

NOW = 1_000_000.0

OWNED = Ownership("0", "e", LeaseState.LEASED, Owner("a", "1"), 7, "n", NOW - 90)
DONE = Checkpoint("0", "e", Position("4096", 41), 7, "n")
ALIVE = Presence("a", "e", LeaseState.LEASED, "1")
WELL = Listing(
    MappingProxyType({"0": OWNED}),
    MappingProxyType({"0": DONE}),
    MappingProxyType({"a": ALIVE}),
    None,
    NOW,
)
RANGES = {"0": Range(0, 50)}


def with_ownership(**changes: object) -> Listing:
    return replace(WELL, ownerships={"0": replace(OWNED, **changes)})  # type: ignore[arg-type]


def with_checkpoint(**changes: object) -> Listing:
    return replace(WELL, checkpoints={"0": replace(DONE, **changes)})  # type: ignore[arg-type]


def kinds(listing: Listing, ranges: dict[str, Range] = RANGES) -> list[str]:
    found = findings(listing, ranges)
    assert all(finding.where and finding.what and finding.remedy for finding in found)
    return [finding.kind for finding in found]


def test_a_ledger_in_order_has_no_findings() -> None:
    assert kinds(WELL) == []


def test_an_ownership_that_nobody_holds_is_found() -> None:
    gone = replace(with_ownership(lease=LeaseState.EXPIRED), members={})
    assert kinds(gone) == ["unheld"]


def test_an_unleased_partition_of_a_living_member_is_on_its_way_and_not_wrong() -> None:
    assert kinds(with_ownership(lease=LeaseState.EXPIRED)) == []


def test_a_foreign_format_is_found() -> None:
    foreign = with_ownership(is_foreign=True, lease=LeaseState.AVAILABLE, epoch=0)
    assert kinds(foreign) == ["foreign"]


def test_a_lease_without_a_name_is_found() -> None:
    assert kinds(with_ownership(owner=None)) == ["nameless"]


def test_a_checkpoint_behind_retention_is_found_with_what_is_lost() -> None:
    found = findings(WELL, {"0": Range(100, 150)})
    assert [finding.kind for finding in found] == ["behind-retention"]
    assert "42 to 99" in found[0].what


def test_a_checkpoint_beyond_the_last_event_is_found() -> None:
    assert kinds(WELL, {"0": Range(0, 10)}) == ["ahead"]


def test_a_state_behind_its_position_is_found_with_both_remedies() -> None:
    behind = with_checkpoint(state=b"{}", state_position=Position("1", 5))
    found = findings(behind, RANGES)
    assert [finding.kind for finding in found] == ["state-behind"]
    assert "Rewind" in found[0].remedy
    assert "clear" in found[0].remedy


def test_an_unreadable_blob_comes_first_in_its_own_words() -> None:
    flawed = replace(WELL, flaws=(Flaw("checkpoint/3", "its offset is missing", "3"),))
    assert findings(flawed, RANGES)[0].what == "its offset is missing"


def test_a_dead_member_is_found_and_needs_nothing() -> None:
    dead = replace(ALIVE, name="b", lease=LeaseState.EXPIRED)
    listing = replace(WELL, members={"a": ALIVE, "b": dead})
    assert kinds(listing) == ["dead-member"]


def test_rows_come_in_the_order_of_partition_numbers_with_lag_where_it_is_known() -> None:
    listing = replace(
        WELL, ownerships={name: replace(OWNED, partition=name) for name in ("10", "2", "0")}
    )
    lines = rows(listing, RANGES)
    assert [line.partition for line in lines] == ["0", "2", "10"]
    assert [line.lag for line in lines] == ["8", "unknown", "unknown"]
    assert lines[0].since == "90s"
    assert table(lines).splitlines()[0].split() == [
        "PARTITION", "OWNER", "LEASE", "EPOCH", "OWNED", "FOR", "SEQUENCE", "LAG",
    ]  # fmt: skip
