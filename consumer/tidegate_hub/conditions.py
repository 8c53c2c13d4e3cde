"""Every error that the hub can say, with the condition name and the words of the real service.

Rules:

- One constructor for each error, so that no other module spells a condition or a sentence.
- `Recorded` marks words taken from recordings of the real service, `Reported` marks words that
  users of the service quote in public, `Ours` marks an error for which the service's words are
  not known, or which only an embedded hub can have.
- Clients match on some of these sentences, so their spelling stays as the service has it.
- What concerns tokens, claims and forced closes is in `access_conditions`.
- What a client sent is repeated only so far: an error must not outgrow a frame.
- No description holds a key, a token or a signature.
- Tracking ids are added where an error is sent, by `tracked`; the words here are without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

ARGUMENT_ERROR: Final = "com.microsoft:argument-error"
ARGUMENT_OUT_OF_RANGE: Final = "com.microsoft:argument-out-of-range"
AUTH_FAILED: Final = "com.microsoft:auth-failed"
ENTITY_UPDATED: Final = "com.microsoft:entity-updated"
SERVER_BUSY: Final = "com.microsoft:server-busy"
CONNECTION_FORCED: Final = "amqp:connection:forced"
DECODE_ERROR: Final = "amqp:decode-error"
DETACH_FORCED: Final = "amqp:link:detach-forced"
INTERNAL_ERROR: Final = "amqp:internal-error"
LINK_STOLEN: Final = "amqp:link:stolen"
MESSAGE_SIZE_EXCEEDED: Final = "amqp:link:message-size-exceeded"
NOT_ALLOWED: Final = "amqp:not-allowed"
NOT_FOUND: Final = "amqp:not-found"
NOT_IMPLEMENTED: Final = "amqp:not-implemented"
RESOURCE_LIMIT_EXCEEDED: Final = "amqp:resource-limit-exceeded"
UNAUTHORIZED_ACCESS: Final = "amqp:unauthorized-access"

RECEIVERS_PER_PARTITION: Final = 5
NAMELESS: Final = "nil"  # how the service writes a receiver that gave no name

# The number that a `$cbs` or `$management` answer carries beside a condition. Recorded for the
# first two; the rest is the mapping that the official clients use in the other direction.
_STATUS: Final = {
    AUTH_FAILED: 401,
    NOT_FOUND: 404,
    ARGUMENT_ERROR: 400,
    ARGUMENT_OUT_OF_RANGE: 400,
    UNAUTHORIZED_ACCESS: 401,
    RESOURCE_LIMIT_EXCEEDED: 403,
    SERVER_BUSY: 503,
    NOT_IMPLEMENTED: 501,
}
_ECHO_LENGTH_MAX: Final = 512
_LEARN_MORE: Final = "To know more visit https://aka.ms/sbResourceMgrExceptions"


class HubError(Exception):
    """An error in the hub's own terms: an AMQP condition and a sentence for people."""

    def __init__(self, condition: str, description: str) -> None:
        super().__init__(condition, description)
        self.condition = condition
        self.description = description

    def __str__(self) -> str:
        return f"{self.condition}: {self.description}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HubError) and self.args == other.args

    def __hash__(self) -> int:
        return hash(self.args)


def status_code(error: HubError) -> int:
    """The status that goes with this error in an answer of `$cbs` or `$management`."""
    return _STATUS.get(error.condition, 500)


def system_tracker(
    namespace: str, hub: str, partition: str | None = None, group: str | None = None
) -> str:
    """The name that the service gives to a place: `ns:eventhub:hub~partition|group`."""
    tracker = f"{namespace}:eventhub:{hub}"
    if partition is not None:
        tracker += f"~{partition}"
    return tracker if group is None else f"{tracker}|{group}"


def tracked(description: str, tracking_id: str, system_tracker: str, now_iso: str) -> str:
    """The description as it goes over the wire. Recorded."""
    return (
        f"{description} TrackingId:{tracking_id}, "
        f"SystemTracker:{system_tracker}, Timestamp:{now_iso}"
    )


def _clipped(text: str) -> str:
    return text if len(text) <= _ECHO_LENGTH_MAX else f"{text[:_ECHO_LENGTH_MAX]}..."


# Positions and filters


def offset_beyond_end(offset: str, last_offset: int) -> HubError:
    """Recorded."""
    return HubError(
        ARGUMENT_ERROR,
        f"The supplied offset '{offset}' is invalid. "
        f"The last offset in the system is '{last_offset}'",
    )


def sequence_beyond_end(sequence: int, last_sequence: int) -> HubError:
    """Recorded."""
    return HubError(
        ARGUMENT_ERROR,
        f"The supplied sequence number '{sequence}' is invalid. "
        f"The last sequence number in the system is '{last_sequence}'",
    )


def invalid_filter(text: str) -> HubError:
    """The words are reported; the condition that goes with them is not known."""
    return HubError(
        ARGUMENT_ERROR,
        f"The filter '{_clipped(text)}' is not a valid amqp filter for EventHub entities",
    )


def invalid_filter_type(link: str, found: str, key: str) -> HubError:
    """Reported."""
    return HubError(
        NOT_ALLOWED,
        f"The link '{_clipped(link)}' contains invalid filter type. System only support Jms or "
        f"Apache selector filter type but we found type '{found}' associated with key "
        f"'{_clipped(key)}'.",
    )


# Hubs, groups, partitions


def entity_not_found(entity: str) -> HubError:
    """Recorded, with the blank at its end, of the audience of a token; reported of links.

    The entity is the whole audience or address, or for a group its system tracker.
    """
    return HubError(
        NOT_FOUND, f"The messaging entity '{_clipped(entity)}' could not be found. {_LEARN_MORE}. "
    )


def cbs_is_open(connection: str) -> HubError:
    """Reported. A connection has one pair of links to `$cbs`."""
    return HubError(
        NOT_ALLOWED,
        f"A link to connection '{_clipped(connection)}' $cbs node has already been opened.",
    )


def partition_out_of_range(partition_count: int) -> HubError:
    """Reported, with the line break that the service has in it."""
    return HubError(
        ARGUMENT_OUT_OF_RANGE,
        "The specified partition is invalid for an EventHub partition sender or receiver. "
        f"It should be between 0 and {partition_count - 1}.\nParameter name: PartitionId",
    )


def entity_updated() -> HubError:
    """Recorded. The hub's settings changed: a client attaches again."""
    return HubError(ENTITY_UPDATED, "Entity was updated.")


# Receivers


def stolen_by_epoch(
    new_epoch: int, old_epoch: int | None, new_name: str = NAMELESS, old_name: str = NAMELESS
) -> HubError:
    """What an evicted receiver is told. Recorded."""
    old = "" if old_epoch is None else str(old_epoch)
    return HubError(
        LINK_STOLEN,
        f"New receiver '{_clipped(new_name)}' with higher epoch of '{new_epoch}' is created "
        f"hence current receiver '{_clipped(old_name)}' with epoch '{old}' is getting "
        "disconnected. If you are recreating the receiver, make sure a higher epoch is used.",
    )


def epoch_too_low(
    epoch: int, highest: int, name: str = NAMELESS, holder: str = NAMELESS
) -> HubError:
    """What a receiver with too low an epoch is told. Reported."""
    return HubError(
        LINK_STOLEN,
        f"Receiver '{_clipped(holder)}' with a higher epoch '{highest}' already exists. "
        f"Receiver '{_clipped(name)}' with epoch {epoch} cannot be created. Make sure you are "
        "creating receiver with increasing epoch value to ensure connectivity, or ensure all old "
        "epoch receivers are closed or disconnected.",
    )


def epoch_needed(highest: int) -> HubError:
    """What a receiver without an epoch is told while one with an epoch is there. Reported."""
    return HubError(
        LINK_STOLEN,
        f"At least one receiver for the endpoint is created with epoch of '{highest}', and so "
        "non-epoch receiver is not allowed. Either reconnect with a higher epoch, or make sure "
        "all epoch receivers are closed or disconnected.",
    )


def too_many_receivers(connected: Sequence[str], limit: int = RECEIVERS_PER_PARTITION) -> HubError:
    """Reported."""
    names = ", ".join(_clipped(name) for name in connected)
    return HubError(
        RESOURCE_LIMIT_EXCEEDED,
        "Exceeded the maximum number of allowed receivers per partition in a consumer group "
        f"which is {limit}. List of connected receivers - {names}.",
    )


# Messages


def message_too_large(delivery_id: int, size: int, limit: int) -> HubError:
    """Reported."""
    return HubError(
        MESSAGE_SIZE_EXCEEDED,
        f"The received message (delivery-id:{delivery_id}, size:{size} bytes) exceeds the limit "
        f"({limit} bytes) currently allowed on the link.",
    )


def undecodable_message(reason: str) -> HubError:
    """Ours."""
    return HubError(
        DECODE_ERROR,
        f"The message could not be decoded: {reason}. Nothing of it was stored.",
    )


def storage_full() -> HubError:
    """Ours. A client takes this condition for an exceeded quota."""
    return HubError(
        RESOURCE_LIMIT_EXCEEDED,
        "The disk that holds the hub's data is full, so nothing of this message was stored. "
        "Free some space, or shorten the retention, and send it again.",
    )


def storage_failed() -> HubError:
    """Ours. A client takes this condition for one that may pass."""
    return HubError(
        INTERNAL_ERROR,
        "The hub cannot write to its disk, so nothing of this message was stored. The hub's log "
        "has the reason. Correct it, and send the message again.",
    )


# Load


def throttled(wait_seconds: int = 4) -> HubError:
    """Reported. The clients wait at least four seconds whatever the number says."""
    return HubError(
        SERVER_BUSY,
        "The request was terminated because the entity is being throttled. "
        f"Error code : 50002. Please wait {wait_seconds} seconds and try again. {_LEARN_MORE}",
    )


def server_busy(namespace: str, wait_seconds: int = 4) -> HubError:
    """Reported by users of Service Bus, whose gateway is the same, for a whole namespace."""
    return HubError(
        SERVER_BUSY,
        f"The request was terminated because the namespace {namespace} is being throttled. "
        f"Error code : 50002. Please wait {wait_seconds} seconds and try again. {_LEARN_MORE}",
    )


def internal_error() -> HubError:
    """Reported."""
    return HubError(
        INTERNAL_ERROR,
        "The service was unable to process the request; please retry the operation. For more "
        "information on exception types and proper exception handling, please refer to "
        "http://go.microsoft.com/fwlink/?LinkId=761101",
    )
