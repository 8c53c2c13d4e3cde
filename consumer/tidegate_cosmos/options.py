"""What a server is told when it starts. Frozen; the command line and the fixture make it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tidegate_cosmos.rest.signing import WELL_KNOWN_KEY

# The port of the service's own emulator.
DEFAULT_PORT: Final = 8081


class ConfigError(ValueError):
    """A declaration that cannot be used: where, what was expected, what was found."""


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """A container that shall exist when the server starts."""

    database: str
    name: str
    key_path: str
    ranges: int | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """One server. A port of 0 takes any that is free."""

    containers: tuple[ContainerSpec, ...] = ()
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    admin_port: int | None = None
    admin_host: str = "127.0.0.1"
    data_directory: Path | None = None
    key: str = WELL_KNOWN_KEY
    is_checked: bool = True
    ranges: int = 1


def parse_container(text: str) -> ContainerSpec:
    """The container that a declaration on the command line means. Raises ConfigError."""
    parts = text.split(":")
    names = parts[0].split("/")
    if not 2 <= len(parts) <= 3 or len(names) != 2 or not all(names):
        raise ConfigError(
            f'--container "{text:.80}": expected DATABASE/CONTAINER:/KEY[:RANGES], such as '
            "home/events:/home:4"
        )
    ranges = parts[2] if len(parts) == 3 else None
    if ranges is not None and not (ranges.isascii() and ranges.isdigit() and int(ranges) > 0):
        raise ConfigError(f'--container "{text:.80}": expected a number of ranges from 1')
    return ContainerSpec(names[0], names[1], parts[1], None if ranges is None else int(ranges[:9]))
