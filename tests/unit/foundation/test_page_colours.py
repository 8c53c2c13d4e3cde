"""What a picture on a page says by a line or a bar can be seen by who sees contrasts badly."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.tree import ROOT

# As WCAG 2.2 asks of what is no text (1.4.11).
LEAST = 3.0
HOME = ROOT / "examples" / "home-security" / "residents" / "static" / "page.css"
CONSOLE = ROOT / "operator" / "tidegate_operator" / "page" / "static" / "console.css"


def palettes(text: str) -> list[dict[str, str]]:
    """The colours of the light and of the dark one."""
    found = [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]+)", each)) for each in text.split(":root")[1:]
    ]
    assert len(found) == 2
    return found


def light_of(colour: str) -> float:
    digits = colour.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(2 * each for each in digits)
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(
    ("file", "names"), [(HOME, ("bar", "alarm-bar")), (CONSOLE, ("first", "second"))]
)
def test_bars_and_lines_stand_out_from_what_is_behind_them(
    file: Path, names: tuple[str, ...]
) -> None:
    for palette in palettes(file.read_text(encoding="utf-8")):
        for name in names:
            one, other = sorted((light_of(palette[name]), light_of(palette["card"])))
            assert (other + 0.05) / (one + 0.05) >= LEAST, (name, palette[name])
