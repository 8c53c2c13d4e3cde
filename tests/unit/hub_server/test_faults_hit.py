"""Every kind of fault on every operation that it may hit, for a count and for a time.

The exact conditions and words are here; what the official clients make of them is in
tests/contract/wire.
"""

from __future__ import annotations

from typing import Any

import pytest

from support.hub_bench import Bench
from support.hub_operations import DONE, HUB, OPERATIONS, Ended, attempt
from tidegate_hub.faults import HITS, MAY_HIT, Kind, Operation

LEARN_MORE = "To know more visit https://aka.ms/sbResourceMgrExceptions"
BUSY = (
    "The request was terminated because the namespace localhost is being throttled. "
    f"Error code : 50002. Please wait 4 seconds and try again. {LEARN_MORE}"
)
ENDS = {
    Kind.SERVER_BUSY: Ended("refused", "com.microsoft:server-busy", BUSY),
    Kind.DETACH_LINK: Ended(
        "refused", "amqp:link:detach-forced", "The link was detached by a scripted fault."
    ),
    Kind.DROP_CONNECTION: Ended("cut"),
    Kind.DELAY: DONE,
    Kind.REFUSE_TOKEN: Ended(
        "refused",
        "com.microsoft:auth-failed",
        "InvalidSignature: The token has an invalid signature.",
    ),
}
DELAY_S = 3.0
PARAMETERS: dict[Kind, dict[str, Any]] = {Kind.DELAY: {"seconds": DELAY_S}}


# A connect has no bench: see tests/contract/wire.
HITTING = [
    pytest.param(kind, str(operation), id=f"{kind}-{operation}")
    for kind in ENDS
    for operation in MAY_HIT[kind]
    if operation is not Operation.CONNECT
]


def parameters(kind: Kind, operation: str) -> dict[str, Any]:
    on = {} if kind is Kind.REFUSE_TOKEN else {"on": operation}
    return {**on, **PARAMETERS.get(kind, {})}


def assert_hit(ended: Ended, kind: Kind, delay_s: float = DELAY_S) -> None:
    wanted = ENDS[kind]
    assert (ended.how, ended.condition) == (wanted.how, wanted.condition)
    assert ended.words.startswith(wanted.words)
    assert ended.seconds == (delay_s if kind is Kind.DELAY else 0)


@pytest.mark.parametrize(("kind", "operation"), HITTING)
def test_a_fault_for_a_count_hits_so_many_operations(
    bench: Bench, kind: Kind, operation: str
) -> None:
    bench.inject(kind, times=2, **parameters(kind, operation))
    for _ in range(2):
        assert_hit(attempt(bench, operation), kind)
    assert attempt(bench, operation) == DONE
    assert bench.broker.faults.list(bench.now) == ()


@pytest.mark.parametrize(("kind", "operation"), HITTING)
def test_a_fault_for_a_time_hits_all_operations_until_it_ends(
    bench: Bench, kind: Kind, operation: str
) -> None:
    bench.inject(kind, for_seconds=10.0, **parameters(kind, operation))
    for _ in range(3):
        assert_hit(attempt(bench, operation), kind)
    bench.pass_time(10)
    assert attempt(bench, operation) == DONE


@pytest.mark.parametrize(("kind", "operation"), HITTING)
def test_a_fault_touches_no_other_operation(bench: Bench, kind: Kind, operation: str) -> None:
    bench.inject(kind, for_seconds=1000.0, **parameters(kind, operation))
    # An operation on a link needs the link: a fault at attach hits those on the way.
    later = ("send", "receive") if operation == "attach" else ()
    for other in OPERATIONS:
        if other != operation and other not in later:
            assert attempt(bench, other) == DONE


@pytest.mark.parametrize(("kind", "operation"), HITTING)
def test_a_fault_for_a_hub_hits_no_other_hub(bench: Bench, kind: Kind, operation: str) -> None:
    fault = bench.inject(kind, hub="other", for_seconds=1000.0, **parameters(kind, operation))
    assert attempt(bench, operation) == DONE
    bench.broker.faults.remove(fault.id)
    bench.inject(kind, hub=HUB.upper(), times=1, **parameters(kind, operation))
    assert_hit(attempt(bench, operation), kind)


@pytest.mark.parametrize("kind", [kind for kind in HITS if kind in ENDS])
def test_a_fault_that_names_no_operation_hits_those_of_its_kind(bench: Bench, kind: Kind) -> None:
    bench.inject(kind, for_seconds=1000.0, **PARAMETERS.get(kind, {}))
    for operation in OPERATIONS:
        if Operation.ATTACH in HITS[kind] and operation in ("send", "receive"):
            continue  # they do not get as far as that
        if operation in HITS[kind]:
            assert_hit(attempt(bench, operation), kind)
        else:
            assert attempt(bench, operation) == DONE


@pytest.mark.parametrize("operation", ["send", "receive", "attach", "management"])
def test_server_busy_says_how_long_to_wait(bench: Bench, operation: str) -> None:
    bench.inject("server_busy", times=1, on=operation, wait_seconds=11)
    assert "Please wait 11 seconds and try again." in attempt(bench, operation).words


@pytest.mark.parametrize("operation", ["send", "receive", "attach"])
def test_a_detach_says_what_the_script_says(bench: Bench, operation: str) -> None:
    bench.inject(
        "detach_link", times=1, on=operation, condition="amqp:not-allowed", description="Not today."
    )
    ended = attempt(bench, operation)
    assert (ended.how, ended.condition) == ("refused", "amqp:not-allowed")
    assert ended.words.startswith("Not today. TrackingId:c0ffee_G")


@pytest.mark.parametrize("operation", ["receive", "attach"])
def test_a_fault_for_a_group_hits_no_other_group(bench: Bench, operation: str) -> None:
    bench.inject("detach_link", group="analytics", for_seconds=1000.0, on=operation)
    assert attempt(bench, operation) == DONE
    bench.inject("detach_link", group="$default", times=1, on=operation)
    assert_hit(attempt(bench, operation), Kind.DETACH_LINK)


@pytest.mark.parametrize("operation", ["send", "receive", "attach", "management"])
def test_a_fault_for_a_partition_hits_no_other_partition(bench: Bench, operation: str) -> None:
    bench.inject("server_busy", partition="1", for_seconds=1000.0, on=operation)
    assert attempt(bench, operation) == DONE
    bench.inject("server_busy", partition="0", times=1, on=operation)
    assert_hit(attempt(bench, operation), Kind.SERVER_BUSY)


def test_cleared_faults_hit_nothing(bench: Bench) -> None:
    bench.inject("drop_connection", for_seconds=1000.0)
    bench.broker.faults.clear()
    for operation in OPERATIONS:
        assert attempt(bench, operation) == DONE
