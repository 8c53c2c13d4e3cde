"""How far the hub's partitions have come: all asked at once, each a failure of its own.

Rules: what could not be asked keeps what was heard of it before, which is never too far; a slow
answer holds up nobody for longer than a plan may wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Set

from tidegate.model import Listing, MemberName, PartitionEnd, PartitionId, Position
from tidegate.ports import SourceError
from tidegate.sources.choose import EndingSource
from tidegate.spark.waiting import waiting

Until = Mapping[PartitionId, int]
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

    async def ask(self, positions: Mapping[PartitionId, Position]) -> None:
        """One round over what is held: the questions go out together, over one connection."""
        troubles: dict[PartitionId, str] = {}
        await asyncio.gather(*(self._ask(name, troubles) for name in positions))
        self.troubles = troubles
        self.asked_at = asyncio.get_running_loop().time()

    async def ask_all(self) -> dict[PartitionId, PartitionEnd]:
        """The ends of all partitions that the hub has. Raises SourceError where one is unknown:
        what is left out here would never be missed."""
        names, troubles = await self._hub.partitions(), dict[PartitionId, str]()
        await asyncio.gather(*(self._ask(name, troubles) for name in names))
        if troubles:
            partition, why = min(troubles.items())
            raise SourceError(
                f"the hub did not say how far {len(troubles)} of its {len(names)} partitions have "
                f"come, as partition {partition}: {why}. Begin again once it answers."
            )
        return {name: self.known[name] for name in names}

    # --- for a plan

    def seen(
        self,
        positions: Mapping[PartitionId, Position],  # noqa: ARG002
        until: Until | None,
    ) -> tuple[Mapping[PartitionId, PartitionEnd], Until | None]:
        """The ends as a plan wants them, and where the stream is to end."""
        return self.known, until

    def waiting(
        self,
        until: Until,
        positions: Mapping[PartitionId, Position],
        listing: Listing | None,
        ours: Set[MemberName],
    ) -> frozenset[PartitionId]:
        """Those with events left up to there that are ours to read."""
        return waiting(until, positions, self.known, listing, ours)

    async def _ask(self, partition: PartitionId, troubles: dict[PartitionId, str]) -> None:
        try:
            async with asyncio.timeout(ROUND_S):
                end = await self._hub.end(partition)
        except SourceError as error:
            troubles[partition] = str(error)
        except TimeoutError:
            troubles[partition] = f"no answer within {ROUND_S:g} s"
        else:
            self.known[partition] = end
            self._hear(partition, end)
