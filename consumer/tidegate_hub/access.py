"""What one connection may do: the tokens that it has put, checked or not.

Pure; `now` is passed in. Where checking is off everything is allowed, as in the official emulator,
so that a first try needs no key.
"""

from __future__ import annotations

from typing import Any

from tidegate_amqp.sasl import SaslInit, read_plain
from tidegate_hub import sas
from tidegate_hub.access_conditions import (
    bad_request_property,
    claim_required,
    unsupported_token,
)
from tidegate_hub.sas import LISTEN, SEND, Claim, Grant, KeyRule

# How many tokens a connection may have put. The oldest make way for more.
MAX_GRANTS = 4_096


class Access:
    """The grants of one connection."""

    def __init__(self, rules: tuple[KeyRule, ...], *, is_checked: bool) -> None:
        self._rules = rules
        self._is_checked = is_checked
        self._grants: dict[str, Grant] = {}
        self._plain: Grant | None = None
        # What the client has put last, as the service calls it in its replies.
        self.auth_type = "None"

    @property
    def has_token(self) -> bool:
        """Whether a token was put and taken."""
        return self.auth_type in ("Sas", "Aad")

    def put_token(self, request: dict[Any, Any], token: Any, now: float) -> None:
        """Takes the token of a `$cbs` request. Raises HubError."""
        if request.get("operation") != "put-token":
            raise bad_request_property("operation")
        is_sas = str(request.get("type", "")).endswith(":sastoken")
        if self._is_checked:
            if not is_sas:
                raise unsupported_token()
            audience = request.get("name")
            if not isinstance(audience, str):
                raise bad_request_property("name")
            self._keep(audience, sas.verify(str(token), self._rules, now, audience), now)
        self.auth_type = "Sas" if is_sas else "Aad"

    def _keep(self, audience: str, grant: Grant, now: float) -> None:
        self._grants.pop(audience, None)
        if len(self._grants) >= MAX_GRANTS:
            for lapsed in [name for name, each in self._grants.items() if each.expires_at <= now]:
                del self._grants[lapsed]
        if len(self._grants) >= MAX_GRANTS:
            del self._grants[next(iter(self._grants))]
        self._grants[audience] = grant

    def check_token(self, token: Any, path: str, now: float, resource: str) -> None:
        """Checks the token of a `$management` request, or without one what the connection may do.

        Raises HubError.
        """
        if not self._is_checked:
            return
        if token is not None:
            sas.verify(str(token), self._rules, now, f"sb://hub/{path}")
        elif not any(
            grant.allows(claim, path, now) for grant in self._all() for claim in (LISTEN, SEND)
        ):
            raise claim_required(LISTEN, resource)

    def accepts_sasl(self, init: SaslInit) -> bool:
        """PLAIN carries a key's name and the key; the other mechanisms prove nothing yet."""
        if init.mechanism != "PLAIN" or not self._is_checked:
            return True
        credentials = read_plain(init.response)
        for rule in self._rules:
            if rule.name == credentials.user and sas.is_key(rule, credentials.password):
                self._plain = Grant((rule.hub or "").lower(), rule.claims, expires_at=1 << 62)
                return True
        return False

    def _all(self) -> list[Grant]:
        return [*self._grants.values(), *([self._plain] if self._plain else [])]

    def require(self, claim: Claim, path: str, now: float, resource: str) -> float | None:
        """When the right to this path lapses, None where nothing is checked. Raises HubError."""
        if not self._is_checked:
            return None
        return sas.require(self._all(), claim, path, now, resource).expires_at
