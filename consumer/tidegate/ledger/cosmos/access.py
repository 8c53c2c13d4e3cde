"""Where a lease container is, how one is let in, and the SDK's client for it.

Rules:
- Settings never show a secret: keys and connection strings are left out of their text.
- The SDK tries again what was throttled or cut at most once: whoever asks for an operation decides
  what a refusal means, and asks again.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from azure.core.credentials_async import AsyncTokenCredential
from azure.cosmos.aio import CosmosClient

from tidegate.settings import SettingsError, split_url

TokenSource = Callable[[], AsyncTokenCredential]

_CONNECTION_STRING = (
    "connection_string: write it as the portal shows it, such as "
    "AccountEndpoint=https://NAME.documents.azure.com:443/;AccountKey=KEY;"
)


@dataclass(frozen=True, slots=True)
class CosmosSettings:
    """One of: a connection string; an endpoint with a key; or an endpoint with an identity."""

    database: str
    container: str
    endpoint: str = ""
    connection_string: str = field(default="", repr=False)
    account_key: str = field(default="", repr=False)
    token_source: TokenSource | None = field(default=None, repr=False)
    # Create the container where it is missing; its database must be there.
    create: bool = False
    lease_s: int = 15
    # An operation without a reply by then is told as lost.
    timeout_s: float = 5.0
    ca_file: str = ""

    def checked(self) -> CosmosSettings:
        """These settings, or SettingsError."""
        for what in ("database", "container"):
            name = getattr(self, what)
            if not name or set(name) & set("/\\#?"):
                raise SettingsError(f"{what} {name!r}: write a name without / \\ # ?")
        if bool(self.connection_string) == bool(self.endpoint):
            raise SettingsError("write either a connection string or an endpoint")
        if self.connection_string and not {"accountendpoint", "accountkey"} <= set(self._parts):
            raise SettingsError(_CONNECTION_STRING)
        if self.connection_string and (self.account_key or self.token_source):
            raise SettingsError("a connection string has its own credentials: give no others")
        if self.account_key and self.token_source:
            raise SettingsError("give one of an account key or an identity")
        url = split_url(self.url, "endpoint")
        if url.scheme not in ("http", "https") or not url.hostname:
            raise SettingsError(
                "endpoint: write a URL such as https://NAME.documents.azure.com:443/"
            )
        if url.scheme == "http" and not self._key:
            raise SettingsError("endpoint: an identity's tokens are sent over https only")
        if not 15 <= self.lease_s <= 60:
            raise SettingsError(f"lease_s {self.lease_s}: write 15 to 60 seconds")
        if self.ca_file and not Path(self.ca_file).is_file():
            raise SettingsError(f"ca_file '{self.ca_file}': there is no such file")
        return self

    @property
    def url(self) -> str:
        return self.endpoint or self._parts.get("accountendpoint", "")

    @property
    def host(self) -> str:
        """Where requests go to, with the port where it is given."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def is_plain(self) -> bool:
        return self.url.startswith("http:")

    @property
    def account(self) -> str:
        return (urlsplit(self.url).hostname or "").partition(".")[0]

    @property
    def uses_identity(self) -> bool:
        return not self._key

    @property
    def _key(self) -> str:
        return self.account_key or self._parts.get("accountkey", "")

    @property
    def _parts(self) -> Mapping[str, str]:
        pairs = (part.partition("=") for part in self.connection_string.split(";") if part)
        return {key.strip().lower(): value.strip() for key, _, value in pairs}


def open_client(settings: CosmosSettings) -> CosmosClient:
    """The SDK's client of the account. It belongs to the running event loop."""
    options: dict[str, Any] = {
        "retry_total": 1,
        "retry_backoff_max": 1,
        "retry_connect": 1,
        "retry_read": 0,
        "connection_timeout": settings.timeout_s,
        "read_timeout": settings.timeout_s,
    }
    if settings.ca_file:
        options["connection_verify"] = ssl.create_default_context(cafile=settings.ca_file)
    return CosmosClient(settings.url, credential=_credential(settings), **options)


def _credential(settings: CosmosSettings) -> str | AsyncTokenCredential:
    if settings._key:
        return settings._key
    if settings.token_source is not None:
        return settings.token_source()
    # Imported here: only who uses an identity pays the time that this import takes.
    from azure.identity.aio import DefaultAzureCredential  # noqa: PLC0415

    return DefaultAzureCredential()
