"""Where a namespace is and how one is let in: read from a connection string, or a host name.

Rules:
- Pure. A secret never stands in an error or in a `repr`.
- `UseDevelopmentEmulator=true`, spelt exactly so, means no TLS: the official clients compare the
  flag with its case.
- A port that is not written is the usual one of the transport: 5671, 443, or 5672 without TLS.
- Keys may contain `=`: only the first one of a part separates its name from its value.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from urllib.parse import urlsplit

from tidegate.settings import SettingsError

_AMQPS_PORT = 5671
_AMQP_PORT = 5672
_HTTPS_PORT = 443
_HTTP_PORT = 80
_SCHEMES = ("sb", "amqps", "amqp")

_SHAPE = (
    "connection_string: write it as the portal shows it, such as "
    "Endpoint=sb://NAME.servicebus.windows.net/;SharedAccessKeyName=NAME;SharedAccessKey=KEY"
)


class Transport(StrEnum):
    """What carries AMQP."""

    TCP = "tcp"
    WEBSOCKET = "websocket"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One namespace. It has a key, or a token that somebody made, or neither (an identity)."""

    host: str
    port: int
    is_tls: bool = True
    transport: Transport = Transport.TCP
    key_name: str = ""
    key: str = field(default="", repr=False)
    signature: str = field(default="", repr=False)
    hub: str = ""

    def audience(self, hub: str) -> str:
        """What a token for a hub is made out to."""
        return f"sb://{self.host}/{hub}"

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.host}:{self.port}"


def endpoint_of(text: str, transport: Transport = Transport.TCP) -> Endpoint:
    """The endpoint that a connection string, or the host name of a namespace, names."""
    if "=" in text:
        return _of_connection_string(text, transport)
    host, port = _host(text if "://" in text else f"sb://{text}")
    return Endpoint(host, port or _port(transport, is_tls=True), True, transport)


def check_connection_string(text: str, where: str) -> None:
    """Raises SettingsError, which says where it stands, for what is none."""
    try:
        if "=" not in text:
            raise SettingsError(f"{_SHAPE}; found no Endpoint")
        _of_connection_string(text, Transport.TCP)
    except SettingsError as error:
        found = str(error).removeprefix("connection_string: ")
        raise SettingsError(f"{where}: {found}") from None


def _of_connection_string(text: str, transport: Transport) -> Endpoint:
    parts = _parts(text)
    if "endpoint" not in parts:
        raise SettingsError(f"{_SHAPE}; found no Endpoint")
    host, port = _host(parts["endpoint"])
    is_tls = parts.get("usedevelopmentemulator") != "true"
    endpoint = Endpoint(
        host,
        port or _port(transport, is_tls=is_tls),
        is_tls,
        transport,
        hub=parts.get("entitypath", ""),
    )
    name, key = parts.get("sharedaccesskeyname"), parts.get("sharedaccesskey")
    signature = parts.get("sharedaccesssignature")
    if (name is None) != (key is None):
        missing = "SharedAccessKeyName" if name is None else "SharedAccessKey"
        raise SettingsError(f"connection_string: {missing} is missing beside its partner")
    if (key is None) == (signature is None):
        found = "neither" if key is None else "both"
        raise SettingsError(
            "connection_string: write SharedAccessKeyName with SharedAccessKey, or "
            f"SharedAccessSignature; found {found}"
        )
    return replace(endpoint, key_name=name or "", key=key or "", signature=signature or "")


def _parts(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, part in enumerate(text.strip().split(";"), start=1):
        name, separator, value = part.partition("=")
        if not part.strip():
            continue
        if not separator or not value.strip():
            raise SettingsError(f"connection_string: part {number} has no value: write Name=value")
        found[name.strip().lower()] = value.strip()
    return found


def _host(url: str) -> tuple[str, int | None]:
    problem = f"{_SHAPE}; the endpoint is no address of a namespace"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise SettingsError(problem) from None
    if not host or parts.scheme.lower() not in _SCHEMES:
        raise SettingsError(problem)
    return host, port


def _port(transport: Transport, *, is_tls: bool) -> int:
    if transport is Transport.WEBSOCKET:
        return _HTTPS_PORT if is_tls else _HTTP_PORT
    return _AMQPS_PORT if is_tls else _AMQP_PORT
