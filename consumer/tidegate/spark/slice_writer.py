"""Writes what a batch counted into the slices of one output, before the batch counts as handled.

Rules:
- Slices in memory count only where they end exactly where the batch begins. In every other case (a
  partition came, a batch failed, an owner in between) they are read from their blobs again.
- Each slice with news is written whole: its projection, and a Parquet file.
- Every version that the state named is looked for when a partition is taken over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tidegate.delivery.state import State
from tidegate.slices.life import Held, OpenSlice, Trail, named_in, naming, state_key
from tidegate.slices.naming import PARQUET, PROJECTION, Version
from tidegate.slices.opening import SUFFIXES, Blobs, stored_slice
from tidegate.slices.shape import Shape, SliceStorageError
from tidegate.slices.together import together
from tidegate.spark.arriving import Arrived
from tidegate.spark.contents import Contents
from tidegate.spark.parquet import parquet
from tidegate.spark.positions import Turn
from tidegate.spark.projecting import decoded, encoded

Call = Callable[[Coroutine[Any, Any, Any]], Any]
Files = list[tuple[Version, str, bytes]]


@dataclass(slots=True)
class _Memory:
    """What is known of a partition: its slices after the last batches, and its blobs."""

    helds: list[Held[Contents]] = field(default_factory=list)
    trail: Trail = field(default_factory=Trail)


class SliceWriter:
    """Of one output. `call` runs what it is given on the loop of the blobs."""

    def __init__(
        self, output: str, shape: Shape, lateness_s: int, blobs: Blobs, call: Call
    ) -> None:
        self.shape = shape
        self.lateness_s = lateness_s
        self._output = output
        self._blobs = blobs
        self._call = call
        self._memory: dict[str, _Memory] = {}

    def write(
        self,
        news: Mapping[str, Mapping[int, Arrived]],
        turns: Mapping[str, Turn],
        states: Mapping[str, State],
    ) -> None:
        """All that a batch has, of all its partitions. Raises SliceError."""
        # Looked at here: who makes them asks the same loop, which could not answer itself.
        named = {
            partition: named_in(states[partition].peek(state_key(self._output)), partition)
            for partition in turns
        }
        helds: dict[str, Held[Contents]] = self._call(self._prepare(news, turns, named))
        files: Files = []
        after: dict[str, Held[Contents]] = {}
        for partition, turn in turns.items():
            written = self._merge(partition, helds[partition], news.get(partition, {}), files)
            after[partition] = helds[partition].advanced(written, turn.to, self.lateness_s)
        # Before they are written: of a batch that fails some may be there, and are to go as well.
        for version, _, _ in files:
            self._memory[version.partition].trail.has(version)
        self._call(self._upload(files))
        for partition, held in after.items():
            memory = self._memory[partition]
            for start, one in held.slices.items():
                memory.trail.has(Version(partition, start, one.end))
            memory.trail.forget_closed(held.slices)
            # The one before is what a batch that fails after this one begins with again.
            memory.helds = [helds[partition], held]
            states[partition][state_key(self._output)] = naming(held, memory.trail)

    def tidy(self, stands: Callable[[str], int | None], seconds: float = 60.0) -> None:
        """Removes versions that no checkpoint needs; `stands` says which event is in one. What
        takes longer than so many seconds is left for the next time. Raises SliceStorageError."""
        gone: list[Version] = []
        for partition in list(self._memory):
            sequence = stands(partition)
            if sequence is None:
                del self._memory[partition]  # whoever has it now tidies up
                continue
            trail = self._memory[partition].trail
            gone += [Version(partition, start, end) for start, end in trail.removable(sequence)]
        if gone:
            self._call(self._remove(gone, seconds))
            for version in gone:
                self._memory[version.partition].trail.gone(version.start, version.end)

    async def _remove(self, gone: list[Version], seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._blobs.remove(gone, SUFFIXES)
        except TimeoutError:
            raise SliceStorageError(
                f"{len(gone)} old versions were not removed within {seconds:.1f} s"
            ) from None

    async def close(self) -> None:
        await self._blobs.close()

    # --- before

    async def _prepare(
        self,
        news: Mapping[str, Mapping[int, Arrived]],
        turns: Mapping[str, Turn],
        named: Mapping[str, Mapping[int, int]],
    ) -> dict[str, Held[Contents]]:
        """Each partition with all slices in memory that the batch has news of."""
        helds = await together(
            self._held(partition, turn, news.get(partition, {}), named[partition])
            for partition, turn in turns.items()
        )
        return dict(zip(turns, helds, strict=True))

    async def _held(
        self, partition: str, turn: Turn, starts: Iterable[int], named: Mapping[int, int]
    ) -> Held[Contents]:
        memory = self._memory.setdefault(partition, _Memory())
        after = turn.after.sequence
        held = next((held for held in memory.helds if held.through == after), None)
        looked: set[int] = set()
        if held is None:
            memory.trail = Trail()
            held = Held(after)
            looked.update(named)
        looked.update(start for start in starts if start not in held.slices)
        slices = dict(held.slices)

        async def look(start: int) -> None:
            opened = await self._open(Version(partition, start, 0), after, named.get(start), memory)
            if opened is not None:
                slices[start] = opened

        await together(look(start) for start in looked)
        return Held(after, slices)

    async def _open(
        self, slice_: Version, after: int, named: int | None, memory: _Memory
    ) -> OpenSlice[Contents] | None:
        """A slice from its blobs: exactly what belongs to the place where the batch begins."""
        stored = await stored_slice(self._blobs, slice_, after, named, memory.trail)
        if stored is None:
            return None
        version, data = stored
        contents, said = decoded(data)
        if said != version:
            raise SliceStorageError(
                f"{version.name(self._blobs.prefix)} holds {said}: somebody wrote it under another "
                "name"
            )
        return OpenSlice(version.end, contents.shaped(self.shape))

    # --- the work

    def _merge(
        self,
        partition: str,
        held: Held[Contents],
        news: Mapping[int, Arrived],
        files: Files,
    ) -> dict[int, OpenSlice[Contents]]:
        written = {}
        for start, arrived in news.items():
            before = held.slices.get(start)
            contents = arrived.contents
            if before is not None:
                contents = before.contents.merged(contents)
            version = Version(partition, start, arrived.end)
            files.append((version, PARQUET, parquet(contents, version)))
            files.append((version, PROJECTION, encoded(contents, version)))
            written[start] = OpenSlice(arrived.end, contents)
        return written

    async def _upload(self, files: Files) -> None:
        await together(self._blobs.put(*file) for file in files)
