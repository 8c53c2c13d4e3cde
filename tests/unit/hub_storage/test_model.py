"""Random lives of a log against the simplest model of one: a list."""

from __future__ import annotations

import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidegate_hub.storage import PartitionLog, Store
from tidegate_hub.storage.batch import aligned

Read = Callable[[PartitionLog], list[tuple[int, int, int, bytes]]]
Operation = tuple[str, int, int]

OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 40), st.integers(1, 3000)),
        st.tuples(st.just("append one"), st.integers(1, 1), st.integers(1, 200_000)),
        st.tuples(st.just("trim"), st.integers(0, 100), st.just(0)),
        st.tuples(st.just("reopen"), st.integers(0, 1), st.just(0)),
    ),
    max_size=30,
)


@dataclass
class Model:
    first: int = 0
    offsets: list[int] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    messages: list[bytes] = field(default_factory=list)
    next_offset: int = 0

    def append(self, messages: list[bytes], ms: int) -> None:
        for message in messages:
            self.messages.append(message)
            self.offsets.append(self.next_offset)
            self.times.append(ms)
            self.next_offset += aligned(len(message))

    def compare(self, log: PartitionLog, read: Read) -> None:
        assert (log.first_sequence, log.next_sequence) == (self.first, len(self.messages))
        assert log.next_offset == self.next_offset
        assert log.last_offset == (self.offsets[-1] if self.offsets else -1)
        assert log.last_enqueued_ms == (self.times[-1] if self.times else 0)
        columns = zip(
            range(len(self.messages)), self.offsets, self.times, self.messages, strict=True
        )
        assert read(log) == list(columns)[self.first :]
        for ms in {0, *self.times[-40:], 10**9}:
            for inclusive, search in ((True, bisect_left), (False, bisect_right)):
                found = max(search(self.times, ms), self.first)
                assert log.sequence_at_time(ms, inclusive) == found
        for offset in (-1, *self.offsets[-40:], self.next_offset):
            for inclusive, search in ((True, bisect_left), (False, bisect_right)):
                found = max(search(self.offsets, offset), self.first)
                assert log.sequence_after_offset(offset, inclusive) == found


class Life:
    """One log of one store, which can be closed, or left as a crash leaves it, and opened again."""

    def __init__(self, directory: Path | None, budget: int, segment_bytes: int) -> None:
        self.settings = (directory, budget, segment_bytes)
        self.model = Model()
        self.store = self.open()

    def open(self) -> Store:
        directory, budget, segment_bytes = self.settings
        return Store(
            directory, fsync="never", memory_budget_bytes=budget, segment_bytes=segment_bytes
        )

    def step(self, operation: Operation, abandon: Callable[[Store], None]) -> None:
        kind, count, size = operation
        log = self.store.open_log("h", "0")
        if kind.startswith("append"):
            first = len(self.model.messages)
            messages = [b"%d," % (first + i) + b"x" * (size * (i + 1) % 4001) for i in range(count)]
            ms = log.last_enqueued_ms + size % 3
            log.append(messages, ms)
            self.model.append(messages, ms)
        elif kind == "trim":
            sequence = len(self.model.messages) * count // 100
            log.trim_to(sequence)
            self.model.first = max(self.model.first, sequence)
        elif self.settings[0] is not None:
            if count:
                self.store.close()
            else:
                abandon(self.store)
            self.store = self.open()


@pytest.mark.slow
@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    operations=OPERATIONS,
    budget=st.sampled_from([1, 100_000, 10_000_000]),
    segment_bytes=st.sampled_from([200, 10_000, 300_000]),
)
@pytest.mark.parametrize("kind", ["memory", "directory"])
def test_any_life_of_a_log_is_that_of_a_list(
    *,
    kind: str,
    operations: list[Operation],
    budget: int,
    segment_bytes: int,
    read_all: Read,
    abandon: Callable[[Store], None],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        life = Life(Path(directory) if kind == "directory" else None, budget, segment_bytes)
        try:
            for operation in operations:
                life.step(operation, abandon)
                assert life.store.recovered == []
            life.model.compare(life.store.open_log("h", "0"), read_all)
        finally:
            life.store.close()
