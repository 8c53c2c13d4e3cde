"""What nobody should have written into a ledger is told as a flaw, and the rest is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.lease_samples import OF, RID, token
from tidegate.balance.group import sort_key
from tidegate.delivery.letters import LetterError, decode_letter, encode_letter
from tidegate.delivery.state import State, StateError
from tidegate.ledger.cosmos.documents import blob_of, body_of_parts
from tidegate.ledger.cosmos.tokens import etag_of_java_token
from tidegate.ledger.findings import natural
from tidegate.ledger.layout import GroupNames, Row, read_listing
from tidegate.ledger.listing_xml import read_page, seconds_of
from tidegate.ledger.packing import Unreadable, escape
from tidegate.model import LeaseState
from tidegate.scratch import Scratch
from tidegate.sources.cosmos.places import parsed
from tidegate.sources.cosmos.ranges import WHOLE

NAMES = GroupNames("ns.example", "hub", "g")
NESTED = b"[" * 100_000
HALF = "\ud800"  # of a character: JSON may hold it, and no Unicode text does


@pytest.mark.parametrize(
    "rewind",
    [
        {"at": "soon"},
        {"at": 10**400},
        {"sequence": "1"},
        {},
    ],
)
def test_a_roster_with_a_rewind_that_is_none_is_a_flaw(rewind: dict[str, Any]) -> None:
    whole = {"id": "a", "partition": "0", "offset": "-1", "sequence": -1, **rewind}
    roster = {"generation": 1, "rewinds": [whole] if rewind else "none"}
    row = Row(f"{NAMES.prefix}roster", "e", LeaseState.LEASED, {"roster": json.dumps(roster)}, 1.0)
    listing = read_listing(NAMES, [row], 5.0)
    assert listing.roster is None
    assert "its roster is not one" in listing.flaws[0].problem


@pytest.mark.parametrize("name", ["9" * 5000, "²", "١"])
def test_a_partition_of_a_strange_name_has_its_place_among_the_others(name: str) -> None:
    assert sorted([name, "10", "2"], key=natural) == ["2", "10", name]
    assert sorted([name, "10", "2"], key=sort_key) == ["2", "10", name]


def test_a_listing_in_an_encoding_that_nobody_knows_is_none() -> None:
    with pytest.raises(ValueError, match="a listing that is no XML"):
        read_page(b'<?xml version="1.0" encoding="x-none"?><EnumerationResults/>')


@pytest.mark.parametrize("date", ["Wed, 18 Nov 99999999999999999999 15:40:22 GMT", "", "no date"])
def test_a_listing_with_a_date_that_is_none_is_none(date: str) -> None:
    with pytest.raises(ValueError):
        seconds_of(date)


LETTER = {
    "partition": "0", "offset": "5", "sequenceNumber": 5, "enqueuedTime": None,
    "partitionKey": None, "error": "", "attempts": 1, "member": "m", "putAsideAt": None,
    "properties": {}, "systemProperties": {}, "body": "", "trace": "",
}  # fmt: skip


@pytest.mark.parametrize(
    "changed",
    [
        {"sequenceNumber": float("inf")},
        {"properties": {"a": {"$bytes": 5}}},
        {"enqueuedTime": "0001-01-01T00:00:00+23:59"},
        {"putAsideAt": "9999-12-31T23:59:59-23:59"},
        {"properties": {"a": {"$uuid": []}}},
    ],
)
def test_a_dead_letter_with_values_that_are_none_is_told_as_one(changed: dict[str, Any]) -> None:
    decode_letter(json.dumps(LETTER).encode())
    try:
        letter = decode_letter(json.dumps(LETTER | changed).encode())
    except LetterError:
        return
    assert letter.enqueued_at is not None  # some Pythons know the first day of all
    encode_letter(letter)


def test_what_nests_without_end_is_told_as_what_it_is_not(tmp_path: Path) -> None:
    with pytest.raises(LetterError):
        decode_letter(NESTED)
    with pytest.raises(StateError, match="another program wrote it"):
        State("0", b'{"a":' + NESTED, 1 << 30)
    path = tmp_path / "leases.json"
    path.write_bytes(NESTED)
    scratch = Scratch(path)
    assert scratch.read() == ()
    assert "counts as empty" in scratch.trouble
    scratch.close()


def test_a_document_of_a_ledger_with_values_that_are_none_is_unreadable() -> None:
    with pytest.raises(Unreadable):
        body_of_parts([{"body": "é"}])
    lease = {"id": "a", "lasts": 10**400}
    with pytest.raises(Unreadable):
        blob_of({"id": "a", "tag": "t", "metadata": {}, "lease": lease})


def test_half_a_character_in_a_name_stops_nothing() -> None:
    assert escape(f"a{HALF}") == "a?"


def test_a_token_with_half_a_character_is_unreadable() -> None:
    with pytest.raises(Unreadable, match="no ETag"):
        etag_of_java_token(token(f"94{HALF}"), WHOLE, OF)


@pytest.mark.parametrize(
    "offset",
    [
        f"1 {RID} -ff@t1e999@5",  # a time beyond all dates
        f"1 {RID} -ff@t-5@5",
        f"1 {RID} -ff@e94@{'9' * 5000}",
        f"1 A{HALF} -ff@e94@5",
    ],
)
def test_an_offset_that_no_feed_could_be_asked_for_is_none(offset: str) -> None:
    assert parsed(offset) is None
