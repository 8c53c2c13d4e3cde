"""Figures in a member blob: read as they were told, short, and never in the way of the rest."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.ledger import members, packing
from tidegate.ledger.figures import pack_figures, rounded, unpack_figures
from tidegate.ledger.packing import METADATA_LIMIT, Unreadable
from tidegate.model import Figures, LeaseState, Presence

SEQUENCES = st.none() | st.integers(min_value=-1, max_value=2**63 - 1)
NUMBERS = st.floats(min_value=0, max_value=1e9)
FIGURES = st.builds(
    Figures,
    SEQUENCES,
    SEQUENCES,
    st.none() | NUMBERS,
    NUMBERS,
    NUMBERS,
    st.floats(min_value=0, max_value=1),
    SEQUENCES,
    SEQUENCES,
    st.none() | st.floats(min_value=0, max_value=1),
).map(rounded)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
AT = 1_700_000_000.0


def heard(presence: Presence, at: float = AT) -> Presence:
    metadata = members.presence_metadata(presence)
    assert packing.size_of(metadata) <= METADATA_LIMIT
    return members.read_presence(presence.name, "e", presence.lease, metadata, at)


def busy_member(partitions: int) -> Presence:
    """A member that says as much as one can of so many partitions."""
    keys = [str(number) for number in range(partitions)]
    figures = {
        key: rounded(
            Figures(
                10**9 + n,
                10**9 - 7 * n,
                n * 1.3,
                900 + n,
                950 - n,
                0.004 * n % 1,
                put_aside=n,
                utilization=0.003 * n % 1,
            )
        )
        for n, key in enumerate(keys)
    }
    return Presence(
        "activity-5d4f8b7c9-x2x4q",
        "e",
        LeaseState.LEASED,
        uuid.uuid4().hex,
        loads={key: round(0.05 * (n % 20), 2) for n, key in enumerate(keys)},
        wants={key: str(uuid.uuid4()) for key in keys[:96]},
        pod_uid=str(uuid.uuid4()),
        started_at=1_700_000_000.123,
        stuck=frozenset(keys[:3]),
        figures=figures,
        figures_at=AT,
    )


@given(FIGURES)
def test_rounded_figures_come_back_as_they_were(figures: Figures) -> None:
    text = pack_figures(figures)
    assert unpack_figures(text) == figures
    assert packing.is_plain(text) or not text


@given(
    st.dictionaries(NAMES, FIGURES, min_size=1, max_size=5),
    st.frozensets(NAMES, max_size=5),
    st.text(st.characters(codec="utf-8"), max_size=40),
    st.floats(min_value=0, max_value=4e9),
    st.frozensets(NAMES, max_size=5),
    st.text(st.characters(codec="utf-8"), max_size=200),
)
def test_what_a_member_says_of_itself_is_read_as_it_was_written(
    figures: dict[str, Figures],
    stuck: frozenset[str],
    pod_uid: str,
    started_at: float,
    unread: frozenset[str],
    trouble: str,
) -> None:
    presence = Presence(
        "m",
        "e",
        LeaseState.LEASED,
        "i",
        pod_uid=pod_uid,
        started_at=started_at,
        stuck=stuck,
        figures=figures,
        figures_at=AT,
        unread=unread,
        trouble=trouble,
    )
    assert heard(presence) == presence


def test_a_row_is_short() -> None:
    figures = Figures(1_000_123, 1_000_001, 3.1, 850.2, 861.7, 0.412)
    assert pack_figures(figures) == "lfp7:lflt:v:6k6:6nd:bg"
    assert pack_figures(Figures()) == ""
    assert pack_figures(Figures(5, 5)) == "5:5"


def test_a_member_of_128_partitions_tells_all_figures_beside_all_else() -> None:
    presence = busy_member(128)
    assert heard(presence) == presence


def test_figures_that_do_not_fit_are_left_out_and_nothing_else_is() -> None:
    presence = busy_member(700)
    found = heard(presence)
    assert replace(found, figures=presence.figures) == presence
    assert 100 < len(found.figures) < 700
    assert list(found.figures.items()) == list(presence.figures.items())[: len(found.figures)]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("more", range(40))
def test_a_blob_that_is_full_has_no_room_for_troubles_and_is_written_all_the_same(
    more: int,
) -> None:
    """However little is left."""
    wants = {f"{number:060x}": str(uuid.uuid4()) for number in range(600)}
    full = Presence(
        "m",
        "e",
        LeaseState.LEASED,
        "i" * more,
        wants=wants,
        stuck=frozenset({"1" * 60}),
        unread=frozenset({"2" * 60}),
        trouble="é" * 200,
    )
    found = heard(full)
    assert 100 <= len(found.wants) < 600
    assert full.trouble.startswith(found.trouble)


def test_a_member_blob_of_before_there_were_figures_is_read() -> None:
    old = {"name": "m", "weight": "1.0", "incarnation": "i", "loads": "0=0.25"}
    found = members.read_presence("m", "e", LeaseState.LEASED, old, AT)
    assert found == Presence("m", "e", LeaseState.LEASED, "i", loads={"0": 0.25})
    assert (found.pod_uid, found.started_at, found.figures_at) == ("", 0.0, 0.0)


def test_a_member_of_before_there_was_utilization_tells_none() -> None:
    assert unpack_figures("5:4:a:1:2:3:0:6").utilization is None


def test_what_a_newer_member_adds_to_its_figures_is_passed_over() -> None:
    assert unpack_figures("5:4:a:1:2:3:0:6:2:what is new") == Figures(
        5, 4, 1.0, 0.1, 0.2, 0.003, 0, 6, 0.002
    )


@pytest.mark.parametrize("text", ["1:x y", "-", "é", "1:_1", "1" * 17])
def test_damaged_figures_are_refused_in_words(text: str) -> None:
    with pytest.raises(Unreadable, match="its figures are damaged"):
        unpack_figures(text)
