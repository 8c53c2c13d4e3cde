"""Events that users' code copies, or gives to another process."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from azure.eventhub import EventData

from tidegate.sources.cosmos.change import Change
from tidegate.sources.cosmos.places import Feed, Place
from tidegate.sources.cosmos.ranges import WHOLE
from tidegate.sources.eventhubs_sdk import SdkEvent
from tidegate.sources.native.event import Event
from tidegate_amqp.encode import encode_binary, encode_described
from tidegate_amqp.sections import DATA


def pickled(event: Any) -> Any:
    return pickle.loads(pickle.dumps(event))


def of_the_sdk() -> SdkEvent:
    data = EventData(b"x")
    data.properties = {"kind": "a"}
    return SdkEvent(data)


def of_a_feed() -> Change:
    change = Change({"id": "a", "_lsn": 7, "_ts": 1})
    change.put_at(Place("rid", (Feed(WHOLE, "token", 7),)))
    return change


def native() -> Event:
    return Event(encode_described(DATA, encode_binary(b"x")))


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickled])
@pytest.mark.parametrize("make", [of_the_sdk, of_a_feed, native])
def test_a_copy_of_an_event_is_the_event(
    make: Callable[[], Any], way: Callable[[Any], Any]
) -> None:
    event = make()
    copied = way(event)
    assert type(copied) is type(event)
    assert copied.content == event.content
    assert copied.as_received().content == event.content
    assert copied.properties == event.properties
    if not isinstance(event, Event):
        assert copied.position == event.position
        assert copied.enqueued_at == event.enqueued_at
