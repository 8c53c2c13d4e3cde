"""Blob names: those of Microsoft's stores, and back to what they are of."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tidegate.ledger.layout import GroupNames, Kind, Place
from tidegate.ledger.packing import Unfit
from tidegate.settings import SettingsError

NAMES = GroupNames("Contoso.servicebus.windows.net:5671", "Home-Readings", "$Default")


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (Place(Kind.OWNERSHIP, "0"), "ownership/0"),
        (Place(Kind.CHECKPOINT, "31"), "checkpoint/31"),
        (Place(Kind.MEMBER, "Reader-0"), "member/reader-0"),
        (Place(Kind.MEMBER, "Jörg/1"), "member/j%c3%b6rg%2f1"),
        (Place(Kind.MEMBER, "a\\b c"), "member/a%5cb%20c"),
        (Place(Kind.ROSTER), "roster"),
    ],
)
def test_a_name_is_lower_case_as_a_whole_and_the_host_keeps_its_port(
    place: Place, name: str
) -> None:
    prefix = "contoso.servicebus.windows.net:5671/home-readings/$default/"
    assert NAMES.of(place) == prefix + name
    assert NAMES.place(prefix + name) == Place(place.kind, place.key.lower())


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=40))
def test_any_member_name_is_found_again_in_lower_case(name: str) -> None:
    assume(name not in (".", ".."))
    found = NAMES.place(NAMES.of(Place(Kind.MEMBER, name)))
    assert found is not None
    assert NAMES.of(found) == NAMES.of(Place(Kind.MEMBER, name))


@pytest.mark.parametrize(
    "name",
    [
        "",
        "other.servicebus.windows.net/home-readings/$default/ownership/0",
        NAMES.prefix,
        NAMES.prefix + "ownership",  # a folder of an account with a hierarchical namespace
        NAMES.prefix + "ownership/",
        NAMES.prefix + "ownership/0/1",
        NAMES.prefix + "roster/1",
        NAMES.prefix + "deadletters/0",
        NAMES.prefix.replace("$default", "$default2") + "ownership/0",
    ],
)
def test_a_blob_that_is_no_part_of_the_ledger_is_passed_over(name: str) -> None:
    assert NAMES.place(name) is None


@pytest.mark.parametrize("partition", ["", "A", "a/b", "a\\b", "a b", "é", ".."])
def test_a_partition_that_would_not_come_back_is_refused(partition: str) -> None:
    for kind in (Kind.OWNERSHIP, Kind.CHECKPOINT):
        with pytest.raises(Unfit):
            NAMES.of(Place(kind, partition))


@pytest.mark.parametrize("parts", [("", "h", "g"), ("a", "h/x", "g"), ("a", "h", "")])
def test_a_group_without_a_proper_name_is_refused(parts: tuple[str, str, str]) -> None:
    with pytest.raises(SettingsError, match="without a slash"):
        GroupNames(*parts)
