"""Requests to `$cbs` and `$management`, and their answers. Pure: values and bytes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from tidegate.model import PartitionEnd
from tidegate.ports import NotUnderstoodError
from tidegate.sources.native.sas import Token
from tidegate_amqp import Error
from tidegate_amqp.decode import decode_value
from tidegate_amqp.encode import (
    NULL,
    encode,
    encode_described,
    encode_list,
    encode_map,
    encode_string,
    encode_uuid,
)
from tidegate_amqp.sections import APPLICATION_PROPERTIES, PROPERTIES, VALUE, sections

CBS = "$cbs"
MANAGEMENT = "$management"

_CORRELATION_ID = 5
# The body of a request that is all properties: a message must have one (AMQP 1.0, 3.2).
_NO_VALUE = encode_described(VALUE, NULL)


class Answer(NamedTuple):
    """What came back: a value, or an error."""

    correlation: Any
    status: int
    error: Error | None
    value: Any


def _request(message_id: UUID, reply_to: str, named: Mapping[str, Any], body: bytes) -> bytes:
    head = [encode_uuid(message_id), NULL, NULL, NULL, encode_string(reply_to)]
    return (
        encode_described(PROPERTIES, encode_list(head))
        + encode_described(APPLICATION_PROPERTIES, encode_map(named))
        + body
    )


def put_token(message_id: UUID, reply_to: str, audience: str, token: Token) -> bytes:
    named = {"operation": "put-token", "type": token.kind, "name": audience}
    return _request(message_id, reply_to, named, encode_described(VALUE, encode(token.text)))


def read_hub(message_id: UUID, reply_to: str, hub: str, token: Token) -> bytes:
    return _read(message_id, reply_to, "com.microsoft:eventhub", hub, token)


def read_partition(
    message_id: UUID, reply_to: str, hub: str, partition: str, token: Token
) -> bytes:
    return _read(message_id, reply_to, "com.microsoft:partition", hub, token, partition=partition)


def _read(message_id: UUID, reply_to: str, kind: str, hub: str, token: Token, **more: str) -> bytes:
    named = {"operation": "READ", "type": kind, "name": hub, "security_token": token.text, **more}
    return _request(message_id, reply_to, named, _NO_VALUE)


def read_answer(payload: bytes) -> Answer:
    """The parts of an answer. Raises DecodeError."""
    correlation: Any = None
    named: dict[Any, Any] = {}
    value: Any = None
    for section in sections(payload):
        if section.code not in (PROPERTIES, APPLICATION_PROPERTIES, VALUE):
            continue
        found = decode_value(payload, section.value)[0]
        if section.code == PROPERTIES and isinstance(found, list):
            correlation = found[_CORRELATION_ID] if len(found) > _CORRELATION_ID else None
        elif section.code == APPLICATION_PROPERTIES and isinstance(found, dict):
            named = found
        elif section.code == VALUE:
            value = found
    status = named.get("status-code")
    if not isinstance(status, int):
        raise NotUnderstoodError("an answer of the service has no status-code")
    return Answer(correlation, status, _error(status, named), value)


def _error(status: int, named: Mapping[Any, Any]) -> Error | None:
    if status in (200, 202):
        return None
    condition = named.get("error-condition") or _CONDITION_OF.get(status, "amqp:internal-error")
    return Error(str(condition), str(named.get("status-description") or f"status {status}"))


_CONDITION_OF = {
    400: "com.microsoft:argument-error",
    401: "com.microsoft:auth-failed",
    403: "amqp:unauthorized-access",
    404: "amqp:not-found",
    503: "com.microsoft:server-busy",
}


def partition_ids(value: Any) -> tuple[str, ...]:
    """The partitions that the answer about a hub names."""
    found = value.get("partition_ids") if isinstance(value, dict) else None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise NotUnderstoodError("the service's answer about the hub names no partitions")
    return tuple(map(str, found))


def hub_identity(value: Any) -> str:
    """The hub's own name and its time of creation: the same under every name of its namespace.

    Empty where the service does not say them.
    """
    named = value if isinstance(value, dict) else {}
    name, created_ms = named.get("name"), named.get("created_at")
    if not isinstance(name, str) or not isinstance(created_ms, int):
        return ""
    return identity_of(name, created_ms)


def identity_of(name: str, created_ms: int) -> str:
    return f"{name.lower()}, created {datetime.fromtimestamp(created_ms / 1000, UTC).isoformat()}"


class PartitionFacts(NamedTuple):
    """What the answer about a partition says."""

    first_sequence: int
    end: PartitionEnd


def partition_facts(value: Any, now: float) -> PartitionFacts:
    named = value if isinstance(value, dict) else {}
    first = named.get("begin_sequence_number")
    last = named.get("last_enqueued_sequence_number")
    offset = named.get("last_enqueued_offset")
    at = named.get("last_enqueued_time_utc")
    if not isinstance(first, int) or not isinstance(last, int) or not isinstance(offset, str):
        raise NotUnderstoodError("the service's answer about a partition lacks its positions")
    is_empty = named.get("is_partition_empty") is True
    enqueued_at = at / 1000 if isinstance(at, int) and not is_empty else None
    return PartitionFacts(first, PartitionEnd(last, offset, enqueued_at, now, first))
