"""Events about groups: written once, counted when they are said again, never in the way."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from tidegate_operator.kinds import Document, Kind
from tidegate_operator.kube_errors import Denied, KubeError, NotThere
from tidegate_operator.kube_events import Herald

GROUP: Document = {
    "apiVersion": "tidegate.dev/v1alpha1",
    "kind": "ConsumerGroup",
    "metadata": {"name": "activity", "namespace": "homes", "uid": "u", "resourceVersion": "7"},
}


class Written:
    """Keeps the Events that are written."""

    def __init__(self) -> None:
        self.events: dict[str, Document] = {}
        self.fails: KubeError | None = None

    async def create(self, document: Document) -> Document:
        if self.fails is not None:
            raise self.fails
        self.events[document["metadata"]["name"]] = dict(document)
        return document

    async def patch(
        self, kind: Kind, namespace: str, name: str, changes: Mapping[str, Any]
    ) -> Document:
        if name not in self.events:
            raise NotThere(f"{kind.name} {namespace}/{name}")
        self.events[name] |= changes
        return self.events[name]


class World:
    def __init__(self) -> None:
        self.written = Written()
        self.now = 1_800_000_000.0
        self.herald = Herald(self.written, lambda: self.now, "operator-1")

    async def say(self, note: str = "two pods are leaving") -> bool:
        return await self.herald.tell(GROUP, kind="Normal", reason="ScalingIn", note=note)


async def test_an_event_says_what_happened_to_which_group_and_who_says_so() -> None:
    world = World()
    assert await world.say()
    (event,) = world.written.events.values()
    assert event["metadata"]["namespace"] == "homes"
    assert event["involvedObject"]["uid"] == "u"
    assert (event["type"], event["reason"]) == ("Normal", "ScalingIn")
    assert event["message"] == "two pods are leaving"
    assert event["lastTimestamp"] == "2027-01-15T08:00:00Z"
    assert event["reportingInstance"] == "operator-1"


async def test_what_is_said_again_is_counted() -> None:
    world = World()
    for _ in range(3):
        await world.say()
        world.now += 60
    await world.say("another note")
    first, other = world.written.events.values()
    assert (first["count"], first["lastTimestamp"]) == (3, "2027-01-15T08:02:00Z")
    assert other["count"] == 1


async def test_what_is_said_much_later_is_another_event() -> None:
    world = World()
    await world.say()
    world.now += 3600
    await world.say()
    assert [event["count"] for event in world.written.events.values()] == [1, 1]


async def test_an_event_that_has_gone_is_written_anew() -> None:
    world = World()
    await world.say()
    world.written.events.clear()
    world.now += 1
    assert await world.say()
    (event,) = world.written.events.values()
    assert event["count"] == 1


async def test_an_event_that_cannot_be_written_is_in_the_log_and_holds_nothing_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    world.written.fails = Denied("may not create events")
    with caplog.at_level(logging.WARNING):
        assert not await world.say()
    assert "Events of activity: may not create events" in caplog.text
    world.written.fails = None
    assert await world.say()


async def test_a_long_note_is_cut_to_what_the_api_takes() -> None:
    world = World()
    await world.say("words " * 1000)
    (event,) = world.written.events.values()
    assert 1010 < len(event["message"]) <= 1024
    assert event["message"].endswith("words …")
