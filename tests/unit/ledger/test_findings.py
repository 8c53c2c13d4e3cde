"""What `tidegate ledger check` finds: each wrong thing has a name, a place and a remedy."""

from __future__ import annotations

from dataclasses import replace

from tidegate.ledger.findings import Finding, Range, findings
from tidegate.model import (
    Checkpoint,
    Flaw,
    LeaseState,
    Listing,
    Owner,
    Ownership,
    Position,
    Presence,
    Roster,
)

NOW = 1_000_000.0
OWNED = Ownership("0", "e", LeaseState.LEASED, Owner("a", "1"), 7, "n", NOW - 90)
DONE = Checkpoint("0", "e", Position("4096", 41), 7, "n")
ALIVE = Presence("a", "e", LeaseState.LEASED, "1")
WELL = Listing({"0": OWNED}, {"0": DONE}, {"a": ALIVE}, None, NOW)
RANGES = {"0": Range(0, 50)}


def with_ownership(**changes: object) -> Listing:
    return replace(WELL, ownerships={"0": replace(OWNED, **changes)})  # type: ignore[arg-type]


def with_checkpoint(**changes: object) -> Listing:
    return replace(WELL, checkpoints={"0": replace(DONE, **changes)})  # type: ignore[arg-type]


def found(listing: Listing, ranges: dict[str, Range] = RANGES) -> list[Finding]:
    all_found = findings(listing, ranges)
    assert all(finding.where and finding.what and finding.remedy for finding in all_found)
    return all_found


def kinds(listing: Listing, ranges: dict[str, Range] = RANGES) -> list[str]:
    return [finding.kind for finding in found(listing, ranges)]


def test_a_ledger_in_order_has_no_findings() -> None:
    assert kinds(WELL) == []


def test_a_group_without_a_living_member_is_one_finding_and_not_one_a_partition() -> None:
    gone = replace(with_ownership(lease=LeaseState.EXPIRED), members={})
    assert kinds(gone) == ["nobody"]


def test_an_ownership_that_nobody_holds_is_found_with_its_last_owner() -> None:
    said = found(with_ownership(lease=LeaseState.BROKEN))
    assert [finding.kind for finding in said] == ["unheld"]
    assert "a/1" in said[0].what
    assert kinds(with_ownership(lease=LeaseState.AVAILABLE, owner=None)) == ["unheld"]


def test_a_paused_partition_that_nobody_holds_is_as_it_should_be() -> None:
    listing = with_ownership(lease=LeaseState.AVAILABLE, owner=None)
    assert kinds(replace(listing, roster=Roster(paused=frozenset({"0"})))) == []
    assert kinds(replace(listing, roster=Roster(is_paused=True))) == ["paused"]


def test_a_foreign_format_is_found_with_when_it_was_seen_and_what_members_will_do() -> None:
    foreign = {"is_foreign": True, "lease": LeaseState.AVAILABLE, "epoch": 0}
    live = found(replace(with_ownership(**foreign), members={}))
    assert [finding.kind for finding in live] == ["foreign"], "it reads, so the group has a reader"
    assert "seen 90 s ago" in live[0].what
    assert "takes_from_foreign" in live[0].remedy
    dead = found(with_ownership(**foreign, modified_at=NOW - 181))
    assert [finding.kind for finding in dead] == ["foreign"]
    assert "is gone" in dead[0].what


def test_a_lease_without_a_name_is_found() -> None:
    assert kinds(with_ownership(owner=None)) == ["nameless"]


def test_a_checkpoint_behind_retention_is_found_with_what_is_lost() -> None:
    said = found(WELL, {"0": Range(100, 150)})
    assert [finding.kind for finding in said] == ["behind-retention"]
    assert "42 to 99" in said[0].what


def test_a_checkpoint_at_the_beginning_has_lost_nothing_because_it_means_what_is_there() -> None:
    at_the_beginning = with_checkpoint(position=Position("-1", -1))
    assert found(at_the_beginning, {"0": Range(100, 150)}) == []


def test_a_checkpoint_beyond_the_last_event_is_found() -> None:
    assert kinds(WELL, {"0": Range(0, 10)}) == ["ahead"]


def test_a_state_behind_its_position_is_found_with_both_remedies() -> None:
    said = found(with_checkpoint(state=b"{}", state_position=Position("1", 5)))
    assert [finding.kind for finding in said] == ["state-behind"]
    assert "41" in said[0].what
    assert "of position 5" in said[0].what
    assert "Rewind" in said[0].remedy
    assert "clear" in said[0].remedy


def test_an_unreadable_blob_is_told_in_its_own_words_and_what_stands_still_for_it() -> None:
    flawed = replace(WELL, flaws=(Flaw("checkpoint/3", "its offset is missing", "3"),))
    said = found(flawed)
    assert (said[0].kind, said[0].what) == ("unreadable", "its offset is missing")
    assert "Partition 3 is not read until then" in said[0].remedy


def test_where_hub_and_ledger_do_not_know_the_same_partitions_both_are_found() -> None:
    assert kinds(WELL, {"0": Range(0, 50), "1": Range(0, 0)}) == ["never-owned"]
    two = replace(WELL, ownerships={"0": OWNED, "1": replace(OWNED, partition="1")})
    assert kinds(two) == ["not-in-hub"]


def test_a_dead_member_is_found_and_needs_nothing() -> None:
    dead = replace(ALIVE, name="b", lease=LeaseState.EXPIRED)
    assert kinds(replace(WELL, members={"a": ALIVE, "b": dead})) == ["dead-member"]
