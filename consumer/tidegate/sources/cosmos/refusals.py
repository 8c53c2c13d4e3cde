"""What the service's and the SDK's errors mean to a reader. Pure.

Rules: a message says what happened, to which container, and what to do, and holds no key. What a
service asks to be left alone for is told. What is not known here may pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.ports import of_lost_position
from tidegate.sources.cosmos.places import of_another

_THROTTLED = 429
_GONE = 410
# What was read before is not there yet where the answer comes from.
_NO_SESSION = "1002"
_WORDS = 300


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong. What may pass is tried again, `at_least_s` later."""

    message: str
    is_fatal: bool = False
    at_least_s: float = 0.0
    # The request itself was refused, as it is where the service does not know a position.
    is_of_request: bool = False
    # The service's own words.
    said: str = ""


def trouble_of(
    place: str, status: int | None, said: str, headers: Mapping[str, Any] | None = None
) -> Trouble:
    """What an answer with a status means; without one nobody answered."""
    words = " ".join(said.split())[:_WORDS]
    sub = str((headers or {}).get("x-ms-substatus", ""))
    match status:
        case 401 | 403:
            return Trouble(
                f"{place}: the account does not let us in ({status}): {words}. Give a key of the "
                "account that may read, or an identity with the role Cosmos DB Built-in Data "
                "Reader.",
                is_fatal=True,
            )
        case 404 if sub == _NO_SESSION:
            return Trouble(
                f"{place}: what answers has not come as far as what was read before (404/{sub}). "
                "It is asked again."
            )
        case 404:
            return Trouble(
                f"{place} is not there ({status}/{sub or 0}). Create it, or correct "
                "spec.source.cosmos.",
                is_fatal=True,
            )
        case 400:
            return Trouble(
                f"{place}: the service does not take the request: {words}",
                is_fatal=True,
                is_of_request=True,
                said=words,
            )
        case _ if status == _THROTTLED:
            return Trouble(
                f"{place} has no request units left for us (429/{sub or 0}): give it more, or set "
                "spec.source.cosmos.requestUnitsPerSecond so that readers leave some to others",
                at_least_s=_asked_s(headers),
            )
        case _ if status == _GONE:
            return Trouble(f"{place}: a range is being split, merged or moved (410/{sub or 0})")
        case None:
            return Trouble(f"{place} cannot be reached: {words}")
        case _:
            return Trouble(f"{place}: the service failed ({status}/{sub or 0}): {words}")


def lost(place: str, range: str, said: str) -> Trouble:
    """Of a range that the service reads, only not from where reading stands."""
    return Trouble(
        of_lost_position(
            f"range {range} of {place}: the service does not know the stored position any more, "
            f"and nothing was read or overwritten there. It says: {_ended(said)} Rewind the "
            "partition, or give the group a new name."
        ),
        is_fatal=True,
    )


def behind(place: str, range: str, handled: int, lsn: int) -> Trouble:
    """Of a range that has not come as far as what was handled of it."""
    return Trouble(
        f"range {range} of {place}: the service stands at log sequence number {lsn}, and changes "
        f"up to {handled} were handled. Nothing was read. A replica that is late catches up, and "
        "it is asked again; if this stays, the container has lost writes: rewind the partition."
    )


def made_anew(place: str, range: str, was: str, now: str) -> Trouble:
    """Of a container that was deleted and made again while it was read."""
    said = of_another(f"range {range} of {place}", was, now)
    return Trouble(of_lost_position(said), is_fatal=True)


def _ended(words: str) -> str:
    return words if words.endswith((".", "!", "?")) else f"{words}."


def _asked_s(headers: Mapping[str, Any] | None) -> float:
    try:
        return float((headers or {}).get("x-ms-retry-after-ms", 0.0)) / 1000
    except (TypeError, ValueError):
        return 0.0
