"""Follows the slices in Blob storage for all pages that are open: one listing for all of them.

Rules:
- A look lists what may have changed, once for all pages; what changed is read once for all homes
  in it. So a thousand pages cost what one costs, and what is sent to them.
- Storage that does not answer, or refuses, is said on the pages, which go on with what they have.
  What could not be read is read again: nobody is told of nothing where nothing was read.
- A version that is gone was replaced: the next listing tells of the newer one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Protocol

from residents.homes import Home, Homes
from residents.loads import Loads, Unit
from residents.telling import QUARTER_S, quarter_of, summed, told
from tidegate.ops.streams import Mailbox
from tidegate.slices.many import ManyKeys, Ranges
from tidegate.slices.naming import Version
from tidegate.slices.reading import Row
from tidegate.slices.shape import SliceError, SliceGone, SliceStorageError
from tidegate.slices.shelf import DAY_S, Place, Shelf

_log = logging.getLogger("residents")

POLL_S = 1.0
_TIDY_EVERY_S = 30.0
_READERS = 6
_PAUSE_S = 1.0

Rows = tuple[Row, ...]


class Stored(Ranges, Protocol):
    """The slices: tidegate.slices.blobs.SliceBlobs."""

    async def below(self, beginning: str) -> dict[Version, int]: ...


class Follower:
    """See the module. `wall` is the clock by which sensors and slices have their times."""

    def __init__(self, blobs: Stored, wall: Callable[[], float], poll_s: float = POLL_S) -> None:
        self.homes = Homes()
        self.shelf = Shelf()
        # Since when it cannot be listed, and since when these could not be read.
        self._unlisted_since: float | None = None
        self._unread_since: dict[tuple[str, int], float] = {}
        self.looks = 0
        self._blobs = blobs
        self._wall = wall
        self._poll_s = poll_s
        self._many = ManyKeys(blobs)
        self._loads = Loads()
        self._has_loads = asyncio.Event()
        self._tidied_at = wall()

    @property
    def silent_since(self) -> float | None:
        """Since when storage does not tell all that it has; None while it does."""
        known = (self._unlisted_since, *self._unread_since.values())
        return min((each for each in known if each is not None), default=None)

    def open(self, name: str) -> tuple[Home, Mailbox]:
        """A page of this home was opened. Raises TooManyPages."""
        home, page, is_new = self.homes.open(name, self._wall())
        if is_new:
            self._begin(home, self.shelf.partitions())
            self._settle(home)
        return home, page

    def close(self, home: Home, page: Mailbox) -> None:
        self.homes.close(home, page, self._wall())

    async def run(self) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._poll(), name="looking")
            for number in range(_READERS):
                tasks.create_task(self._read(), name=f"reading {number}")

    # --- what is new

    async def _poll(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            next_look = loop.time() + self._poll_s
            try:
                await self.look()
            except SliceStorageError as problem:
                if self._unlisted_since is None:
                    self._unlisted_since = self._wall()
                    _log.error("the slices cannot be listed: %s", problem)
            else:
                if self._unlisted_since is not None:
                    _log.info("the slices can be listed again")
                self._unlisted_since = None
            await asyncio.sleep(max(next_look - loop.time(), 0))

    async def look(self) -> None:
        """Lists what may have changed, and tells the pages what did. Raises SliceStorageError."""
        now = self._wall()
        for beginning in self.shelf.due(now):
            known = set(self.shelf.partitions())
            changed = self.shelf.hear(beginning, await self._blobs.below(beginning), now)
            for partition in set(self.shelf.partitions()) - known:
                self._begin_all(partition)
            await self._hear(changed)
        self.looks += 1
        for home in list(self.homes.of("")):
            self._settle(home)
        if now - self._tidied_at >= _TIDY_EVERY_S:
            self._tidied_at = now
            self.shelf.tidy(now)
            self.homes.tidy(now)

    async def _hear(self, changed: Iterable[Place]) -> None:
        async with asyncio.TaskGroup() as tasks:
            for place in sorted(changed, reverse=True):
                new: set[str] = set()
                late: set[str] = set()
                for home in self.homes.of(place.partition):
                    (new if place.start >= home.minutes_from else late).add(home.name)
                if new:
                    tasks.create_task(self._tell_minute(place, new))
                if late:
                    self._loads.once(place.partition, quarter_of(place.start), late)
                    self._has_loads.set()

    async def _tell_minute(self, place: Place, names: set[str]) -> None:
        try:
            found = await self._rows(place, names)
        except SliceStorageError as problem:
            self._refused(place.partition, quarter_of(place.start), problem)
            self._loads.once(place.partition, quarter_of(place.start), names)
            self._has_loads.set()
            return
        for name, rows in found.items():
            home = self.homes.get(name)
            if home is not None:
                self._place(home, place.partition)
                home.put_minute(place.start, told(rows))

    async def _rows(self, place: Place, names: set[str] | frozenset[str]) -> dict[str, Rows]:
        """Raises SliceStorageError where there is something that cannot be read now."""
        stood = self.shelf.at(place)
        if stood is None or not names:
            return {}
        try:
            return await self._many.rows(stood.version, stood.size, names)
        except SliceGone as problem:
            # It was replaced meanwhile: the next listing tells of what stands there.
            _log.debug("%s is not there: %s", place, problem)
            self.shelf.forget(place, stood.version)
        except SliceStorageError:
            raise
        except SliceError as problem:
            _log.error("%s cannot be shown: %s", stood.version, problem)
        return {}

    def _refused(self, partition: str, quarter: int, problem: SliceStorageError) -> None:
        if not self._unread_since:
            _log.error("the slices cannot be read: %s", problem)
        self._unread_since.setdefault((partition, quarter), self._wall())

    # --- what was before

    def _begin(self, home: Home, partitions: Iterable[str]) -> None:
        for partition in partitions:
            quarter = self._newest_quarter(partition, self._wall() + DAY_S)
            if quarter is not None:
                self._loads.begin(partition, quarter, (home.name,))
                self._has_loads.set()

    def _begin_all(self, partition: str) -> None:
        """A partition was not known before: homes that were not found may be there."""
        for home in list(self.homes.of(partition)):
            self._begin(home, (partition,))

    def _place(self, home: Home, partition: str) -> None:
        if not home.partition:
            home.partition = partition
            self._begin(home, (partition,))

    def _newest_quarter(self, partition: str, before: float) -> int | None:
        begin = int(self._wall() - DAY_S)
        starts = [place.start for place in self.shelf.between(partition, begin, int(before))]
        return quarter_of(starts[-1]) if starts else None

    async def _read(self) -> None:
        while True:
            unit = self._loads.take()
            if unit is None:
                self._has_loads.clear()
                await self._has_loads.wait()
                continue
            if self.silent_since is not None:
                await asyncio.sleep(_PAUSE_S)
            await self._load(unit)

    async def _load(self, unit: Unit) -> None:
        names = frozenset(
            name
            for name in unit.homes
            if (home := self.homes.get(name)) and home.partition in ("", unit.partition)
        )
        end = unit.quarter + QUARTER_S
        places = list(self.shelf.between(unit.partition, unit.quarter, end))
        try:
            found = await asyncio.gather(*(self._rows(place, names) for place in places))
        except SliceStorageError as problem:
            self._refused(unit.partition, unit.quarter, problem)
            self._loads.again(unit)
            return
        if self._unread_since.pop((unit.partition, unit.quarter), None) and not self._unread_since:
            _log.info("the slices can be read again")
        for name in names:
            home = self.homes.get(name)
            minutes = {
                place.start: told(rows[name])
                for place, rows in zip(places, found, strict=True)
                if name in rows
            }
            if home is None or home.partition not in ("", unit.partition):
                continue
            if minutes and not home.partition:
                home.partition = unit.partition
            if unit.quarter >= home.minutes_from:
                for start, rows in minutes.items():
                    home.put_minute(start, rows)
            elif minutes:
                home.put_quarter(unit.quarter, summed(minutes.values()))
        self._go_on(unit, names & unit.goes_on)

    def _go_on(self, unit: Unit, names: frozenset[str]) -> None:
        """To what is before it; or these homes are told whole."""
        older = self._newest_quarter(unit.partition, unit.quarter)
        if older is not None:
            self._loads.begin(unit.partition, older, names)
            return
        for name in names:
            home = self.homes.get(name)
            if home is not None:
                home.searched.add(unit.partition)
                self._settle(home)

    def _settle(self, home: Home) -> None:
        """Tells a home whole where all that there is of it has been read."""
        wanted = {home.partition} if home.partition else set(self.shelf.partitions())
        if self.looks and wanted <= home.searched:
            home.put_whole()
