"""Whatever is killed, replayed, cut otherwise or given to another engine: the same final blobs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.slice_members import (
    PARTITION,
    Member,
    Place,
    PlainMember,
    Reading,
    expected,
)
from support.slice_store import Killed, MemoryBlobs
from tidegate.slices.naming import PARQUET, PROJECTION, Version

pytest.importorskip("pyarrow", reason="pyarrow comes with the layer `spark`")

from support.slice_spark import SparkMember
from tidegate.spark.parquet import parquet
from tidegate.spark.projecting import decoded


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
# versions are removed; a batch fails at a write; or fails after all of it, and its events are put
# aside; another member has the partition for a while; the member ends, perhaps in the middle of a
# write, and another goes on (of that engine).
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

    def __init__(
        self, events: Sequence[Reading], engine: int, poison: Collection[int] = ()
    ) -> None:
        self.events = events
        self.poison = frozenset(poison)
        self.epoch = 0
        self.blobs = MemoryBlobs()
        self.checkpoint = self.place = Place()
        self.is_killed = False
        # The last event comes in the end: a partition is tidied up by whoever reads it.
        self.reach = len(events) - 1
        self.member = self.new_member(engine)

    @property
    def counted(self) -> list[Reading]:
        return [event for event in self.events if event.sequence_number not in self.poison]

    def new_member(self, engine: int) -> Member:
        return self.begun(SparkMember(self.blobs) if engine else PlainMember(self.blobs))

    def begun(self, member: Member) -> Member:
        self.epoch += 1
        member.begin(self.epoch)
        return member

    def handle(self, events: Sequence[Reading]) -> None:
        """A batch that fails once it has written, because of one of its events, is tried again
        without what follows; what fails by itself is put aside."""
        ill = [at for at, one in enumerate(events) if one.sequence_number in self.poison]
        self.place = self.member.handle(events, self.place, fails=bool(ill))
        if ill and ill[0]:
            self.place = self.member.handle(events[: ill[0]], self.place)
        elif ill:
            self.place = self.member.handle(events[:1], self.place, fails=True)
            self.member.tidy(self.checkpoint.sequence)
            self.place = Place(events[0].sequence_number, self.place.state)

    def step(self, what: str, number: int) -> None:
        try:
            if what == "handle":
                at = self.place.sequence
                left = [one for one in self.events[: self.reach] if one.sequence_number > at]
                if left:
                    self.handle(left[:number])
            elif what == "checkpoint":
                self.checkpoint = self.place
            elif what == "tidy":
                self.member.tidy(self.checkpoint.sequence)
            elif what == "lend":
                mine, self.member = self.member, self.new_member(number)
                self.step("handle", 3)
                self.member = self.begun(mine)
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


@pytest.mark.parametrize("engine", [0, 1])
def test_an_event_that_was_put_aside_after_it_was_written_counts_in_no_slice(engine: int) -> None:
    events = [Reading(number, 6_000, "home-0", "door", 0) for number in range(5)]
    # The last has a minute of its own, which nothing else comes for.
    events.append(Reading(5, 6_060, "home-0", "door", 0))
    story = Story(events, engine, {3, 5})
    story.reach = len(events)
    for what, number in (("handle", 3), ("checkpoint", 0), ("handle", 1), ("checkpoint", 0)):
        story.step(what, number)
    assert story.place.sequence == 3
    story.step("tidy", 0)
    story.step("handle", 1)
    for what in ("checkpoint", "tidy", "kill"):
        story.step(what, engine)
    # Another process goes on where the state says, and finds what it names.
    story.step("handle", 1)
    (name,) = [name for name in story.blobs.blobs if name.endswith(PROJECTION)]
    version = Version(PARTITION, 6_000, 4)
    assert name == version.name("out")
    assert story.blobs.blobs[name] == expected(story.counted)[6_000][1].encoded(version)


@pytest.mark.slow
@settings(deadline=None, max_examples=EXAMPLES)
@given(readings(), st.integers(0, 1), STEPS, st.sets(st.integers(0, 40), max_size=4))
def test_the_final_blobs_are_the_same_whatever_happened_on_the_way(
    events: list[Reading], engine: int, steps: list[tuple[str, int]], ill: set[int]
) -> None:
    # The last is handled: who reads a partition tidies it up.
    story = Story(events, engine, {one.sequence_number for one in events[:-1]} & ill)
    for what, number in steps:
        story.step(what, number)
    story.to_the_end()
    wanted = {
        Version(PARTITION, start, end).name("out"): contents.encoded(Version(PARTITION, start, end))
        for start, (end, contents) in expected(story.counted).items()
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
