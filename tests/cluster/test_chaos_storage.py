"""What storage does to a group: refusals, slowness, replies that are lost, and no way to it at all;
for all pods and for their operator, whose ways lead through a proxy. Every event is counted.
"""

from __future__ import annotations

import contextlib
import http.client
import time
from typing import Any, NamedTuple

import pytest

from support.cluster_api import until
from support.cluster_chaos import NAME, PARTITIONS, Chaos
from support.cluster_counting import DUPLICATES_AT_MOST
from support.cluster_ways import steady_way

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


# The status is true within these times of the start and of the end of a stall.
TOLD_S, BACK_S = 10.0, 5.0
OPERATOR_PORT = 8080


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seconds", [8.0, 25.0, 72.0])
@pytest.mark.parametrize("is_rolling", [False, True], ids=["alone", "in-a-rollout"])
def test_storage_that_hangs_is_told_and_so_is_its_end(
    chaos: Chaos, *, seconds: float, is_rolling: bool
) -> None:
    chaos.until_rested()
    # The holder of the Lease is the name of its pod, and a suffix.
    operator = f"pod/{chaos.release.leader().rpartition('_')[0]}"
    with chaos.measured() as seen, steady_way(chaos.kubectl, operator, OPERATOR_PORT) as port:
        before = chaos.group.pod_names()
        if is_rolling:
            # Another limit of a call, which handlers do not feel, makes other pods.
            limit_s = chaos.group.there()["spec"]["delivery"]["timeoutSeconds"] + 1
            chaos.group.patch(delivery={"timeoutSeconds": limit_s})
            chaos.group.until("a new pod", lambda: set(chaos.group.pod_names()) - set(before), 60)
        chaos.on_way("storage", "hold")
        begun = time.monotonic()
        until(lambda: is_unknown(chaos, port), 30, "a status that is unknown")
        told_s = time.monotonic() - begun
        until(lambda: time.monotonic() >= begun + seconds, 90, "the end of the stall")
        chaos.clear("storage")
        ended = time.monotonic()
        until(lambda: is_known(chaos, port), 30, "a status that is known")
        back_s = time.monotonic() - ended
        if is_rolling:
            chaos.until_rolled_out(before, 300)
        else:
            chaos.until_settled()
    how = "in a rollout" if is_rolling else "alone"
    print(seen.told(f"storage hung for {seconds:g} s {how}"))
    print(f"told after {told_s:.1f} s, known again {back_s:.1f} s after its end")
    assert told_s <= TOLD_S and back_s <= BACK_S
    is_short = seconds < LEASE_S - RENEWED_S and not is_rolling
    assert seen.duplicates <= (0 if is_short else 2 * PARTITIONS * DUPLICATES_AT_MOST)


def answer_of(chaos: Chaos, port: int) -> int:
    """What the operator answers to KEDA."""
    there = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    with contextlib.closing(there):
        there.request("GET", f"/groups/{chaos.release.namespace}/{NAME}")
        return there.getresponse().status


def is_unknown(chaos: Chaos, port: int) -> bool:
    status = chaos.group.status()
    return (
        status.get("state") == "LedgerUnreachable"
        and not chaos.group.is_so("Ready")
        and not status.keys() & {"lag", "owned"}
        and answer_of(chaos, port) == 503
    )


def is_known(chaos: Chaos, port: int) -> bool:
    status = chaos.group.status()
    return status.get("state") != "LedgerUnreachable" and "owned" in status
