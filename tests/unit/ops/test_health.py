"""Alive and ready: what the probes of Kubernetes are told, and why."""

from __future__ import annotations

from dataclasses import replace

from support.ops_facts import NOW, board_of, handled, listing, tell
from tidegate.member.messages import Report
from tidegate.model import Roster
from tidegate.ops import observer as facts
from tidegate.ops.board import Board
from tidegate.ops.health import SILENT_LEDGER_S, Health, Verdict

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
    assert health.ready(NOW).reason == "the ledger has not been read yet"
    board.hear(facts.Listed(NOW, listing({}, ("pod-2",))))
    assert health.ready(NOW).reason == "member pod-1 has not joined the group yet"
    board.hear(facts.Listed(NOW, listing({}, ("pod-1", "pod-2"))))
    assert health.ready(NOW).is_good


def test_a_source_that_does_not_say_its_partitions_is_named_and_not_the_ledger() -> None:
    board = Board("pod-1")
    health = Health(board, NOW)
    board.hear(facts.Reported(NOW, Report("source-unreadable", None, "no such hub")))
    said = "the source does not say its partitions: the log has its error"
    assert health.ready(NOW) == Verdict(False, said)
    board.hear(facts.Reported(NOW, Report("source-readable", None, "they are known")))
    assert health.ready(NOW).reason == "the ledger has not been read yet"


def test_a_member_that_stops_is_not_ready() -> None:
    board = board_of(16, 8)
    health = Health(board, NOW)
    assert health.ready(NOW) == Verdict(True, "member pod-1 reads 8 of 16")
    board.hear(facts.Stopping(NOW))
    assert not health.ready(NOW).is_good


def test_partitions_that_stand_still_are_not_among_those_that_are_read() -> None:
    board = board_of(4, 4)
    failed = [facts.BatchFailed(NOW, str(number), 5, 3, "x", is_stuck=True) for number in range(4)]
    tell(board, *failed[1:])
    health = Health(board, NOW)
    some = "member pod-1 reads 1 of 4; the handler fails again and again at 1, 2, 3"
    assert health.ready(NOW) == Verdict(True, some)
    tell(board, failed[0])
    every = "member pod-1 reads 0 of 4; the handler fails again and again at 0, 1, 2, 3"
    assert health.ready(NOW) == Verdict(True, every)
    tell(board, *(handled(str(number), 1_000, at=NOW) for number in range(4)))
    assert health.ready(NOW) == Verdict(True, "member pod-1 reads 4 of 4")


def test_a_partition_that_the_source_does_not_let_us_read_is_not_read() -> None:
    board = board_of(20, 20)
    tell(board, *(facts.ReaderClosed(NOW, str(number), "failed") for number in range(18)))
    assert Health(board, NOW).ready(NOW + 1).reason == (
        "member pod-1 reads 2 of 20; the source does not let it read 0, 1, 2, 3, 4, 5, 6, 7, 8, "
        "9, 10, 11, 12, 13, 14, 15 and 2 more"
    )


def test_a_member_that_is_told_to_leave_and_owns_nothing_any_more_is_ready() -> None:
    """Taken for not ready it would be ended at once, and beside it whoever is due then."""
    board = Board("pod-1")
    roster = Roster(leaving=("pod-1",))
    seen = replace(listing({"0": "pod-2"}, ("pod-1", "pod-2")), roster=roster)
    tell(board, facts.PartitionsKnown(NOW, ("0",)), facts.Listed(NOW, seen))
    assert Health(board, NOW).ready(NOW).is_good
