"""What `$management` tells of hubs and partitions. Pure: facts in, encoded pairs out."""

from __future__ import annotations

from typing import Any

from tidegate_amqp.encode import (
    encode_boolean,
    encode_int,
    encode_long,
    encode_string,
    encode_strings,
    encode_timestamp,
)
from tidegate_hub.access_conditions import bad_request_property
from tidegate_hub.conditions import entity_not_found
from tidegate_hub.hubs import Hub, Hubs, Partition
from tidegate_hub.replies import Pairs

HUB_TYPE = "com.microsoft:eventhub"
PARTITION_TYPE = "com.microsoft:partition"

_NO_EPOCH = encode_int(-1)
_YEAR_ONE_MS = -62_135_596_800_000  # 0001-01-01T00:00:00Z


def read(hubs: Hubs, request: dict[Any, Any]) -> Pairs:
    """The answer to a READ with these application properties. Raises HubError."""
    if _text(request, "operation") != "READ":
        raise bad_request_property("operation")
    kind = _text(request, "type")
    if kind not in (HUB_TYPE, PARTITION_TYPE):
        raise bad_request_property("type")
    name = _text(request, "name")
    if not name:
        raise entity_not_found(name)
    hub = hubs.get(name)
    if kind == HUB_TYPE:
        return _hub(hub)
    return _partition(hub, hub.partition(_text(request, "partition")))


def _text(request: dict[Any, Any], name: str) -> str:
    value = request.get(name)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def _hub(hub: Hub) -> Pairs:
    ids = [partition.id for partition in hub.partitions]
    return [
        (encode_string("name"), encode_string(hub.name)),
        (encode_string("type"), encode_string(HUB_TYPE)),
        (encode_string("created_at"), encode_timestamp(hub.created_ms)),
        (encode_string("partition_count"), encode_int(len(ids))),
        (encode_string("partition_ids"), encode_strings(ids)),
        (encode_string("georeplication_factor"), encode_int(1)),
    ]


def _partition(hub: Hub, partition: Partition) -> Pairs:
    """In the order of the service. Recorded, also what it says if no event ever came."""
    log = partition.log
    is_untouched = log.next_sequence == 0
    first = -1 if is_untouched else log.first_sequence
    enqueued_ms = _YEAR_ONE_MS if is_untouched else log.last_enqueued_ms
    return [
        (encode_string("name"), encode_string(hub.name)),
        (encode_string("partition"), encode_string(partition.id)),
        (encode_string("type"), encode_string(PARTITION_TYPE)),
        (encode_string("begin_sequence_number_epoch"), _NO_EPOCH),
        (encode_string("begin_sequence_number"), encode_long(first)),
        (encode_string("last_enqueued_sequence_number_epoch"), _NO_EPOCH),
        (encode_string("last_enqueued_sequence_number"), encode_long(log.next_sequence - 1)),
        (encode_string("last_enqueued_offset"), encode_string(str(log.last_offset))),
        (encode_string("last_enqueued_time_utc"), encode_timestamp(enqueued_ms)),
        (encode_string("is_partition_empty"), encode_boolean(log.is_empty)),
    ]
