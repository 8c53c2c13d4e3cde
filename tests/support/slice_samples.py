"""A whole projection of a slice: what damaged ones are made from."""

from __future__ import annotations

from tidegate.slices.naming import Version
from tidegate.slices.plain import PlainContents
from tidegate.slices.shape import Shape

SHAPE = Shape(
    "home",
    ("kind",),
    sums=("count", "alarms"),
    least=("low",),
    most=("high",),
    last=("warmth",),
    fractions=("warmth",),
    flag="alarms",
).checked()


def _whole() -> bytes:
    contents = PlainContents(SHAPE)
    for number in range(5):
        contents.add((f"home-{number}", "smoke"), (1, number % 2, number, number, 0.5))
    return contents.encoded(Version("0", 1_800_000_000, 7))


WHOLE_SLICE = _whole()
