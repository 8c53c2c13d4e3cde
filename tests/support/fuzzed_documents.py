"""JSON documents of others, made from bytes: valid ones with edits, or whatever the bytes say.

    document_of(b"\\x01{}", SAMPLES)     # odd: the rest is JSON
    document_of(b"\\x04abc", SAMPLES)    # even: a sample, each three further bytes an edit

Rules: pure, and the same bytes give the same document. An edit takes a field away, adds one, or
puts in its place what parsers stumble over: numbers that do not fit, halves of characters, texts
that are no numbers, values of another type. `keeps_types` is for what an API server has checked.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

_LONG = "9" * 5000
_NESTED = "[" * 3000
# More of them make nothing new, and nest deeper than what makes them can follow.
_EDITS = 12
TEXTS = (
    *("", " ", "-", "0", "-1", "1.5", "1e400", "nan", "Infinity", _LONG, "١", "²", "²³"),
    *("\ud800", "\x00", "é", "漢", "a" * 300, "%", "%ff", "%ed%a0%80", "+", "=", "==", "e30="),
    *("z:", "z:e30=", "z:eJwDAAAAAAE=", ",", "a=1", "a=1,b=2", ":", "1:2:3", "-z:zz", ";", "/"),
    *("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-13-01T00:00:00Z"),
    *("2026-01-31T00:00:00Z", "2026-01-31T00:00:00.1234567Z", "Thu, 01 Jan 0001 00:00:00 +2359"),
    *("-FF", "00-FF", "FF-00", "a-b", _NESTED, "{}", "[]", "null", "W3siYSI6MX1d", "eyJhIjoxfQ=="),
    *("1 r -ff@e1@5", "1 r -ff@t1e999@5", "1 r 00-ff@@-1 = >00-7f,7f-ff", "*", "\n", "<a>", "&lt;"),
    "W1tb" * 1000,
    *("http://[", "http://x:99999999", "sb://h/", "60s", "5m", "None", "true", "False", "latest"),
)
NUMBERS = (0, 1, -1, 1.5, -0.5, 1 << 31, 1 << 63, -(1 << 63), 10**400, float("inf"), float("nan"))
OTHERS: tuple[Any, ...] = (
    *(None, True, False, [], {}, [None], [[]], {"": None}, [1, "a"]),
    {"a": {"b": []}},
)
VALUES: tuple[Any, ...] = (*TEXTS, *NUMBERS, *OTHERS)


def document_of(
    data: bytes,
    samples: Sequence[Any],
    *,
    keeps_types: bool = False,
    needed: Collection[str] = (),
) -> Any:
    """See the module; None where the bytes are no JSON. `needed` are fields that are never taken
    away."""
    if not data:
        return None
    if data[0] & 1 and not keeps_types:
        try:
            return json.loads(data[1:])
        except (ValueError, RecursionError):
            return None
    # JSON is the quickest copy.
    document = json.loads(json.dumps(samples[(data[0] >> 1) % len(samples)]))
    for at in range(1, min(len(data) - 2, 3 * _EDITS), 3):
        places = list(_places(document))
        if not places:
            break
        where, key = places[data[at] % len(places)]
        _edit(where, key, data[at + 1 :], needed, keeps_types=keeps_types)
    return document


def texts_of(data: bytes, samples: Sequence[dict[str, str]]) -> dict[str, str]:
    """The same for a map of texts alone, such as metadata and headers."""
    found = document_of(data, samples)
    if not isinstance(found, dict):
        return {}
    return {str(key): value for key, value in found.items() if isinstance(value, str)}


def json_seeds(samples: Sequence[Any]) -> list[bytes]:
    """Inputs to begin from: each sample as JSON, and one edit of each kind."""
    whole = [b"\x01" + json.dumps(each).encode() for each in samples]
    edits = [bytes((2 * at, where, 1, 20)) for at in range(len(samples)) for where in range(8)]
    return [*whole, *edits, b"\x01" + b"[" * 1000, b'\x01{"a":1e999}']


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(document, dict):
        for key, value in document.items():
            yield document, key
            yield from _places(value)
    elif isinstance(document, list):
        for at, value in enumerate(document):
            yield document, at
            yield from _places(value)


def _edit(where: Any, key: Any, by: bytes, needed: Collection[str], *, keeps_types: bool) -> None:
    what, number = by[0] % 5, by[1]
    before = where[key]
    if what == 0 and key not in needed:
        del where[key]
    elif what == 1 and not keeps_types:
        other = TEXTS[number % len(TEXTS)] if isinstance(where, dict) else number
        if isinstance(where, dict):
            where[other] = before
        else:
            where.insert(0, before)
    elif what == 2 and isinstance(before, str):
        cut = number % (len(before) + 1)
        where[key] = before[:cut] + TEXTS[by[0] // 5 % len(TEXTS)] + before[cut:]
    elif what == 3 and isinstance(before, str):
        cut = number % (len(before) + 1)
        where[key] = before[:cut] + before[cut + 1 + by[0] // 5 :]
    elif keeps_types:
        where[key] = _alike(before, number)
    else:
        value = VALUES[number % len(VALUES)]
        # A copy, for the edits that follow.
        where[key] = json.loads(json.dumps(value)) if isinstance(value, dict | list) else value


def _alike(before: Any, number: int) -> Any:
    """Another value of the same type."""
    if isinstance(before, bool):
        return not before
    if isinstance(before, int):
        return number * number * (-1 if number % 7 == 0 else 1)
    if isinstance(before, float):
        return number / 7
    if isinstance(before, str):
        return TEXTS[number % len(TEXTS)]
    return [] if isinstance(before, list) and number % 2 else before
