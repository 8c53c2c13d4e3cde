"""Makes and reads the connection strings that clients are given.

Rules:

- A string without TLS says `UseDevelopmentEmulator=true`, spelt exactly so: the official clients
  compare the flag with its case, and speak plain AMQP only where they find it.
- A port that is not written is the client's default for the kind of connection.
- Keys may contain `=`; only the first one of a part separates its name from its value.
- Names are read without regard to case; an unknown name is ignored, as the clients do.
- An error names the part that is wrong and never repeats a key or a signature.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

DEFAULT_KEY_NAME: Final = "RootManageSharedAccessKey"
DEFAULT_KEY: Final = "SAS_KEY_VALUE"
_SCHEMES: Final = frozenset({"sb", "amqp", "amqps"})


class ConnectionStringError(ValueError):
    """A connection string that cannot be used, and why."""


@dataclass(frozen=True, slots=True)
class ConnectionString:
    """The parts of a connection string. Secrets are kept out of its `repr`."""

    host: str
    port: int | None = None
    key_name: str | None = None
    key: str | None = field(default=None, repr=False)
    signature: str | None = field(default=None, repr=False)
    hub: str | None = None
    emulator: bool = False

    def __str__(self) -> str:
        return make(self)


def make(parts: ConnectionString) -> str:
    """The connection string, secrets and all."""
    host = f"[{parts.host}]" if ":" in parts.host else parts.host
    port = "" if parts.port is None else f":{parts.port}"
    text = [f"Endpoint=sb://{host}{port}"]
    if parts.key_name is not None:
        text.append(f"SharedAccessKeyName={parts.key_name}")
    if parts.key is not None:
        text.append(f"SharedAccessKey={parts.key}")
    if parts.signature is not None:
        text.append(f"SharedAccessSignature={parts.signature}")
    if parts.hub is not None:
        text.append(f"EntityPath={parts.hub}")
    if parts.emulator:
        text.append("UseDevelopmentEmulator=true")
    return ";".join(text)


def parse(text: str) -> ConnectionString:
    """The parts of a connection string. Raises ConnectionStringError."""
    found = _pairs(text)
    host, port = _endpoint(found.get("endpoint"))
    key_name, key = found.get("sharedaccesskeyname"), found.get("sharedaccesskey")
    signature = found.get("sharedaccesssignature")
    if (key_name is None) != (key is None):
        missing = "SharedAccessKeyName" if key_name is None else "SharedAccessKey"
        raise ConnectionStringError(f"connection string: {missing} is missing beside its partner")
    if (key is None) == (signature is None):
        number = "neither" if key is None else "both"
        raise ConnectionStringError(
            "connection string: expected SharedAccessKeyName with SharedAccessKey, or "
            f"SharedAccessSignature; found {number}"
        )
    return ConnectionString(
        host,
        port,
        key_name,
        key,
        signature,
        hub=found.get("entitypath"),
        emulator=found.get("usedevelopmentemulator") == "true",
    )


def _pairs(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, part in enumerate(text.strip().split(";"), start=1):
        if not part.strip():
            continue
        name, separator, value = part.partition("=")
        if not separator or not value.strip():
            raise ConnectionStringError(
                f"connection string: part {number}: expected Name=value, found no value"
            )
        lowered = name.strip().lower()
        if lowered in found:
            raise ConnectionStringError(
                f"connection string: part {number}: an earlier part has this name already"
            )
        found[lowered] = value.strip()
    return found


def _endpoint(endpoint: str | None) -> tuple[str, int | None]:
    if endpoint is None:
        raise ConnectionStringError(
            "connection string: Endpoint is missing; expected Endpoint=sb://host:port"
        )
    # Where a semicolon is missing the key is a part of what was found.
    wrong = ConnectionStringError(
        "connection string: Endpoint: expected sb://host:port, and a semicolon behind it; found "
        "something else"
    )
    try:
        parts = urlsplit(endpoint)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise wrong from None
    if not host or parts.scheme.lower() not in _SCHEMES:
        raise wrong
    return host, port
