"""All checkers, over one history."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from simulation.checkers import (
    p1_one_epoch,
    p2_nothing_lost,
    p3_never_back,
    p4_duplicates,
    p5_order,
    p6_take_over_time,
    p7_moves,
    p8_converges,
    p11_operator_down,
    state,
)
from simulation.checkers.seen import Seen
from simulation.facts import Facts, Violation
from simulation.history import Record

Check = Callable[[Seen], Iterator[Violation]]

CHECKERS: dict[str, Check] = {
    module.NAME: module.check
    for module in (
        p1_one_epoch,
        p2_nothing_lost,
        p3_never_back,
        p4_duplicates,
        p5_order,
        p6_take_over_time,
        p7_moves,
        p8_converges,
        p11_operator_down,
        state,
    )
}


def judge(records: Sequence[Record], facts: Facts) -> list[Violation]:
    """Every violation that any checker finds, in order of time."""
    seen = Seen(records, facts)
    found = [violation for check in CHECKERS.values() for violation in check(seen)]
    return sorted(found, key=lambda violation: violation.at)
