"""Questions about where a partition begins: only the answer to the last one counts."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from tidegate.ledger.memory import MemoryLedger
from tidegate.member import messages as m
from tidegate.model import BEGINNING, Position
from tidegate.ports import SourceError
from tidegate.runtime import Runtime
from tidegate.settings import MemberSettings


class Late:
    """A source whose first answer is late, and a failure."""

    def __init__(self) -> None:
        self.asked = 0
        self.may_fail = asyncio.Event()

    async def check_unread(self, _partition: str) -> None:
        """Nobody reads it."""

    async def resolve_start(self, _partition: str, _rewind: object) -> Position:
        self.asked += 1
        if self.asked == 1:
            await self.may_fail.wait()
            raise SourceError("the hub is away")
        return BEGINNING


async def test_the_late_failure_of_an_earlier_question_is_not_taken_for_one_of_the_reader() -> None:
    source = Late()
    runtime = Runtime(
        MemberSettings("a"),
        cast(Any, MemoryLedger),
        cast(Any, source),
        cast(Any, None),
        report=lambda _: None,
        clock=asyncio.get_running_loop().time,
    )
    async with asyncio.TaskGroup() as runtime._tasks:
        # Its lease lapses, and it comes back before the source has answered.
        for _ in range(2):
            runtime._carry_out(m.ResolveStart("0", 1, None))
            await asyncio.sleep(0)
        source.may_fail.set()
    assert source.asked == 2
    told = [runtime._events.get_nowait() for _ in range(runtime._events.qsize())]
    assert [type(event) for event in told] == [m.StartResolved]
