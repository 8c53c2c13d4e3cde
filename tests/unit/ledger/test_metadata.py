"""Metadata: what is written is read again, whatever it is, and fits where it has to."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.ledger import layout, members, packing
from tidegate.ledger.layout import Row
from tidegate.ledger.packing import METADATA_LIMIT, Unfit, Unreadable
from tidegate.model import LeaseState, Owner, Position, Presence, Recalled, Rewind, Roster

TEXTS = st.text(st.characters(codec="utf-8"), max_size=30)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
OFFSETS = st.from_regex(r"[!-~]([ -~]{0,60}[!-~])?", fullmatch=True) | st.just("")
INTEGERS = st.integers(min_value=-1, max_value=2**63 - 1)
POSITIONS = st.builds(Position, OFFSETS, INTEGERS)
NUMBERS = st.floats(min_value=0, max_value=1e12, allow_nan=False)
LEASE_IDS = st.uuids().map(str)
PRESENCES = st.builds(
    Presence,
    name=NAMES,
    etag=st.just("e"),
    lease=st.sampled_from(LeaseState),
    incarnation=TEXTS,
    weight=NUMBERS,
    loads=st.dictionaries(NAMES, NUMBERS, max_size=8),
    wants=st.dictionaries(NAMES, LEASE_IDS, max_size=8),
    is_leaving=st.booleans(),
    declines=st.frozensets(NAMES | st.just("z:x"), max_size=8),
    recalls=st.dictionaries(
        NAMES,
        st.builds(Recalled, INTEGERS, INTEGERS, st.booleans(), st.none() | NUMBERS),
        max_size=8,
    ),
    restored_at=NUMBERS,
)
ROSTERS = st.builds(
    Roster,
    etag=st.just("e"),
    generation=st.integers(min_value=0, max_value=2**53),
    expected=st.lists(NAMES, max_size=8).map(tuple),
    leaving=st.lists(NAMES, max_size=8, unique=True).map(tuple),
    pins=st.dictionaries(NAMES, NAMES, max_size=8),
    paused=st.frozensets(NAMES, max_size=8),
    is_paused=st.booleans(),
    rewinds=st.lists(st.builds(Rewind, NAMES, NAMES, POSITIONS), max_size=3).map(tuple),
    written_at=st.just(7.0),
)


def row(metadata: Mapping[str, str]) -> Row:
    """A blob as the service gives it back: header values lose spaces at their ends."""
    assert packing.size_of(metadata) <= METADATA_LIMIT
    for name, value in metadata.items():
        assert name.isascii() and name.islower() and name.isalpha()
        assert value == "" or packing.is_plain(value), (name, value)
    return Row("blob", "e", LeaseState.LEASED, metadata, 7.0)


@given(
    st.builds(
        Owner,
        st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1),
        st.text(st.characters(codec="utf-8", exclude_characters="/")),
    ),
    INTEGERS,
    TEXTS,
)
def test_an_ownership_is_read_as_it_was_written(owner: Owner, epoch: int, nonce: str) -> None:
    epoch = abs(epoch)
    found = layout.read_ownership("0", row(layout.ownership_metadata(owner, epoch, nonce)))
    assert (found.owner, found.epoch, found.nonce) == (owner, epoch, nonce)
    assert not found.is_foreign


def test_an_ordinary_owner_stands_there_as_it_is() -> None:
    metadata = layout.ownership_metadata(Owner("activity-5d4f8-x2x", "0192f-a1"), 4, "a1-7")
    assert metadata == {"ownerid": "activity-5d4f8-x2x/0192f-a1", "epoch": "4", "nonce": "a1-7"}
    assert layout.ownership_metadata(None, 4, "") == {"ownerid": "", "epoch": "4"}


@given(POSITIONS, INTEGERS, TEXTS, st.none() | NUMBERS, TEXTS, st.none() | st.binary())
def test_a_checkpoint_is_read_as_it_was_written(
    position: Position,
    epoch: int,
    nonce: str,
    enqueued_at: float | None,
    rewound_by: str,
    state: bytes | None,
) -> None:
    metadata = layout.checkpoint_metadata(position, epoch, nonce, enqueued_at, rewound_by)
    found = layout.read_checkpoint("0", row(metadata), layout.body_of(position, state))
    assert (found.position, found.epoch, found.nonce) == (position, epoch, nonce)
    assert (found.enqueued_at, found.rewound_by) == (enqueued_at, rewound_by)
    assert (found.state, found.is_state_behind) == (state, False)


def test_when_a_partition_was_begun_and_that_there_is_a_state_are_read_of_a_listing() -> None:
    metadata = layout.checkpoint_metadata(Position("8", 1), 3, "n", None, "", 17.5)
    listed = replace(row(metadata), size=40)
    found = layout.read_checkpoint("0", listed)
    assert (found.begun_at, found.has_state, found.state) == (17.5, True, None)
    assert not layout.read_checkpoint("0", row(metadata)).has_state


def test_the_official_keys_stand_there_byte_for_byte() -> None:
    metadata = layout.checkpoint_metadata(Position("8589934592", 41), 3, "n", 12.5, "")
    assert metadata["offset"] == "8589934592"
    assert metadata["sequencenumber"] == "41"
    assert set(metadata) == {"offset", "sequencenumber", "epoch", "nonce", "enqueuedtime"}


def test_an_offset_that_a_header_would_change_is_refused() -> None:
    for offset in (" 1", "1\n", "é"):
        with pytest.raises(Unfit, match="offset"):
            layout.checkpoint_metadata(Position(offset, 1), 1, "", None, "")


@given(PRESENCES)
def test_a_member_is_read_as_it_was_written(presence: Presence) -> None:
    metadata = row(members.presence_metadata(presence)).metadata
    key = packing.unescape(packing.escape(presence.name).lower())
    assert members.read_presence(key, "e", presence.lease, metadata) == presence


@given(ROSTERS)
@settings(max_examples=50)
def test_a_roster_is_read_as_it_was_written(roster: Roster) -> None:
    metadata = row(members.roster_metadata(roster)).metadata
    assert members.read_roster("e", 7.0, metadata) == roster


@pytest.mark.parametrize("form", ["{}", "{0:04x}-{0:04x}-fffe"])
def test_128_wanted_partitions_fit(form: str) -> None:
    partitions = [form.format(number) for number in range(128)]
    presence = Presence(
        "activity-5d4f8b7c9-x2x4q",
        "e",
        LeaseState.LEASED,
        str(uuid.uuid4()),
        wants={partition: str(uuid.uuid4()) for partition in partitions},
        loads={
            partition: round(1 / 128 + number / 7, 3) for number, partition in enumerate(partitions)
        },
    )
    metadata = row(members.presence_metadata(presence)).metadata
    assert members.read_presence(presence.name, "e", presence.lease, metadata) == presence


def test_wants_that_do_not_fit_wait_in_their_order() -> None:
    wants = {f"{number:060x}": str(uuid.uuid4()) for number in range(600)}
    presence = Presence("m", "e", LeaseState.LEASED, "i", wants=wants)
    metadata = row(members.presence_metadata(presence)).metadata
    kept = members.read_presence("m", "e", presence.lease, metadata)
    assert 128 <= len(kept.wants) < 600
    assert list(kept.wants.items()) == list(wants.items())[: len(kept.wants)]


def test_what_is_declined_goes_before_wants_and_is_told_as_far_as_it_fits() -> None:
    wants = {f"{number:060x}": str(uuid.uuid4()) for number in range(600)}
    few, many = frozenset(["0", "é,=", "17"]), frozenset(uuid.uuid4().hex for _ in range(900))
    for declines in (few, many):
        presence = Presence("m", "e", LeaseState.LEASED, "i", wants=wants, declines=declines)
        metadata = row(members.presence_metadata(presence)).metadata
        kept = members.read_presence("m", "e", presence.lease, metadata)
        assert kept.declines == (few if declines is few else kept.declines & many)
        assert kept.declines
        assert (len(kept.wants) > 80) == (declines is few)


def test_a_roster_of_256_pods_fits() -> None:
    pods = tuple(f"activity-5d4f8b7c9-{uuid.uuid4().hex[:5]}" for _ in range(256))
    roster = Roster(etag="e", generation=9, expected=pods, written_at=7.0)
    metadata = row(members.roster_metadata(roster)).metadata
    assert members.read_roster("e", 7.0, metadata) == roster


def test_a_roster_that_does_not_fit_is_refused_whole() -> None:
    pins = {str(number): uuid.uuid4().hex for number in range(2000)}
    with pytest.raises(Unfit, match="roster takes"):
        members.roster_metadata(Roster(pins=pins))


def test_a_lease_id_that_is_no_uuid_is_refused() -> None:
    presence = Presence("m", "e", LeaseState.LEASED, "i", wants={"0": "mine"})
    with pytest.raises(Unfit, match="'mine' is not a UUID"):
        members.presence_metadata(presence)


@given(st.dictionaries(st.sampled_from(["name", "weight", "loads", "wants", "declines"]), TEXTS))
def test_any_junk_in_a_member_is_read_or_refused_in_words(metadata: dict[str, str]) -> None:
    try:
        members.read_presence("m", "e", LeaseState.LEASED, metadata)
    except Unreadable as problem:
        assert str(problem).startswith(("its ", "it ", "a compressed"))


@given(
    TEXTS
    | st.recursive(st.none() | st.integers() | TEXTS, st.lists).map(repr)
    | st.dictionaries(
        st.sampled_from(["expected", "pins", "rewinds", "generation"]),
        st.none() | st.integers() | st.lists(TEXTS),
    ).map(lambda content: str(content).replace("'", '"'))
)
def test_any_junk_in_a_roster_is_read_or_refused_in_words(text: str) -> None:
    try:
        members.read_roster("e", 7.0, {"roster": text})
    except Unreadable as problem:
        assert str(problem).startswith(("its roster", "a compressed"))


@pytest.mark.parametrize("text", ["z:", "z:!!!", "z:eJw=", packing.squeeze("a" * 5000)[:-9]])
def test_a_damaged_compressed_value_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable, match="damaged"):
        packing.unsqueeze(text)


def test_a_compressed_value_cannot_grow_without_end() -> None:
    with pytest.raises(Unreadable, match="damaged"):
        packing.unsqueeze(packing.squeeze("a" * 3_000_000))


def test_a_member_blob_that_names_another_member_is_unreadable() -> None:
    presence = Presence("Reader-1", "e", LeaseState.LEASED, "i")
    metadata = members.presence_metadata(presence)
    assert members.read_presence("reader-1", "e", LeaseState.LEASED, metadata) == replace(presence)
    with pytest.raises(Unreadable, match="of member 'Reader-1'"):
        members.read_presence("reader-2", "e", LeaseState.LEASED, metadata)
