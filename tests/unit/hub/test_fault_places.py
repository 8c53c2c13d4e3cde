"""A fault at a place that is not there is refused, as it would never hit anything."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate_hub.config import HubSpec
from tidegate_hub.fault_json import FaultError
from tidegate_hub.fault_places import check_places
from tidegate_hub.faults import Fault, Kind
from tidegate_hub.hubs import Hub, Hubs, Partition
from tidegate_hub.storage import Store


def hubs_of(*specs: HubSpec) -> Hubs:
    store, hubs = Store(None), Hubs()
    for spec in specs:
        hub = Hub(spec.name, spec.groups, 0)
        hub.partitions = [
            Partition(hub, number, store.open_log(spec.name, str(number)))
            for number in range(spec.partitions)
        ]
        hubs.add(hub)
    return hubs


HUBS = hubs_of(HubSpec("telemetry", 4), HubSpec("small", 2, ("analytics",)))


@pytest.mark.parametrize(
    "place",
    [
        {},
        {"hub": "TELEMETRY", "partition": "3", "group": "$default"},
        {"hub": "small", "group": "Analytics"},
        {"partition": "3"},
        {"group": "analytics"},
    ],
)
def test_a_place_that_is_there_is_taken(place: dict[str, Any]) -> None:
    check_places(Fault(Kind.DETACH_LINK, **place), HUBS)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ({"hub": "telemtry"}, 'hub: expected one of telemetry, small, found "telemtry"'),
        (
            {"hub": "small", "partition": "2"},
            'partition: expected a partition id from 0 to 1, found "2"',
        ),
        ({"partition": "03"}, 'partition: expected a partition id from 0 to 3, found "03"'),
        (
            {"hub": "telemetry", "group": "analytics"},
            'group: expected one of $Default, found "analytics"',
        ),
    ],
)
def test_a_place_that_is_not_there_is_refused_with_those_that_are(
    place: dict[str, Any], words: str
) -> None:
    with pytest.raises(FaultError) as caught:
        check_places(Fault(Kind.DETACH_LINK, **place), HUBS)
    assert str(caught.value) == words


@pytest.mark.parametrize("place", [{"hub": "0"}, {"partition": "0"}, {"group": "0"}])
def test_without_hubs_no_place_is_there(place: dict[str, Any]) -> None:
    with pytest.raises(FaultError, match="expected a hub made before"):
        check_places(Fault(Kind.DETACH_LINK, **place), Hubs())
