"""Tolerant reading: what others wrote, what hands have spoilt, and that the rest goes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.ledger import layout
from tidegate.ledger.layout import GroupNames, Kind, Place, Row
from tidegate.ledger.packing import Unreadable
from tidegate.model import LeaseState, Owner, Position

NAMES = GroupNames("localhost", "hub", "$Default")
HERE = Position("100", 7)


def row(kind: Kind, key: str = "0", **metadata: str) -> Row:
    return Row(NAMES.of(Place(kind, key)), "e", LeaseState.AVAILABLE, metadata, 50.0)


def test_another_processors_ownership_is_foreign() -> None:
    found = layout.read_ownership("0", row(Kind.OWNERSHIP, ownerid="3f0e%41/uuid"))
    assert (found.owner, found.is_foreign) == (Owner("3f0e%41", "uuid"), True)
    assert (found.epoch, found.nonce, found.modified_at) == (0, "", 50.0)


@pytest.mark.parametrize("metadata", [{}, {"ownerid": ""}, {"ownerid": "", "epoch": "4"}])
def test_an_ownership_without_an_owner_is_nobodys(metadata: dict[str, str]) -> None:
    found = layout.read_ownership("0", row(Kind.OWNERSHIP, **metadata))
    assert (found.owner, found.is_foreign) == (None, False)
    assert found.epoch == int(metadata.get("epoch", 0))


@pytest.mark.parametrize("epoch", ["", "x", "1.5", "-1", "9" * 40, "٣"])
def test_a_junk_epoch_is_unreadable(epoch: str) -> None:
    with pytest.raises(Unreadable, match="its epoch is"):
        layout.read_ownership("0", row(Kind.OWNERSHIP, ownerid="a", epoch=epoch))


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({}, "neither offset nor sequencenumber"),
        ({"offset": "1"}, "its sequencenumber is missing"),
        ({"offset": "1", "sequencenumber": "x1"}, "its sequencenumber is 'x1'"),
        ({"offset": "1", "sequencenumber": "1", "epoch": "junk"}, "its epoch is 'junk'"),
        ({"offset": "1", "sequencenumber": "1", "enqueuedtime": "nan"}, "its enqueuedtime is"),
    ],
)
def test_a_junk_checkpoint_says_what_is_wrong(metadata: dict[str, str], words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        layout.read_checkpoint("0", row(Kind.CHECKPOINT, **metadata))


def test_a_checkpoint_of_a_library_that_stores_the_number_alone_is_read() -> None:
    found = layout.read_checkpoint("0", row(Kind.CHECKPOINT, offset="", sequencenumber="7"))
    assert found.position == Position("", 7)


def test_a_state_that_was_left_behind_is_known_by_its_position() -> None:
    body = layout.body_of(HERE, b"state\nwith lines")
    found = layout.read_checkpoint(
        "0", row(Kind.CHECKPOINT, offset="200", sequencenumber="9"), body
    )
    assert (found.position, found.state_position) == (Position("200", 9), HERE)
    assert found.state == b"state\nwith lines"
    assert found.is_state_behind


def test_a_position_that_somebody_moved_is_not_behind_where_there_is_no_state() -> None:
    found = layout.read_checkpoint(
        "0", row(Kind.CHECKPOINT, offset="200", sequencenumber="9"), layout.body_of(HERE, None)
    )
    assert (found.state, found.is_state_behind) == (None, False)


@given(st.binary(min_size=1, max_size=60) | st.binary(max_size=20).map(layout.BODY_LINE.__add__))
def test_any_body_is_read_or_refused_in_words(body: bytes) -> None:
    try:
        position, state = layout.read_body(body)
    except Unreadable as problem:
        assert "is not a state that this group wrote" in str(problem)
    else:
        assert body.startswith(layout.BODY_LINE)
        assert body.endswith(state)
        assert isinstance(position.sequence, int)


def test_a_listing_names_what_cannot_be_read_and_goes_on() -> None:
    listing = layout.read_listing(
        NAMES,
        [
            row(Kind.OWNERSHIP, "0", ownerid="a", epoch="junk"),
            row(Kind.OWNERSHIP, "1", ownerid="a", epoch="2"),
            row(Kind.CHECKPOINT, "0", offset="1", sequencenumber="junk"),
            row(Kind.CHECKPOINT, "1", offset="1", sequencenumber="1"),
            row(Kind.MEMBER, "m", weight="heavy"),
            row(Kind.MEMBER, "n"),
            row(Kind.ROSTER, "", roster="{"),
            Row("somebody/elses/blob", "e", LeaseState.AVAILABLE, {}, 1.0),
        ],
        60.0,
    )
    assert set(listing.ownerships) == set(listing.checkpoints) == {"1"}
    assert set(listing.members) == {"n"}
    assert listing.roster is None
    assert [flaw.partition for flaw in listing.flaws] == ["0", "0", None, None]
    assert listing.flaws[1].problem == (
        "blob 'localhost/hub/$default/checkpoint/0' cannot be read: its sequencenumber is 'junk', "
        "which is not a whole number. Nothing was overwritten. Correct it, or delete it: a member "
        "that knows it writes it again."
    )


@given(
    st.lists(
        st.tuples(
            st.sampled_from(Kind),
            st.dictionaries(
                st.sampled_from(
                    ["ownerid", "offset", "sequencenumber", "epoch", "nonce", "roster", "wants"]
                ),
                st.text(max_size=12),
            ),
        )
    )
)
def test_no_metadata_stops_a_listing(rows: list[tuple[Kind, dict[str, str]]]) -> None:
    listing = layout.read_listing(
        NAMES, [row(kind, "" if kind is Kind.ROSTER else "0", **data) for kind, data in rows], 1.0
    )
    assert listing.server_time == 1.0
