"""Scenarios of the Python clients: what an event carries arrives as it was sent."""

from __future__ import annotations

import uuid
from typing import Any

from azure.eventhub import EventData
from azure.eventhub.amqp import AmqpAnnotatedMessage, AmqpMessageBodyType, AmqpMessageProperties

from contract.hub.clients import Reading, events_of, sections_of, time_of
from contract.hub.python.stage import Stage
from support.amqp_peer import Peer, SocketLine
from support.hub_messages import annotated
from tidegate_amqp import Accepted
from tidegate_amqp.encode import NULL, encode_described
from tidegate_amqp.sections import DATA
from tidegate_hub import connection_string

NO_BODY = encode_described(DATA, NULL)


async def _round_trip(stage: Stage, *sent: Any) -> list[EventData]:
    """Send by both ways that the SDK has, in a batch and alone, and read all back."""
    await stage.client.send(list(sent), partition_id="0")
    for event in sent:
        await stage.client.send_event(event, partition_id="0")
    async with stage.client.read(Reading()) as reader:
        return [event for _, event in await events_of(reader, 2 * len(sent))]


async def content_type_and_ids(stage: Stage) -> None:
    sent = EventData(b"{}")
    sent.content_type = "application/json"
    sent.message_id = "message-1"
    sent.correlation_id = "correlation-1"
    bare = EventData("bare")
    for event in (await _round_trip(stage, sent, bare))[::2]:
        assert event.content_type == "application/json"
        assert event.message_id == "message-1"
        assert event.correlation_id == "correlation-1"


async def application_properties(stage: Stage) -> None:
    """The SDK sends whole numbers as 32 bits and refuses larger ones itself."""
    values: dict[str | bytes, Any] = {
        "text": "Küche",
        "whole": 42,
        "negative": -7,
        "real": 21.5,
        "yes": True,
        "no": False,
        "bytes": b"\x00\x01",
        "uuid": uuid.UUID("12345678-1234-5678-1234-567812345678"),
        "nothing": None,
    }
    sent = EventData("properties")
    sent.properties = {**values}
    for event in await _round_trip(stage, sent):
        told: dict[Any, Any] = event.properties
        got = {key.decode(): value for key, value in told.items()}
        got["text"] = got["text"].decode()
        assert got == values
        assert {key: type(value) for key, value in got.items()} == {
            key: type(value) for key, value in values.items()
        }


async def system_properties(stage: Stage) -> None:
    sent = AmqpAnnotatedMessage(
        data_body=[b"annotated"],
        properties=AmqpMessageProperties(  # type: ignore[no-untyped-call]
            subject="reading", group_id="home-1", reply_to="answers", content_encoding="utf-8"
        ),
        annotations={"x-opt-sender": "sensor-9"},
    )
    for number, event in enumerate(await _round_trip(stage, sent)):
        stamped = event.system_properties
        assert stamped[b"x-opt-sequence-number"] == number == event.sequence_number
        assert stamped[b"x-opt-offset"].decode() == event.offset
        assert stamped[b"x-opt-enqueued-time"] == round(time_of(event).timestamp() * 1000)
        assert stamped[b"x-opt-sender"] == b"sensor-9"
        assert stamped[b"subject"] == b"reading"
        assert stamped[b"group-id"] == b"home-1"
        assert stamped[b"reply-to"] == b"answers"
        assert stamped[b"content-encoding"] == b"utf-8"


async def body_of_several_data_sections(stage: Stage) -> None:
    sections = [b"one", b"", b"three" * 100]
    for event in await _round_trip(stage, AmqpAnnotatedMessage(data_body=sections)):
        assert event.body_type == AmqpMessageBodyType.DATA
        assert sections_of(event) == sections


async def body_of_null(stage: Stage) -> None:
    """This client cannot send such an event, so another one puts it there."""
    address = f"{stage.hub}/Partitions/0"
    port = connection_string.parse(stage.client.connection_string).port
    assert port is not None
    with Peer(SocketLine(port)) as peer:
        for payload in (NO_BODY, annotated({"home": 7}) + NO_BODY):
            assert peer.publish(peer.attach_sender(address), payload) == Accepted()
    async with stage.client.read(Reading()) as reader:
        for _, event in await events_of(reader, 2):
            assert event.body_type == AmqpMessageBodyType.DATA
            assert sections_of(event) == [None]


async def body_of_one_value(stage: Stage) -> None:
    value = {"home": 7, "open": True, "rooms": ["hall", "kitchen"]}
    for event in await _round_trip(stage, AmqpAnnotatedMessage(value_body=value)):
        assert event.body_type == AmqpMessageBodyType.VALUE
        assert event.body == {b"home": 7, b"open": True, b"rooms": [b"hall", b"kitchen"]}


async def body_of_a_sequence(stage: Stage) -> None:
    sequence = [1, "two", 3.0, None]
    for event in await _round_trip(stage, AmqpAnnotatedMessage(sequence_body=[sequence])):
        assert event.body_type == AmqpMessageBodyType.SEQUENCE
        assert sections_of(event) == [[1, b"two", 3.0, None]]
