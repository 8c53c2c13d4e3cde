"""Whether the process is alive and takes part, as `/healthz` and `/readyz` say it. Pure.

Rules:
- Alive: the ledger answered lately, in whatever way. A refusal is an answer: a restart would not
  change it. Where storage is unreachable for everybody a restart does not help either, so the
  limit is long, and it counts from the start of the process.
- That the loop is alive needs no rule: a loop that does not run does not answer.
- Ready: the last listing shows this member's presence, and no clean stop has begun. A member whose
  partitions stand still is ready all the same, because a restart does not help them; the answer
  names them.
- Each answer says why, in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.model import PartitionId
from tidegate.ops import observer as facts
from tidegate.ops.board import Board, by_number
from tidegate.ops.observer import Observer
from tidegate.ports import Refusal

# Longer than any lease (60 s at most) and than a stall that passes.
SILENT_LEDGER_S = 300.0
# Of many partitions so many are named.
_NAMED = 16
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

    def ready(self, now: float, /) -> Verdict:
        board = self._board
        if board.is_stopping:
            return Verdict(False, "stopping: partitions are being handed over")
        if board.listing is None:
            return Verdict(False, board.unlisted)
        if not board.is_present():
            return Verdict(False, f"member {board.name} has not joined the group yet")
        return Verdict(True, f"member {board.name} {self._reads(now)}")

    def _reads(self, now: float) -> str:
        places = sorted(self._board.places.items(), key=lambda each: by_number(each[0]))
        stuck = [p for p, place in places if place.is_ours and place.is_stuck]
        unread = [p for p, place in places if place.failing.lasts_s(now)]
        stands = {*stuck, *unread}
        reads = sum(place.is_ours and p not in stands for p, place in places)
        parts = [f"reads {reads} of {len(self._board.partitions)}"]
        if stuck:
            parts.append(f"the handler fails again and again at {_listed(stuck)}")
        if unread:
            parts.append(f"the source does not let it read {_listed(unread)}")
        return "; ".join(parts)


def _listed(partitions: Sequence[PartitionId]) -> str:
    more = f" and {len(partitions) - _NAMED} more" if len(partitions) > _NAMED else ""
    return f"{', '.join(partitions[:_NAMED])}{more}"
