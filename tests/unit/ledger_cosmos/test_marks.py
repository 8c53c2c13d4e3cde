"""Whose a lease is, by the mark beside its fields."""

from __future__ import annotations

from typing import Any

from support.lease_samples import JAVA_EPK, OF
from tidegate.ledger.cosmos.dialects import Dialect, read_lease, stamped, with_etag, with_owner
from tidegate.ledger.cosmos.marks import MARK, foreign_owner, mark_of, marked

NOW = 1_763_546_000.0


def ours(**fields: Any) -> dict[str, Any]:
    document = stamped(with_owner(JAVA_EPK | fields, "m1"), NOW)
    return dict(marked(document, writes_token=True))


def owner_seen(document: dict[str, Any], age_s: float = 0.0) -> str | None:
    return foreign_owner(read_lease(document, Dialect.JAVA_EPK, OF), age_s, 60.0)


def test_what_we_wrote_is_ours() -> None:
    mark = mark_of(ours())
    assert (mark.is_ours, mark.has_our_token) == (True, True)
    assert owner_seen(ours()) is None


def test_a_lease_without_a_mark_is_its_owners_for_as_long_as_it_is_renewed() -> None:
    assert not mark_of(JAVA_EPK).is_ours
    assert owner_seen(JAVA_EPK, 59.9) == "host-1"
    assert owner_seen(JAVA_EPK, 60.0) is None
    assert owner_seen(JAVA_EPK | {"Owner": None}) is None


def test_a_host_that_keeps_unknown_fields_is_told_from_us_all_the_same() -> None:
    taken = stamped(with_owner(ours(), "host-2"), NOW + 5)
    assert owner_seen(dict(taken)) == "host-2"
    renewed = stamped(ours(), NOW + 5)
    assert not mark_of(renewed).is_ours


def test_a_token_that_another_wrote_is_known_for_it() -> None:
    theirs = with_etag(ours(), Dialect.JAVA_EPK, '"130"', OF)
    assert not mark_of(theirs).has_our_token
    claimed = marked(stamped(with_owner(theirs, "m1"), NOW + 9))
    assert mark_of(claimed).is_ours
    assert not mark_of(claimed).has_our_token, "claiming a lease does not make its token ours"


def test_when_it_was_taken_is_remembered_until_another_has_it() -> None:
    taken = marked(stamped(with_owner(JAVA_EPK, "m1"), NOW), NOW)
    later = marked(stamped(taken, NOW + 9), writes_token=True)
    assert mark_of(later).taken_at == NOW
    assert mark_of(with_owner(later, "host-1")).taken_at == 0.0
    assert MARK in later
