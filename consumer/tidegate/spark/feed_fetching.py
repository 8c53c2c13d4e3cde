"""Reads turns of a container in a Python worker, on the fetcher's loop (fetching.py).

Rules: a client for each container, which outlives tasks; nothing else of a turn does, because a
feed is read from wherever it is asked. Request units are counted for each turn, and bounded for all
that this process reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.ports import SourceError
from tidegate.sources.cosmos.change import Change
from tidegate.sources.cosmos.places import PlaceError
from tidegate.spark.feed_bounds import bounded
from tidegate.spark.positions import Turn

if TYPE_CHECKING:
    # Their SDK takes half a second, which who reads a hub does without.
    from tidegate.sources.cosmos.source import CosmosSource
    from tidegate.sources.cosmos.stretch import Stretch


async def stretch_of(source: CosmosSource, turn: Turn) -> Stretch:
    """What a turn reads. Raises SourceError."""
    try:
        place, feeds = bounded(turn)
    except PlaceError as error:
        raise SourceError(str(error), is_fatal=True) from None
    return await source.stretch(place, [feed.bound for feed in feeds])


class FeedFetch:
    """A turn under way. Its coroutines run on the fetcher's loop."""

    def __init__(self, container: Container, turn: Turn) -> None:
        self.turn = turn
        # Behind all of the turn, once it is over.
        self.at = turn.after
        self.is_over = False
        self.units = 0.0
        self._container = container
        self._stretch: Stretch | None = None
        self._error: SourceError | None = None
        self._is_counted = False

    async def open(self) -> None:
        """Finds the container; why that failed is told by `next`."""
        await self._container.joined(self)
        self._is_counted = True
        try:
            self._stretch = await stretch_of(self._container.source, self.turn)
        except SourceError as error:
            self._error = error

    async def next(self) -> list[Change]:
        """The next changes; none where it is over, or is to be asked again. Raises SourceError."""
        if self._error is not None:
            raise self._error
        assert self._stretch is not None, "opened before"
        before = self._container.source.budget.spent
        changes = list(await self._stretch.next())
        # Of one process one turn is read at a time: see reading_tasks.py.
        self.units += self._container.source.budget.spent - before
        self.is_over = self._stretch.is_over
        if self.is_over:
            self.at = self._stretch.place.position
        return changes

    async def end(self, stands: int | None) -> None:  # noqa: ARG002 - as of a hub's
        """The turn is over, however."""
        if self._is_counted:
            self._is_counted = False
            self._container.left()


class Container:
    """One container: a client. On the fetcher's loop alone."""

    def __init__(self, source: CosmosSource) -> None:
        self.source = source
        self._turns = 0

    async def joined(self, fetch: FeedFetch) -> None:
        self._turns += 1
        try:
            await self.source.share_with_all(self._turns)
        except SourceError as error:
            fetch._error = error

    def left(self) -> None:
        self._turns -= 1

    async def close(self) -> None:
        await self.source.close()
