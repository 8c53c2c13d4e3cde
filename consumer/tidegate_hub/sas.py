"""Shared access signatures: makes tokens, and checks those that clients put.

Rules:

- The signature is HMAC-SHA256 over the resource exactly as the token carries it, a line feed and
  the expiry, so a client may encode the resource as it likes.
- The host in a resource is not compared: the same hub has many names (localhost, a container's
  name, a forwarded port). Paths are compared without regard to case, by whole segments.
- A key that belongs to one hub signs only for that hub and what is below it; a key of the
  namespace signs for everything. Manage includes Send and Listen.
- An unknown key name and a wrong signature are answered alike, and compared in constant time.
- `now` and all expiries are seconds since 1970. A token is expired from its expiry on.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import quote_plus, unquote, unquote_plus

from tidegate_hub.access_conditions import (
    claim_required,
    expired_token,
    invalid_audience,
    invalid_signature,
    malformed_token,
)

Claim = Literal["Send", "Listen", "Manage"]
SEND: Final[Claim] = "Send"
LISTEN: Final[Claim] = "Listen"
MANAGE: Final[Claim] = "Manage"
ALL_CLAIMS: Final[frozenset[Claim]] = frozenset((SEND, LISTEN, MANAGE))

_PREFIX: Final = "sharedaccesssignature"
_TOKEN_LENGTH_MAX: Final = 8192
_KEY_NAME_MAX: Final = 256  # as the service allows
_EXPIRY_DIGITS_MAX: Final = 15


@dataclass(frozen=True, slots=True)
class KeyRule:
    """A named key, what it allows, and the hub it belongs to (None: the whole namespace)."""

    name: str
    key: str = field(repr=False)
    claims: frozenset[Claim] = ALL_CLAIMS
    hub: str | None = None
    secondary_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Grant:
    """What a checked token allows: these claims, at this path and below, until it expires."""

    resource: str
    claims: frozenset[Claim]
    expires_at: int

    def allows(self, claim: Claim, path: str, now: float) -> bool:
        """Whether a link at this path may be open for this claim."""
        enough = claim in self.claims or MANAGE in self.claims
        return enough and now < self.expires_at and _covers(self.resource, path.strip("/").lower())


@dataclass(frozen=True, slots=True)
class _Token:
    resource: str  # as the token carries it: this is what was signed
    signature: str
    expires_at: int
    key_name: str
    expiry: str  # as the token carries it


def generate(resource: str, key_name: str, key: str, expires_at: int) -> str:
    """A token for a resource such as `sb://host/hub`."""
    encoded = quote_plus(resource)
    signature = quote_plus(_sign(encoded, str(expires_at), key))
    return (
        f"SharedAccessSignature sr={encoded}&sig={signature}"
        f"&se={expires_at}&skn={quote_plus(key_name)}"
    )


def verify(token: str, rules: Iterable[KeyRule], now: float, audience: str | None = None) -> Grant:
    """What the token allows. Raises HubError, as `$cbs` answers it.

    The audience is the name for which the client puts the token; the token has to cover it.
    """
    parsed = _parse(token)
    path = resource_path(unquote(parsed.resource))
    rule = _signer(parsed, path, rules)
    if now >= parsed.expires_at:
        raise expired_token(parsed.expires_at)
    if audience is not None and not _covers(path, resource_path(audience)):
        raise invalid_audience()
    return Grant(path, rule.claims, parsed.expires_at)


def require(grants: Iterable[Grant], claim: Claim, path: str, now: float, resource: str) -> Grant:
    """The grant that lets a link at this path open. Raises HubError, naming the resource."""
    allowing = [grant for grant in grants if grant.allows(claim, path, now)]
    if not allowing:
        raise claim_required(claim, resource)
    return max(allowing, key=lambda grant: grant.expires_at)


def key_name(token: str) -> str:
    """The key name in a token, or an empty text if there is none.

    The token is not verified.
    """
    if len(token) > _TOKEN_LENGTH_MAX:
        return ""
    for part in token.strip().partition(" ")[2].split("&"):
        name, _, value = part.strip().partition("=")
        if name.lower() == "skn":
            return unquote(unquote(value))[:_KEY_NAME_MAX]
    return ""


def resource_path(uri: str) -> str:
    """The path of a resource, lower-cased, without scheme, host and outer slashes."""
    rest = uri.split("://", 1)[-1]
    return rest.partition("/")[2].strip("/").lower()


def _covers(resource: str, path: str) -> bool:
    return not resource or path == resource or path.startswith(resource + "/")


def _parse(token: str) -> _Token:
    kind, _, rest = token.strip().partition(" ")
    if kind.lower() != _PREFIX or len(token) > _TOKEN_LENGTH_MAX or not token.isascii():
        raise malformed_token()
    fields: dict[str, str] = {}
    for part in rest.strip().split("&"):
        name, separator, value = part.partition("=")
        if not separator or name.lower() in fields:
            raise malformed_token()
        fields[name.lower()] = value
    expiry = fields.get("se", "")
    digits = expiry.isascii() and expiry.isdigit() and len(expiry) <= _EXPIRY_DIGITS_MAX
    if not digits or not all(fields.get(name) for name in ("sr", "sig", "skn")):
        raise malformed_token()
    return _Token(fields["sr"], unquote(fields["sig"]), int(expiry), fields["skn"], expiry=expiry)


def _signer(token: _Token, path: str, rules: Iterable[KeyRule]) -> KeyRule:
    """The rule whose key made the signature."""
    names = _spellings(token.key_name)
    for rule in rules:
        in_scope = rule.hub is None or _covers(rule.hub.lower(), path)
        if not in_scope or rule.name not in names:
            continue
        for key in (rule.key, rule.secondary_key):
            if key is not None and _same(_sign(token.resource, token.expiry, key), token.signature):
                return rule
    raise invalid_signature()


def _spellings(key_name: str) -> frozenset[str]:
    """The names that a field may stand for: the Python client encodes a name twice."""
    once, plus = unquote(key_name), unquote_plus(key_name)
    return frozenset((key_name, once, plus, unquote(once), unquote_plus(plus)))


def _sign(resource: str, expiry: str, key: str) -> str:
    signed = f"{resource}\n{expiry}".encode()
    return base64.b64encode(hmac.digest(key.encode(), signed, hashlib.sha256)).decode()


def is_key(rule: KeyRule, found: str) -> bool:
    """Whether this is one of the rule's keys."""
    return any(_same(key, found) for key in (rule.key, rule.secondary_key) if key is not None)


def _same(expected: str, found: str) -> bool:
    return hmac.compare_digest(expected.encode(), found.encode())
