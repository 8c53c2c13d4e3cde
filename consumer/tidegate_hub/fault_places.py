"""Whether there is anything at the place that a fault names. Pure.

Rules: what a fault names must exist, because a misspelt name that does nothing is the hardest
mistake to find.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidegate_hub.fault_json import FaultError
from tidegate_hub.faults import Fault
from tidegate_hub.hubs import Hubs

_SHOWN = 10


def check_places(fault: Fault, hubs: Hubs) -> None:
    """Raises FaultError where the fault names a hub, partition or group that is not there."""
    name, partition, group = fault.hub, fault.partition, fault.group
    if name is not None and name not in hubs:
        raise FaultError("hub", _one_of(hub.name for hub in hubs), name)
    meant = list(hubs) if name is None else [hubs.get(name)]
    most = max((len(hub.partitions) for hub in meant), default=0)
    if partition is not None and partition not in map(str, range(most)):
        expected = f"a partition id from 0 to {most - 1}" if most else "a hub made before"
        raise FaultError("partition", expected, partition)
    if group is not None and not any(group.lower() in hub.groups for hub in meant):
        groups = sorted({each for hub in meant for each in hub.groups.values()})
        raise FaultError("group", _one_of(groups), group)


def _one_of(names: Iterable[str]) -> str:
    known = list(names)
    if not known:
        return "a hub made before"
    return f"one of {', '.join(known[:_SHOWN])}{', …' if len(known) > _SHOWN else ''}"
