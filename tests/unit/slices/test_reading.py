"""One home's rows cost one or two range reads, and are what was counted."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.slice_rows import SHAPE, Counted, counted_rows, plain
from tidegate.slices.naming import Version
from tidegate.slices.plain import PlainContents, plain_from
from tidegate.slices.reading import FIRST_READ, flagged_in, home_in, read_head
from tidegate.slices.shape import Shape, SliceError

VERSION = Version("3", 1_769_900_340, 4711)


@dataclass
class Blob:
    """A blob that is read by ranges, and remembers which."""

    data: bytes
    ranges: list[tuple[int, int]] = field(default_factory=list)

    async def read(self, offset: int, length: int) -> bytes:
        self.ranges.append((offset, length))
        return self.data[offset : offset + length]


def large(homes: int = 6250) -> Blob:
    """A partition's minute of the scenario."""
    contents = PlainContents(
        Shape("home", ("kind",), sums=("count", "alarms"), flag="alarms").checked()
    )
    for home in range(homes):
        for kind in ("co", "door", "glass", "motion", "smoke", "window"):
            alarms = int(kind == "smoke" and home % 1000 == 17)
            contents.add((f"home-{home * 16:06}", kind), (1, alarms))
    return Blob(contents.encoded(VERSION))


@given(counted_rows())
async def test_every_home_is_found_with_its_rows_as_they_were_counted(rows: list[Counted]) -> None:
    contents = plain(rows)
    blob = Blob(contents.encoded(VERSION))
    names = [column.name for column in SHAPE.columns]
    for home in {row.place[0] for row in rows}:
        found = await home_in(blob.read, home)
        assert found is not None
        assert found.version == VERSION
        counted = {
            place: dict(zip(names, values, strict=True))
            for place, values in contents.rows()
            if place[0] == home
        }
        assert {
            (home, str(row["kind"]), str(row["floor"])): {name: row[name] for name in names}
            for row in found.rows
        } == counted
        assert [row for row in found.rows if row["alarms"]] == list(found.flagged)


@given(counted_rows(), st.text("abé漢-0", max_size=12))
async def test_a_home_of_which_nothing_came_has_nothing(rows: list[Counted], home: str) -> None:
    found = await home_in(Blob(plain(rows).encoded(VERSION)).read, home)
    assert (found is None) == (home not in {row.place[0] for row in rows})


@given(counted_rows())
async def test_alarms_are_read_without_the_homes_that_had_none(rows: list[Counted]) -> None:
    blob = Blob(plain(rows).encoded(VERSION))
    flagged = await flagged_in(blob.read)
    for home, found in flagged.items():
        whole = await home_in(blob.read, home)
        assert whole is not None
        assert found == whole.flagged
    assert set(flagged) == {row.place[0] for row in rows if row.values[1]}


async def test_one_home_of_6250_costs_two_small_reads_and_one_with_the_head_at_hand() -> None:
    blob = large()
    found = await home_in(blob.read, "home-016272")
    assert found is not None
    assert [row["kind"] for row in found.flagged] == ["smoke"]
    assert len(blob.ranges) == 2
    assert sum(length for _, length in blob.ranges) < FIRST_READ + 4096
    head, _ = await read_head(blob.read)
    blob.ranges.clear()
    assert await home_in(blob.read, "home-016272", head) == found
    assert len(blob.ranges) == 1


async def test_a_small_slice_costs_one_read() -> None:
    blob = large(20)
    assert await home_in(blob.read, "home-000016") is not None
    assert len(blob.ranges) == 1


async def test_a_head_that_is_longer_than_the_first_read_is_read_on() -> None:
    blob = large(60_000)
    assert await home_in(blob.read, "home-959984") is not None
    assert len(blob.ranges) == 3


@given(counted_rows(), counted_rows(40))
def test_a_projection_goes_on_where_it_was_written(
    rows: list[Counted], more: list[Counted]
) -> None:
    contents = plain_from(plain(rows).encoded(VERSION))
    for row in more:
        contents.add(row.place, row.values)
    assert contents.encoded(VERSION) == plain([*rows, *more]).encoded(VERSION)


@given(counted_rows(), st.data())
async def test_a_projection_that_is_cut_off_is_refused_in_words(
    rows: list[Counted], data: st.DataObject
) -> None:
    whole = plain(rows).encoded(VERSION)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(SliceError):
        plain_from(cut)


def test_what_cannot_be_kept_is_refused_in_words() -> None:
    shape = Shape("home", sums=("count",), last=("value",)).checked()
    for place, values, said in (
        (("a\0b",), (1, 1), "no text that can be kept"),
        (("é" * 128,), (1, 1), "more than 255 bytes"),
        (("a", "b"), (1, 1), "write ('home',)"),
        (("\ud800",), (1, 1), "no Unicode text"),
        (("a",), (1, 1.5), "fractions"),
        (("a",), (1, 1 << 62), "more than can be kept"),
    ):
        contents = PlainContents(shape)
        with pytest.raises(SliceError) as error:
            contents.add(place, values)
            contents.encoded(VERSION)
        assert said in str(error.value)


def test_a_shape_that_cannot_work_is_refused_in_words() -> None:
    for shape, said in (
        (Shape("home"), "at least one of"),
        (Shape("home", sums=("a", "a")), "named twice"),
        (Shape("home", sums=("a",), fractions=("a",)), "thousandths"),
        (Shape("home", sums=("a",), fractions=("b",)), "no column 'b'"),
        (Shape("home", most=("a",), flag="a"), "none of the sums"),
        (Shape("home", sums=("a",), size_s=0), "86400"),
    ):
        with pytest.raises(SliceError) as error:
            shape.checked()
        assert said in str(error.value)


def test_new_columns_begin_with_nothing_and_old_ones_are_left_out() -> None:
    contents = PlainContents(Shape("home", sums=("count", "old")).checked())
    contents.add(("a",), (2, 3))
    shape = Shape("home", sums=("count",), most=("new",)).checked()
    shaped = contents.shaped(shape)
    shaped.add(("a",), (1, 5))
    shaped.add(("b",), (1, None))
    assert list(shaped.rows()) == [(("a",), (3, 5)), (("b",), (1, None))]
    with pytest.raises(SliceError, match="output of its own"):
        contents.shaped(Shape("house", sums=("count",)).checked())
