"""Where the operator's own identity may go: which hosts may be shown a token of it. Pure.

Rules:
- Whoever may write a ConsumerGroup names hosts in it. A token goes to none of them that whoever
  runs the operator has not allowed; it is not even asked for.
- A token of each service goes to that service's hosts alone. Below Event Hubs' names there is Azure
  Relay as well, which hands an HTTP request, token and all, to whoever listens there.
- A host is compared as it is written, whole or by its last labels. What is no plain host name, with
  a port at most, is refused, so that nobody downstream can read another host out of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from tidegate.settings import SettingsError, is_plain

# Of Azure's public cloud, and of those of the United States' government and of China.
STORAGE = (
    ".blob.core.windows.net",
    ".blob.storage.azure.net",
    ".blob.core.usgovcloudapi.net",
    ".blob.core.chinacloudapi.cn",
)
HUBS = (
    ".servicebus.windows.net",
    ".servicebus.usgovcloudapi.net",
    ".servicebus.chinacloudapi.cn",
)
COSMOS = (
    ".documents.azure.com",
    ".documents.azure.us",
    ".documents.azure.cn",
)

_LABELS = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
_ENTRY = re.compile(rf"\.?{_LABELS}")
_HOST = re.compile(rf"({_LABELS})(?::[0-9]{{1,5}})?")


@dataclass(frozen=True, slots=True)
class IdentityHosts:
    """The hosts, and ends of hosts, to which tokens for each service may go."""

    storage: tuple[str, ...] = STORAGE
    hubs: tuple[str, ...] = HUBS
    cosmos: tuple[str, ...] = COSMOS


class IdentityRefusedError(SettingsError):
    """The operator's identity does not go there."""

    reason = "IdentityHostNotAllowed"


def hosts_of(option: str, text: str) -> tuple[str, ...]:
    """The hosts of a list with commas. Raises SettingsError."""
    found = tuple(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    for each in found:
        if not (each.isascii() and _ENTRY.fullmatch(each.lower())):
            raise SettingsError(
                f"{option}: '{each}': write a host, such as NAME.blob.core.windows.net, or "
                "the end of hosts with a dot before it, such as .blob.core.windows.net"
            )
    return tuple(dict.fromkeys(each.lower() for each in found))


def check(where: str, address: str, allowed: tuple[str, ...]) -> None:
    """Raises IdentityRefusedError; `address` is a URL, or a host with its port or without."""
    written = _authority(address)
    found = _HOST.fullmatch(written.lower()) if written.isascii() else None
    host = found.group(1) if found is not None else ""
    if host and any(_is_meant(host, each) for each in allowed):
        return
    raise IdentityRefusedError(
        f"{where}: the operator's own identity may not go to {written!r}, so no token was asked "
        "for. Whoever runs the operator can add the host to identityHosts, a value of its chart; "
        "or give the group a key: write connectionString, accountKey or sasToken as {secret: NAME, "
        "key: KEY}. The pods have an identity of their own, which this does not concern"
    )


def _is_meant(host: str, entry: str) -> bool:
    return host.endswith(entry) if entry.startswith(".") else host == entry


def _authority(address: str) -> str:
    """The host as it is written, with all that stands before and behind it."""
    if not is_plain(address) or " " in address:
        # Python's own reader of URLs leaves tabs and line ends out, and other readers do not.
        return address
    try:
        return urlsplit(address if "://" in address else f"//{address}").netloc
    except ValueError:
        return ""
