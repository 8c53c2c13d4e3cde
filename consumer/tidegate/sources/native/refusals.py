"""What an error of the service means to a reader, and how it is said to people. Pure.

Rules: stolen is for the member to decide about; what may pass is tried again; what will not come
right by itself is fatal, and said at once. No text of ours holds a secret, and the service's own
words hold none either.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from tidegate.ports import NotUnderstoodError, SourceError, StolenError, of_lost_position
from tidegate_amqp import Error

LINK_STOLEN = "amqp:link:stolen"
# What somebody wants of a hub, for advice on rights.
LISTEN, SEND = "listen on", "send to"
ARGUMENT_ERROR = "com.microsoft:argument-error"
# That a position is none of this hub's.
_POSITION = re.compile(r"supplied (offset|sequence number) '")
_LEVEL = re.compile(r"epoch (?:of )?'(\d+)'")
# For who answers for the service; to a reader of ours it says nothing.
_TRACKING = re.compile(
    r"(?<!\s)(\s*To know more visit https://aka\.ms/\w{1,40}+\.?)?\s*+TrackingId:[^\s,]{1,200}+,.*$",
    re.DOTALL,
)
# What a busy service asks for, where it names no number.
_BUSY_S = 4.0
_WAIT = re.compile(r"wait (\d+) seconds")
_LONGEST_WAIT_S = 60.0


class DroppedError(SourceError):
    """The service ended a connection, or a link without a reason; dropped.py counts those that end
    an exchange."""


class Kind(StrEnum):
    STOLEN = "stolen"
    PASSING = "passing"
    FATAL = "fatal"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that went wrong, and what to do about it."""

    kind: Kind
    error: StolenError | SourceError
    # The service asks not to come back sooner.
    at_least_s: float = 0.0
    # The right to be there has lapsed: a fresh token is due.
    wants_token: bool = False


# What will not pass, and what a user can do about it.
_FATAL = {
    "amqp:not-found": (
        "Check the names of the hub and the consumer group: Tidegate creates neither."
    ),
    "amqp:unauthorized-access": "Give the key or the identity the right to {right} this hub.",
    "com.microsoft:auth-failed": "Check the key or the token of the connection string.",
    ARGUMENT_ERROR: (
        "The position does not fit the hub, most often because the hub was deleted and made "
        "again: rewind the partition, or delete its checkpoint."
    ),
    "com.microsoft:argument-out-of-range": "The hub has no such partition.",
    "amqp:resource-limit-exceeded": "Stop other receivers of this consumer group, or use another.",
    "amqp:not-allowed": "The service does not let this link be made.",
}
# Conditions of a service that does not understand this transport.
_NOT_UNDERSTOOD = ("amqp:decode-error", "amqp:invalid-field", "amqp:not-implemented")


def level_in(text: str) -> int | None:
    """The epoch that an error of the service names."""
    found = _LEVEL.search(text)
    return int(found.group(1)) if found else None


def trouble_of(error: Error | None, place: str, right: str = LISTEN) -> Trouble:
    """What a detach, a close or a refusal means for who reads, or sends, at this place."""
    if error is None:
        said = f"{place}: the service ended the link without a reason"
        return Trouble(Kind.PASSING, DroppedError(said))
    text = _TRACKING.sub("", error.description or "").strip()
    said = f"{place}: {error.condition}: {text}" if text else f"{place}: {error.condition}"
    if error.condition == LINK_STOLEN:
        return Trouble(Kind.STOLEN, StolenError(said, level_in(text)))
    if error.condition == "com.microsoft:server-busy":
        found = _WAIT.search(text)
        wait_s = min(float(found.group(1)), _LONGEST_WAIT_S) if found else _BUSY_S
        return Trouble(Kind.PASSING, SourceError(said), at_least_s=wait_s)
    if error.condition in _NOT_UNDERSTOOD:
        said = f"{said}. The service does not know what it was asked for"
        return Trouble(Kind.FATAL, NotUnderstoodError(said))
    advice = _FATAL.get(error.condition)
    if advice is not None:
        # Some texts of the service end without a full stop.
        end = "" if said.endswith((".", "!", "?")) else "."
        said = f"{said}{end} {advice.format(right=right)}"
        if error.condition == ARGUMENT_ERROR and _POSITION.search(text):
            said = of_lost_position(said)
        return Trouble(Kind.FATAL, SourceError(said, is_fatal=True))
    return passing(said, wants_token="nauthorized" in text)


def passing(said: str, *, wants_token: bool = False) -> Trouble:
    return Trouble(Kind.PASSING, SourceError(said), wants_token=wants_token)
