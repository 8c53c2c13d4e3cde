"""An owner that sleeps in the middle of its work, and wakes when another has gone on."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

import pytest

from support.slice_members import PARTITION, Place, Reading, expected
from support.slice_store import MemoryBlobs
from tidegate.slices.naming import PROJECTION, Version
from tidegate.slices.shape import SliceStorageError

pytest.importorskip("pyarrow", reason="pyarrow comes with the layer `spark`")

from support.slice_spark import SparkMember
from tidegate.spark.projecting import decoded


class PausedBlobs(MemoryBlobs):
    """One whose owner sleeps before it lists, or before it writes: `meanwhile` happens then."""

    def __init__(self, sleeps_at: str, meanwhile: Callable[[], None]) -> None:
        super().__init__()
        self._sleeps_at, self._meanwhile = sleeps_at, [meanwhile]

    async def versions(self, slice_: Version) -> dict[Version, dict[str, str]]:
        self._sleep("list")
        return await super().versions(slice_)

    async def put(self, version: Version, suffix: str, data: bytes, known: str = "") -> str:
        self._sleep("write")
        return await super().put(version, suffix, data, known)

    def _sleep(self, at: str) -> None:
        if at == self._sleeps_at and self._meanwhile:
            self._meanwhile.pop()()


@pytest.mark.parametrize("sleeps_at", ["list", "write"])
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("read_to", [4, 6])
def test_an_owner_that_wakes_after_its_successors_checkpoint_harms_no_slice_of_it(
    sleeps_at: str, read_to: int, fails: bool
) -> None:
    events = [Reading(number, 6_000, f"home-{number}", "door", 0) for number in range(8)]
    checkpoint = Place()

    def meanwhile() -> None:
        def succeed() -> None:
            nonlocal checkpoint
            successor = SparkMember(store)
            successor.begin(2)
            checkpoint = successor.handle(events[:6], checkpoint)

        thread = Thread(target=succeed)
        thread.start()
        thread.join()

    store: MemoryBlobs = PausedBlobs(sleeps_at, meanwhile)
    old = SparkMember(store)
    old.begin(1)
    try:
        old.handle(events[:read_to], checkpoint, fails=fails)
    except SliceStorageError:
        old.writer.failed()
    named = Version(PARTITION, 6_000, 5)
    assert checkpoint.state is not None
    old.tidy(-1)  # its last checkpoint: it does not know yet what it has lost
    assert store.blobs[named.name("out")] == expected(events[:6])[6_000][1].encoded(named)
    third = SparkMember(store)
    third.begin(3)
    checkpoint = third.handle(events[6:], checkpoint)
    third.tidy(checkpoint.sequence)
    (last,) = [name for name in store.blobs if name.endswith(PROJECTION) and "07." in name]
    assert decoded(store.blobs[last])[1].end == 7
