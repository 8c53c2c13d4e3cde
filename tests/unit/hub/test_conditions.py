"""The hub says what the service says, word for word."""

from __future__ import annotations

import inspect

import pytest

from tidegate_hub import access_conditions, conditions
from tidegate_hub.conditions import HubError

WORDS = [
    (
        conditions.offset_beyond_end("0", -1),
        "com.microsoft:argument-error",
        "The supplied offset '0' is invalid. The last offset in the system is '-1'",
    ),
    (
        conditions.sequence_beyond_end(488, 482),
        "com.microsoft:argument-error",
        "The supplied sequence number '488' is invalid. "
        "The last sequence number in the system is '482'",
    ),
    (
        conditions.stolen_by_epoch(1, None),
        "amqp:link:stolen",
        "New receiver 'nil' with higher epoch of '1' is created hence current receiver 'nil' with "
        "epoch '' is getting disconnected. If you are recreating the receiver, make sure a higher "
        "epoch is used.",
    ),
    (
        conditions.epoch_too_low(0, 1),
        "amqp:link:stolen",
        "Receiver 'nil' with a higher epoch '1' already exists. Receiver 'nil' with epoch 0 cannot "
        "be created. Make sure you are creating receiver with increasing epoch value to ensure "
        "connectivity, or ensure all old epoch receivers are closed or disconnected.",
    ),
    (
        conditions.epoch_needed(22),
        "amqp:link:stolen",
        "At least one receiver for the endpoint is created with epoch of '22', and so non-epoch "
        "receiver is not allowed. Either reconnect with a higher epoch, or make sure all epoch "
        "receivers are closed or disconnected.",
    ),
    (
        conditions.too_many_receivers(["nil"] * 5),
        "amqp:resource-limit-exceeded",
        "Exceeded the maximum number of allowed receivers per partition in a consumer group which "
        "is 5. List of connected receivers - nil, nil, nil, nil, nil.",
    ),
    (
        conditions.entity_not_found("ns:eventhub:telemetry~0|analytics"),
        "amqp:not-found",
        "The messaging entity 'ns:eventhub:telemetry~0|analytics' could not be found. "
        "To know more visit https://aka.ms/sbResourceMgrExceptions. ",
    ),
    (
        conditions.partition_out_of_range(2),
        "com.microsoft:argument-out-of-range",
        "The specified partition is invalid for an EventHub partition sender or receiver. "
        "It should be between 0 and 1.\nParameter name: PartitionId",
    ),
    (
        conditions.message_too_large(0, 1_048_700, 1_048_576),
        "amqp:link:message-size-exceeded",
        "The received message (delivery-id:0, size:1048700 bytes) exceeds the limit "
        "(1048576 bytes) currently allowed on the link.",
    ),
    (
        conditions.throttled(),
        "com.microsoft:server-busy",
        "The request was terminated because the entity is being throttled. Error code : 50002. "
        "Please wait 4 seconds and try again. "
        "To know more visit https://aka.ms/sbResourceMgrExceptions",
    ),
    (
        access_conditions.invalid_signature(),
        "com.microsoft:auth-failed",
        "InvalidSignature: The token has an invalid signature.",
    ),
    (
        access_conditions.expired_token(1_592_422_526),
        "com.microsoft:auth-failed",
        "ExpiredToken: The token is expired. Expiration time: '2020-06-17 19:35:26Z'",
    ),
    (
        access_conditions.claim_required("Listen", "sb://ns/hub/consumergroups/$default"),
        "amqp:unauthorized-access",
        "Unauthorized access. 'Listen' claim(s) are required to perform this operation. "
        "Resource: 'sb://ns/hub/consumergroups/$default'.",
    ),
]


@pytest.mark.parametrize(
    ("error", "condition", "description"), WORDS, ids=[error.condition for error, _, _ in WORDS]
)
def test_an_error_has_the_condition_and_the_words_of_the_service(
    error: HubError, condition: str, description: str
) -> None:
    assert (error.condition, error.description) == (condition, description)


def test_a_description_on_a_link_ends_with_what_the_service_uses_to_trace_it() -> None:
    tracker = conditions.system_tracker("ns", "telemetry", "3", "$default")
    assert conditions.tracked("Entity was updated.", "0a1b_G2", tracker, "2026-01-02T03:04:05") == (
        "Entity was updated. TrackingId:0a1b_G2, "
        "SystemTracker:ns:eventhub:telemetry~3|$default, Timestamp:2026-01-02T03:04:05"
    )


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (access_conditions.invalid_signature(), 401),
        (conditions.entity_not_found("x"), 404),
        (conditions.partition_out_of_range(1), 400),
        (conditions.throttled(), 503),
        (conditions.internal_error(), 500),
        (conditions.storage_failed(), 500),
    ],
)
def test_an_answer_carries_the_status_of_its_error(error: HubError, status: int) -> None:
    assert conditions.status_code(error) == status


def test_every_constructor_gives_a_condition_in_a_known_name_space() -> None:
    samples: dict[str, object] = {
        "int": 1,
        "float": 60.0,
        "str": "x",
        "int | None": None,
        "Sequence[str]": ["x"],
    }
    made = 0
    for module in (conditions, access_conditions):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            signature = inspect.signature(function)
            if name.startswith("_") or signature.return_annotation != "HubError":
                continue
            arguments = [samples[p.annotation] for p in signature.parameters.values()]
            error = function(*arguments)
            assert error.condition.startswith(("amqp:", "com.microsoft:")), name
            assert error.description, name
            assert error.condition in str(error)
            made += 1
    assert made >= 29


def test_a_long_name_from_a_client_is_clipped() -> None:
    error = conditions.invalid_filter("x" * 100_000)
    assert len(error.description) < 1000


def test_errors_are_equal_when_they_say_the_same() -> None:
    assert conditions.throttled() == conditions.throttled()
    assert conditions.throttled() != conditions.throttled(10)
    assert len({conditions.throttled(), conditions.throttled()}) == 1
