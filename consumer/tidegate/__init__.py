"""Tidegate: consumer groups for Azure Event Hubs and the Azure Cosmos DB change feed.

This package is what runs in every consumer. It knows no Kubernetes. The version below is the only
one: the wheel, the change log's test and the command lines read it here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tidegate.estimating import Estimate

__version__ = "0.1.0"
__all__ = ["__version__", "estimate"]


async def estimate(file: str | Path, environment: Mapping[str, str] | None = None) -> Estimate:
    """How far the group of a group file is behind, partition by partition: see docs/cosmos.md.

    Raises SettingsError, LedgerError and SourceError.
    """
    # Imported here: whoever only asks for the version pays for no SDK.
    from tidegate import estimating  # noqa: PLC0415

    return await estimating.estimate(file, environment)
