"""What a pipeline is given beside the DataFrame of a batch. For users: docs/slices.md.

Rules: one for each batch; what starts with an underscore is for `running` alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tidegate.delivery.state import State
from tidegate.slices.shape import Shape, SliceError
from tidegate.spark.positions import Turn

Write = Callable[[Any, str, Shape, str, int], None]


@dataclass(frozen=True, slots=True)
class About:
    """What is the same for all batches."""

    group: str
    member: str
    options: Mapping[str, str]


class States(Mapping[str, State]):
    """The states of a batch's partitions, each stored with its position. Made when looked at."""

    def __init__(self, partitions: Sequence[str], make: Callable[[str], State]) -> None:
        self._partitions = tuple(partitions)
        self._make = make
        self._made: dict[str, State] = {}

    def __getitem__(self, partition: str) -> State:
        if partition not in self._partitions:
            raise KeyError(partition)
        if partition not in self._made:
            self._made[partition] = self._make(partition)
        return self._made[partition]

    def __iter__(self) -> Iterator[str]:
        return iter(self._partitions)

    def __len__(self) -> int:
        return len(self._partitions)

    def _encoded(self) -> dict[str, bytes | None]:
        """Those that were looked at. Raises StateError."""
        for state in self._made.values():
            state.commit()
        return {partition: state.encoded() for partition, state in self._made.items()}


class PipelineContext:
    """A batch."""

    def __init__(
        self,
        about: About,
        batch: int,
        turns: Mapping[str, Turn],
        states: States,
        now: float,
        write: Write,
    ) -> None:
        self.group = about.group
        self.member = about.member
        # spec.spark.options of the group file.
        self.options = about.options
        # Its number in the life of this driver. A batch that failed comes again under another.
        self.batch = batch
        # By partition: from behind which event to which the batch reads.
        self.turns = MappingProxyType(dict(turns))
        # By partition: a mapping of texts to JSON, stored together with the position.
        self.state = states
        # When the batch began, in seconds since 1970.
        self.now = now
        self.log = logging.getLogger("tidegate.pipeline")
        self._write = write
        self._outputs: set[str] = set()

    def __repr__(self) -> str:
        return f"<context of batch {self.batch}, partitions {', '.join(self.turns)}>"

    def write_slices(
        self,
        frame: Any,
        *,
        output: str,
        key: str,
        kinds: Sequence[str] = (),
        slice_column: str = "minute",
        size_s: int = 60,
        sums: Sequence[str] = (),
        least: Sequence[str] = (),
        most: Sequence[str] = (),
        last: Sequence[str] = (),
        fractions: Sequence[str] = (),
        flag: str = "",
        lateness_s: int | None = None,
    ) -> None:
        """Adds what was counted in this batch to the slices of an output.

        `frame` has a row for each key, kind and slice of each partition, with the columns
        `partition` and `sequence` (the highest of its events), the start of the slice, and those
        named here. `last` is what an event of the highest sequence said.
        """
        if not output or output.strip("/") != output:
            raise SliceError(f"write_slices: output {output!r}: write a name such as 'activity'")
        if output in self._outputs:
            raise SliceError(
                f"write_slices: output '{output}' is written twice in a batch: union the frames"
            )
        self._outputs.add(output)
        shape = Shape(
            key,
            tuple(kinds),
            tuple(sums),
            tuple(least),
            tuple(most),
            tuple(last),
            tuple(fractions),
            flag,
            size_s,
        ).checked()
        late = size_s if lateness_s is None else lateness_s
        self._write(frame, output, shape, slice_column, late)
