"""Rows of slices to draw: what a partition counted, in order, whatever the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from tidegate.slices.plain import Number, PlainContents
from tidegate.slices.shape import Shape

SHAPE = Shape(
    "home",
    ("kind", "floor"),
    sums=("count", "alarms"),
    least=("coldest",),
    most=("at",),
    last=("value", "warmth"),
    fractions=("coldest", "warmth"),
    flag="alarms",
).checked()

_WHOLE = st.integers(-(1 << 40), 1 << 40) | st.integers(-3, 300)
_FRACTION = st.floats(-1e6, 1e6, allow_nan=False) | st.just(-0.0)
_TEXT = st.text("abé漢-0", max_size=12)


@dataclass(frozen=True, slots=True)
class Counted:
    """A row as one batch counted it."""

    place: tuple[str, ...]
    values: tuple[Number, ...]


@st.composite
def counted_rows(draw: st.DrawFn, most: int = 200) -> list[Counted]:
    """Rows of a few homes, so that places meet; some values are missing."""
    homes = draw(st.lists(_TEXT, min_size=1, max_size=90, unique=True))
    kinds = draw(st.lists(_TEXT, min_size=1, max_size=4, unique=True))

    def maybe(values: st.SearchStrategy[Number]) -> st.SearchStrategy[Number]:
        return st.none() | values

    row = st.builds(
        Counted,
        st.tuples(st.sampled_from(homes), st.sampled_from(kinds), st.sampled_from(("", "1"))),
        st.tuples(
            st.integers(1, 5),
            st.integers(0, 1),
            maybe(_FRACTION),
            maybe(_WHOLE),
            maybe(_WHOLE),
            maybe(_FRACTION),
        ),
    )
    return draw(st.lists(row, min_size=1, max_size=most))


def plain(rows: Sequence[Counted], shape: Shape = SHAPE) -> PlainContents:
    contents = PlainContents(shape)
    for row in rows:
        contents.add(row.place, row.values)
    return contents
