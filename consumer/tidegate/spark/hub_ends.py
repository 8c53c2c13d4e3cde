"""How far the hub's partitions have come: all asked at once, each a failure of its own.

Rules: what could not be asked keeps what was heard of it before, which is never too far; a slow
answer holds up nobody for longer than a plan may wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from tidegate.model import PartitionEnd, PartitionId
from tidegate.ports import SourceError
from tidegate.sources.choose import EndingSource

# A plan waits no longer than this for an answer.
ROUND_S = 5.0


class HubEnds:
    """What the hub said of each partition, last."""

    def __init__(
        self, hub: EndingSource, hear: Callable[[PartitionId, PartitionEnd], None]
    ) -> None:
        self.known: dict[PartitionId, PartitionEnd] = {}
        # When the last round ended, by the loop's clock.
        self.asked_at = float("-inf")
        # Why the hub could not be asked of a partition, in the last round.
        self.troubles: dict[PartitionId, str] = {}
        self._hub = hub
        self._hear = hear

    async def ask(self, partitions: Iterable[PartitionId]) -> None:
        """One round: the questions go out together, over one connection."""
        names = list(partitions)
        self.troubles = {}
        await asyncio.gather(*(self._ask(name) for name in names))
        self.asked_at = asyncio.get_running_loop().time()

    async def ask_all(self) -> None:
        """One round of all partitions that the hub has. Raises SourceError."""
        await self.ask(await self._hub.partitions())

    async def _ask(self, partition: PartitionId) -> None:
        try:
            async with asyncio.timeout(ROUND_S):
                end = await self._hub.end(partition)
        except SourceError as error:
            self.troubles[partition] = str(error)
        except TimeoutError:
            self.troubles[partition] = f"no answer within {ROUND_S:g} s"
        else:
            self.known[partition] = end
            self._hear(partition, end)
