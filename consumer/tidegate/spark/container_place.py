"""A container as a Python worker of Spark's reads it: where it is, how one is let in, and how.

Rules: as of a hub (hub_place.py): it goes to executors with each task; two that are equal are one
client. Of a bound on request units a tenth is the driver's, who asks what waits; the rest is for
reading.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tidegate.sources.cosmos.settings import FeedSettings

if TYPE_CHECKING:
    from tidegate.sources.cosmos.source import CosmosSource

# Of the request units that a group may spend, so much is for asking what waits.
SHARE_OF_DRIVER = 0.1


@dataclass(frozen=True, slots=True)
class ContainerPlace:
    """See the module."""

    endpoint: str
    feed: FeedSettings
    key: str = field(repr=False, default="")

    @property
    def has_identity(self) -> bool:
        return not self.key

    def source(self, credential: Any = None) -> CosmosSource:
        # Imported here: the SDK takes half a second.
        from tidegate.sources.cosmos.pages import client_of  # noqa: PLC0415
        from tidegate.sources.cosmos.source import CosmosSource  # noqa: PLC0415

        return CosmosSource(self.feed, lambda: client_of(self.endpoint, credential or self.key))


def container_of(setup: Any) -> ContainerPlace:
    """Of a group that was set up (commands/wiring.py). Raises SettingsError."""
    # Imported here: workers do without.
    from tidegate.commands.sources import account_of  # noqa: PLC0415

    feed: FeedSettings = setup.group.spec.source.cosmos.settings
    if feed.units_per_s is not None:
        feed = replace(feed, units_per_s=feed.units_per_s * (1 - SHARE_OF_DRIVER))
    endpoint, key = account_of(setup.address, setup.account_key)
    return ContainerPlace(endpoint, feed, key)
