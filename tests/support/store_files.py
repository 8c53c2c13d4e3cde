"""The files of partition 3 of the hub `telemetry` in a store, for tests that damage them."""

from __future__ import annotations

from pathlib import Path

from tidegate_hub.storage import Store

SMALL = 20_000  # bytes a segment: five or six batches of 30


def files(store: Store, suffix: str) -> list[Path]:
    """Its files with this suffix, oldest first."""
    assert store.directory is not None
    return sorted((store.directory / "hubs" / "telemetry" / "3").glob(f"*{suffix}"))


def overwrite(path: Path, position: int, data: bytes) -> None:
    """Change bytes in place, as a bad disk does."""
    with path.open("r+b") as file:
        file.seek(position)
        file.write(data)
