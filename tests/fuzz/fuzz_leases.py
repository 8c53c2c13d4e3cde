"""Fuzz targets: the documents of a lease container, and what a change feed answers.

Rules: a lease in any dialect and a document of ours raise Unreadable where they cannot be read; a
survey raises OtherProcessorError; an answer raises AnswerError, and a position PlaceError. What was
read can be written back.
"""

from __future__ import annotations

import base64
import contextlib
import json
from typing import Any

import atheris

from support.fuzzed_documents import document_of, json_seeds, texts_of
from support.fuzzing import Target, main

with atheris.instrument_imports(include=["tidegate"]):
    from support.lease_samples import OF, RID, SAMPLES, packed, token
    from tidegate.ledger.cosmos.dialects import (
        Dialect,
        OtherProcessorError,
        read_lease,
        stamped,
        survey,
        with_etag,
        with_owner,
    )
    from tidegate.ledger.cosmos.documents import blob_of, body_of_parts, row_of
    from tidegate.ledger.cosmos.documents import document_of as written
    from tidegate.ledger.cosmos.ids import Ids
    from tidegate.ledger.cosmos.marks import foreign_owner, mark_of, marked
    from tidegate.ledger.cosmos.positions import parts_of, position_of, stand_of
    from tidegate.ledger.cosmos.tokens import etag_of_java_token
    from tidegate.ledger.layout import GroupNames, read_row
    from tidegate.ledger.packing import Unreadable
    from tidegate.model import Position
    from tidegate.sources.cosmos.change import Change, ChangeError, change_of, placed
    from tidegate.sources.cosmos.feeds import CircleError, Feeds
    from tidegate.sources.cosmos.places import PlaceError, beginning, parsed, place_of
    from tidegate.sources.cosmos.ranges import WHOLE, FeedRange, range_of
    from tidegate.sources.cosmos.settings import FeedMode
    from tidegate.sources.cosmos.tokens import AnswerError, answer_of

NOW = 1_800_000_000.0
_LEASES: tuple[dict[str, Any], ...] = tuple(SAMPLES.values())


def fuzz_leases(data: bytes) -> None:
    """In each dialect, and in the one that the document shows."""
    document = document_of(data, _LEASES)
    if not isinstance(document, dict):
        return
    with contextlib.suppress(OtherProcessorError):
        survey([document, {"id": f"{document.get('id')}.info"}], "jv", OF)
    for dialect in Dialect:
        try:
            lease = read_lease(document, dialect, OF)
            mark_of(lease.document)
            foreign_owner(lease, 1.0, 60.0)
            changed = with_etag(with_owner(lease.document, "me"), dialect, '"95"', OF)
            json.dumps(marked(stamped(changed, NOW), writes_token=True))
        except Unreadable:
            continue
        if "id" in document:
            assert isinstance(lease.id, str)


def fuzz_lease_tokens(data: bytes) -> None:
    """Java's continuation tokens."""
    text = data[1:].decode("utf-8", "surrogateescape")
    if data[:1] != b"\x01":
        opened = json.loads(_base64(token()))
        text = packed(document_of(data, (opened,)))
    try:
        etag = etag_of_java_token(text, WHOLE, OF)
    except Unreadable:
        return
    if etag is not None:
        position_of(etag, WHOLE, RID)


def _base64(text: str) -> bytes:
    return base64.b64decode(text)


_NAMES = GroupNames("ns.example", "hub", "g")
_IDS = Ids(_NAMES)
_DOCUMENTS: tuple[dict[str, Any], ...] = (
    {
        "id": "x",
        "tag": "t",
        "metadata": {"ownerid": "m/1", "epoch": "5"},
        "lease": {"id": "0b7c2a44-3d58-4a49-9d37-0d6bb43c2f11", "lasts": 15.0, "breaks": 3},
        "written": 5.0,
        "_ts": 1_800_000_000,
    },
    {"id": "y", "tag": "t", "metadata": {"offset": "5", "sequencenumber": "6"}, "body": "e30="},
    {"id": "z", "tag": "t", "metadata": {"roster": "{}"}, "parts": 2, "partsTag": "u"},
)


def fuzz_ledger_documents(data: bytes) -> None:
    """A blob of the ledger as a document of a container."""
    document = document_of(data, _DOCUMENTS)
    if not isinstance(document, dict):
        return
    _IDS.place(str(document.get("id", "")))
    with contextlib.suppress(Unreadable):
        body_of_parts([document])
    try:
        blob = blob_of(document)
    except Unreadable:
        return
    for age in (0.0, 10.0, 1e9):
        row = row_of(f"{_NAMES.prefix}ownership/0", blob, age)
        read_row(_NAMES, row)
        json.dumps(written(blob, age, document))


_PAGE: tuple[dict[str, Any], ...] = (
    {
        "items": [
            {"id": "a", "home": "h", "_lsn": 5, "_ts": 1_800_000_000},
            {"id": "b", "_lsn": 5, "_ts": 1_800_000_000},
            {
                "current": {"id": "c", "n": 1},
                "previous": {"id": "c"},
                "metadata": {"lsn": 6, "crts": 1_800_000_000, "operationType": "replace"},
            },
        ],
        "lsn": 9,
    },
)


def fuzz_feed_pages(data: bytes) -> None:
    """The changes of a page, as a handler and a dead letter meet them. The service says their
    numbers; all else is whatever somebody has stored."""
    page = document_of(data, _PAGE, keeps_types=True, needed=("items", "lsn", "_lsn", "_ts"))
    if page is None:
        return
    for mode in FeedMode:
        try:
            changes = [change_of(item, mode) for item in page["items"]]
        except ChangeError:
            continue
        _fuzz_changes(changes, page["lsn"])


def _fuzz_changes(page: list[Change], lsn: int) -> None:
    feeds = Feeds(beginning(RID, WHOLE))
    try:
        given = feeds.take(feeds.current, page, {WHOLE: '"9"'}, lsn)
    except CircleError:
        return
    for change in given or ():
        assert isinstance(change, Change)
        assert place_of(change.position, "-ff", RID) == change.place
        assert change.content is not None and change.letter_place is not None
        assert change.size and change.operation and change.current is not None
        assert change.system_properties
        assert change.previous is None or isinstance(change.previous, dict)
    list(placed(page, -1, 100))


_HEADERS: tuple[dict[str, str], ...] = (
    {"etag": "", "x-ms-session-token": "0:-1#94#1=20", "x-ms-request-charge": "2.5"},
    {"etag": "", "x-ms-session-token": "0:94", "content-length": "200"},
)
_STATE: tuple[dict[str, Any], ...] = (
    {"continuation": {"continuation": [{"token": '"94"', "range": {"min": "", "max": "FF"}}]}},
    {"continuation": {"continuation": [{"token": None, "range": {"minInclusive": "7F"}}]}},
)


def fuzz_feed_answers(data: bytes) -> None:
    """The headers of an answer, and the continuation token in them."""
    headers = texts_of(data[:1] + data[8:], _HEADERS)
    if data[1:2] > b"\x80":
        headers["etag"] = packed(document_of(data[2:], _STATE))
    try:
        answer = answer_of(headers)
    except AnswerError:
        return
    for range in answer.tokens:
        assert isinstance(range, FeedRange)


def fuzz_positions(data: bytes) -> None:
    """Offsets of a change feed and names of its partitions, as they stand in a ledger."""
    offset, _, partition = data.decode("utf-8", "surrogateescape").partition("\n")
    range_of(partition)
    place = parsed(offset)
    if place is not None:
        again = parsed(place.position.offset)
        assert again == place or repr(again) == repr(place), (place, again)
    for read in (place_of, stand_of, parts_of):
        try:
            read(Position(offset, 5), partition or "-ff", RID)
        except PlaceError:
            continue


def seeds(name: str) -> list[bytes]:
    return {
        "leases": json_seeds(_LEASES),
        "lease_tokens": [b"\x01" + token().encode(), *json_seeds((json.loads(_base64(token())),))],
        "ledger_documents": json_seeds(_DOCUMENTS),
        "feed_pages": json_seeds(_PAGE),
        "feed_answers": [b"\x00\x90" + each for each in json_seeds(_STATE)],
        "positions": [
            b"1 AAAAAIAAAAE= -ff@e%2294%22@94\n-ff",
            b"1 AAAAAIAAAAE= -7f@e%2294%22@94;7f-ff@t1800000000.5@-1 = >-7f,7f-ff\n-ff",
            b"1 AAAAAIAAAAE= -ff@@-1\n00-3f",
        ],
    }[name]


TARGETS: dict[str, Target] = {
    "leases": fuzz_leases,
    "lease_tokens": fuzz_lease_tokens,
    "ledger_documents": fuzz_ledger_documents,
    "feed_pages": fuzz_feed_pages,
    "feed_answers": fuzz_feed_answers,
    "positions": fuzz_positions,
}


if __name__ == "__main__":
    main(TARGETS, seeds)
