"""A ledger that cannot be read is said once for each cause, and so is its return."""

from __future__ import annotations

from tidegate.member.messages import Report
from tidegate.member.outage import Outage
from tidegate.ports import Refusal
from tidegate.settings import MemberSettings

SETTINGS = MemberSettings("m1")


def kinds(reports: list[Report]) -> list[str]:
    return [report.kind for report in reports]


def test_storage_that_does_not_answer_is_said_once_it_counts_as_stalled() -> None:
    outage = Outage(SETTINGS)
    assert outage.on_failure(Refusal.UNKNOWN, "no answer", 100.0) == []
    assert outage.on_failure(Refusal.BUSY, "busy", 104.0) == []
    assert kinds(outage.on_failure(Refusal.UNKNOWN, "no answer", 105.0)) == ["ledger-unreachable"]
    assert outage.on_failure(Refusal.BUSY, "busy", 106.0) == []
    (back,) = outage.on_success(130.0)
    assert (back.kind, back.message) == ("ledger-readable", "again, after 30 s")
    assert outage.on_success(131.0) == []


def test_a_refusal_is_said_at_once_and_not_again_until_the_cause_changes() -> None:
    outage = Outage(SETTINGS)
    assert kinds(outage.on_failure(Refusal.DENIED, "wrong key", 0.0)) == ["ledger-unreadable"]
    assert outage.on_failure(Refusal.DENIED, "wrong key", 2.0) == []
    assert kinds(outage.on_failure(Refusal.MISSING, "no container", 4.0)) == ["ledger-unreadable"]


def test_a_short_failure_is_not_worth_a_word() -> None:
    outage = Outage(SETTINGS)
    outage.on_failure(Refusal.UNKNOWN, "no answer", 0.0)
    assert outage.on_success(1.0) == []
