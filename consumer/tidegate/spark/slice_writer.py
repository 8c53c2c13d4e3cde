"""Writes what a batch counted into the slices of one output, before the batch counts as handled.

Rules:
- Slices in memory count only where they end exactly where the batch begins, in the same tenure, and
  where the state there names them. In every other case (a partition came, a batch failed, an owner
  in between) they are read from their blobs again.
- Each slice with news is written whole: its projection, and a Parquet file.
- Who is told that a batch failed forgets what it has counted, and removes what it has written.
- Every version that the state named is looked for when a partition is taken over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tidegate.delivery.state import State
from tidegate.slices.life import Beyond, Files, Held, OpenSlice, Trail, named_in, naming, state_key
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
Data = list[tuple[Version, str, bytes]]


@dataclass(slots=True)
class _Memory:
    """What is known of a partition in a tenure: its slices after the last batch, what the state
    says then, its blobs, and those of a batch of which nobody knows yet whether it counts."""

    epoch: int
    held: Held[Contents] | None = None
    said: dict[str, int] | None = None
    trail: Trail = field(default_factory=Trail)
    written: dict[Version, Beyond] = field(default_factory=dict)


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
        said = {partition: states[partition].peek(self._key) for partition in turns}
        named = {partition: named_in(each, partition) for partition, each in said.items()}
        for partition, turn in turns.items():
            self._recall(partition, turn, said[partition])
        helds: dict[str, Held[Contents]] = self._call(self._prepare(news, turns, named))
        files: Data = []
        after: dict[str, Held[Contents]] = {}
        for partition, turn in turns.items():
            written = self._merge(partition, helds[partition], news.get(partition, {}), files)
            after[partition] = helds[partition].advanced(written, turn.to, self.lateness_s)
        # Before they are written: of a batch that fails some may be there, and are to go as well.
        for version, _, _ in files:
            memory = self._memory[version.partition]
            memory.written[version] = memory.trail.writing(version, SUFFIXES)
        self._call(self._upload(files))
        for version, _, _ in files:
            self._memory[version.partition].trail.has(version)
        for partition, held in after.items():
            memory = self._memory[partition]
            for start, one in held.slices.items():
                memory.trail.has(Version(partition, start, one.end))
            memory.trail.forget_closed(held.slices)
            memory.held, memory.said = held, naming(held, memory.trail)
            states[partition][self._key] = dict(memory.said)

    def begin(self) -> None:
        """Another batch begins: the one before has counted, or its failure was told."""
        for memory in self._memory.values():
            memory.written = {}

    def failed(self) -> None:
        """The batch does not count: nor does what was written for it, which `tidy` removes."""
        for partition, memory in self._memory.items():
            if memory.written:
                beyond = {**memory.trail.beyond, **memory.written}
                self._memory[partition] = _Memory(memory.epoch, trail=Trail(beyond=beyond))

    def tidy(self, stands: Callable[[str, int], int | None], seconds: float = 60.0) -> None:
        """Removes versions that no checkpoint needs; `stands` says of a partition, under an epoch,
        which event is in one. What takes longer than so many seconds is left for the next time.
        Raises SliceStorageError."""
        gone: list[Version] = []
        beyond: dict[Version, Files] = {}
        for partition, memory in list(self._memory.items()):
            sequence = stands(partition, memory.epoch)
            if sequence is None:
                del self._memory[partition]  # whoever has it now tidies up
                continue
            places = memory.trail.removable(sequence)
            gone += [Version(partition, start, end) for start, end in places]
            beyond |= memory.trail.withdrawable(sequence)
        if not (gone or beyond):
            return
        self._call(self._remove(gone, beyond, seconds))
        for version in gone:
            self._memory[version.partition].trail.gone(version.start, version.end)
        for version in beyond:
            self._memory[version.partition].trail.withdrawn((version,))

    async def _remove(
        self, gone: list[Version], beyond: Mapping[Version, Files], seconds: float
    ) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._blobs.withdraw(beyond)
                await self._blobs.remove(gone, SUFFIXES)
        except TimeoutError:
            raise SliceStorageError(
                f"{len(gone) + len(beyond)} old versions were not removed within {seconds:.1f} s"
            ) from None

    async def close(self) -> None:
        await self._blobs.close()

    @property
    def _key(self) -> str:
        return state_key(self._output)

    # --- before

    def _recall(self, partition: str, turn: Turn, said: dict[str, int] | None) -> None:
        """What is known of a partition where a turn begins, without what does not fit."""
        memory = self._memory.get(partition)
        if memory is None or memory.epoch != turn.epoch:
            memory = self._memory[partition] = _Memory(turn.epoch)
        held = memory.held
        if held is None or held.through != turn.after.sequence or memory.said != said:
            memory.held, memory.trail = None, Trail(beyond=memory.trail.beyond)

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
        memory = self._memory[partition]
        after, held = turn.after.sequence, memory.held
        looked = memory.trail.unseen()
        if held is None:
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
        files: Data,
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

    async def _upload(self, files: Data) -> None:
        await together(self._put(*file) for file in files)

    async def _put(self, version: Version, suffix: str, data: bytes) -> None:
        memory = self._memory[version.partition]
        etag = memory.trail.etag(version, suffix)
        written = await self._blobs.put(version, suffix, data, etag)
        one = memory.written[version]
        memory.written[version] = replace(one, files={**one.files, suffix: written})
