"""What one connection may do: the tokens that it has put, checked or not.

Pure; `now` is passed in. Where checking is off everything is allowed, as in the official emulator,
so that a first try needs no key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

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


class Identity(NamedTuple):
    """The identity in a client's last token, in the words of the service. Recorded."""

    app_id: str
    auth_type: str
    auth_code: int


NOBODY = Identity("", "None", 0)
# The app id of a token of Entra ID is one of its claims. The hub does not read them.
ENTRA_ID = Identity("", "AAD", 4)


def _key_holder(token: Any) -> Identity:
    return Identity(sas.key_name(str(token)), "NamespaceSAS", 2)


class Access:
    """The grants of one connection."""

    def __init__(self, rules: tuple[KeyRule, ...], *, is_checked: bool) -> None:
        self._rules = rules
        self._is_checked = is_checked
        self._grants: dict[str, Grant] = {}
        self._plain: Grant | None = None
        self.identity = NOBODY

    @property
    def is_proven(self) -> bool:
        """Whether a valid token was put, or tokens are not checked."""
        return not self._is_checked or bool(self._all())

    def put_token(
        self,
        request: dict[Any, Any],
        token: Any,
        now: float,
        require_entity: Callable[[str], None],
    ) -> None:
        """Takes the token of a `$cbs` request. Raises HubError.

        `require_entity` checks the audience after the signature was verified, so that a client
        without a key cannot find out which event hubs exist.
        """
        if request.get("operation") != "put-token":
            raise bad_request_property("operation")
        is_sas = str(request.get("type", "")).endswith(":sastoken")
        audience = request.get("name")
        if not isinstance(audience, str):
            raise bad_request_property("name")
        grant = None
        if self._is_checked:
            if not is_sas:
                raise unsupported_token()
            grant = sas.verify(str(token), self._rules, now, audience)
        require_entity(audience)
        if grant is not None:
            self._keep(audience, grant, now)
        self.identity = _key_holder(token) if is_sas else ENTRA_ID

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
