"""Alive and ready: what the probes of Kubernetes are told, and why."""

from __future__ import annotations

from dataclasses import replace

from support.ops_facts import NOW, board_of, listing, tell
from tidegate.model import Roster
from tidegate.ops import observer as facts
from tidegate.ops.board import Board
from tidegate.ops.health import SILENT_LEDGER_S, Health

LATE = NOW + SILENT_LEDGER_S + 1


def answer(at: float, refusal: str = "") -> facts.LedgerAnswered:
    return facts.LedgerAnswered(at, "List", 0.01, refusal)


def test_a_member_whose_ledger_answers_is_alive() -> None:
    health = Health(Board("pod-1"), NOW)
    health.hear(answer(LATE - 1))
    assert health.alive(LATE).is_good


def test_a_refusal_is_an_answer_for_a_restart_would_not_change_it() -> None:
    health = Health(Board("pod-1"), NOW)
    health.hear(answer(LATE - 1, "denied"))
    assert health.alive(LATE).is_good


def test_no_answer_for_long_is_said_with_what_to_do() -> None:
    health = Health(Board("pod-1"), NOW)
    tell(health, answer(NOW), answer(LATE - 1, "unknown"), answer(LATE - 1, "busy"))
    verdict = health.alive(LATE)
    assert not verdict.is_good
    assert verdict.reason.startswith("the ledger's storage has not answered for 301 s, since it")
    assert "Look at the network" in verdict.reason


def test_a_ledger_that_never_answered_counts_from_the_start() -> None:
    health = Health(Board("pod-1"), NOW)
    assert health.alive(NOW + 10).is_good
    assert "since the start" in health.alive(LATE).reason


def test_a_renewal_shows_that_storage_is_there() -> None:
    health = Health(Board("pod-1"), NOW)
    health.hear(facts.LeaseRenewed(LATE - 5, "0", 0.01))
    assert health.alive(LATE).is_good


def test_ready_is_who_the_ledger_shows_as_a_living_member() -> None:
    board = Board("pod-1")
    health = Health(board, NOW)
    assert health.ready().reason == "the ledger has not been read yet"
    board.hear(facts.Listed(NOW, listing({}, ("pod-2",))))
    assert health.ready().reason == "member pod-1 has not joined the group yet"
    board.hear(facts.Listed(NOW, listing({}, ("pod-1", "pod-2"))))
    assert health.ready().is_good


def test_a_member_that_stops_is_not_ready() -> None:
    board = board_of(16, 8)
    health = Health(board, NOW)
    assert health.ready() == type(health.ready())(True, "member pod-1 reads 8 of 16")
    board.hear(facts.Stopping(NOW))
    assert not health.ready().is_good


def test_a_member_that_is_told_to_leave_and_owns_nothing_any_more_is_ready() -> None:
    """Taken for not ready it would be ended at once, and beside it whoever is due then."""
    board = Board("pod-1")
    roster = Roster(leaving=frozenset({"pod-1"}))
    seen = replace(listing({"0": "pod-2"}, ("pod-1", "pod-2")), roster=roster)
    tell(board, facts.PartitionsKnown(NOW, ("0",)), facts.Listed(NOW, seen))
    assert Health(board, NOW).ready().is_good
