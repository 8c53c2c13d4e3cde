"""A ledger on a thread of its own: it works while the main loop is blocked, and ends cleanly."""

from __future__ import annotations

import asyncio
import threading

import pytest

from support.ledger_thread import LedgerThread
from tidegate.ledger.memory import MemoryClient, MemoryLedger
from tidegate.ports import (
    Acquire,
    CreateOwnership,
    Ledger,
    LedgerError,
    List,
    Operation,
    Refusal,
    Renew,
    Reply,
)


class Watched:
    """A ledger that says which threads it ran on, and waits where it is told to."""

    def __init__(self, inner: Ledger) -> None:
        self.inner = inner
        self.threads: set[str] = set()
        self.gate = threading.Event()
        self.gate.set()
        self.is_closed = False

    async def perform(self, operation: Operation) -> Reply:
        self.threads.add(threading.current_thread().name)
        await asyncio.to_thread(self.gate.wait)
        return await self.inner.perform(operation)

    async def close(self) -> None:
        self.is_closed = True


def watched() -> Watched:
    return Watched(MemoryClient(MemoryLedger(), lambda: 0.0))


async def test_a_blocked_loop_does_not_stop_renewals() -> None:
    ledger = watched()
    thread = LedgerThread(lambda: ledger, "leases")
    try:
        etag = str(thread.perform(CreateOwnership("0")))
        thread.perform(Acquire("0", "A", etag))
        # This call blocks the loop of the test until the renewal has come back.
        assert thread.submit(Renew("0", "A", etag)).result(timeout=30) is None
    finally:
        thread.close()
    assert ledger.threads == {"leases"}


def test_a_refusal_reaches_the_caller() -> None:
    thread = LedgerThread(watched)
    try:
        with pytest.raises(LedgerError) as refused:
            thread.perform(Renew("0", "A", "e"))
        assert refused.value.refusal is Refusal.CHANGED
    finally:
        thread.close()


def test_operations_run_side_by_side() -> None:
    ledger = watched()
    thread = LedgerThread(lambda: ledger)
    ledger.gate.clear()
    futures = [thread.submit(List()) for _ in range(3)]
    assert not any(future.done() for future in futures)
    ledger.gate.set()
    assert all(future.result(timeout=30) is not None for future in futures)
    thread.close()


def test_closing_waits_for_what_is_under_way() -> None:
    ledger = watched()
    thread = LedgerThread(lambda: ledger)
    ledger.gate.clear()
    future = thread.submit(List())
    closing = threading.Thread(target=thread.close)
    closing.start()
    assert not future.done()
    ledger.gate.set()
    closing.join(timeout=30)
    assert future.done()
    assert ledger.is_closed
    assert not closing.is_alive()


def test_a_ledger_that_cannot_be_made_leaves_no_thread_behind() -> None:
    def fail() -> Ledger:
        raise ValueError("wrong settings")

    with pytest.raises(ValueError, match="wrong settings"):
        LedgerThread(fail, "never-there")
    assert "never-there" not in {thread.name for thread in threading.enumerate()}
