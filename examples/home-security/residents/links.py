"""Signed links: each opens one home's page, for a while. Pure.

    /h/{home, base64url}.{until, seconds since 1970}.{HMAC-SHA256 of the two}

Rules:
- A link is taken as it was made, letter by letter, or not at all: the signature is over the very
  text of the link, and is compared in constant time.
- Whatever is wrong with a link, the answer is the same, and takes as long: it does not tell which
  homes there are, nor which part was wrong.
- The first key signs; all of them are taken, so that a key can be replaced without a day on which
  no link works.
"""

from __future__ import annotations

import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

LONGEST_HOME = 255
_LEAST_KEY_BYTES = 32
_PURPOSE = b"tidegate residents' page 1\n"
_TOKEN = re.compile(r"([A-Za-z0-9_-]{2,340})\.([1-9][0-9]{0,11})\.([A-Za-z0-9_-]{43})")


class LinkError(Exception):
    """This is no link to a home, or no longer."""


class KeyUnusable(ValueError):
    """A key cannot be used; the message says why and what to write."""


@dataclass(frozen=True, slots=True)
class Link:
    """Whose page may be seen, and until when."""

    home: str
    until: int


def keys_of(text: str) -> tuple[bytes, ...]:
    """The keys in a text, one a line."""
    keys = tuple(line.strip().encode() for line in text.splitlines() if line.strip())
    if not keys:
        raise KeyUnusable("there is no key: `python -m residents key` makes one")
    if any(len(key) < _LEAST_KEY_BYTES for key in keys):
        raise KeyUnusable(
            f"a key has fewer than {_LEAST_KEY_BYTES} characters, and could be guessed: "
            "`python -m residents key` makes one"
        )
    return keys


def token_of(key: bytes, link: Link) -> str:
    """The part of a link that opens the page."""
    if not 0 < len(link.home.encode()) <= LONGEST_HOME:
        raise KeyUnusable(f"a home's name has 1 to {LONGEST_HOME} bytes")
    front = f"{_text(link.home.encode())}.{link.until}"
    return f"{front}.{_signature(key, front)}"


def link_of(keys: Sequence[bytes], token: str, now: float) -> Link:
    """What a token opens. Raises LinkError."""
    found = _TOKEN.fullmatch(token)
    home, until, given = found.groups() if found is not None else ("AA", "1", "")
    front = f"{home}.{until}"
    is_signed = False
    for key in keys:
        is_signed |= hmac.compare_digest(_signature(key, front), given)
    if not is_signed or int(until) <= now:
        raise LinkError
    # Only what `token_of` wrote is signed, so that this is text.
    return Link(urlsafe_b64decode(home + "=" * (-len(home) % 4)).decode(), int(until))


def _signature(key: bytes, front: str) -> str:
    return _text(hmac.new(key, _PURPOSE + front.encode(), sha256).digest())


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
