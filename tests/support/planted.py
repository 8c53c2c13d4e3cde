"""Secrets with known values, and the search for them in whatever might be seen by others.

    planted = Planted({"hub key": "c2Vj..."})
    planted.found_in("the log", b"...")          # sentences, none where nothing leaks

Rules: a value is looked for as it is, in both forms of base64 wherever it stands in what was
encoded, URL-encoded once and twice, as JSON writes it, in hex, and backwards in UTF-16; also any of
its longer parts, for a text that was cut. A sentence names the secret, the form and the place, and
never the value.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote, quote_plus

# So much of a value is enough to be a leak.
PART = 16


def new_key() -> str:
    """A key as Azure makes them: 32 bytes in base64, with characters that URLs encode."""
    while True:
        key = base64.b64encode(secrets.token_bytes(32)).decode()
        if "+" in key[2:12] or "/" in key[2:12]:
            return key


class Planted:
    """See the module. `values`: what each is called, and the secret itself."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._forms = [
            (name, form, text)
            for name, value in values.items()
            for form, text in _forms(value)
            if len(text) >= PART // 2
        ]

    def found_in(self, place: str, data: bytes | str) -> list[str]:
        """What of them stands there."""
        content = data.encode(errors="replace") if isinstance(data, str) else data
        return sorted(
            {
                f"{place} holds the {name}, {form}"
                for name, form, text in self._forms
                if text in content
            }
        )

    def found_in_files(self, paths: Iterable[Path]) -> list[str]:
        """The same of files; a folder is searched whole."""
        return [
            sentence
            for path in paths
            for each in (sorted(path.rglob("*")) if path.is_dir() else [path])
            if each.is_file()
            for sentence in self.found_in(str(each), each.read_bytes())
        ]


def _forms(value: str) -> Iterator[tuple[str, bytes]]:
    raw = value.encode()
    yield "as it is", raw
    yield "cut at its end", raw[:PART]
    yield "cut at its beginning", raw[-PART:]
    yield "as JSON", json.dumps(value)[1:-1].encode()
    yield "as JSON with slashes", value.replace("/", "\\/").encode()
    for encode in (quote, quote_plus):
        once = encode(value, safe="")
        yield "URL-encoded", once.encode()
        yield "URL-encoded", once.lower().encode()
        yield "URL-encoded, cut", once[:PART].encode()
        yield "URL-encoded twice", encode(once, safe="").encode()
    yield "in hex", raw.hex().encode()
    yield "in UTF-16", value.encode("utf-16-le")
    for ahead in range(3):
        for kind, encode64 in (
            ("base64", base64.b64encode),
            ("url-safe base64", base64.urlsafe_b64encode),
        ):
            # Only whole groups of its own bytes: their neighbours change the others.
            whole = encode64(b"\0" * ahead + raw)
            begin = 4 if ahead else 0
            end = len(whole) - (4 if (ahead + len(raw)) % 3 else 0)
            yield f"in {kind}", whole[begin:end]
