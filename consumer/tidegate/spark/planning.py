"""The planner's side of a stream: what it asks the office, for each question of Spark's.

Rules:
- That Spark asks what comes after a batch means that this batch has ended well. Without a driver of
  ours the office is told so here, because Spark's own word comes only with the next data.
- A stream that reads what is there, and ends, reads up to where the partitions ended when it began.
  It waits for partitions that are on their way to this group's members, and for nobody else's.
  Before Spark hears that there is no more, all is handed over: then it may end us at any moment.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tidegate.model import PartitionId
from tidegate.spark.desk_client import DeskClient, Planned
from tidegate.spark.positions import batch_from
from tidegate.spark.source_place import SourcePlace
from tidegate.spark.tasks import DeskPlace, ReadTask, tasks_of

Offset = dict[str, Any]

_LOOK_S = 0.2
# A member that died is waited for as long as its lease lasts, and others are settled then.
_ARRIVE_S = 180.0


class StillAwayError(Exception):
    """Partitions did not come for a long time; the message says how many."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What tasks are made by."""

    source: SourcePlace
    desk: DeskPlace
    tasks_per_member: int
    puts_aside: bool
    # Without a driver of ours the planner says what is done.
    says_done: bool


class Planning:
    """See the module. One for each life of a query."""

    def __init__(
        self,
        client: DeskClient,
        terms: Terms,
        leave: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._terms = terms
        self._leave = leave
        self._clock, self._pause = clock, pause
        self._until: dict[PartitionId, int] | None = None
        self._has_left = False
        # The offset of the last batch that was begun, and the number that the office gave it.
        self._begun: tuple[Offset, int] | None = None

    def end_here(self) -> None:
        """Nothing is read that comes from now on. Raises DeskError."""
        ends = self._client.ends(of_all=True)
        self._until = {partition: int(end["sequence"]) for partition, end in ends.items()}

    def next(self, start: Offset, events: int, bytes: int) -> Offset:
        """The offset of the next batch; the same where there is nothing to read."""
        if self._has_left:
            return start
        self._say_done(start)
        planned = self._planned(events, bytes)
        if planned.offset is not None:
            return planned.offset
        if self._until is not None and self._terms.says_done:
            self._has_left = True
            self._leave()
        return start

    def _planned(self, events: int, bytes: int) -> Planned:
        begun_at = self._clock()
        while True:
            planned = self._client.plan(events, bytes, self._until)
            if planned.offset is not None or self._until is None or not planned.waiting:
                return planned
            if self._clock() - begun_at > _ARRIVE_S:
                raise StillAwayError(
                    f"{planned.waiting} partitions have events to read, and did not come to this "
                    f"group's members within {_ARRIVE_S:g} s: look at who owns them, by "
                    "`tidegate ledger show`"
                )
            self._pause(_LOOK_S)

    def _say_done(self, start: Offset) -> None:
        begun, self._begun = self._begun, None
        if begun is not None and begun[0] == start and self._terms.says_done:
            self._client.done(begun[1])

    def tasks(self, end: Offset) -> list[ReadTask]:
        """The tasks of a batch. What is not ours any more is left out."""
        if not batch_from(end).turns:
            # Spark begins with a batch of nothing, also where all has ended by then.
            return []
        accepted = batch_from(self._client.begin(end))
        self._begun = (end, accepted.number)
        terms = self._terms
        return tasks_of(
            accepted, terms.tasks_per_member, terms.source, terms.desk, puts_aside=terms.puts_aside
        )

    def ends(self) -> Offset:
        """Of each partition that we hold: its last event, and how many are not handled."""
        if self._has_left:
            return {name: {"last": last, "lag": 0} for name, last in (self._until or {}).items()}
        return {
            name: {"last": int(end["sequence"]), "lag": end["lag"]}
            for name, end in self._client.ends().items()
        }
