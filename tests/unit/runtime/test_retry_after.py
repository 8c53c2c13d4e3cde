"""How long storage asks to be left alone reaches the member that was refused."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from tidegate.handling import each_batch
from tidegate.member import messages as m
from tidegate.ports import LedgerError, Operation, Refusal, Reply, SourceEvent
from tidegate.runtime import Runtime
from tidegate.settings import MemberSettings


class Busy:
    """A ledger that asks for a pause whatever it is asked for."""

    async def perform(self, operation: Operation) -> Reply:
        error = LedgerError(Refusal.BUSY, f"no {type(operation).__name__} now")
        error.retry_after_s = 7.0
        raise error

    async def close(self) -> None:
        pass


class Empty:
    """A source without partitions."""

    async def partitions(self) -> tuple[str, ...]:
        return ()

    async def close(self) -> None:
        pass


async def test_a_member_is_told_how_long_storage_asks_to_be_left_alone() -> None:
    answers: asyncio.Queue[m.Answered] = asyncio.Queue()

    async def handle(partition: str, events: Sequence[SourceEvent]) -> None:
        pass

    def watch(message: Any) -> None:
        if isinstance(message, m.Answered):
            answers.put_nowait(message)

    source: Any = Empty()
    runtime = Runtime(MemberSettings("a"), Busy, source, each_batch(handle), watch=watch)
    running = asyncio.create_task(runtime.run())
    answer = await asyncio.wait_for(answers.get(), 30)
    assert (answer.refusal, answer.retry_after_s) == (Refusal.BUSY, 7.0)
    running.cancel()
    await asyncio.wait([running])
