"""Documents that are much alike, kept as one where they are the same. Pure but for what it keeps.

The objects of hundreds of groups differ in a few names: probes, ports, security contexts, volumes
and the names of all fields are the same texts. Python makes them anew for each.

Rules: a value that is given back says what was given, and has parts that others have too: nobody
may change one. Each is compared with the last one of its kind alone, so that nothing is kept longer
than it is used, but for that one.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable
from typing import Any


class Alike:
    """See the module."""

    def __init__(self) -> None:
        self._last: dict[Hashable, Any] = {}

    def of(self, kind: Hashable, value: Any) -> Any:
        """The same, with what the last one of its kind has in common with it."""
        self._last[kind] = found = sharing(value, self._last.get(kind))
        return found


def sharing(value: Any, like: Any = None) -> Any:
    """What is given, made of the parts of another where they are the same."""
    if type(value) is str:
        return sys.intern(value)
    if type(value) is dict:
        parts = like if type(like) is dict else {}
        made = {sys.intern(key): sharing(each, parts.get(key)) for key, each in value.items()}
        same = made.keys() == parts.keys() and all(made[key] is parts[key] for key in made)
        return like if same and type(like) is dict else made
    if type(value) in (list, tuple):
        there = like if type(like) is type(value) and len(like) == len(value) else ()
        items = [sharing(*pair) for pair in zip(value, there or [None] * len(value), strict=True)]
        same = bool(there) and all(one is two for one, two in zip(items, there, strict=True))
        return like if same else type(value)(items)
    return like if type(value) is int and type(like) is int and like == value else value
