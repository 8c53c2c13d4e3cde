"""The lease's states in memory, against the tables that Microsoft documents for Lease Blob.

The tables are written out below as facts: for each state of a lease that A had, what each call
does. `-` is a refusal, else it is the state that follows.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tidegate.ledger.memory_blob import MemoryBlob
from tidegate.model import LeaseState
from tidegate.ports import LedgerError, Refusal

STATES = ("available", "leased", "breaking", "broken", "expired")
NOW = 100.0

Call = Callable[[MemoryBlob], None]

CALLS: dict[str, Call] = {
    "acquire as A": lambda blob: blob.acquire("A", 15, NOW),
    "acquire as B": lambda blob: blob.acquire("B", 15, NOW),
    "renew A": lambda blob: blob.renew("A", 15, NOW),
    "renew B": lambda blob: blob.renew("B", 15, NOW),
    "change A to B": lambda blob: blob.change("A", "B", NOW),
    "change B to A": lambda blob: blob.change("B", "A", NOW),
    "change B to C": lambda blob: blob.change("B", "C", NOW),
    "release A": lambda blob: blob.release("A", NOW),
    "release B": lambda blob: blob.release("B", NOW),
    "break at once": lambda blob: blob.break_lease(NOW),
    "break in 5 s": lambda blob: blob.break_lease(NOW, 5),
}

#                   available   leased      breaking    broken      expired
LEASE_CALLS = """
acquire as A      | leased    | leased    | -         | leased    | leased
acquire as B      | leased    | -         | -         | leased    | leased
renew A           | -         | leased    | -         | -         | leased
renew B           | -         | -         | -         | -         | -
change A to B     | -         | leased    | -         | -         | -
change B to A     | -         | leased    | -         | -         | -
change B to C     | -         | -         | -         | -         | -
release A         | -         | available | available | available | available
release B         | -         | -         | -         | -         | -
break at once     | -         | broken    | broken    | broken    | broken
break in 5 s      | -         | breaking  | breaking  | broken    | broken
"""

#                   available   leased      breaking    broken      expired
WRITES = """
with A            | -         | leased    | breaking  | -         | -
with B            | -         | -         | -         | -         | -
without a lease   | available | -         | -         | available | available
"""


def cells(table: str) -> list[tuple[str, str, str]]:
    """(call, state before, outcome) for each cell of a table."""
    rows = [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]
    return [(row[0], *pair) for row in rows for pair in zip(STATES, row[1:], strict=True)]


def blob_in(state: str) -> MemoryBlob:
    """A blob whose lease, which was A's, is in this state now."""
    blob = MemoryBlob("blob", "e", None, 0.0)
    if state == "expired":
        blob.acquire("A", 15, NOW - 15)
    elif state != "available":
        blob.acquire("A", 15, NOW - 1)
    if state == "breaking":
        blob.break_lease(NOW - 1, 10)
    if state == "broken":
        blob.break_lease(NOW - 1)
    assert blob.state(NOW) == state
    return blob


@pytest.mark.parametrize(("call", "state", "outcome"), cells(LEASE_CALLS))
def test_a_lease_call_ends_as_documented(call: str, state: str, outcome: str) -> None:
    blob = blob_in(state)
    if outcome == "-":
        before = (blob.lease_id, blob.expires_at, blob.breaks_at)
        with pytest.raises(LedgerError) as refused:
            CALLS[call](blob)
        assert refused.value.refusal is Refusal.HELD
        assert (blob.lease_id, blob.expires_at, blob.breaks_at) == before
    else:
        CALLS[call](blob)
        assert blob.state(NOW) == outcome


@pytest.mark.parametrize(("call", "state", "outcome"), cells(WRITES))
def test_a_write_ends_as_documented(call: str, state: str, outcome: str) -> None:
    blob = blob_in(state)
    lease_id = {"with A": "A", "with B": "B", "without a lease": None}[call]
    if outcome == "-":
        with pytest.raises(LedgerError) as refused:
            blob.authorise(lease_id, NOW)
        assert refused.value.refusal is Refusal.CHANGED
    else:
        blob.authorise(lease_id, NOW)
        blob.write("new", "e2", NOW)
        assert blob.state(NOW) == outcome


def test_a_write_makes_an_ended_lease_one_that_nobody_renews() -> None:
    blob = blob_in("expired")
    blob.write("new", "e2", NOW)
    with pytest.raises(LedgerError):
        blob.renew("A", 15, NOW)


def test_a_change_leaves_the_clock_and_a_renewal_starts_it_again() -> None:
    blob = blob_in("leased")
    blob.change("A", "B", NOW + 5)
    assert blob.state(NOW + 13.9) is LeaseState.LEASED
    assert blob.state(NOW + 14) is LeaseState.EXPIRED
    blob.renew("B", 15, NOW + 14)
    assert blob.state(NOW + 28.9) is LeaseState.LEASED


def test_a_slow_break_takes_no_longer_than_the_lease_had_left() -> None:
    blob = blob_in("leased")
    blob.break_lease(NOW, 60)
    assert blob.state(NOW + 13.9) is LeaseState.BREAKING
    assert blob.state(NOW + 14) is LeaseState.BROKEN
