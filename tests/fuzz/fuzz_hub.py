"""Fuzz targets: what a client or a file tells tidegate-hub, and the journal of tidegate-cosmos.

Rules: a client is refused with HubError, and what is no message with DecodeError; a file with the
error of its storage. Nothing that was refused is stored, and what was taken can be read again.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import atheris

from support.fuzzed_documents import document_of, json_seeds
from support.fuzzing import Target, main

with atheris.instrument_imports(include=["tidegate_amqp", "tidegate_hub", "tidegate_cosmos"]):
    from support import amqp_samples
    from support.admin_hub import make_hub
    from support.hub_messages import annotated, batch
    from support.hub_messages import data as data_section
    from tidegate_amqp import AmqpError
    from tidegate_amqp.decode import decode_value
    from tidegate_amqp.sections import BATCH_FORMAT
    from tidegate_cosmos import journal
    from tidegate_cosmos.service import Service
    from tidegate_cosmos.store.account import Account
    from tidegate_cosmos.store.records import records_of
    from tidegate_hub import addresses, management, sas, selectors
    from tidegate_hub.conditions import HubError
    from tidegate_hub.fault_json import FaultError, from_json, to_json
    from tidegate_hub.ingest import Arrival, read_delivery
    from tidegate_hub.storage.batch import CHECKED_FROM, MAGIC, Batch, Flaw, check, decode, encode
    from tidegate_hub.storage.errors import MetadataCorrupt
    from tidegate_hub.storage.hubs import HUBS_NAME, read_hubs
    from tidegate_hub.storage.index import End, SpanIndex, decode_sidecar, encode_sidecar
    from tidegate_hub.storage.scan import decode_segment_header, encode_segment_header, scan

NOW = 1_800_000_000.0
SERVER = make_hub("telemetry:2")
HUB = SERVER.broker.hubs.get("telemetry")
RULES = (sas.KeyRule("send", "key", frozenset(("Send",)), "telemetry", "other"),)
_FOLDER = tempfile.TemporaryDirectory()
_DIRECTORY = Path(_FOLDER.name)


def fuzz_deliveries(data: bytes) -> None:
    """What a publisher sends: the first byte says whether it is a batch. What is taken is stored,
    and what is stored can be read."""
    try:
        arrival = read_delivery(data[1:], BATCH_FORMAT if data[:1] > b"\x7f" else 0)
    except AmqpError:
        return
    assert isinstance(arrival, Arrival) and arrival.events


def fuzz_hub_questions(data: bytes) -> None:
    """What is asked of `$management`, and addresses, selectors and tokens, all as they come."""
    text = data.decode("utf-8", "surrogateescape")
    for is_publisher in (True, False):
        try:
            addresses.parse(text, is_publisher=is_publisher)
        except HubError:
            continue
    try:
        selector = selectors.parse(text)
    except HubError:
        selector = None
    if selector is not None:
        with contextlib.suppress(HubError):
            selectors.resolve(selector, HUB.partition("0").log)
    try:
        sas.verify(text, RULES, NOW, "sb://h/telemetry")
        raise AssertionError("a token that nobody has signed was taken")
    except HubError:
        pass
    try:
        asked = decode_value(data)[0]
    except AmqpError:
        return
    if isinstance(asked, dict):
        with contextlib.suppress(HubError):
            management.read(SERVER.broker.hubs, asked)


_FAULTS: tuple[dict[str, Any], ...] = (
    {"kind": "delay", "hub": "telemetry", "times": 2, "parameters": {"seconds": 0.5}},
    {"kind": "detach_link", "for_seconds": 2, "parameters": {"condition": "a:b"}},
    {"kind": "server_busy", "partition": "0", "until": 1_800_000_100},
)


def fuzz_hub_faults(data: bytes) -> None:
    described = document_of(data, _FAULTS)
    try:
        fault = from_json(described, NOW)
    except FaultError as error:
        assert str(error)
        return
    told = to_json(fault)
    json.dumps(told)


def _part_of(content: bytes, at: int, size: int) -> bytes:
    return content[at : at + size]


def fuzz_segments(data: bytes) -> None:
    """A file of events; checksums are made right, so that what they cover is looked at as well."""
    end = decode_segment_header(data)
    if end is None:
        end = End(0, 0, 0, 0, 0)
    batch = MAGIC + crc32(data[CHECKED_FROM:]).to_bytes(4, "little") + data[CHECKED_FROM:]
    for content in (data, batch):
        index = SpanIndex()
        last = End(0, end.next_sequence, end.next_offset, end.last_offset, end.last_ms)
        scan(partial(_part_of, content), len(content), index, last)
        assert last.size <= len(content)
        head = check(memoryview(content), 0, end.next_sequence)
        if not isinstance(head, Flaw):
            assert isinstance(decode(content, 0), Batch)


def fuzz_sidecars(data: bytes) -> None:
    decode_sidecar(data, 5)
    covered = data[8:]
    decode_sidecar(data[:4] + crc32(covered).to_bytes(4, "little") + covered, 5)


_HUBS: tuple[dict[str, Any], ...] = (
    {
        "format": 1,
        "hubs": [
            {
                "name": "a",
                "partitions": 2,
                "groups": ["g"],
                "created_ms": 5,
                "retention_ms": 1000,
                "retention_bytes": None,
            },
        ],
    },
)


def fuzz_hub_files(data: bytes) -> None:
    stored = data[1:] if data[:1] == b"\x01" else json.dumps(document_of(data, _HUBS)).encode()
    (_DIRECTORY / HUBS_NAME).write_bytes(stored)
    try:
        read_hubs(_DIRECTORY)
    except MetadataCorrupt as error:
        assert str(error)


def _records() -> list[dict[str, Any]]:
    account = Account(salt=1)
    database = account.add_database({"id": "shop"}, NOW)
    described = {"id": "orders", "partitionKey": {"paths": ["/home"]}, "defaultTtl": -1}
    container = account.add_container(database, described, NOW, ranges=2)
    for number in range(2):
        container.create({"id": str(number), "home": f"h{number}"}, NOW)
    return [json.loads(json.dumps(each)) for each in records_of(account)]


RECORDS = _records()


def fuzz_journals(data: bytes) -> None:
    """A journal of tidegate-cosmos, one record of it edited. What is played can be asked for."""
    if not data:
        return
    records = [dict(each) for each in RECORDS]
    records[data[0] % len(records)] = document_of(data[1:], RECORDS)
    path = _DIRECTORY / "journal"
    path.write_bytes(journal._lines(records, 0)[0])
    account = Account(salt=1)
    try:
        journal._played(path, account, lambda _line: None)
    except journal.JournalError as error:
        assert str(error)
        return
    Service(account, None, lambda: NOW)
    list(records_of(account))


def seeds(name: str) -> list[bytes]:
    encoded = b"".join(encode(Batch.of([b"ab", b"c"], 0, 0, 5)))
    header = encode_segment_header(End(0, 0, 0, 0, 0))
    index = SpanIndex()
    index.add(5, 0, 5, 0)
    key = annotated({"x-opt-partition-key": "home"})
    return {
        "deliveries": [
            b"\x00" + amqp_samples.MESSAGE,
            b"\x00" + key + data_section(b"body"),
            b"\xff" + batch(key + data_section(b"body"), data_section(b"x")),
            b"\xff" + key + batch(data_section(b"x")),
        ],
        "hub_questions": [
            b"telemetry/ConsumerGroups/$Default/Partitions/0",
            b"sb://h:5671/telemetry/Partitions/1?a=b",
            b"amqp.annotation.x-opt-sequence-number >= '5'",
            b"amqp.annotation.x-opt-offset > '@latest'",
            sas.generate("sb://h/telemetry", "send", "wrong", 1_900_000_000).encode(),
            *amqp_samples.seeds("values"),
        ],
        "hub_faults": json_seeds(_FAULTS),
        "segments": [encoded, header, header + encoded, encoded + encoded],
        "sidecars": [encode_sidecar(5, index, End(10, 6, 8, 0, 5))],
        "hub_files": json_seeds(_HUBS),
        "journals": [b"\x00" + each for each in json_seeds(RECORDS)],
    }[name]


TARGETS: dict[str, Target] = {
    "deliveries": fuzz_deliveries,
    "hub_questions": fuzz_hub_questions,
    "hub_faults": fuzz_hub_faults,
    "segments": fuzz_segments,
    "sidecars": fuzz_sidecars,
    "hub_files": fuzz_hub_files,
    "journals": fuzz_journals,
}


if __name__ == "__main__":
    main(TARGETS, seeds)
