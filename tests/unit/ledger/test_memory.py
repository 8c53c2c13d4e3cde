"""The ledger in memory: its kept listing is always the true one, and it is quick."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.ledger.layout import Kind
from tidegate.ledger.memory import MemoryLedger
from tidegate.ledger.memory_view import MemoryView
from tidegate.model import LeaseState, Listing, Owner, Ownership, Position, Presence, Roster
from tidegate.ports import (
    Acquire,
    Announce,
    Break,
    Change,
    CreateOwnership,
    Forget,
    Join,
    Leave,
    LedgerError,
    List,
    Operation,
    ReadOwnership,
    Release,
    Renew,
    RenewPresence,
    WriteCheckpoint,
    WriteOwnership,
    WriteRoster,
)

PARTITIONS = ("0", "1")
IDS = ("A", "B")
ME = Owner("m", "i")
HERE = Position("1", 1)

Deed = Callable[[MemoryLedger, float], object]


def on_ownership(make: Callable[[str, str, str], Operation]) -> st.SearchStrategy[Deed]:
    """An operation on a partition under its present ETag."""

    def deed(partition: str, lease_id: str) -> Deed:
        def do(ledger: MemoryLedger, now: float) -> object:
            found = ledger.perform_at(ReadOwnership(partition), now)
            etag = found.etag if isinstance(found, Ownership) else "none"
            return ledger.perform_at(make(partition, lease_id, etag), now)

        return do

    return st.builds(deed, st.sampled_from(PARTITIONS), st.sampled_from(IDS))


def plain(operation: Operation) -> Deed:
    return lambda ledger, now: ledger.perform_at(operation, now)


def by_hand(deed: Callable[[MemoryLedger, float], object]) -> st.SearchStrategy[Deed]:
    return st.just(deed)


DEEDS: st.SearchStrategy[Deed] = st.one_of(
    st.sampled_from(PARTITIONS).map(lambda partition: plain(CreateOwnership(partition))),
    on_ownership(Acquire),
    on_ownership(Renew),
    on_ownership(Release),
    on_ownership(lambda partition, lease_id, etag: Change(partition, lease_id, "C", etag)),
    on_ownership(lambda partition, _, etag: Break(partition, etag)),
    on_ownership(lambda part, lease_id, etag: WriteOwnership(part, lease_id, etag, ME, 1, "n")),
    by_hand(plain(WriteCheckpoint("0", None, HERE, 1, "n", state=b"s"))),
    by_hand(lambda ledger, now: ledger.checkpoint_by_other("0", HERE, now)),
    by_hand(lambda ledger, now: ledger.claim_by_other("1", "other", now)),
    by_hand(lambda ledger, now: ledger.break_by_hand("1", now, 5)),
    by_hand(lambda ledger, _: ledger.delete_by_hand(Kind.CHECKPOINT, "0")),
    by_hand(lambda ledger, now: ledger.spoil_by_hand(Kind.OWNERSHIP, "1", now)),
    by_hand(plain(Join("M", "A"))),
    by_hand(plain(RenewPresence("m", "A"))),
    by_hand(plain(Announce(Presence("M", "", LeaseState.LEASED, "i"), "A"))),
    by_hand(plain(Leave("m", "A"))),
    by_hand(plain(Forget("m", "0x1"))),
    by_hand(plain(WriteRoster(Roster(), ""))),
)


@given(st.lists(st.tuples(DEEDS, st.floats(min_value=0, max_value=9)), max_size=40))
@settings(max_examples=300)
def test_the_kept_listing_is_the_one_that_would_be_built_now(
    deeds: list[tuple[Deed, float]],
) -> None:
    ledger, now = MemoryLedger(), 0.0
    for deed, pause in deeds:
        now += pause
        with contextlib.suppress(LedgerError):  # refused: the listing is right all the same
            deed(ledger, now)
        kept = ledger.perform_at(List(), now)
        fresh = MemoryView(ledger._blobs)
        for kind, key in ledger._blobs:
            fresh.touch(kind, key)
        built = fresh.listing(now)
        assert isinstance(kept, Listing)
        assert kept.ownerships == built.ownerships
        assert kept.checkpoints == built.checkpoints
        assert kept.members == built.members
        assert (kept.roster, kept.server_time) == (built.roster, now)
        assert set(kept.flaws) == set(built.flaws)


def full_ledger() -> tuple[MemoryLedger, list[str]]:
    """32 partitions with checkpoints and 8 members, all leased at time 0; and the ETags."""
    ledger, etags = MemoryLedger(), []
    for number in range(32):
        partition = str(number)
        etag = str(ledger.perform_at(CreateOwnership(partition), 0.0))
        ledger.perform_at(Acquire(partition, "A", etag), 0.0)
        write = WriteOwnership(partition, "A", etag, ME, 1, "n")
        etags.append(str(ledger.perform_at(write, 0.0)))
        ledger.perform_at(WriteCheckpoint(partition, None, HERE, 1, "n"), 0.0)
    for number in range(8):
        ledger.perform_at(Join(f"m{number}", "A"), 0.0)
    return ledger, etags


def microseconds(deed: Callable[[float], object], rounds: int = 400) -> float:
    """The time of one call, in the best of several runs."""
    best = float("inf")
    for run in range(5):
        begun = time.perf_counter()
        for step in range(rounds):
            deed((run * rounds + step) / 1000)
        best = min(best, time.perf_counter() - begun)
    return best / rounds * 1e6


def test_it_is_quick_enough_to_simulate_many_members() -> None:
    """Three times the goals of 20 µs an operation and 100 µs a listing, for slow machines."""
    ledger, etags = full_ledger()

    def list_after_a_change(now: float) -> None:
        ledger.perform_at(Release("0", "A", etags[0]), now)
        ledger.perform_at(Acquire("0", "A", etags[0]), now)
        ledger.perform_at(List(), now)

    assert microseconds(lambda now: ledger.perform_at(Renew("3", "A", etags[3]), now)) < 60
    assert microseconds(lambda now: ledger.perform_at(List(), now)) < 300
    assert microseconds(list_after_a_change) < 420
    # Every lease ends at another time, and each end is noticed.
    assert microseconds(lambda now: ledger.perform_at(List(), 14 + now), 100) < 300
