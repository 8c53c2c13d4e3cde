"""What one connection may do: the tokens that it has put, checked or not.

Pure; `now` is passed in. Where checking is off everything is allowed, as in the official emulator,
so that a first try needs no key.
"""

from __future__ import annotations

from typing import Any

from tidegate_amqp.sasl import SaslInit, read_plain
from tidegate_hub import sas
from tidegate_hub.access_conditions import bad_request_property, unsupported_token
from tidegate_hub.sas import Claim, Grant, KeyRule


class Access:
    """The grants of one connection."""

    def __init__(self, rules: tuple[KeyRule, ...], *, is_checked: bool) -> None:
        self._rules = rules
        self._is_checked = is_checked
        self._grants: dict[str, Grant] = {}

    def put_token(self, request: dict[Any, Any], token: Any, now: float) -> None:
        """Takes the token of a `$cbs` request. Raises HubError."""
        if request.get("operation") != "put-token":
            raise bad_request_property("operation")
        if not self._is_checked:
            return
        if not str(request.get("type", "")).endswith(":sastoken"):
            raise unsupported_token()
        audience = request.get("name")
        if not isinstance(audience, str):
            raise bad_request_property("name")
        self._grants[audience] = sas.verify(str(token), self._rules, now, audience)

    def check_token(self, token: Any, path: str, now: float) -> None:
        """Checks the token that a `$management` request carries. Raises HubError."""
        if self._is_checked:
            sas.verify(str(token), self._rules, now, f"sb://hub/{path}")

    def accepts_sasl(self, init: SaslInit) -> bool:
        """PLAIN carries a key's name and the key; the other mechanisms prove nothing yet."""
        if init.mechanism != "PLAIN" or not self._is_checked:
            return True
        credentials = read_plain(init.response)
        for rule in self._rules:
            if rule.name == credentials.user and sas.is_key(rule, credentials.password):
                self._grants["PLAIN"] = Grant(
                    (rule.hub or "").lower(), rule.claims, expires_at=1 << 62
                )
                return True
        return False

    def require(self, claim: Claim, path: str, now: float, resource: str) -> float | None:
        """When the right to this path lapses, None where nothing is checked. Raises HubError."""
        if not self._is_checked:
            return None
        return sas.require(self._grants.values(), claim, path, now, resource).expires_at
