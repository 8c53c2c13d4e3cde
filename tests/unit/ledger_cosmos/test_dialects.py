"""Leases in four dialects: what is read, what a write leaves alone, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.lease_samples import (
    BASE,
    JAVA_EPK,
    JAVA_PK,
    NAMED,
    NET_EPK,
    NET_V0,
    OF,
    RID,
    SAMPLES,
    packed,
    token,
)
from tidegate.ledger.cosmos.dialects import (
    Dialect,
    OtherProcessorError,
    dialect_of,
    new_lease,
    nothing_of,
    read_lease,
    stamped,
    survey,
    with_etag,
    with_owner,
)
from tidegate.ledger.cosmos.tokens import named
from tidegate.ledger.packing import Unreadable
from tidegate.sources.cosmos.ranges import WHOLE, FeedRange

EACH = pytest.mark.parametrize("dialect", list(Dialect))
KEYS = st.integers(0, (1 << 126) - 1).map(lambda number: f"{number:032X}")
SPANS = st.tuples(KEYS, KEYS).filter(lambda two: two[0] < two[1]).map(lambda two: FeedRange(*two))


@EACH
def test_a_lease_is_read_in_every_dialect(dialect: Dialect) -> None:
    lease = read_lease(SAMPLES[dialect], dialect, OF)
    assert (lease.owner, lease.etag) == ("host-1", '"94"')
    assert lease.token == ("-FF" if dialect.is_by_range else "0")
    assert lease.range == (WHOLE if dialect.is_by_range else None)
    assert lease.stamped_at == pytest.approx(1_763_544_960.123, abs=0.001)


@EACH
def test_a_document_shows_its_dialect(dialect: Dialect) -> None:
    assert dialect_of(SAMPLES[dialect]) is dialect


@EACH
def test_a_write_keeps_every_field_that_it_does_not_change(dialect: Dialect) -> None:
    was = SAMPLES[dialect] | {"theirs": {"new": [1, 2]}}
    written = stamped(with_owner(with_etag(was, dialect, '"120"', OF), "me"), 1_763_546_005.5)
    changed = {"Owner", "ContinuationToken", "timestamp"}
    assert {key: value for key, value in written.items() if key not in changed} == {
        key: value for key, value in was.items() if key not in changed
    }
    lease = read_lease(written, dialect, OF)
    assert (lease.owner, lease.etag, lease.stamped_at) == ("me", '"120"', 1_763_546_005.5)
    assert written["timestamp"] == "2025-11-19T09:53:25.500Z"


@EACH
def test_a_new_lease_is_read_back_and_nobodys(dialect: Dialect) -> None:
    token = "05C1-FF" if dialect.is_by_range else "7"
    made = new_lease(BASE, dialect, token, '"5"', OF)
    assert dialect_of(made) is dialect
    lease = read_lease(made, dialect, OF)
    assert (lease.id, lease.token) == (f"{BASE}..{token}", token)
    assert (lease.owner, lease.etag) == (None, '"5"')
    assert read_lease(new_lease(BASE, dialect, token, None, OF), dialect, OF).etag is None


# What begins with `ey` is a token as a whole, which no feed has for an ETag.
ETAGS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40).filter(
    lambda text: not text.startswith("ey")
)


@given(SPANS, ETAGS)
def test_a_java_token_gives_back_the_etag_that_it_was_made_with(
    range: FeedRange, etag: str
) -> None:
    made = new_lease(BASE, Dialect.JAVA_EPK, named(range), etag, OF)
    assert read_lease(made, Dialect.JAVA_EPK, OF).etag == etag
    later = with_etag(made, Dialect.JAVA_EPK, '"later"', OF)
    assert read_lease(later, Dialect.JAVA_EPK, OF).etag == '"later"'


def test_a_java_token_goes_on_saying_where_reading_started() -> None:
    start = {"Type": "POINT_IN_TIME", "PointInTimeMs": 1_763_000_000_000}
    was = JAVA_EPK | {"ContinuationToken": token(StartFrom=start)}
    written = with_etag(was, Dialect.JAVA_EPK, '"120"', OF)
    assert written["ContinuationToken"] == token('"120"', StartFrom=start)


def test_a_lease_without_a_token_has_not_been_read() -> None:
    for token_text in (None, "", packed({"V": 1, "Rid": RID, "Mode": "INCREMENTAL"})):
        document = JAVA_EPK | {"ContinuationToken": token_text}
        assert read_lease(document, Dialect.JAVA_EPK, OF).etag is None


SPLIT = {
    "V": 1,
    "Rid": RID,
    "Mode": "INCREMENTAL",
    "Continuation": {
        "Continuation": [
            {"token": '"1"', "range": {"min": "", "max": "7F"}},
            {"token": '"2"', "range": {"min": "7F", "max": "FF"}},
        ]
    },
}


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (JAVA_EPK | {"ContinuationToken": token(Rid="other")}, "made anew since, or is another"),
        (JAVA_EPK | {"ContinuationToken": token(Mode="FULL_FIDELITY")}, "of the feed mode"),
        (JAVA_EPK | {"ContinuationToken": token(high="7F")}, "of the range -7F"),
        (JAVA_EPK | {"ContinuationToken": packed(SPLIT)}, "covers 2 ranges"),
        (JAVA_EPK | {"ContinuationToken": '"94"'}, "none that Java's processor writes"),
        (JAVA_EPK | {"ContinuationToken": packed([1])}, "none that Java's processor writes"),
        (JAVA_EPK | {"ContinuationToken": packed({"Rid": RID, "Continuation": {}})}, "no ranges"),
        (JAVA_EPK | {"ContinuationToken": 7}, "its ContinuationToken is no text"),
        (JAVA_EPK | {"LeaseToken": ""}, "no LeaseToken"),
        (JAVA_EPK | {"feedRange": {"Range": {"min": 1, "max": 2}}}, "names no range"),
        (NET_EPK, "a lease in the dialect netEpk, and the others are javaEpk"),
    ],
)
def test_what_is_no_lease_of_this_processor_is_refused(document: dict[str, Any], said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        read_lease(document, Dialect.JAVA_EPK, OF)


@pytest.mark.parametrize("dialect", [Dialect.NET_EPK, Dialect.NET_V0])
def test_a_lease_of_nets_in_another_feed_mode_is_refused(dialect: Dialect) -> None:
    with pytest.raises(Unreadable, match="of the feed mode 'Full-Fidelity Feed'"):
        read_lease(SAMPLES[dialect] | {"Mode": "Full-Fidelity Feed"}, dialect, OF)
    for mode in (None, "", "Incremental Feed", "incremental feed"):
        assert read_lease(SAMPLES[dialect] | {"Mode": mode}, dialect, OF).etag == '"94"'


def test_a_java_token_in_another_dialect_is_refused() -> None:
    for document, dialect in ((NET_V0, Dialect.NET_V0), (JAVA_PK, Dialect.JAVA_PK)):
        with pytest.raises(Unreadable, match="no ETag of a change feed"):
            read_lease(document | {"ContinuationToken": token()}, dialect, OF)


@given(st.text(max_size=60))
def test_whatever_a_token_holds_is_read_or_refused(text: str) -> None:
    for dialect in Dialect:
        try:
            read_lease(SAMPLES[dialect] | {"ContinuationToken": text}, dialect, OF)
        except Unreadable as refused:
            assert str(refused)


# --- what a container has


def info(base: str) -> dict[str, Any]:
    return {"id": f"{base}.info"}


@EACH
def test_a_processor_is_found_with_its_dialect(dialect: Dialect) -> None:
    base = NAMED if dialect is Dialect.JAVA_PK else BASE
    found = survey([SAMPLES[dialect], info(base), {"id": f"{base}.lock"}], "jv", OF)
    assert (found.dialect, found.base, found.is_complete) == (dialect, base, True)
    assert found.leases == (SAMPLES[dialect],)


def test_leases_without_their_info_are_still_being_made() -> None:
    assert not survey([JAVA_EPK], "jv", OF).is_complete


def test_our_own_documents_are_no_strangers() -> None:
    found = survey([{"id": "!tidegate!host!c!g!roster"}], "", OF)
    assert (found.dialect, found.strangers) == (None, ())
    assert "has nothing that begins with" in str(nothing_of(found, "", OF))


def test_leases_of_another_processor_are_named() -> None:
    other = JAVA_EPK | {"id": "jvacct.documents.azure.com_AAAAAA==_OTHERRID..-FF"}
    found = survey([other], "jv", OF)
    assert found.dialect is None
    said = str(nothing_of(found, "jv", OF))
    assert "OTHERRID..-FF" in said
    assert "Nothing was overwritten" in said


def test_leases_of_two_kinds_of_processor_are_refused() -> None:
    with pytest.raises(OtherProcessorError, match="two dialects, javaEpk and netV0"):
        survey([JAVA_EPK, NET_V0], "jv", OF)
    with pytest.raises(OtherProcessorError, match="two processors with this prefix"):
        survey([JAVA_EPK, JAVA_PK], "jv", OF)
