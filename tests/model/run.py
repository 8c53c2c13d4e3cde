"""Explores the model in other bounds: `python tests/model/run.py epochs=3 kills=1 late=1`."""

from __future__ import annotations

import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from model.protocol import explored
from model.scene import Budget
from model.stage import Bounds


def bounds_of(words: list[str]) -> Bounds:
    """The bounds that these words say; ValueError where they say none."""
    given = {name: int(value) for name, _, value in (word.partition("=") for word in words)}
    own = {field.name for field in fields(Bounds)} - {"budget"}
    unknown = given.keys() - own - set(Budget._fields)
    if unknown:
        raise ValueError(f"{sorted(unknown)}: write {sorted(own)} or {sorted(Budget._fields)}")
    budget = Budget(**{name: given[name] for name in Budget._fields if name in given})
    own_given: dict[str, Any] = {name: given[name] for name in own if name in given}
    return Bounds(budget, **own_given)


if __name__ == "__main__":
    begun = time.monotonic()
    print(explored(bounds_of(sys.argv[1:])))
    print(f"{time.monotonic() - begun:.0f} s")
