"""The thread that renews leases goes on whatever the main loop does; a silent reader stops it."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from contextlib import contextmanager

from support.wait import wait_until
from tidegate.keeping import KeepingThread
from tidegate.ledger.memory import MemoryClient, MemoryLedger
from tidegate.member.messages import Keep, LetGo, RenewalRefused, Renewed
from tidegate.model import Ownership
from tidegate.ports import Acquire, Break, CreateOwnership, ReadOwnership, Refusal
from tidegate.settings import MemberSettings

Told = queue.SimpleQueue[Renewed | RenewalRefused]


class Keeping:
    """A keeper thread that keeps the lease of one partition."""

    def __init__(self, reader_silence_s: float = 30.0) -> None:
        self.ledger = MemoryLedger()
        self.told: Told = queue.SimpleQueue()
        # Far below what storage takes, so that a renewal comes every 20 ms.
        settings = MemberSettings("a", lease_s=0.06, reader_silence_s=reader_silence_s)
        self.thread = KeepingThread(
            settings,
            lambda: MemoryClient(self.ledger, lambda: 0.0),
            self.told.put,
            time.monotonic,
        )
        self.ledger.perform_at(CreateOwnership("0"), 0.0)
        self.etag = self._row().etag
        self.ledger.perform_at(Acquire("0", "lease", self.etag), 0.0)

    def _row(self) -> Ownership:
        row = self.ledger.perform_at(ReadOwnership("0"), 0.0)
        assert isinstance(row, Ownership)
        return row

    def keep(self) -> None:
        self.thread.keep(Keep("0", "lease", self.etag, time.monotonic()))


@contextmanager
def keeping(reader_silence_s: float = 30.0) -> Iterator[Keeping]:
    kept = Keeping(reader_silence_s)
    kept.thread.start()
    try:
        yield kept
    finally:
        kept.thread.stop()


def drained(told: Told) -> int:
    """How much has been told since it was asked last."""
    count = 0
    while not told.empty():
        told.get()
        count += 1
    return count


async def test_a_handler_that_blocks_the_loop_does_not_stop_renewals() -> None:
    with keeping() as kept:
        kept.keep()
        # `get` blocks the loop that this test runs on, as a handler would.
        for _ in range(5):
            assert isinstance(kept.told.get(timeout=30), Renewed)


def test_a_reader_without_a_sign_of_life_loses_its_lease() -> None:
    with keeping(reader_silence_s=1.0) as kept:
        kept.thread.beat("0")
        kept.keep()
        assert isinstance(kept.told.get(timeout=30), Renewed)
        wait_until(lambda: _is_quiet(kept), 10, "renewals to stop")
        wait_until(lambda: _is_renewed_at_a_beat(kept), 10, "renewals to begin again")


def _is_renewed_at_a_beat(kept: Keeping) -> bool:
    kept.thread.beat("0")
    return not kept.told.empty()


def _is_quiet(kept: Keeping) -> bool:
    """Whether ten times a renewal's time passes without one."""
    drained(kept.told)
    try:
        kept.told.get(timeout=0.2)
    except queue.Empty:
        return True
    return False


def test_a_refused_renewal_is_told_once_and_not_tried_again() -> None:
    with keeping() as kept:
        kept.ledger.perform_at(Break("0", kept.etag), 0.0)
        kept.keep()
        told = kept.told.get(timeout=30)
        assert isinstance(told, RenewalRefused)
        assert told.refusal is Refusal.HELD
        assert _is_quiet(kept)


def test_a_lease_that_was_let_go_is_renewed_no_more() -> None:
    with keeping() as kept:
        kept.keep()
        assert isinstance(kept.told.get(timeout=30), Renewed)
        kept.thread.let_go(LetGo("0"))
        wait_until(lambda: _is_quiet(kept), 10, "renewals to stop")
