"""Fuzz targets: the bytes and the names of slices, which pages and tables read, and signed links.

Rules: what is not a whole projection is a SliceError, never a wrong answer; the reader in plain
Python and the one in arrays agree on what it holds. Nobody's link opens anything.
"""

from __future__ import annotations

import contextlib
import json
from base64 import urlsafe_b64encode
from types import SimpleNamespace
from typing import Any

import atheris

from support.fuzzed_documents import document_of, json_seeds
from support.fuzzing import Target, at_once, main

with atheris.instrument_imports(include=["tidegate", "residents", "activity"]):
    from activity import reading_of
    from residents.links import Link, LinkError, link_of, token_of
    from support.slice_samples import WHOLE_SLICE as WHOLE
    from tidegate.slices import reading
    from tidegate.slices.layout import HEAD_AT, MAGIC
    from tidegate.slices.naming import Version, newest, version_of
    from tidegate.slices.plain import PlainContents, plain_from
    from tidegate.slices.shape import SliceError
    from tidegate.spark.projecting import decoded

SIZE = reading.head_size(WHOLE)
HEAD: dict[str, Any] = json.loads(WHOLE[HEAD_AT:SIZE])


def fuzz_slices(data: bytes) -> None:
    """Bytes as they are, or a sound projection whose head says what the input says."""
    content = data[1:]
    if data[:1] > b"\x60":
        head = json.dumps(document_of(data[1:], (HEAD,))).encode()
        content = MAGIC + len(head).to_bytes(HEAD_AT - len(MAGIC), "little") + head + WHOLE[SIZE:]
    held = None
    with contextlib.suppress(SliceError):
        held = plain_from(content)
    with contextlib.suppress(SliceError):
        decoded(content)

    async def read(offset: int, length: int) -> bytes:
        return content[offset : offset + length] if offset >= 0 and length >= 0 else b""

    for ask in (reading.home_in(read, "home-3"), reading.flagged_in(read)):
        try:
            at_once(ask)
        except SliceError:
            continue
    assert held is None or isinstance(held, PlainContents)


def fuzz_slice_names(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    found = version_of(text)
    if found is not None:
        newest([text], found[1])


KEYS = (b"k" * 32, b"l" * 32)
TOKEN = token_of(KEYS[0], Link("home-000017", 1_900_000_000))


def fuzz_links(data: bytes) -> None:
    """Links that nobody has made open nothing, also with the signature of another one."""
    text = data.decode("utf-8", "surrogateescape")
    front, _, signature = TOKEN.rpartition(".")
    home = urlsafe_b64encode(data).decode().rstrip("=")
    for token in (text, f"{text}.{signature}", f"{home}.1900000000.{signature}", f"{front}.{text}"):
        if token == TOKEN:
            continue
        try:
            link = link_of(KEYS, token, 1_800_000_000.0)
        except LinkError:
            continue
        raise AssertionError(f"{token!r} opens {link}")


_READING = {
    "home": "home-000017",
    "kind": "smoke",
    "value": 5,
    "at": 1_800_000_000.5,
    "alarm": True,
}


def fuzz_readings(data: bytes) -> None:
    """What a sensor of the scenario sends, as its handler reads it."""
    said = document_of(data, (_READING,))
    if not isinstance(said, dict):
        return
    event = SimpleNamespace(body_as_json=lambda: said, enqueued_at=1_800_000_000.0)
    found = reading_of(event)
    assert found is None or (isinstance(found[0], str) and abs(found[3] - 1_800_000_000.0) < 1e6)


def seeds(name: str) -> list[bytes]:
    return {
        "slices": [
            b"\x00" + WHOLE,
            *(b"\xff" + each for each in json_seeds((HEAD,))),
        ],
        "slice_names": [
            Version("0", 1_800_000_000, 7).name("home-security/activity").encode(),
            b"a/20260131T235900Z/0/00000000000000000007.slice",
        ],
        "links": [TOKEN.encode(), TOKEN[:-1].encode(), b"home-000018"],
        "readings": json_seeds((_READING,)),
    }[name]


TARGETS: dict[str, Target] = {
    "slices": fuzz_slices,
    "slice_names": fuzz_slice_names,
    "links": fuzz_links,
    "readings": fuzz_readings,
}


if __name__ == "__main__":
    main(TARGETS, seeds)
