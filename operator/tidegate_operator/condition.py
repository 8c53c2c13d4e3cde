"""A condition of a group: something that is so, or not, and why. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.bounded import cut
from tidegate_operator.spec_status import Truth

MESSAGE_CHARS = 1024


@dataclass(frozen=True, slots=True)
class Condition:
    """See the module."""

    type: str
    truth: Truth
    reason: str  # one CamelCase word
    message: str  # why, and what can be done
    # As the resource has them; '' and None until it is in a status.
    since: str = ""
    generation: int | None = None

    @classmethod
    def so(cls, type: str, reason: str, message: str) -> Condition:
        return cls(type, Truth.TRUE, reason, cut(message, MESSAGE_CHARS))

    @classmethod
    def not_so(cls, type: str, reason: str, message: str) -> Condition:
        return cls(type, Truth.FALSE, reason, cut(message, MESSAGE_CHARS))

    @classmethod
    def unknown(cls, type: str, reason: str, message: str) -> Condition:
        return cls(type, Truth.UNKNOWN, reason, cut(message, MESSAGE_CHARS))

    @property
    def is_true(self) -> bool:
        return self.truth is Truth.TRUE

    def as_document(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "status": str(self.truth),
            "reason": self.reason,
            "message": self.message,
            "lastTransitionTime": self.since,
            "observedGeneration": self.generation,
        }


def conditions_in(status: Mapping[str, Any]) -> dict[str, Condition]:
    """The conditions of a status by type; what cannot be read is passed over."""
    found = {}
    for each in status.get("conditions") or ():
        if each.get("type") and each.get("status") in tuple(Truth):
            found[each["type"]] = Condition(
                each["type"],
                Truth(each["status"]),
                each.get("reason") or "",
                each.get("message") or "",
                each.get("lastTransitionTime") or "",
                each.get("observedGeneration"),
            )
    return found
