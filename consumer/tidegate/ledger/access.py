"""Where a ledger in Blob storage is, how one is let in, and the SDK's client for it.

Rules:
- Settings never show a secret: keys, tokens and connection strings are left out of their text.
- One operation is one request. The SDK's own retries are off, and so is aiohttp's: it would send a
  PUT again when the connection dies, and the refusal of the second would hide the success of the
  first. A lost reply is told as lost.
- The storage API version is written over the SDK's own before the request is signed: the request
  hook is the last thing that runs before the credential's policy.
"""

from __future__ import annotations

import re
import ssl
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.credentials_async import AsyncTokenCredential
from azure.core.pipeline.transport import AioHttpTransport
from azure.storage.blob.aio import BlobServiceClient, ContainerClient

from tidegate.ledger.layout import API_VERSION
from tidegate.settings import SettingsError, split_url

# The largest body of one Put Blob before 2019-12-12.
STATE_LIMIT = 256 << 20

_LARGEST_PAGE = 5000
# Emulators close an idle connection after 5 s; a request sent at that moment would be lost.
_IDLE_PLAIN_S = 4.0
_IDLE_TLS_S = 60.0

_CONNECTION_STRING = (
    "connection_string: write it as the portal shows it, such as "
    "DefaultEndpointsProtocol=https;AccountName=NAME;AccountKey=KEY;EndpointSuffix=SUFFIX"
)

TokenSource = Callable[[], AsyncTokenCredential]


@dataclass(frozen=True, slots=True)
class BlobSettings:
    """One of: a connection string; an account URL with a key or a SAS; or with an identity.

    With an account URL alone the identity is that of azure-identity's DefaultAzureCredential. The
    SAS may stand in the URL. `token_source` makes another credential, once for each client.
    """

    container: str
    account_url: str = field(default="", repr=False)  # it may carry a SAS
    connection_string: str = field(default="", repr=False)
    account_key: str = field(default="", repr=False)
    sas_token: str = field(default="", repr=False)
    token_source: TokenSource | None = field(default=None, repr=False)
    # Create the container where it is missing.
    create: bool = False
    api_version: str = API_VERSION
    lease_s: int = 15
    # An operation without a reply by then is told as lost; connecting is a part of it.
    timeout_s: float = 5.0
    connect_timeout_s: float = 3.0
    page_size: int = _LARGEST_PAGE
    # A file of certificate authorities, where the endpoint's own is not a public one.
    ca_file: str = ""

    def checked(self) -> BlobSettings:
        """These settings, or SettingsError."""
        if not re.fullmatch(r"[a-z0-9](?:-?[a-z0-9]){2,62}", self.container):
            raise SettingsError(
                f"container '{self.container}': write 3 to 63 lower-case letters, digits and dashes"
            )
        if not re.fullmatch(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}", self.api_version):
            raise SettingsError(f"api_version '{self.api_version}': write a date like 2017-11-09")
        if bool(self.connection_string) == bool(self.account_url):
            raise SettingsError("write either a connection string or an account URL")
        self._check_credentials()
        if not 15 <= self.lease_s <= 60:
            raise SettingsError(f"lease_s {self.lease_s}: write 15 to 60 seconds")
        if not 0 < self.connect_timeout_s <= self.timeout_s:
            raise SettingsError("connect_timeout_s must be above 0 and not above timeout_s")
        if self.ca_file and not Path(self.ca_file).is_file():
            raise SettingsError(f"ca_file '{self.ca_file}': there is no such file")
        if not 1 <= self.page_size <= _LARGEST_PAGE:
            raise SettingsError(f"page_size {self.page_size}: write 1 to {_LARGEST_PAGE}")
        return self

    def _check_credentials(self) -> None:
        in_url = "sig=" in split_url(self.account_url, "account_url").query
        split_url(self._endpoint, "connection_string: the endpoint in it")
        keys = (self.account_key, self.sas_token, self.token_source, in_url)
        given = [bool(key) for key in keys]
        if self.connection_string:
            if any(given):
                raise SettingsError("a connection string has its own credentials: give no others")
            if not self._is_connection_string:
                raise SettingsError(_CONNECTION_STRING)
        if sum(given) > 1:
            raise SettingsError("give one of an account key, a SAS token or an identity")
        if self.account_url:
            url = urlsplit(self.account_url)
            if url.scheme not in ("http", "https") or not url.hostname:
                raise SettingsError(
                    "account_url: write a URL such as https://NAME.blob.core.windows.net"
                )
            if self.uses_identity and self.is_plain:
                raise SettingsError("account_url: an identity's tokens are sent over https only")

    @property
    def uses_identity(self) -> bool:
        return self.credential_kind == "identity"

    @property
    def credential_kind(self) -> str:
        """'account key', 'SAS' or 'identity'."""
        if self.connection_string:
            return "SAS" if "sharedaccesssignature" in self._parts else "account key"
        if self.account_key:
            return "account key"
        is_sas = self.sas_token or "sig=" in urlsplit(self.account_url).query
        return "SAS" if is_sas else "identity"

    @property
    def account(self) -> str:
        """The account's name, for messages and for the key; an emulator has it in its path."""
        url = urlsplit(self._endpoint)
        named = self._parts.get("accountname", "")
        in_url = url.path.strip("/").partition("/")[0] or (url.hostname or "").partition(".")[0]
        return named or in_url

    @property
    def host(self) -> str:
        """Where requests go to, with the port where it is given."""
        return urlsplit(self._endpoint).netloc.rpartition("@")[2]

    @property
    def is_plain(self) -> bool:
        return self._endpoint.startswith("http:")

    @property
    def _is_connection_string(self) -> bool:
        parts = self._parts
        if not all("=" in part for part in self.connection_string.rstrip(";").split(";")):
            return False
        return (
            parts.get("usedevelopmentstorage") == "true"
            or {"accountname", "accountkey"} <= set(parts)
            or {"blobendpoint", "sharedaccesssignature"} <= set(parts)
        )

    @property
    def _parts(self) -> Mapping[str, str]:
        pairs = (part.partition("=") for part in self.connection_string.split(";") if part)
        return {key.strip().lower(): value for key, _, value in pairs}

    @property
    def _endpoint(self) -> str:
        if self.account_url:
            return self.account_url
        parts = self._parts
        if parts.get("usedevelopmentstorage") == "true":
            return "http://127.0.0.1:10000/devstoreaccount1"
        scheme = parts.get("defaultendpointsprotocol", "https")
        suffix = parts.get("endpointsuffix", "core.windows.net")
        return parts.get("blobendpoint") or f"{scheme}://{parts.get('accountname')}.blob.{suffix}"


class LostReplyError(aiohttp.ClientError):
    """The connection ended before the reply came."""


async def _send_once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Keeps aiohttp from sending a request again on a connection that died."""
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as problem:
        raise LostReplyError(str(problem)) from None


def open_container(settings: BlobSettings) -> ContainerClient:
    """The SDK's client of the container. It belongs to the running event loop."""
    options = _options(settings, open_transport(settings))
    if settings.connection_string:
        return ContainerClient.from_connection_string(
            settings.connection_string, settings.container, **options
        )
    return ContainerClient(
        settings.account_url, settings.container, credential=_credential(settings), **options
    )


def open_account(settings: BlobSettings, transport: AioHttpTransport) -> BlobServiceClient:
    """The SDK's client of the account, for who has many containers in it.

    SharedContainer is one of them. The transport is closed by whoever made it.
    """
    options = _options(settings, transport)
    if settings.connection_string:
        return BlobServiceClient.from_connection_string(settings.connection_string, **options)
    return BlobServiceClient(settings.account_url, credential=_credential(settings), **options)


def _options(settings: BlobSettings, transport: AioHttpTransport) -> dict[str, Any]:
    return {
        "retry_total": 0,
        "permit_redirects": False,
        "connection_timeout": settings.connect_timeout_s,
        "read_timeout": settings.timeout_s,
        "max_single_put_size": STATE_LIMIT,
        "raw_request_hook": writes_version(settings.api_version),
        "transport": transport,
    }


def _credential(
    settings: BlobSettings,
) -> AzureNamedKeyCredential | AzureSasCredential | AsyncTokenCredential | None:
    if settings.account_key:
        return AzureNamedKeyCredential(settings.account, settings.account_key)
    if settings.sas_token:
        return AzureSasCredential(settings.sas_token.lstrip("?"))
    if settings.token_source is not None:
        return settings.token_source()
    if settings.uses_identity:
        # Imported here: only who uses an identity pays the time that this import takes.
        from azure.identity.aio import DefaultAzureCredential  # noqa: PLC0415

        return DefaultAzureCredential()
    return None


def open_transport(settings: BlobSettings) -> AioHttpTransport:
    """Connections to the account's host."""
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            keepalive_timeout=_IDLE_PLAIN_S if settings.is_plain else _IDLE_TLS_S,
            ssl=ssl.create_default_context(cafile=settings.ca_file) if settings.ca_file else True,
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=has_proxy(settings),
        middlewares=(_send_once,),
    )
    return AioHttpTransport(session=session)


def has_proxy(settings: BlobSettings) -> bool:
    """Whether the environment names a proxy for the account's host.

    Looked up once: told to mind the environment, aiohttp looks for a proxy and for a netrc file
    with every request, each in a thread, which is a good part of what a small request costs.
    """
    named = urllib.request.getproxies()
    scheme = "http" if settings.is_plain else "https"
    return scheme in named and not urllib.request.proxy_bypass(settings.host)


def writes_version(version: str) -> Callable[[Any], None]:
    """A request hook that puts this storage API version in."""

    def write(request: Any) -> None:
        request.http_request.headers["x-ms-version"] = version

    return write
