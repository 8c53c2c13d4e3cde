"""One partition's delivery by hand: events in, outcomes and reports out."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tidegate.delivery.letters import DeadLetter
from tidegate.delivery.policy import Backoff, Batch, Policy
from tidegate.handlers.context import About
from tidegate.handlers.loading import UserCode
from tidegate.handlers.partition import PartitionDelivery
from tidegate.handlers.tools import Tools
from tidegate.handling import Close, DeadLetterError, Opening, Outcome
from tidegate.member.messages import Report
from tidegate.model import BEGINNING
from tidegate.ops.observer import BatchHandled, Fact, Observer
from unit.delivery.events import MadeEvent, events

# Batches have 10 events, whatever these cost.
TEN = Batch(max_events=10, target_s=0)
QUICK = Policy(backoff=Backoff(first_s=0.001, most_s=0.01), batch=TEN, told_s=0.2)


class Letters:
    """Keeps dead letters; refuses the first so many times."""

    def __init__(self, refusals: int = 0) -> None:
        self.kept: list[DeadLetter] = []
        self._refusals = refusals

    async def put(self, letter: DeadLetter) -> str:
        if self._refusals:
            self._refusals -= 1
            raise DeadLetterError("storage is away")
        self.kept.append(letter)
        return f"here/{letter.id}"

    async def close(self) -> None:
        pass


class Heard(Observer):
    """Keeps the facts."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []

    def hear(self, fact: Fact) -> None:
        self.facts.append(fact)

    @property
    def handled(self) -> int:
        return sum(fact.events for fact in self.facts if isinstance(fact, BatchHandled))


class Delivery:
    """See the module."""

    def __init__(
        self,
        handle: Callable[..., Any],
        policy: Policy = QUICK,
        *,
        stored: bytes | None = None,
        letters: Letters | None = None,
        tools: Tools | None = None,
        stands: bool = False,
        takes_one: bool | None = None,
        **others: Any,
    ) -> None:
        # A callable without code of its own, such as a partial, needs `takes_one`.
        seen = getattr(handle, "__code__", None)
        names = seen.co_varnames if seen is not None else ()
        self.outcomes: list[Outcome] = []
        self.reports: list[Report] = []
        self.letters = letters or Letters()
        self.heard = Heard()
        is_single = names[:1] == ("event",) if takes_one is None else takes_one
        code = UserCode(handle, takes_one=is_single, **others)
        self.tools = tools or Tools(
            code,
            policy,
            About("pod-1", "activity", "telemetry"),
            self.letters,
            self.reports.append,
            time.monotonic,
            time.time,
            lambda: 0.5,
            self.heard,
        )
        self.tools = replace(self.tools, code=code)
        opening = Opening("3", BEGINNING, 7, stored)
        # Whether a checkpoint that is due stands as soon as it is asked for.
        self._stands = stands
        self.partition = PartitionDelivery(self.tools, opening, self._told)

    def _told(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        if self._stands and outcome.is_due:
            asyncio.get_running_loop().call_soon(self.partition.checkpointed, outcome.position)

    async def give(self, first: int, end: int) -> None:
        await self.partition.handle(events(first, end))

    async def close(self, reason: Close = Close.GIVEN) -> None:
        self.partition.finish()
        await self.partition.close(reason)

    @property
    def done(self) -> int | None:
        """The last sequence number that was told as handled."""
        return self.outcomes[-1].position.sequence if self.outcomes else None

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _ in itertools.groupby(report.kind for report in self.reports)]


def numbers(batch: Sequence[MadeEvent]) -> list[int]:
    return [event.sequence_number for event in batch]
