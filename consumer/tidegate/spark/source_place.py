"""Where a group's events are read by Spark: a hub, or a container. See their own modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.group_file.spec import NOT_BY_HAND_ON_SPARK
from tidegate.settings import SettingsError
from tidegate.spark.container_place import ContainerPlace, container_of
from tidegate.spark.hub_place import HubPlace, hub_of

if TYPE_CHECKING:
    from tidegate.spark.columns import Kind

SourcePlace = HubPlace | ContainerPlace


def place_of(setup: Any) -> SourcePlace:
    """Of a group that was set up (commands/wiring.py). Raises SettingsError."""
    return hub_of(setup) if setup.group.spec.source.cosmos is None else container_of(setup)


def kind_of(place: SourcePlace) -> Kind:
    """Of what its columns are."""
    from tidegate.spark.columns import Kind  # noqa: PLC0415 - an office does without Arrow

    return Kind.CHANGES if isinstance(place, ContainerPlace) else Kind.EVENTS


def check_group(setup: Any) -> None:
    """Whether Spark can be the one that reads a group. Raises SettingsError."""
    place_of(setup)
    if setup.group.spec.delivery.checkpoint.by_hand:
        raise SettingsError(f"spec.delivery.checkpoint.byHand: {NOT_BY_HAND_ON_SPARK}")
