"""Fuzz targets: what users write about an endpoint, and what a service answers to our own receiver.

Rules:
- A connection string that cannot be used raises the error of settings, in whose words no key is.
- What a service sends raises SourceError (NotUnderstoodError is one) or AmqpError, and nothing
  else: the reader knows what to do with these.
- Where two readers exist for one thing, they must agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import atheris

from support.fuzzing import Target, main

with atheris.instrument_imports(include=["tidegate", "tidegate_amqp", "tidegate_hub"]):
    from support import amqp_samples
    from support.hub_messages import request
    from support.stamped_messages import section, stamped
    from tidegate.commands.sources import account_of
    from tidegate.ledger.access import BlobSettings
    from tidegate.ledger.cosmos.access import CosmosSettings
    from tidegate.ops.serving import Address
    from tidegate.ports import SourceError
    from tidegate.retry_after import asked_s
    from tidegate.settings import SettingsError
    from tidegate.sources.native import shape
    from tidegate.sources.native.endpoint import endpoint_of
    from tidegate.sources.native.event import Event
    from tidegate.sources.native.refusals import trouble_of
    from tidegate.sources.native.requests import partition_facts, partition_ids, read_answer
    from tidegate.sources.native.websocket import WebSocket
    from tidegate_amqp import AmqpError, Error, Symbol
    from tidegate_amqp.encode import encode_binary
    from tidegate_amqp.sections import APPLICATION_PROPERTIES, DATA
    from tidegate_hub.connection_string import ConnectionStringError, make, parse

NOW = 1_800_000_000.0
# Stands for a key: in no error, wherever in a connection string it has got to.
SECRET = "Zm9yLXRlc3Rz"
HUB = f"Endpoint=sb://ns.servicebus.windows.net/;SharedAccessKeyName=a;SharedAccessKey={SECRET}="
STRINGS = (
    HUB,
    f"{HUB};EntityPath=hub;UseDevelopmentEmulator=true",
    f"Endpoint=sb://[::1]:5672;SharedAccessSignature=SharedAccessSignature sr=h&sig={SECRET}",
    f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={SECRET}==;EndpointSuffix=core.x",
    f"BlobEndpoint=https://a.blob.x/?sv=1&sig={SECRET};SharedAccessSignature=sig={SECRET}",
    f"AccountEndpoint=https://a.documents.azure.com:443/;AccountKey={SECRET}==;",
)


def fuzz_connection_strings(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    for read in (_endpoint, _hubs, _account, _blobs, _container, _address):
        try:
            read(text)
        except (SettingsError, ConnectionStringError) as error:
            assert SECRET not in str(error), (read.__name__, str(error))


def _endpoint(text: str) -> None:
    found = endpoint_of(text)
    assert SECRET not in repr(found).partition("hub=")[0].replace(found.host, ""), found


def _hubs(text: str) -> None:
    found = parse(text)
    assert parse(make(found)) == found


def _account(text: str) -> None:
    account_of(text)


def _blobs(text: str) -> None:
    settings = BlobSettings("events", connection_string=text).checked()
    assert SECRET not in repr(settings)
    assert settings.account is not None and settings.host is not None


def _container(text: str) -> None:
    settings = CosmosSettings("db", "leases", connection_string=text).checked()
    assert SECRET not in repr(settings)
    assert settings.account is not None and settings.host is not None


def _address(text: str) -> None:
    Address.parse(text[-40:].replace(SECRET, ""))


def fuzz_service_answers(data: bytes) -> None:
    """Of `$cbs` and `$management`."""
    try:
        answer = read_answer(data)
    except (AmqpError, SourceError):
        return
    trouble_of(answer.error, "hub 'a'")
    for read in (partition_ids, lambda value: partition_facts(value, NOW)):
        try:
            read(answer.value)
        except SourceError:
            continue


def fuzz_service_refusals(data: bytes) -> None:
    """Of a detach or a close; and how long a service asks to be left alone."""
    condition, _, words = data.decode("utf-8", "replace").partition("\n")
    trouble = trouble_of(Error(Symbol(condition), words), "hub 'a'")
    assert trouble.at_least_s >= 0
    asked = asked_s({"Retry-After": condition, "Date": words}, NOW)
    assert asked is None or asked >= 0


# What a handler may ask of an event; the loop that hands it over asks for the first three.
_ASKED: tuple[Callable[[Event], Any], ...] = (
    lambda event: event.position,
    lambda event: event.enqueued_at,
    lambda event: event.content,
    lambda event: event.properties,
    lambda event: event.system_properties,
    lambda event: event.partition_key,
    lambda event: event.last_enqueued,
)


def fuzz_events(data: bytes) -> None:
    quick = shape.plain_place(data)
    try:
        general = shape.any_place(data)
    except SourceError:
        general = None
    if quick is not None and general is not None:
        assert quick == general
    body = shape.plain_content(data)
    try:
        sections = shape.decoded(data)
    except AmqpError:
        sections = {}
    if body is not None and sections.get(DATA):
        assert body == b"".join(sections[DATA])
    event = Event(data)
    for ask in _ASKED:
        try:
            ask(event)
        except (SourceError, AmqpError):
            continue


def fuzz_websocket_client(data: bytes) -> None:
    """The first byte says how long the pieces are in which the rest arrives."""
    socket = WebSocket("ns.example")
    socket.opening()
    step = 1 + (data[0] if data else 0)
    for at in range(1, len(data), step):
        try:
            socket.received(data[at : at + step])
        except SourceError:
            return


_SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"


def seeds(name: str) -> list[bytes]:
    place = stamped(7, "4096", 1_800_000_000_000)
    key = stamped(300, "8192", 1_800_000_000_000, key=b"home")
    body = section(DATA, encode_binary(b'{"home":"h1"}'))
    named = request({"status-code": 200, "status-description": "OK"}, {"partition_ids": ["0"]})
    facts = {
        "begin_sequence_number": 0,
        "last_enqueued_sequence_number": 9,
        "last_enqueued_offset": "144",
        "last_enqueued_time_utc": 1,
        "is_partition_empty": False,
    }
    refused = request({"status-code": 401, "error-condition": "amqp:unauthorized-access"})
    return {
        "connection_strings": [each.encode() for each in STRINGS],
        "service_answers": [
            named,
            refused,
            request({"status-code": 200}, facts),
            amqp_samples.MESSAGE,
        ],
        "service_refusals": [
            b"amqp:link:stolen\nepoch '5'",
            b"com.microsoft:server-busy\nwait 4 seconds TrackingId:a, b",
            b"Thu, 19 Nov 2026 10:00:00 GMT\nThu, 19 Nov 2026 09:00:00 GMT",
            b"120\n",
        ],
        "events": [
            place + body,
            key + body,
            place + section(APPLICATION_PROPERTIES, b"\xc1\x07\x02\xa1\x01a\xa1\x01b") + body,
            amqp_samples.MESSAGE,
        ],
        "websocket_client": [
            b"\x40" + _SWITCH + b"Sec-WebSocket-Protocol: AMQPWSB10\r\n\r\n\x82\x02ab",
            b"\xff" + b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
        ],
    }[name]


TARGETS: dict[str, Target] = {
    "connection_strings": fuzz_connection_strings,
    "service_answers": fuzz_service_answers,
    "service_refusals": fuzz_service_refusals,
    "events": fuzz_events,
    "websocket_client": fuzz_websocket_client,
}


if __name__ == "__main__":
    main(TARGETS, seeds)
