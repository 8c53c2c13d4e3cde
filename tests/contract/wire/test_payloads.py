"""Payloads of the service, byte by byte, where a copy of the recordings is at hand.

The recordings are not part of the project: `TIDEGATE_RECORDINGS` names the file of payloads. What
they show is kept in `recorded.json`, which every run replays.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from support.hub_messages import part
from tidegate_amqp.decode import decode_value, skip_value
from tidegate_amqp.sections import (
    APPLICATION_PROPERTIES,
    DELIVERY_ANNOTATIONS,
    MESSAGE_ANNOTATIONS,
    PROPERTIES,
    VALUE,
    Section,
    sections,
)
from tidegate_hub import management, replies
from tidegate_hub.access_conditions import invalid_signature
from tidegate_hub.broker import Broker
from tidegate_hub.config import HubSpec
from tidegate_hub.stamping import PARTITION_KEY, STAMPED, Annotated, runtime_metrics, stamp
from tidegate_hub.storage.store import Store


@pytest.fixture
def payloads() -> list[tuple[str, bytes]]:
    file = os.environ.get("TIDEGATE_RECORDINGS")
    if not file:
        pytest.skip("TIDEGATE_RECORDINGS names no file of recorded payloads")
    listed = json.loads(Path(file).read_text(encoding="utf-8"))
    return [(each["link"], bytes.fromhex(each["payload_hex"])) for each in listed]


def test_the_hub_writes_every_payload_as_the_service_did(payloads: list[tuple[str, bytes]]) -> None:
    writers = {"cbs": _answer_of_cbs, "management": _answer_of_management, "receive": _event}
    for link, payload in payloads:
        assert writers[link](payload).hex() == payload.hex()
    print(f"{len(payloads)} payloads of the service are written alike")


def _message_id(payload: bytes) -> bytes:
    """The correlation id as it was encoded: a uuid behind five nulls."""
    (section,) = [each for each in sections(payload) if each.code == PROPERTIES]
    start = section.value + 3 + 5
    return payload[start : skip_value(payload, start)]


def _answer_of_cbs(payload: bytes) -> bytes:
    status = part(payload, APPLICATION_PROPERTIES)["status-code"]
    if status == replies.ACCEPTED:
        return replies.token_accepted(_message_id(payload))
    return replies.refused(_message_id(payload), invalid_signature())


def _answer_of_management(payload: bytes) -> bytes:
    said = part(payload, VALUE)
    broker = Broker(Store(None), "localhost", clock_ms=lambda: int(said["created_at"]))
    broker.add_hub(HubSpec(said["name"], said["partition_count"]))
    asked = {"operation": "READ", "type": said["type"], "name": said["name"]}
    return replies.read_answered(_message_id(payload), management.read(broker.hubs, asked))


def _event(payload: bytes) -> bytes:
    """The event taken apart as its sender sent it, then stamped with the service's figures."""
    own: list[tuple[bytes, bytes]] = []
    stamps: dict[Any, Any] = {}
    rest = prefix = b""
    for number, section in enumerate(sections(payload)):
        if section.code == MESSAGE_ANNOTATIONS:
            stamps = decode_value(payload, section.value)[0]
            own = _own(payload, section)
        elif section.code == DELIVERY_ANNOTATIONS and number == 0:
            found = decode_value(payload, section.value)[0]
            prefix = runtime_metrics(
                found["last_enqueued_sequence_number"],
                int(found["last_enqueued_offset"]),
                found["last_enqueued_time_utc"],
                found["runtime_info_retrieval_time_utc"],
            )
        else:
            rest += payload[section.start : section.end]
    event = Annotated(tuple(own), stamps.get(PARTITION_KEY), rest)
    sequence, offset = stamps["x-opt-sequence-number"], int(stamps["x-opt-offset"])
    return prefix + stamp([event], sequence, offset, stamps["x-opt-enqueued-time"])[0]


def _own(payload: bytes, section: Section) -> list[tuple[bytes, bytes]]:
    """The sender's own annotations as they were encoded."""
    index, found = section.value + 3, []
    while index < section.end:
        name, middle = decode_value(payload, index)
        end = skip_value(payload, middle)
        if name not in STAMPED and name != PARTITION_KEY:
            found.append((payload[index:middle], payload[middle:end]))
        index = end
    return found
