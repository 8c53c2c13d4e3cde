"""Shared access signatures, and when a token is to be renewed. Pure: `now` is passed in.

A signature is HMAC-SHA256 over the encoded resource, a line feed and the expiry.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass, field
from urllib.parse import parse_qs, quote_plus

SAS_KIND = "servicebus.windows.net:sastoken"
JWT_KIND = "jwt"

_LIFE_S = 3_600
# A token is renewed when this share of its life is left, and no later than this before its end.
_SHARE_LEFT = 0.25
_SOONEST_S = 5.0


@dataclass(frozen=True, slots=True)
class Token:
    """What proves on `$cbs` who we are. `expires_at` is a moment of the clock on the wall."""

    kind: str
    text: str = field(repr=False)
    expires_at: float
    can_be_renewed: bool = True

    def renew_in_s(self, now: float) -> float:
        """How long from now it should be renewed."""
        left = self.expires_at - now
        return max(left * (1 - _SHARE_LEFT), _SOONEST_S)


def signed_token(audience: str, key_name: str, key: str, now: float) -> Token:
    """A token of our own making."""
    expires_at = int(now) + _LIFE_S
    resource = quote_plus(audience)
    digest = hmac.digest(key.encode(), f"{resource}\n{expires_at}".encode(), hashlib.sha256)
    signature = quote_plus(base64.b64encode(digest))
    text = (
        f"SharedAccessSignature sr={resource}&sig={signature}&se={expires_at}"
        f"&skn={quote_plus(key_name)}"
    )
    return Token(SAS_KIND, text, float(expires_at))


def given_token(signature: str, now: float) -> Token:
    """A signature that somebody else made: it ends when it says, and cannot be renewed."""
    _, _, fields = signature.partition(" ")
    (expiry,) = parse_qs(fields).get("se", [""])[:1]
    expires_at = float(expiry) if expiry.isascii() and expiry.isdigit() else now + _LIFE_S
    return Token(SAS_KIND, signature, expires_at, can_be_renewed=False)
