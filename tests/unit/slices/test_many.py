"""Many homes of a slice cost few requests, and give what each would give by itself."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.slices.listing import projections
from tidegate.slices.many import REQUEST_BYTES, ManyKeys, Span, put_together
from tidegate.slices.naming import Version
from tidegate.slices.plain import PlainContents
from tidegate.slices.reading import whole
from tidegate.slices.shape import Shape, SliceStorageError

SHAPE = Shape("home", ("kind",), sums=("count", "alarms"), flag="alarms").checked()
VERSION = Version("3", 1_769_900_340, 4711)


@dataclass
class Blobs:
    """One blob, and the ranges of it that were asked for."""

    data: bytes
    ranges: list[tuple[int, int]] = field(default_factory=list)

    async def range(self, version: Version, suffix: str, offset: int, length: int) -> bytes:
        self.ranges.append((offset, length))
        return self.data[offset : offset + length]


def slice_of(homes: int) -> bytes:
    contents = PlainContents(SHAPE)
    for home in range(homes):
        for kind in ("co", "door", "glass", "motion", "smoke", "window"):
            contents.add((f"home-{home:06}", kind), (home, 0))
    return contents.encoded(VERSION)


SPANS = st.lists(st.tuples(st.integers(0, 500), st.integers(1, 50)), max_size=12).map(
    lambda drawn: [(begin, begin + length) for begin, length in drawn]
)


@given(SPANS, st.integers(0, 100))
def test_spans_that_are_put_together_have_all_and_lie_apart(spans: list[Span], worth: int) -> None:
    found = put_together(spans, worth)
    assert all(any(b <= begin and end <= e for b, e in found) for begin, end in spans)
    assert all(two[0] - one[1] >= worth for one, two in pairwise(found))
    edges = {edge for span in spans for edge in span}
    assert {edge for span in found for edge in span} <= edges


async def test_a_small_slice_is_read_once_for_all_homes() -> None:
    blobs = Blobs(slice_of(100))
    many = ManyKeys(blobs)
    first = await many.rows(VERSION, len(blobs.data), ["home-000001", "home-000099", "nobody"])
    assert set(first) == {"home-000001", "home-000099"}
    assert [row["count"] for row in first["home-000099"]] == [99] * 6
    await many.rows(VERSION, len(blobs.data), ["home-000042"])
    assert blobs.ranges == [(0, len(blobs.data))]


async def test_a_home_of_a_large_slice_costs_its_head_and_its_block() -> None:
    blobs = Blobs(slice_of(20_000))
    many = ManyKeys(blobs)
    assert (await many.rows(VERSION, len(blobs.data), ["home-015000"]))["home-015000"]
    assert len(blobs.ranges) <= 3
    assert sum(length for _, length in blobs.ranges) < REQUEST_BYTES / 2


async def test_many_homes_of_a_large_slice_are_what_is_in_it_and_cost_few_requests() -> None:
    blobs = Blobs(slice_of(20_000))
    _, rows = whole(blobs.data)
    expected = dict(rows)
    homes = random.Random(1).sample(sorted(expected), 500)
    found = await ManyKeys(blobs).rows(VERSION, len(blobs.data), homes)
    assert found == {home: expected[home] for home in homes}
    assert len(blobs.ranges) <= 4


async def test_no_more_is_kept_than_may_be() -> None:
    blobs = Blobs(slice_of(100))
    many = ManyKeys(blobs, kept_bytes=3 * len(blobs.data))
    for end in range(10):
        await many.rows(Version("3", 0, end), len(blobs.data), ["home-000001"])
    blobs.ranges.clear()
    await many.rows(Version("3", 0, 9), len(blobs.data), ["home-000001"])
    assert blobs.ranges == []
    await many.rows(Version("3", 0, 0), len(blobs.data), ["home-000001"])
    assert len(blobs.ranges) == 1


def page(*names: str, marker: str = "") -> bytes:
    blobs = "".join(
        f"<Blob><Name>{name}</Name><Properties><Etag>0x1</Etag><Content-Length>{at + 7}"
        "</Content-Length><LeaseState>available</LeaseState></Properties></Blob>"
        for at, name in enumerate(names)
    )
    return (
        f"<EnumerationResults><Blobs>{blobs}</Blobs><NextMarker>{marker}</NextMarker>"
        "</EnumerationResults>"
    ).encode()


def test_a_listing_is_read_into_versions_and_sizes() -> None:
    name = VERSION.name("home-security/activity")
    listed, marker = projections(page(name, name.replace(".homes", ".parquet"), "x", marker="m"))
    assert listed == [(VERSION, 7)]
    assert marker == "m"
    assert projections(page())[1] == ""


@pytest.mark.parametrize("damage", [b"<Blob><Name>a&amp;b</Name></Blob>", b"<Blob>"])
def test_a_listing_that_cannot_be_read_is_an_error_and_not_a_shorter_list(damage: bytes) -> None:
    whole_page = page(VERSION.name("p"))
    with pytest.raises(SliceStorageError):
        projections(whole_page.replace(b"</Blobs>", damage + b"</Blobs>"))
    with pytest.raises(SliceStorageError):
        projections(whole_page[:-30])
