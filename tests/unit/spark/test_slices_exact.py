"""Whatever is killed, replayed, cut otherwise or given to another engine: the same final blobs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.slice_members import (
    PARTITION,
    SHAPE,
    Member,
    Place,
    PlainMember,
    Reading,
    expected,
)
from support.slice_store import Killed, MemoryBlobs, run
from tidegate.delivery.state import State
from tidegate.model import Position
from tidegate.slices.naming import PARQUET, PROJECTION, Version
from tidegate.spark.positions import Turn

pa = pytest.importorskip("pyarrow", reason="pyarrow comes with the layer `spark`")

from tidegate.spark.arriving import arrived  # noqa: E402
from tidegate.spark.parquet import parquet  # noqa: E402
from tidegate.spark.projecting import decoded  # noqa: E402
from tidegate.spark.slice_writer import SliceWriter  # noqa: E402


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

    def handle(self, events: Sequence[Reading], place: Place) -> Place:
        end = events[-1].sequence_number
        turn = Turn(PARTITION, 1, Position(str(place.sequence), place.sequence), end)
        state = State(PARTITION, place.state, 1 << 20)
        news = arrived(table(events), SHAPE, "minute", {PARTITION: (place.sequence, end)})
        self.writer.write(news, {PARTITION: turn}, {PARTITION: state})
        state.commit()
        return Place(end, state.encoded())

    def tidy(self, stands: int) -> None:
        self.writer.tidy(lambda partition: stands)


@st.composite
def readings(draw: st.DrawFn) -> list[Reading]:
    """In order of their numbers, which have gaps; now and then one is late, or far too late."""
    found, clock, sequence = [], 6_000, -1
    for _ in range(draw(st.integers(1, 40))):
        clock += draw(st.integers(0, 40))
        sequence += draw(st.integers(1, 3))
        late = draw(st.sampled_from((0, 0, 0, 30, 90, 600)))
        home = f"home-{draw(st.integers(0, 5))}"
        kind = draw(st.sampled_from(("door", "smoke")))
        found.append(Reading(sequence, clock - late, home, kind, draw(st.integers(-2, 9))))
    return found


EXAMPLES = 300

# What happens next: so many events are handled, once or twice; the checkpoint is written; old
# versions are removed; a batch fails at a write; another member has the partition for a while; the
# member ends, perhaps in the middle of a write, and another goes on (of that engine).
STEPS = st.lists(
    st.tuples(st.just("handle"), st.integers(1, 12))
    | st.tuples(st.just("handle"), st.integers(1, 12))
    | st.tuples(st.just("checkpoint"), st.just(0))
    | st.tuples(st.just("tidy"), st.just(0))
    | st.tuples(st.just("fail at write"), st.integers(0, 9))
    | st.tuples(st.just("lend"), st.integers(0, 1))
    | st.tuples(st.just("kill"), st.integers(0, 1))
    | st.tuples(st.just("kill at write"), st.integers(0, 9)),
    max_size=40,
)


class Story:
    """One partition, its checkpoint and its blobs, through all that happens."""

    def __init__(self, events: Sequence[Reading], engine: int) -> None:
        self.events = events
        self.blobs = MemoryBlobs()
        self.checkpoint = self.place = Place()
        self.is_killed = False
        # The last event comes in the end: a partition is tidied up by whoever reads it.
        self.reach = len(events) - 1
        self.member = self.new_member(engine)

    def new_member(self, engine: int) -> Member:
        return SparkMember(self.blobs) if engine else PlainMember(self.blobs)

    def step(self, what: str, number: int) -> None:
        try:
            if what == "handle":
                at = self.place.sequence
                left = [one for one in self.events[: self.reach] if one.sequence_number > at]
                if left:
                    self.place = self.member.handle(left[:number], self.place)
            elif what == "checkpoint":
                self.checkpoint = self.place
            elif what == "tidy":
                self.member.tidy(self.checkpoint.sequence)
            elif what == "lend":
                mine, self.member = self.member, self.new_member(number)
                self.step("handle", 3)
                self.member = mine
            elif what == "kill":
                raise Killed
            else:
                self.blobs.writes_left = number
                self.is_killed = what == "kill at write"
        except Killed:
            if what == "kill" or self.is_killed:
                self.place = self.checkpoint
                self.member = self.new_member(number % 2)
            self.blobs.writes_left = None

    def to_the_end(self) -> None:
        self.blobs.writes_left = None
        self.reach = len(self.events)
        for _ in count():
            self.step("handle", 7)
            self.step("checkpoint", 0)
            self.step("tidy", 0)
            if self.place.sequence == self.events[-1].sequence_number:
                return


def test_what_a_failed_batch_has_written_is_removed_by_the_same_driver() -> None:
    events = [Reading(number, 6_000, "home-0", "door", 0) for number in range(3)]
    story = Story(events, 1)
    for what, number in (("handle", 1), ("fail at write", 1), ("handle", 1)):
        story.step(what, number)
    assert any(f"{1:020}" in name for name in story.blobs.blobs), "half a version was written"
    story.to_the_end()
    assert {name.rsplit("/", 1)[1].split(".")[0] for name in story.blobs.blobs} == {f"{2:020}"}


@pytest.mark.slow
@settings(deadline=None, max_examples=EXAMPLES)
@given(readings(), st.integers(0, 1), STEPS)
def test_the_final_blobs_are_the_same_whatever_happened_on_the_way(
    events: list[Reading], engine: int, steps: list[tuple[str, int]]
) -> None:
    story = Story(events, engine)
    for what, number in steps:
        story.step(what, number)
    story.to_the_end()
    wanted = {
        Version(PARTITION, start, end).name("out"): contents.encoded(Version(PARTITION, start, end))
        for start, (end, contents) in expected(events).items()
    }
    projections = {name: data for name, data in story.blobs.blobs.items() if PROJECTION in name}
    assert projections == wanted
    for name, data in story.blobs.blobs.items():
        if name.endswith(PARQUET):
            contents, version = decoded(wanted[name.replace(PARQUET, PROJECTION)])
            assert data == parquet(contents, version)


@pytest.mark.slow
@settings(deadline=None, max_examples=EXAMPLES)
@given(readings(), st.integers(0, 1), STEPS)
def test_what_a_reader_takes_for_the_newest_is_always_true_of_its_end(
    events: list[Reading], engine: int, steps: list[tuple[str, int]]
) -> None:
    story = Story(events, engine)
    for what, number in steps:
        story.step(what, number)
        for name, data in story.blobs.blobs.items():
            if name.endswith(PROJECTION):
                _, version = decoded(data)
                known = [one for one in events if one.sequence_number <= version.end]
                end, contents = expected(known)[version.start]
                assert (name, end) == (version.name("out"), version.end)
                assert data == contents.encoded(version)
