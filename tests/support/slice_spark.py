"""A member on Spark, as far as slices see: the writer of a driver. It needs the layer `spark`."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from support.slice_members import PARTITION, SHAPE, Place, Reading
from support.slice_store import Killed, MemoryBlobs, run
from tidegate.delivery.state import State
from tidegate.model import Position
from tidegate.spark.arriving import arrived
from tidegate.spark.positions import Turn
from tidegate.spark.slice_writer import SliceWriter


def table(events: Sequence[Reading]) -> object:
    """The events as Spark would have aggregated them, or not at all: a row each."""
    return pa.table(
        {
            "partition": [PARTITION] * len(events),
            "minute": pa.array([event.at // 60 * 60 for event in events], pa.int64()),
            "sequence": pa.array([event.sequence_number for event in events], pa.int64()),
            "home": pa.array([event.home for event in events], pa.string()),
            "kind": pa.array([event.kind for event in events], pa.string()),
            **{
                column.name: pa.array([event.values[at] for event in events], pa.int64())
                for at, column in enumerate(SHAPE.columns)
            },
        }
    )


class SparkMember:
    """The writer of a driver."""

    def __init__(self, blobs: MemoryBlobs) -> None:
        self.writer = SliceWriter("out", SHAPE, 60, blobs, run)
        self.epoch = 0

    def begin(self, epoch: int) -> None:
        self.epoch = epoch

    def handle(self, events: Sequence[Reading], place: Place, *, fails: bool = False) -> Place:
        self.writer.begin()
        try:
            found = self._handled(events, place)
        except Killed:
            self.writer.failed()
            raise
        if not fails:
            return found
        self.writer.failed()
        return place

    def _handled(self, events: Sequence[Reading], place: Place) -> Place:
        end = events[-1].sequence_number
        turn = Turn(PARTITION, self.epoch, Position(str(place.sequence), place.sequence), end)
        state = State(PARTITION, place.state, 1 << 20)
        news = arrived(table(events), SHAPE, "minute", {PARTITION: (place.sequence, end)})
        self.writer.write(news, {PARTITION: turn}, {PARTITION: state})
        state.commit()
        return Place(end, state.encoded())

    def tidy(self, stands: int) -> None:
        self.writer.tidy(lambda partition, epoch: stands if epoch == self.epoch else None)
