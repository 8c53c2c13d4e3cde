"""Where tokens come from: a key of our own, a signature that was given, or an identity.

Rules: an identity's tokens are sent over TLS only. A credential that fails is told without what it
was given.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from typing import Any, Protocol

from azure.core.exceptions import AzureError

from tidegate.ports import SourceError
from tidegate.settings import SettingsError
from tidegate.sources.native.endpoint import Endpoint
from tidegate.sources.native.refusals import LISTEN
from tidegate.sources.native.sas import JWT_KIND, Token, given_token, signed_token

_SCOPE = "https://eventhubs.azure.net/.default"


class Credential(Protocol):
    """One of azure-identity's credentials, of either kind."""

    def get_token(self, *scopes: str, **options: Any) -> Any: ...


class Tokens:
    """Makes tokens for one hub."""

    def __init__(
        self, endpoint: Endpoint, hub: str, credential: Credential | None, right: str = LISTEN
    ) -> None:
        self.audience = endpoint.audience(hub)
        # What they are for, in words.
        self.right = right
        self._endpoint = endpoint
        self._credential = credential
        has_own = bool(endpoint.key or endpoint.signature)
        if has_own and credential is not None:
            raise SettingsError(
                "a key and an identity were given: give a connection string, or the host name of "
                "a namespace with an identity"
            )
        if not has_own and credential is None:
            raise SettingsError(
                "no key was given: write a connection string as the portal shows it, such as "
                "Endpoint=sb://NAME.servicebus.windows.net/;SharedAccessKeyName=NAME;"
                "SharedAccessKey=KEY, or the host of a namespace with an identity"
            )
        if credential is not None and not endpoint.is_tls:
            raise SettingsError("an identity's tokens are sent over TLS only")

    async def token(self) -> Token:
        """A token that is good now. Raises SourceError."""
        endpoint = self._endpoint
        if endpoint.key:
            return signed_token(self.audience, endpoint.key_name, endpoint.key, time.time())
        if self._credential is None:
            return given_token(endpoint.signature, time.time())
        try:
            if inspect.iscoroutinefunction(self._credential.get_token):
                given = await self._credential.get_token(_SCOPE)
            else:
                given = await asyncio.to_thread(self._credential.get_token, _SCOPE)
        except AzureError as error:
            raise SourceError(
                f"{endpoint.name}: the identity gave no token: {error}. Check that it exists here "
                f"and may {self.right} the hub."
            ) from error
        return Token(JWT_KIND, str(given.token), float(given.expires_on))
