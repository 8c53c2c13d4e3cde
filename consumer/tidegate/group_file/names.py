"""The fields of the group file, by our names for them. Pure.

The file has camelCase with whole units, the code snake_case with short ones: `everySeconds` is
`every_s`. `words.snake_name` is the way from the file; this is the way back, for reading and docs.
"""

from __future__ import annotations

from tidegate.words import IRREGULAR, UNITS

_LONG = {short: long for long, short in UNITS.items()}
_IRREGULAR = {name: field for field, name in IRREGULAR.items()}


def camel_name(name: str) -> str:
    """The file's name for a field of ours."""
    if name in _IRREGULAR:
        return _IRREGULAR[name]
    first, *others = name.split("_")
    if others:
        others[-1] = _LONG.get(others[-1], others[-1])
    return first + "".join(other.capitalize() for other in others)
