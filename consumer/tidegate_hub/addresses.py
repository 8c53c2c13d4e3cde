"""What a link's address asks for: to publish, to receive, or to make requests.

Pure. Addresses come as paths or as whole URIs and are compared without regard to case; what they
name need not exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import unquote

CBS: Final = "$cbs"
MANAGEMENT: Final = "$management"


@dataclass(frozen=True, slots=True)
class Publish:
    """`{hub}`, `{hub}/Partitions/{id}` or `{hub}/Publishers/{name}`."""

    path: str
    hub: str
    partition: str | None = None
    publisher: str | None = None


@dataclass(frozen=True, slots=True)
class Receive:
    """`{hub}/ConsumerGroups/{group}/Partitions/{id}`."""

    path: str
    hub: str
    group: str
    partition: str


@dataclass(frozen=True, slots=True)
class Request:
    """`$cbs`, `$management`, or `{hub}/$management`."""

    node: Literal["$cbs", "$management"]


@dataclass(frozen=True, slots=True)
class Unknown:
    """An address of no known form."""

    path: str


Address = Publish | Receive | Request | Unknown


def path_of(address: str) -> str:
    """The path of an address, whether it came as a path or as a URI."""
    _, is_uri, rest = address.partition("://")
    path = rest.partition("/")[2].partition("?")[0] if is_uri else address
    return unquote(path).strip("/")


def parse(address: object, *, is_publisher: bool) -> Address:
    """What a link to (`is_publisher`) or from this address asks for."""
    text = address.decode("utf-8", "replace") if isinstance(address, bytes) else address
    if not isinstance(text, str):
        return Unknown("")
    path = path_of(text)
    parts = path.split("/")
    last = parts[-1].lower()
    if last == CBS:
        return Request(CBS)
    if last == MANAGEMENT:
        return Request(MANAGEMENT)
    return _publish(path, parts) if is_publisher else _receive(path, parts)


def _publish(path: str, parts: list[str]) -> Address:
    words = [part.lower() for part in parts]
    match words:
        case [hub] if hub:
            return Publish(path, parts[0])
        case [_, "partitions", _]:
            return Publish(path, parts[0], partition=parts[2])
        case [_, "publishers", _]:
            return Publish(path, parts[0], publisher=parts[2])
    return Unknown(path)


def _receive(path: str, parts: list[str]) -> Address:
    match [part.lower() for part in parts]:
        case [_, "consumergroups", _, "partitions", _]:
            return Receive(path, parts[0], parts[2], parts[4])
    return Unknown(path)
