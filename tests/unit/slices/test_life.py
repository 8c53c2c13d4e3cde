"""Which version counts, and which may go."""

from __future__ import annotations

import pytest

from tidegate.slices.life import Held, OpenSlice, Trail, choose, named_in, naming
from tidegate.slices.naming import PARQUET, Version, newest, version_of
from tidegate.slices.shape import SliceError

START = 1_769_900_340
SLICE = Version("3", START, 0)


def at(end: int, start: int = START, partition: str = "3") -> Version:
    return Version(partition, start, end)


def test_a_name_says_slice_partition_and_end_and_sorts_by_time() -> None:
    assert at(4711).name("a/b") == "a/b/20260131T225900Z/3/00000000000000004711.homes"
    assert version_of(at(4711).name("a/b", PARQUET)) == (at(4711), PARQUET)
    for other in (
        "a/b/20260131T225900Z/3/4711.homes",
        "x",
        "20261331T225900Z/3/" + "0" * 20 + ".x",
    ):
        assert version_of(other) is None


def test_a_reader_takes_the_highest_end_of_each_partition_and_slice() -> None:
    versions = [at(9), at(10), at(8), at(7, partition="4"), at(99, START + 60)]
    names = [version.name("p") for version in versions]
    found = newest([*names, at(11).name("p", PARQUET), "p/other"])
    assert found == {
        (START, "3"): at(10),
        (START, "4"): at(7, partition="4"),
        (START + 60, "3"): at(99, START + 60),
    }


def test_what_lies_beyond_the_checkpoint_does_not_count() -> None:
    chosen = choose([at(9), at(12), at(5)], after=10, slice_=SLICE, named=9)
    assert (chosen.version, chosen.older, chosen.beyond) == (at(9), (at(5),), (at(12),))
    chosen = choose([at(12)], after=10, slice_=SLICE, named=None)
    assert (chosen.version, chosen.beyond) == (None, (at(12),))


def test_a_version_that_the_checkpoint_names_and_that_is_gone_is_an_error() -> None:
    with pytest.raises(
        SliceError, match="partition 3: the slice of 20260131T225900Z up to event 9"
    ):
        choose([at(5)], after=10, slice_=SLICE, named=9)


def test_an_old_version_goes_only_when_the_checkpoint_has_passed_a_newer_one() -> None:
    trail = Trail()
    for end in (5, 9, 14):
        trail.has(at(end))
    assert trail.removable(4) == []
    assert trail.removable(8) == []
    assert trail.removable(9) == [(START, 5)]
    assert sorted(trail.removable(20)) == [(START, 5), (START, 9)]


def test_a_slice_stays_open_while_events_come_for_it_however_late() -> None:
    held = Held(9, {0: OpenSlice(9, "a")})
    later = held.advanced({60: OpenSlice(12, "b")}, 12, lateness_s=60)
    assert list(later.slices) == [0, 60]
    later = later.advanced({120: OpenSlice(15, "c")}, 15, lateness_s=60)
    assert list(later.slices) == [60, 120]
    later = later.advanced({0: OpenSlice(17, "a2"), 120: OpenSlice(18, "c2")}, 18, lateness_s=60)
    assert list(later.slices) == [0, 60, 120]


def test_a_closed_slice_is_named_until_its_old_versions_are_gone() -> None:
    trail = Trail()
    for end in (5, 9):
        trail.has(at(end))
    held: Held[str] = Held(30, {START + 600: OpenSlice(30, "x")})
    assert naming(held, trail) == {"20260131T225900Z": 9, "20260131T230900Z": 30}
    trail.gone(START, 5)
    trail.forget_closed(held.slices)
    assert naming(held, trail) == {"20260131T230900Z": 30}


def test_a_state_of_another_program_is_refused_in_words() -> None:
    assert named_in({"20260131T225900Z": 9}, "3") == {START: 9}
    for other in ([1], {"x": 1}, {"20260131T225900Z": "9"}):
        with pytest.raises(SliceError, match="partition 3: its state does not name slices"):
            named_in(other, "3")
