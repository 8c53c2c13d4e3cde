"""Fuzz targets: what stands in a ledger of Blob storage, whoever wrote it.

Rules: a listing that is none raises ValueError; a blob that cannot be read becomes a Flaw, and the
others are read; a body, a state, a dead letter and a scratch file each have one error of their own.
What could be read can be looked through and shown.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from types import MappingProxyType
from typing import Any

import atheris

from support.fuzzed_documents import document_of, json_seeds, texts_of
from support.fuzzing import Target, main

with atheris.instrument_imports(include=["tidegate"]):
    from tidegate.delivery.letters import DeadLetter, LetterError, decode_letter, encode_letter
    from tidegate.delivery.state import State, StateError
    from tidegate.ledger import survey
    from tidegate.ledger.findings import Range, findings
    from tidegate.ledger.layout import (
        GroupNames,
        Row,
        body_of,
        checkpoint_metadata,
        ownership_metadata,
        read_body,
        read_listing,
    )
    from tidegate.ledger.listing_xml import read_blob, read_page
    from tidegate.ledger.members import presence_metadata, roster_metadata
    from tidegate.ledger.packing import Unreadable
    from tidegate.model import (
        Figures,
        Flaw,
        LeaseState,
        Owner,
        Position,
        Presence,
        Rewind,
        Roster,
    )
    from tidegate.scratch import Scratch

NAMES = GroupNames("ns.example", "hub", "g")
LEASES = tuple(LeaseState)
PROPERTIES = (
    "<Properties><Last-Modified>Wed, 18 Nov 2026 15:40:22 GMT</Last-Modified>"
    "<Etag>0x8D</Etag><LeaseState>leased</LeaseState></Properties>"
)
BLOBS = (
    f"<Name>a/b/c/ownership/0</Name>{PROPERTIES}<Metadata><ownerid>m/1</ownerid></Metadata>",
    f'<Name Encoded="true">a%2Fb</Name>{PROPERTIES}<OrMetadata />',
)


def fuzz_listings(data: bytes) -> None:
    """The quick reader of a blob says what the reader of XML says, or nothing."""
    with contextlib.suppress(ValueError):
        read_page(data)
    text = data.decode("utf-8", "replace")
    try:
        quick = read_blob(text)
        whole = f"<EnumerationResults><Blobs><Blob>{text}</Blob></Blobs></EnumerationResults>"
        slow = read_page(whole.encode())[0] if quick is not None else None
    except ValueError:
        return
    if quick is not None and slow is not None and len(slow) == 1:
        assert quick == slow[0], (quick, slow)


_PRESENCE = Presence(
    name="Member-0",
    etag="",
    lease=LeaseState.LEASED,
    incarnation="i",
    loads=MappingProxyType({"0": 0.5, "1": 1.0}),
    wants=MappingProxyType({"2": "0b7c2a44-3d58-4a49-9d37-0d6bb43c2f11"}),
    declines=frozenset(("3",)),
    pod_uid="u",
    started_at=1_800_000_000.0,
    stuck=frozenset(("0",)),
    figures=MappingProxyType({"0": Figures(5, 4, 1.5, 1.0, 1.0, 0.1, 0, 0)}),
    unread=frozenset(("1",)),
    trouble="it's broken",
    open_circuits=frozenset(("0",)),
)
_ROSTER = Roster(
    generation=3,
    expected=("a", "b"),
    leaving=("b",),
    pins=MappingProxyType({"0": "a"}),
    paused=frozenset(("1",)),
    rewinds=(Rewind("r", "0"), Rewind("s", "1", at=5.0)),
)
ROWS: tuple[dict[str, str], ...] = (
    ownership_metadata(Owner("m", "1"), 5, "n"),
    {"ownerid": "another"},
    checkpoint_metadata(Position("4096", 7), 5, "n", 1_800_000_000.0, "r"),
    {"offset": "", "sequencenumber": "5"},
    presence_metadata(_PRESENCE),
    roster_metadata(_ROSTER),
    {
        "roster": '{"generation":1,"rewinds":[{"id":"a","partition":"0","offset":"-1"'
        ',"sequence":-1,"at":5}]}'
    },
)
_PLACES = (
    "ownership/0",
    "ownership/0",
    "checkpoint/0",
    "checkpoint/0",
    "member/member-0",
    "roster",
    "roster",
)


def fuzz_ledger_blobs(data: bytes) -> None:
    """The first byte says which blob it is; the rest, what its metadata says."""
    if len(data) < 2:
        return
    metadata = texts_of(data, ROWS)
    name = _PLACES[(data[0] >> 1) % len(_PLACES)] if data[0] % 32 < 24 else f"member/{data[1]}"
    lease = LEASES[data[1] % len(LEASES)]
    row = Row(f"{NAMES.prefix}{name}", "etag", lease, metadata, 1_800_000_000.0)
    other = Row(f"{NAMES.prefix}ownership/9", "etag", lease, ROWS[0], 1.0)
    listing = read_listing(NAMES, (row, other), 1_800_000_100.0)
    assert "9" in listing.ownerships
    for each in listing.flaws:
        assert isinstance(each, Flaw) and row.name in each.problem
    ranges = {"0": Range(0, 9)}
    found = findings(listing, ranges)
    survey.as_document("g", listing, ranges, found)
    survey.tables(listing, ranges)
    survey.told(found)
    # What was read can be written again.
    if listing.roster is not None:
        roster_metadata(listing.roster)


_ROSTERS: tuple[dict[str, Any], ...] = (
    {
        "generation": 1,
        "expected": ["a"],
        "leaving": ["a"],
        "pins": {"0": "a"},
        "paused": ["0"],
        "isPaused": False,
        "rewinds": [{"id": "a", "partition": "0", "offset": "-1", "sequence": -1, "at": 5}],
    },
)


def fuzz_rosters(data: bytes) -> None:
    document = document_of(data, _ROSTERS)
    text = json.dumps(document)
    row = Row(f"{NAMES.prefix}roster", "etag", LeaseState.LEASED, {"roster": text}, 1.0)
    listing = read_listing(NAMES, (row,), 5.0)
    assert (listing.roster is None) == bool(listing.flaws)


_STATES: tuple[dict[str, Any], ...] = ({"a": {"b": [1, "c"]}, "c": None, "d": 1.5}, {"a": "b"})


def fuzz_checkpoint_bodies(data: bytes) -> None:
    """A body, and the state in it as a handler of Python meets it: bytes of any kind, or a state
    that is JSON with what does not belong there."""
    stored = data[1:]
    if data[:1] != b"\x01":
        stored = json.dumps(document_of(data, _STATES)).encode()
    with contextlib.suppress(Unreadable):
        position, stored = read_body(stored)
        assert read_body(body_of(position, stored)) == (position, stored)
    try:
        state = State("0", stored, 1 << 20)
        for key in list(state):
            state[key] = [state[key]]
        state.commit()
        state.roll_back()
        again = state.encoded()
        if again is not None:
            State("0", again, 1 << 20)
    except StateError:
        return


_LETTER: dict[str, Any] = {
    "partition": "0",
    "offset": "4096",
    "sequenceNumber": 5,
    "enqueuedTime": "2026-11-19T10:00:00+00:00",
    "partitionKey": None,
    "error": "ValueError: no",
    "attempts": 3,
    "member": "m",
    "putAsideAt": "2026-11-19T10:00:00+00:00",
    "properties": {"a": {"$bytes": "b"}, "n": 1, "t": {"$time": "2026-11-19T10:00:00"}},
    "systemProperties": {
        "u": {"$uuid": "0b7c2a44-3d58-4a49-9d37-0d6bb43c2f11"},
        "l": [{"$base64": "/w=="}, {"$number": "nan"}, {"$text": "x"}],
    },
    "body": "eyJhIjoxfQ==",
    "trace": "Traceback",
    "text": '{"a":1}',
}


def fuzz_dead_letters(data: bytes) -> None:
    stored = data[1:] if data[:1] == b"\x01" else json.dumps(document_of(data, (_LETTER,))).encode()
    try:
        letter = decode_letter(stored)
    except LetterError:
        return
    assert isinstance(letter, DeadLetter)
    assert letter.id
    encode_letter(letter)


_LEASES: tuple[dict[str, str], ...] = ({"0": "0b7c2a44-3d58-4a49-9d37-0d6bb43c2f11", "1": "a"},)
_FOLDER = tempfile.TemporaryDirectory()
_FILE = Path(_FOLDER.name) / "leases.json"
_SCRATCH = Scratch(_FILE)


def fuzz_scratch_files(data: bytes) -> None:
    """What is no file of leases is one with nothing in it."""
    stored = data[1:]
    if data[:1] != b"\x01":
        stored = json.dumps(document_of(data, _LEASES)).encode()
    _FILE.write_bytes(stored)
    for partition, lease in _SCRATCH.read():
        assert isinstance(partition, str) and isinstance(lease, str)


def seeds(name: str) -> list[bytes]:
    whole = "".join(f"<Blob>{each}</Blob>" for each in BLOBS)
    page = f"<EnumerationResults><Blobs>{whole}</Blobs><NextMarker>m</NextMarker>"
    return {
        "listings": [
            f'<?xml version="1.0" encoding="utf-8"?>{page}</EnumerationResults>'.encode(),
            f'<?xml version="1.0" encoding="x-none"?>{page}</EnumerationResults>'.encode(),
            *(each.encode() for each in BLOBS),
        ],
        "ledger_blobs": json_seeds(ROWS),
        "rosters": json_seeds(_ROSTERS),
        "checkpoint_bodies": [
            b"\x01" + body_of(Position("4096", 7), b'{"a":{"b":[1]},"c":null}'),
            *json_seeds(_STATES),
        ],
        "dead_letters": json_seeds((_LETTER,)),
        "scratch_files": json_seeds(_LEASES),
    }[name]


TARGETS: dict[str, Target] = {
    "listings": fuzz_listings,
    "ledger_blobs": fuzz_ledger_blobs,
    "rosters": fuzz_rosters,
    "checkpoint_bodies": fuzz_checkpoint_bodies,
    "dead_letters": fuzz_dead_letters,
    "scratch_files": fuzz_scratch_files,
}


if __name__ == "__main__":
    main(TARGETS, seeds)
