"""What cannot be told holds up nothing that is decided, and is never hidden; nor told too late."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from support.operated_world import KEY, NAME, OperatedWorld
from tidegate.model import PartitionEnd
from tidegate_operator import patience, telling
from tidegate_operator.kinds import Document, Kind
from tidegate_operator.kube_errors import Conflict, Denied, KubeError, Unreachable
from tidegate_operator.model import Ends
from tidegate_operator.reconcile import reconcile
from tidegate_operator.wording import time_text


class Statuses:
    """Takes the writes of statuses on their way: they are refused, kept back, or go on."""

    def __init__(self, world: OperatedWorld) -> None:
        self._write = world.kube.patch_status
        self._world = world
        self.problem: KubeError | None = None
        self.hangs = False
        # When it was tried, and what was sent.
        self.tried_at: list[float] = []
        self.sent: list[tuple[Mapping[str, Any], dict[str, Any]]] = []
        world.kube.patch_status = self.patch  # type: ignore[method-assign]

    async def patch(
        self, kind: Kind, namespace: str, name: str, status: Mapping[str, Any], **fence: Any
    ) -> Document:
        self.tried_at.append(self._world.now)
        self.sent.append((status, fence))
        if self.hangs:
            await asyncio.Event().wait()
        if self.problem is not None:
            raise self.problem
        return await self._write(kind, namespace, name, status, **fence)

    def arrive(self, status: Mapping[str, Any], fence: dict[str, Any]) -> None:
        """What was sent long ago comes to the API server now. Raises Conflict."""
        asyncio.run(self._write(NAME.kind, NAME.namespace, NAME.name, status, **fence))


def test_a_group_is_decided_on_at_its_tick_while_its_status_cannot_be_written(
    world: OperatedWorld, caplog: pytest.LogCaptureFixture
) -> None:
    statuses = Statuses(world)
    statuses.problem = Denied("write the status of ConsumerGroup homes/activity: may not patch")
    with caplog.at_level(logging.INFO):
        for _ in range(120):
            world.round()
    assert world.deployment is not None
    # One look more: tried less and less often, told once, and counted each time.
    gaps = [later - earlier for earlier, later in pairwise(statuses.tried_at)]
    assert gaps == sorted(gaps) and gaps[0] <= 2 and 32 <= gaps[-1] <= 61
    told = [each for each in caplog.messages if "cannot be written" in each]
    assert len(told) == 1 and "may not patch" in told[0]
    untold = world.edges.untold
    assert untold.statuses_failed == len(statuses.tried_at)
    assert untold.words().startswith("the status of 1 cannot be written, such as homes/activity")
    # What was asked for in the meantime was done.
    world.kube.edit(NAME, {"spec": {"scaling": {"min": 3}}})
    world.round()
    assert world.deployment["spec"]["replicas"] == 3
    statuses.problem = None
    for _ in range(61):
        world.round()
    assert world.status["wanted"] == 3 and untold.words() == ""


def test_a_changed_spec_is_answered_at_once_although_the_status_was_refused(
    world: OperatedWorld,
) -> None:
    statuses = Statuses(world)
    statuses.problem = Denied("may not")
    world.settle()
    statuses.problem = None
    world.kube.edit(NAME, {"spec": {"paused": True}})
    world.round()
    assert world.condition("Ready")[1] == "Paused"


def test_a_status_is_not_written_sooner_than_the_server_asks_for(world: OperatedWorld) -> None:
    statuses = Statuses(world)
    statuses.problem = Unreachable("too many requests")
    statuses.problem.retry_after_s = 30.0
    for _ in range(35):
        world.round()
    first, *later = statuses.tried_at
    assert [at - first for at in later] == [30.0]


def test_a_status_that_gets_no_answer_holds_a_round_up_for_a_moment_only(
    world: OperatedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "PATIENCE_S", 0.01)
    Statuses(world).hangs = True

    async def course() -> None:
        async with asyncio.timeout(10):
            await reconcile(world.edges, KEY, world.notes)

    asyncio.run(course())
    assert world.deployment is not None
    assert "no answer within" in world.edges.untold.words()


def test_a_clock_that_is_set_back_keeps_no_status_from_being_written(
    world: OperatedWorld,
) -> None:
    world.settle()
    statuses = Statuses(world)
    statuses.problem = Denied("may not")
    world.kube.edit(NAME, {"spec": {"paused": True}})
    world.round()
    statuses.problem = None
    world.round(after_s=-3600.0)
    assert world.condition("Ready")[1] == "Paused"


def test_a_lag_is_told_on_after_a_clock_was_set_back(world: OperatedWorld) -> None:
    world.settle()
    wrote = world.notes.wrote
    assert wrote is not None
    world.notes.wrote = replace(wrote, status={**wrote.status, "lag": 5})
    world.round(after_s=-3600.0)
    assert world.kube.written == ["status ConsumerGroup"]


# --- Events


def fail_events(world: OperatedWorld, problem: KubeError) -> None:
    async def fails(document: Document) -> Document:
        raise problem

    world.kube.create = fails  # type: ignore[method-assign]


def test_an_event_that_cannot_be_written_is_told_once_it_can_be(
    world: OperatedWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.settle()
    fail_events(world, Denied("create Event homes/activity.1: may not"))
    world.kube.edit(NAME, {"spec": {"paused": True}})
    for _ in range(60):
        world.round()
    failed = world.edges.untold.events_failed
    assert 2 <= failed <= 7 and "Paused" not in world.events()
    assert len([each for each in caplog.messages if "may not" in each]) == 1
    paused_at = world.now - 59
    del world.kube.create
    for _ in range(60):
        world.round()
    assert world.events().count("Paused") == 1
    (event,) = [each for each in world.kube.objects.values() if each.get("reason") == "Paused"]
    assert event["firstTimestamp"] == time_text(paused_at)
    assert world.edges.untold.events_lost == 0


def test_an_event_that_can_never_be_written_is_given_up_and_counted(world: OperatedWorld) -> None:
    world.settle()
    fail_events(world, Denied("may not"))
    world.kube.edit(NAME, {"spec": {"paused": True}})
    world.round()
    waiting = len(world.notes.unsaid)
    assert waiting > 0
    world.round(after_s=telling.UNSAID_S + 1)
    assert world.notes.unsaid == () and world.edges.untold.events_lost == waiting


# --- leaders


def late(world: OperatedWorld) -> tuple[Statuses, tuple[Mapping[str, Any], dict[str, Any]]]:
    """A leader whose last status is on its way for ever, and that leads no more."""
    world.settle()
    statuses = Statuses(world)
    statuses.problem = Unreachable("the answer is lost")
    world.kube.edit(NAME, {"spec": {"paused": True}})
    world.round()
    statuses.problem = None
    sent = statuses.sent[-1]
    assert sent[0]["state"] == "Paused"
    world.start()
    return statuses, sent


def test_what_an_earlier_leader_sends_late_is_refused_once_a_newer_one_has_written(
    world: OperatedWorld,
) -> None:
    statuses, sent = late(world)
    world.kube.edit(NAME, {"spec": {"paused": False}})
    world.round()
    before = world.status
    assert before["state"] != "Paused"
    with pytest.raises(Conflict):
        statuses.arrive(*sent)
    assert world.status == before


def test_what_an_earlier_leader_sends_before_that_is_put_right_by_the_next_look(
    world: OperatedWorld,
) -> None:
    world.settle()
    right = world.status
    world.round()
    assert world.notes.wrote is not None
    wrong = {**right, "lag": 5, "state": "Paused"}
    statuses = Statuses(world)
    statuses.arrive(wrong, {"uid": world.kube.objects[NAME]["metadata"]["uid"]})
    assert world.status == wrong
    world.round(after_s=0.5)
    assert {**world.status, "observedTime": None} == {**right, "observedTime": None}


def test_a_status_is_written_in_the_same_round_although_a_watch_is_late(
    world: OperatedWorld,
) -> None:
    world.settle()
    heard = world.cache.hear
    world.cache.hear = lambda *_, **__: set()  # type: ignore[method-assign]
    world.kube.edit(NAME, {"metadata": {"labels": {"team": "homes"}}})
    world.cache.hear = heard  # type: ignore[method-assign]
    world.cut_off_storage()
    world.round()
    assert world.condition("Ready")[1] == "LedgerUnreachable"
    assert world.group is not None and world.group["metadata"]["labels"] == {"team": "homes"}
    assert world.edges.untold.statuses_failed == 0


def test_whoever_leads_no_more_does_not_write_over_what_it_has_just_seen(
    world: OperatedWorld,
) -> None:
    world.settle()
    statuses = Statuses(world)

    async def loses(kind: Kind, namespace: str, name: str, *_: Any, **fence: Any) -> Document:
        world.leads = False
        raise Conflict("a newer leader has written")

    statuses._write = loses
    world.cut_off_storage()
    with pytest.raises(Exception, match="no longer leads"):
        world.round()
    assert len(statuses.sent) == 1


def test_figures_that_are_due_soon_are_looked_at_then_and_not_a_tick_later() -> None:
    world = OperatedWorld()
    world.put_secret()
    # A paused group is settled: its next look is a whole tick away.
    world.create(source=EARLIEST, paused=True)
    world.settle()
    lag_is(world, 100)
    assert world.round().again_s == 5.0
    assert world.status["lag"] == 100
    lag_is(world, 200)
    ended = world.round(after_s=2.0)
    assert world.status["lag"] == 100, "it was written a moment ago"
    assert ended.again_s == 3.0
    lag_is(world, 200)
    world.round(after_s=ended.again_s)
    assert world.status["lag"] == 200


EARLIEST = {
    "eventHubs": {
        "hub": "telemetry",
        "connectionString": {"secret": "azure", "key": "events"},
        "start": "earliest",
    }
}


def lag_is(world: OperatedWorld, events: int) -> None:
    """The source has this number of events, and none was ever handled."""
    world.hub.ends = Ends({"0": PartitionEnd(events - 1, "8", None, world.now)})
