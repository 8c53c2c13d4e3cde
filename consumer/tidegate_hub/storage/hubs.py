"""hubs.json: which hubs there are, and the directory names of their partitions.

Rules: the file is replaced whole; what it does not say in the expected form is an error that names
the key, never a guess.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegate_hub.storage.errors import MetadataCorrupt
from tidegate_hub.storage.files import read_small, replace
from tidegate_hub.storage.retention import KEEP_FOR_EVER, Retention

HUBS_NAME = "hubs.json"
FORMAT = 1
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


@dataclass(frozen=True, slots=True)
class StoredHub:
    """What must survive a restart about a hub, besides its events."""

    name: str
    partitions: int
    groups: tuple[str, ...]
    created_ms: int
    retention: Retention = KEEP_FOR_EVER


def save_hubs(directory: Path, hubs: list[StoredHub], *, durable: bool) -> None:
    """Write all hubs to the data directory."""
    content = {"format": FORMAT, "hubs": [_to_json(hub) for hub in hubs]}
    data = json.dumps(content, indent=1).encode() + b"\n"
    replace(directory / HUBS_NAME, data, durable=durable, directory=str(directory))


def read_hubs(directory: Path) -> list[StoredHub]:
    """The hubs of a data directory; none where there is no file yet."""
    path = directory / HUBS_NAME
    data = read_small(path)
    if data is None:
        return []
    try:
        content = json.loads(data)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f'"format" must be {FORMAT}')
        return [_from_json(hub) for hub in _field(content, "hubs", list)]
    except (ValueError, RecursionError) as error:
        raise MetadataCorrupt(str(path), str(error)) from error


def directory_name(name: str) -> str:
    """A hub's or partition's name as one path component, whatever characters it has."""
    quoted = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in name.encode())
    return quoted.replace(".", "%2E") if quoted.strip(".") == "" else quoted


def _to_json(hub: StoredHub) -> dict[str, Any]:
    return {
        "name": hub.name,
        "partitions": hub.partitions,
        "groups": list(hub.groups),
        "created_ms": hub.created_ms,
        "retention_ms": hub.retention.max_age_ms,
        "retention_bytes": hub.retention.max_bytes,
    }


def _from_json(hub: Any) -> StoredHub:
    if not isinstance(hub, dict):
        raise ValueError('each of "hubs" must be an object')
    groups = _field(hub, "groups", list)
    if not all(isinstance(group, str) for group in groups):
        raise ValueError('"groups" must be a list of names')
    return StoredHub(
        name=_field(hub, "name", str),
        partitions=_field(hub, "partitions", int),
        groups=tuple(groups),
        created_ms=_field(hub, "created_ms", int),
        retention=Retention(
            _field(hub, "retention_ms", int, optional=True),
            _field(hub, "retention_bytes", int, optional=True),
        ),
    )


def _field(content: dict[str, Any], key: str, kind: type, *, optional: bool = False) -> Any:
    value = content.get(key)
    if (value is None and optional) or (isinstance(value, kind) and not isinstance(value, bool)):
        return value
    raise ValueError(f'"{key}" must be of type {kind.__name__}')
