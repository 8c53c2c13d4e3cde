"""Whether the process is alive and takes part, as `/healthz` and `/readyz` say it. Pure.

Rules:
- Alive: the ledger answered lately, in whatever way. A refusal is an answer: a restart would not
  change it. Where storage is unreachable for everybody a restart does not help either, so the
  limit is long, and it counts from the start of the process.
- That the loop is alive needs no rule: a loop that does not run does not answer.
- Ready: the last listing shows this member's presence, and no clean stop has begun.
- Each answer says why, in words.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.ops import observer as facts
from tidegate.ops.board import Board
from tidegate.ops.observer import Observer
from tidegate.ports import Refusal

# Longer than any lease (60 s at most) and than a stall that passes.
SILENT_LEDGER_S = 300.0
# What was asked of the ledger and got no answer.
_NO_ANSWER = frozenset({str(Refusal.UNKNOWN), str(Refusal.BUSY)})


@dataclass(frozen=True, slots=True)
class Verdict:
    """Yes or no, and why."""

    is_good: bool
    reason: str


class Health(Observer):
    """Hears whether the ledger answers."""

    def __init__(self, board: Board, started_at: float) -> None:
        self._board = board
        self._answered_at = started_at
        self._has_answered = False

    def hear(self, fact: facts.Fact) -> None:
        if isinstance(fact, facts.LeaseRenewed):
            self._answered_at = fact.at
        elif isinstance(fact, facts.LedgerAnswered) and fact.refusal not in _NO_ANSWER:
            self._answered_at, self._has_answered = fact.at, True

    def alive(self, now: float) -> Verdict:
        silent = now - self._answered_at
        if silent <= SILENT_LEDGER_S:
            return Verdict(True, "alive")
        since = "since it answered last" if self._has_answered else "since the start"
        return Verdict(
            False,
            f"the ledger's storage has not answered for {silent:.0f} s, {since}. Look at the "
            "network and at the storage account; see the log for what it said.",
        )

    def ready(self) -> Verdict:
        board = self._board
        if board.is_stopping:
            return Verdict(False, "stopping: partitions are being handed over")
        if board.listing is None:
            return Verdict(False, "the ledger has not been read yet")
        if not board.is_present():
            return Verdict(False, f"member {board.name} has not joined the group yet")
        owned = sum(place.is_ours for place in board.places.values())
        return Verdict(True, f"member {board.name} reads {owned} of {len(board.partitions)}")
