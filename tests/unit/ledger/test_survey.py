"""What `tidegate ledger` prints of a listing, for people and as a document."""

from __future__ import annotations

import json
from dataclasses import replace

from tidegate.lag import UNKNOWN_LAG, Lag, LagKind
from tidegate.ledger.findings import Finding, Range
from tidegate.ledger.survey import as_document, lag_behind, tables, told
from tidegate.model import Checkpoint, LeaseState, Listing, Owner, Ownership, Position, Presence

NOW = 1_000_000.0
OWNED = Ownership("0", "e", LeaseState.LEASED, Owner("a", "1"), 7, "n", NOW - 90)
DONE = Checkpoint("0", "e", Position("4096", 41), 7, "n")
ALIVE = Presence("a", "e", LeaseState.LEASED, "1")
WELL = Listing({"0": OWNED}, {"0": DONE}, {"a": ALIVE}, None, NOW)
RANGES = {"0": Range(0, 50)}


def test_a_partition_has_one_line_with_owner_epoch_age_position_and_lag() -> None:
    lines = tables(WELL, RANGES).splitlines()
    heads = ["PARTITION", "OWNER", "LEASE", "EPOCH", "OWNED", "FOR", "SEQUENCE", "LAG"]
    assert lines[0].split() == heads
    assert lines[1].split() == ["0", "a", "leased", "7", "90s", "41", "8"]
    assert lines[3].split() == ["MEMBER", "ALIVE", "PARTITIONS", "WEIGHT", "DECLINES"]
    assert lines[4].split() == ["a", "true", "1", "1", "-"]


def test_partitions_come_in_the_order_of_their_numbers_and_those_of_the_hub_are_among_them() -> (
    None
):
    listing = replace(WELL, ownerships=dict.fromkeys(("10", "2", "0"), OWNED))
    lines = tables(listing, {"0": Range(0, 50), "11": Range(0, 0)}).splitlines()[1:5]
    assert [line.split()[0] for line in lines] == ["0", "2", "10", "11"]
    assert lines[3].split() == ["11", "-", "-", "-", "-", "-", "unknown"]


def test_what_a_member_declines_is_shown_in_the_order_of_the_numbers() -> None:
    declining = replace(ALIVE, declines=frozenset({"10", "2"}))
    listing = replace(WELL, members={"a": declining})
    assert tables(listing, RANGES).splitlines()[4].split() == ["a", "true", "1", "1", "2", "10"]
    (member,) = as_document("g", listing, {}, [])["members"]
    assert member["declines"] == ["2", "10"]


def test_what_nobody_holds_has_no_age_because_it_is_owned_by_nobody() -> None:
    listing = replace(WELL, ownerships={"0": replace(OWNED, lease=LeaseState.EXPIRED)})
    assert tables(listing, RANGES).splitlines()[1].split() == [
        *("0", "a", "expired", "7", "-", "41", "8"),
    ]


def test_lag_counts_what_is_left_and_not_what_retention_has_passed() -> None:
    assert lag_behind(DONE, Range(0, 50)) == Lag(LagKind.EXACT, 8)
    assert lag_behind(DONE, Range(45, 50)) == Lag(LagKind.LOST, 5)
    assert lag_behind(DONE, None) == UNKNOWN_LAG
    assert lag_behind(None, Range(0, 50)) == UNKNOWN_LAG
    never_read = replace(DONE, position=Position("-1", -1))
    assert lag_behind(never_read, Range(0, 50)) == Lag(LagKind.EXACT, 50)


def test_the_document_says_all_and_what_is_not_known_is_null() -> None:
    found = [Finding("unheld", "ownership/0", "what", "remedy")]
    document = json.loads(json.dumps(as_document("ns/hub/g", WELL, {}, found)))
    assert document["group"] == "ns/hub/g"
    assert document["members"] == [
        {
            "name": "a",
            "alive": True,
            "incarnation": "1",
            "partitions": 1,
            "weight": 1.0,
            "leaving": False,
            "declines": [],
        }
    ]
    assert document["partitions"] == [
        {
            "partition": "0",
            "owner": "a",
            "incarnation": "1",
            "foreign": False,
            "lease": "leased",
            "epoch": 7,
            "ownedForSeconds": 90,
            "sequenceNumber": 41,
            "offset": "4096",
            "checkpointEpoch": 7,
            "firstSequenceNumber": None,
            "nextSequenceNumber": None,
            "lag": None,
        }
    ]
    assert document["findings"] == [
        {"kind": "unheld", "where": "ownership/0", "what": "what", "remedy": "remedy"}
    ]


def test_each_finding_is_told_with_its_remedy() -> None:
    assert told([]) == "nothing is wrong"
    assert told([Finding("unheld", "ownership/0", "nobody holds it", "Look again.")]) == (
        "1 finding:\n  unheld: ownership/0: nobody holds it\n    -> Look again."
    )
