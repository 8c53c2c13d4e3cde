"""What storage does to a group: refusals, slowness, replies that are lost, and no way to it at all;
for all pods and for their operator, whose ways lead through a proxy. Every event is counted.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import pytest

from support.cluster_api import until
from support.cluster_chaos import PARTITIONS, Chaos
from support.cluster_counting import DUPLICATES_AT_MOST

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

LEASE_S = 15.0
# A lease that runs out by itself: its length, the look after it, and what taking over takes.
DEAD_S = LEASE_S + 6.0
CALM_S = 3.0
RENEWED_S = LEASE_S / 3


class Case(NamedTuple):
    """A fault of the way to storage, and what it may cost."""

    kind: str
    fields: dict[str, Any]
    # Partitions that may stand still, and for how long at most.
    pause_s: float
    duplicates: int = 0
    moves: bool = False


LEASES, CHECKPOINTS = {"query": "comp=lease"}, {"query": "/checkpoint/", "method": "PUT"}
CASES = {
    "storage-409": Case(
        "answer",
        {"status": 409, "times": 6, **LEASES},
        DEAD_S,
        duplicates=6 * DUPLICATES_AT_MOST,
        moves=True,
    ),
    "storage-412": Case("answer", {"status": 412, "times": 9, **CHECKPOINTS}, CALM_S),
    "storage-429": Case("answer", {"status": 429, "for_s": 6}, CALM_S),
    "storage-500": Case("answer", {"status": 500, "for_s": 6}, CALM_S),
    "storage-slow": Case("delay", {"seconds": 0.1, "for_s": 20}, CALM_S),
    "storage-replies-lost": Case("lose-reply", {"times": 9, **CHECKPOINTS}, CALM_S),
    "storage-lease-replies-lost": Case("lose-reply", {"times": 6, **LEASES}, CALM_S),
    "storage-stalls": Case("hold", {"for_s": 8}, CALM_S),
}


@pytest.mark.parametrize("fault", CASES)
def test_a_group_goes_on_through(fault: str, chaos: Chaos) -> None:
    case = CASES[fault]
    with chaos.struck(fault, duplicates=case.duplicates) as seen:
        before = chaos.passed("storage")
        chaos.on_way("storage", case.kind, **case.fields)
        end = time.monotonic() + max(case.fields.get("for_s", 0.0), 2 * RENEWED_S)
        until(lambda: time.monotonic() >= end, 60, f"the end of {fault}")
        assert chaos.passed("storage") > before
        chaos.clear("storage")
        chaos.until_settled()
    assert seen.longest_pause_s < case.pause_s
    assert case.moves or not seen.changes


@pytest.mark.parametrize(("fault", "seconds"), [("storage-away", 8.0), ("storage-away-long", 25.0)])
def test_where_storage_cannot_be_reached_nobody_steals_and_reading_goes_on_when_it_is_back(
    fault: str, seconds: float, chaos: Chaos
) -> None:
    is_short = seconds < LEASE_S - RENEWED_S
    bound = 0 if is_short else PARTITIONS * DUPLICATES_AT_MOST
    with chaos.struck(fault, duplicates=bound, away_s=seconds) as seen:
        chaos.on_way("storage", "refuse")
        chaos.cut("storage")
        end = time.monotonic() + seconds
        until(lambda: time.monotonic() >= end, 60, "storage to be back")
        chaos.clear("storage")
        chaos.until_settled()
    assert seen.longest_pause_s < (CALM_S if is_short else seconds + LEASE_S)
    assert not seen.moves
