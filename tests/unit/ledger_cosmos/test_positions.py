"""Positions of the change feed as leases have them, and back."""

from __future__ import annotations

import pytest

from tidegate.ledger.cosmos.positions import Stand, lsn_of, parts_of, position_of, stand_of
from tidegate.model import BEGINNING
from tidegate.sources.cosmos.places import Feed, Place, PlaceError
from tidegate.sources.cosmos.ranges import WHOLE, FeedRange

RID = "AAAAAIAAAAE="
LOW, HIGH = FeedRange("", "7F"), FeedRange("7F", "FF")


def test_an_etag_comes_back_as_it_was() -> None:
    position = position_of('"94"', WHOLE, RID)
    assert position.sequence == 94
    assert stand_of(position, WHOLE.id, RID) == Stand('"94"', is_within_page=False)


def test_an_etag_that_is_no_number_is_kept_all_the_same() -> None:
    position = position_of("opaque", WHOLE, RID)
    assert (position.sequence, lsn_of("opaque")) == (-1, -1)
    assert stand_of(position, WHOLE.id, RID).etag == "opaque"


def test_the_beginning_has_no_etag() -> None:
    assert stand_of(BEGINNING, WHOLE.id, RID) == Stand(None, is_within_page=False)


def test_a_position_within_a_page_is_where_the_page_begins() -> None:
    place = Place(RID, (Feed(WHOLE, '"94"', 97),))
    assert stand_of(place.position, WHOLE.id, RID) == Stand('"94"', is_within_page=True)


def test_parts_that_have_come_differently_far_are_as_far_as_the_least() -> None:
    place = Place(RID, (Feed(LOW, '"94"', 94), Feed(HIGH, '"120"', 120)))
    assert stand_of(place.position, WHOLE.id, RID) == Stand('"94"', is_within_page=True)


def test_what_a_partition_went_on_as_begins_where_it_ended() -> None:
    place = Place(RID, (Feed(WHOLE, '"94"', 94),), into=(LOW.id, HIGH.id))
    assert parts_of(place.position, WHOLE.id, RID) == {LOW.id: '"94"', HIGH.id: '"94"'}


def test_a_position_of_another_container_is_refused() -> None:
    with pytest.raises(PlaceError, match="another container of this name"):
        stand_of(position_of('"94"', WHOLE, "other"), WHOLE.id, RID)
