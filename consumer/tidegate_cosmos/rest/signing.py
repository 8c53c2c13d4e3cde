"""Whether a request is signed with the account's key. Pure.

Rules: as the service does it: the signature is an HMAC of method, resource kind, resource and date.
The resource is the one that is named, or for feeds its parent; one that is named by resource ids is
signed by its last one. A date that is more than 15 minutes away is refused with 403, a signature
that is wrong or missing with 401. Tokens of Entra ID and resource tokens cannot be checked here,
and are refused.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Final
from urllib.parse import unquote

from tidegate_cosmos.rest.asked import Asked
from tidegate_cosmos.rest.replies import Refused

# The key that every emulator of Cosmos DB has: it is public, and protects nothing.
WELL_KNOWN_KEY: Final = (
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
)
_SKEW_S: Final = 900
_WRONG: Final = (
    "The input authorization token can't serve the request. The wrong key is being used or the "
    "expected payload is not built as per the protocol."
)


def key_bytes(key: str) -> bytes:
    """The bytes of a key. Raises ValueError."""
    try:
        found = b64decode(key, validate=True)
    except Base64Error:
        raise ValueError("expected a key in base64") from None
    if not found:
        raise ValueError("expected a key in base64 that is not empty")
    return found


def check(asked: Asked, key: bytes, now: float) -> None:
    """Raises Refused where the request is not signed with the key."""
    header = asked.header("authorization")
    if not header:
        raise Refused(401, "The request is not signed: it has no Authorization header.")
    parts = dict(part.partition("=")[::2] for part in unquote(header).split("&", 2))
    if parts.get("type") != "master":
        raise Refused(
            401,
            "tidegate-cosmos checks signatures of the account's key only, not tokens of type "
            f"{str(parts.get('type'))[:20]!r}. Connect with the key that it prints.",
        )
    _check_date(asked, now)
    given = parts.get("sig", "").encode("ascii", "replace")
    if not any(hmac.compare_digest(given, right) for right in _signatures(asked, key)):
        raise Refused(401, _WRONG)


def _check_date(asked: Asked, now: float) -> None:
    text = asked.header("x-ms-date") or asked.header("date") or ""
    try:
        at = parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError, IndexError, TypeError):
        raise Refused(401, "x-ms-date: expected a date of HTTP.") from None
    if abs(at - now) > _SKEW_S:
        raise Refused(
            403,
            f"The authorization token is not valid at the current time: it is of {text[:60]}. "
            "Set the clock of the client.",
        )


def _signatures(asked: Asked, key: bytes) -> Iterator[bytes]:
    dates = ((asked.header("x-ms-date") or "").lower(), (asked.header("date") or "").lower())
    # Clients that send x-ms-date leave the other out of what they sign, or do not.
    for second in dict.fromkeys(("", dates[1])):
        for kind, resource in _resources(asked.segments):
            text = f"{asked.method.lower()}\n{kind}\n{resource}\n{dates[0]}\n{second}\n"
            yield b64encode(hmac.digest(key, text.encode(), sha256))


def _resources(segments: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The kinds and resources that a path may be signed as."""
    if segments[-2:] == ("operations", "partitionkeydelete"):
        # It is signed as one of the container that it is done in.
        segments = segments[:-2]
    if not segments:
        yield "", ""
        return
    is_feed = len(segments) % 2 == 1
    kind = segments[-1] if is_feed else segments[-2]
    named = segments[:-1] if is_feed else segments
    yield kind, "/".join(named)
    yield kind, named[-1].lower() if named else ""
