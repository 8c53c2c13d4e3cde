"""`$cbs` and `$management`: answers byte by byte, as the service was recorded to give them."""

from __future__ import annotations

import re
import struct

import pytest

from contract.wire.desk import Desk
from contract.wire.place import Place
from support.amqp_peer import TRANSFER
from support.hub_bench import token_for
from support.hub_messages import REQUEST_ID, data, part, put_token, read_request, request
from tidegate_amqp.sections import VALUE

# Properties with the request's id as the correlation id, in its place among thirteen.
PROPERTIES = f"005373c01e0d404040404098{REQUEST_ID.hex}40404040404040"
YEAR_ONE_MS = -62_135_596_800_000
HUB_TYPE, PARTITION_TYPE = "com.microsoft:eventhub", "com.microsoft:partition"


def text(value: str) -> str:
    return f"a1{len(value):02x}{value.encode().hex()}"


def symbol(value: str) -> str:
    return f"a3{len(value):02x}{value.encode().hex()}"


def a_map(*items: str) -> str:
    body = "".join(items)
    return f"c1{len(body) // 2 + 1:02x}{len(items):02x}{body}"


def number(value: int) -> str:
    return "71" + struct.pack(">i", value).hex()


def long(value: int) -> str:
    return f"55{value & 0xFF:02x}" if -128 <= value < 128 else "81" + struct.pack(">q", value).hex()


def moment(milliseconds: int) -> str:
    return "83" + struct.pack(">q", milliseconds).hex()


def test_a_token_that_will_do_is_answered_202(checked: Place) -> None:
    desk = Desk(checked.open(), "$cbs")
    answer = desk.ask(put_token(f"sb://h/{checked.hub}", token_for(checked.hub, 1 << 32)))
    assert answer.payload.hex() == (
        PROPERTIES
        + "005374"
        + a_map(text("status-code"), number(202), text("status-description"), text("Accepted"))
    )
    assert not answer.settled


def test_a_token_of_another_key_is_answered_401(checked: Place) -> None:
    desk = Desk(checked.open(), "$cbs")
    answer = desk.ask(put_token(f"sb://h/{checked.hub}", token_for(checked.hub, 1 << 32, "wrong")))
    assert answer.payload.hex() == (
        PROPERTIES
        + "005374"
        + a_map(
            text("status-code"),
            number(401),
            text("status-description"),
            text("InvalidSignature: The token has an invalid signature."),
            text("error-condition"),
            symbol("com.microsoft:auth-failed"),
        )
    )


def test_answers_are_counted_in_their_tags_and_left_to_the_client_to_settle(place: Place) -> None:
    desk = Desk(place.open(), "$cbs")
    for _ in range(2):
        desk.ask(put_token(f"sb://h/{place.hub}", "anything"))
    transfers = [each.fields for each in desk.peer.frames(TRANSFER)]
    # handle, delivery-id, delivery-tag, message-format, settled, more
    assert [fields[2].hex() for fields in transfers] == ["01000000", "02000000"]
    assert [fields[1] for fields in transfers] == [0, 1]
    assert all(fields[3:6] == [0, False, False] for fields in transfers)
    assert all(len(fields) == 11 for fields in transfers)


@pytest.mark.parametrize(
    ("payload", "status", "condition", "words"),
    [
        (
            request({"operation": "delete", "type": "x:sastoken", "name": "sb://h/x"}, "t"),
            400,
            "com.microsoft:argument-error",
            "Property 'operation' in the 'application-properties' section is either missing, has "
            "the wrong type, or has an unexpected value.",
        ),
        (put_token("sb://h/x", "nonsense"), 401, "com.microsoft:auth-failed", "Malformed"),
        (
            put_token("sb://h/x", token_for("x", 1)),
            401,
            "com.microsoft:auth-failed",
            "ExpiredToken",
        ),
        (
            put_token("sb://h/x", token_for("y", 1 << 32)),
            401,
            "com.microsoft:auth-failed",
            "InvalidAudience",
        ),
        (
            request({"operation": "put-token", "type": "jwt", "name": "sb://h/x"}, "ey"),
            401,
            "com.microsoft:auth-failed",
            "InvalidToken: This hub checks shared access signatures only.",
        ),
    ],
)
def test_a_request_for_a_token_that_will_not_do_says_why(
    checked: Place, payload: bytes, status: int, condition: str, words: str
) -> None:
    told = Desk(checked.open(), "$cbs").told(payload)
    assert list(told) == ["status-code", "status-description", "error-condition"]
    assert (told["status-code"], told["error-condition"]) == (status, condition)
    assert told["status-description"].startswith(words)


def words_of(audience: str) -> str:
    """What the service was recorded to say of an audience that names no event hub."""
    return (
        f"The messaging entity '{audience}' could not be found. To know more visit "
        "https://aka.ms/sbResourceMgrExceptions.  TrackingId:"
    )


def test_a_token_for_a_hub_that_does_not_exist_is_answered_404(place: Place) -> None:
    desk = Desk(place.open(), "$cbs")
    told = desk.told(put_token("sb://h/nowhere", "any"))
    assert list(told) == ["status-code", "status-description", "error-condition"]
    assert (told["status-code"], told["error-condition"]) == (404, "amqp:not-found")
    assert told["status-description"].startswith(words_of("sb://h/nowhere"))
    assert ", SystemTracker:localhost:nowhere, Timestamp:" in told["status-description"]
    below = f"sb://h/{place.hub.upper()}/ConsumerGroups/$Default"
    for known in ("sb://h", "sb://h/", f"sb://h/{place.hub}", below, "sb://h/$management"):
        assert desk.told(put_token(known, "any"))["status-code"] == 202


def test_a_token_of_another_key_does_not_tell_which_hubs_exist(checked: Place) -> None:
    desk = Desk(checked.open(), "$cbs")
    wrong, right = token_for("nowhere", 1 << 32, "wrong"), token_for("nowhere", 1 << 32)
    assert desk.told(put_token("sb://h/nowhere", wrong))["status-code"] == 401
    assert desk.told(put_token("sb://h/nowhere", right))["status-code"] == 404


def test_a_hub_is_described_with_the_keys_and_types_of_the_service(place: Place) -> None:
    answer = Desk(place.open(), "$management").ask(read_request("eventhub", place.hub))
    created = part(answer.payload, VALUE)["created_at"]
    value = a_map(
        text("name"),
        text(place.hub),
        text("type"),
        text(HUB_TYPE),
        text("created_at"),
        moment(created),
        text("partition_count"),
        "5402",
        text("partition_ids"),
        "e00c02b1" + "00000001" + b"0".hex() + "00000001" + b"1".hex(),
        text("georeplication_factor"),
        "5401",
    )
    assert answer.payload.hex() == (
        PROPERTIES
        + "005374"
        + a_map(text("operation"), text("READ"), text("status-code"), number(200))
        + "005377"
        + value
    )


def partition_value(
    place: Place, first: int, last: int, offset: str, at_ms: int, is_empty: bool
) -> str:
    items = (
        *(text("name"), text(place.hub), text("partition"), text("0")),
        *(text("type"), text(PARTITION_TYPE)),
        *(text("begin_sequence_number_epoch"), "54ff"),
        *(text("begin_sequence_number"), long(first)),
        *(text("last_enqueued_sequence_number_epoch"), "54ff"),
        *(text("last_enqueued_sequence_number"), long(last)),
        *(text("last_enqueued_offset"), text(offset)),
        *(text("last_enqueued_time_utc"), moment(at_ms)),
        *(text("is_partition_empty"), "41" if is_empty else "42"),
    )
    body = "".join(items)
    return f"d1{len(body) // 2 + 4:08x}{len(items):08x}{body}"


def test_a_partition_is_described_with_the_keys_and_types_of_the_service(place: Place) -> None:
    peer = place.open()
    desk = Desk(peer, "$management")
    empty = desk.ask(read_request("partition", place.hub, partition="0"))
    untouched = partition_value(place, -1, -1, "-1", YEAR_ONE_MS, True)
    assert empty.payload.hex().endswith("005377" + untouched)
    link = peer.attach_sender(place.input())
    for _ in range(150):
        last = peer.send(link, data(b"x" * 27))
    peer.outcome(last)
    filled = desk.ask(read_request("partition", place.hub, partition="0"))
    value = part(filled.payload, VALUE)
    wanted = partition_value(
        place, 0, 149, value["last_enqueued_offset"], value["last_enqueued_time_utc"], False
    )
    assert filled.payload.hex().endswith("005377" + wanted)
    assert re.fullmatch(r"\d{5}", value["last_enqueued_offset"])


def test_a_partition_whose_events_retention_dropped_has_come_as_far_as_before(
    place: Place,
) -> None:
    peer = place.open()
    link = peer.attach_sender(place.input())
    for _ in range(3):
        peer.publish(link, data(b"x"))
    place.server.inject("expire_retention", hub=place.hub, partition="0")
    value = part(
        Desk(peer, "$management").ask(read_request("partition", place.hub, partition="0")).payload,
        VALUE,
    )
    assert value["is_partition_empty"] is True
    assert (value["begin_sequence_number"], value["last_enqueued_sequence_number"]) == (3, 2)
    assert value["last_enqueued_time_utc"] > 0


@pytest.mark.parametrize(
    ("asked", "status", "condition", "words"),
    [
        (
            read_request("eventhub", "nowhere"),
            404,
            "amqp:not-found",
            "The messaging entity 'nowhere' could not be found.",
        ),
        (
            read_request("consumergroup", "{hub}"),
            400,
            "com.microsoft:argument-error",
            "Property 'type' in the 'application-properties' section",
        ),
        (
            read_request("partition", "{hub}", partition="7"),
            400,
            "com.microsoft:argument-out-of-range",
            "The specified partition is invalid for an EventHub partition sender or receiver. It "
            "should be between 0 and 3.\nParameter name: PartitionId",
        ),
        (read_request("partition", "{hub}"), 400, "com.microsoft:argument-out-of-range", "The sp"),
        (
            request({"operation": "WRITE", "type": HUB_TYPE, "name": "{hub}"}),
            400,
            "com.microsoft:argument-error",
            "Property 'operation'",
        ),
        (request({}), 400, "com.microsoft:argument-error", "Property 'operation'"),
    ],
)
def test_a_request_that_cannot_be_answered_says_why(
    place: Place, asked: bytes, status: int, condition: str, words: str
) -> None:
    # The name in the request has the length of the placeholder's.
    place.server.add_hub("hub-1")
    told = Desk(place.open(), "$management").told(asked.replace(b"{hub}", b"hub-1"))
    assert (told["status-code"], told["error-condition"]) == (status, condition)
    assert told["status-description"].startswith(words)


def test_a_management_request_carries_a_token_where_tokens_are_checked(checked: Place) -> None:
    desk = Desk(checked.open(), "$management")
    told = desk.told(read_request("eventhub", checked.hub))
    assert (told["status-code"], told["error-condition"]) == (401, "amqp:unauthorized-access")
    token = token_for(checked.hub, 1 << 32)
    assert desk.told(read_request("eventhub", checked.hub, security_token=token)) == {
        "operation": "READ",
        "status-code": 200,
    }
