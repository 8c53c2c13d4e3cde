"""A source that cannot say its partitions: asked again after growing waits, reported once."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from support import virtual_time
from tidegate.ledger.memory import MemoryLedger
from tidegate.member.messages import Report
from tidegate.ports import SourceError
from tidegate.runtime import Runtime
from tidegate.settings import MemberSettings


class Refusing:
    """A source that refuses, until it does not."""

    def __init__(self, *, is_fatal: bool, text: str) -> None:
        self.is_fatal, self.text = is_fatal, text
        self.asked = 0
        self.is_mended = False

    async def partitions(self) -> tuple[str, ...]:
        self.asked += 1
        if self.is_mended:
            return ("0",)
        raise SourceError(f"{self.text}TrackingId:{self.asked}", is_fatal=self.is_fatal)


@pytest.mark.parametrize("text", ["amqp:not-found: no such hub ", ""], ids=["words", "no words"])
@pytest.mark.parametrize(("is_fatal", "fewest", "most"), [(True, 10, 22), (False, 60, 85)])
def test_it_is_asked_less_and_less_often_and_the_failure_is_reported_once_and_its_end(
    is_fatal: bool, fewest: int, most: int, text: str
) -> None:
    async def watched() -> None:
        source, reports = Refusing(is_fatal=is_fatal, text=text), list[Report]()
        runtime = Runtime(
            MemberSettings("a"),
            cast(Any, MemoryLedger),
            cast(Any, source),
            cast(Any, None),
            report=reports.append,
            clock=asyncio.get_running_loop().time,
        )
        watching = asyncio.create_task(runtime._watch_partitions())
        await asyncio.sleep(300.0)
        assert fewest <= source.asked <= most
        source.is_mended = True
        await asyncio.sleep(30.0)
        watching.cancel()
        assert [report.kind for report in reports] == ["source-unreadable", "source-readable"]

    virtual_time.run(watched())
