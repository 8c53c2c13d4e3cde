"""All verdicts on a run. Rules: pure; in the order of the properties, and none is left out."""

from __future__ import annotations

from collections.abc import Callable

from tidegate_operator.conformance.checks import events, ledger, moves, network, sizes
from tidegate_operator.conformance.record import Record
from tidegate_operator.conformance.verdicts import Outcome, Verdict

CHECKS: tuple[Callable[[Record], Verdict], ...] = (
    ledger.p1, events.p2, ledger.p3, events.p4, events.p5, moves.p6, moves.p7, moves.p8,
    sizes.p9, sizes.p10, sizes.p11, ledger.p12, events.p13, sizes.p14,
    network.policies,
)  # fmt: skip


def verdicts(record: Record) -> list[Verdict]:
    return [check(record) for check in CHECKS]


def is_passed(found: list[Verdict], record: Record) -> bool:
    """Whether every property that was tried held, some were, and the run itself was as it should
    be."""
    outcomes = [verdict.outcome for verdict in found]
    return Outcome.HELD in outcomes and Outcome.BROKEN not in outcomes and not record.troubles
