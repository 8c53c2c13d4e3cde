"""Executors of a driver on this machine, as the operator finds them in a cluster."""

from __future__ import annotations

import asyncio
import json
from itertools import count
from pathlib import Path

import pytest

from tidegate.spark.file_note import FileNote
from tidegate.spark.standing import ANNOTATION, Standing
from tidegate_operator.executors import crew_of, note_of, set_facts
from tidegate_operator.facts import pod_facts
from tidegate_operator.kinds import POD, STATEFUL_SET, ObjectName
from tidegate_operator.local.admission import admit
from tidegate_operator.local.executors import DriverFiles, Executors
from tidegate_operator.local.store import Store
from tidegate_operator.model import PodFacts, WorkloadFacts

NAME = ObjectName(POD, "homes", "activity-7-x")
NODE = "this-machine"
SET = ObjectName(STATEFUL_SET, "homes", "spark-s-app-1-0")
LABELS = {"tidegate.dev/group": "activity", "tidegate.dev/role": "driver"}


class World:
    """A driver that writes its note, and what is made of it."""

    def __init__(self, folder: Path) -> None:
        numbers = count()
        self.store = Store(lambda: 0.0, lambda: f"uid-{next(numbers)}", admit)
        self.store.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": NAME.name, "namespace": "homes", "labels": LABELS},
                "spec": {"nodeName": NODE},
                "status": {"phase": "Running"},
            }
        )
        self.files = DriverFiles(folder / "note.json", folder / "executors", 2)
        self.begin()

    def begin(self) -> None:
        self.standing = Standing(10.0)
        self.executors = Executors(self.store, NAME, self.files, lambda: 60.0)
        self.note = FileNote(self.files.note, self.standing)

    def has(self, *numbers: str, application: str = "app-1") -> None:
        self.standing.began(application)
        self.standing.has(numbers)
        self.note.look()
        self.executors.look(NODE)

    @property
    def pods(self) -> list[PodFacts]:
        found = [pod_facts(each) for each in self.store.list(POD)]
        return [each for each in found if each.name != NAME.name]

    @property
    def members(self) -> list[str]:
        """As the operator calls them."""
        driver = pod_facts(self.store.get(NAME))
        sets = [set_facts(each) for each in self.store.list(STATEFUL_SET)]
        workload = WorkloadFacts("1", 1, "7", True)
        return sorted(
            each.name for each in crew_of(workload, 2, [driver], self.pods, sets, None).executors
        )


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_nothing_is_shown_before_the_driver_has_an_application(world: World) -> None:
    world.executors.look(NODE)
    world.note.look()
    world.executors.look(NODE)
    assert not world.pods
    assert not world.store.list(STATEFUL_SET)


def test_executors_are_members_of_the_driver_by_their_numbers(world: World) -> None:
    world.has("0", "1")
    assert world.members == ["activity-7-x-x0", "activity-7-x-x1"]
    assert [each.place for each in world.pods] == [0, 1]
    running = [each.container.running for each in world.pods]
    assert [each.since for each in running if each is not None] == [60.0, 60.0]
    assert set_facts(world.store.get(SET)).replicas == 2
    note = note_of(pod_facts(world.store.get(NAME)))
    assert (note.application, note.started_at, note.executors) == ("app-1", 10.0, 2)
    said = world.store.get(NAME)["metadata"]["annotations"][ANNOTATION]
    assert "numbers" not in json.loads(said)


def test_one_that_ends_is_gone_and_the_next_takes_its_place(world: World) -> None:
    world.has("0", "1")
    world.has("1")
    assert world.members == ["activity-7-x-x1"]
    world.has("1", "2")
    places = {each.spark.number: each.place for each in world.pods if each.spark}
    assert places == {"1": 1, "2": 0}


def test_what_the_operator_wants_goes_to_the_driver(world: World) -> None:
    world.has("0", "1")
    world.store.patch(SET, {"spec": {"replicas": 3}})
    world.has("0", "1")
    assert world.files.count.read_text() == "3\n"


def test_another_life_begins_with_as_many_and_shows_none_of_the_last(world: World) -> None:
    world.has("0", "1")
    world.store.patch(SET, {"spec": {"replicas": 4}})
    world.has("0", "1")
    world.begin()
    world.executors.look(NODE)
    assert world.files.count.read_text() == "4\n"
    assert not world.files.note.exists()


async def test_when_it_is_not_followed_any_more_no_executor_is_left(world: World) -> None:
    world.has("0", "1")
    following = asyncio.create_task(world.executors.follow(NODE))
    await asyncio.sleep(0)
    following.cancel()
    await asyncio.wait([following])
    assert not world.pods
