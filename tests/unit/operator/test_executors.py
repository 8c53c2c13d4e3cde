"""Executors as members: who counts, what they are called, which StatefulSets are left behind."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tidegate_operator.executors import Crew, SetFacts, crew_of, note_of, set_facts
from tidegate_operator.model import ContainerFacts, Ended, PodFacts, Running, WorkloadFacts
from tidegate_operator.pod_nouns import Role, SparkMarks

BEGAN = 1000.0
DEPLOYMENT = WorkloadFacts("rv-1", 1, "r1")
OLD, NEW = "app-old", "app-new"


def driver(name: str = "d1", *, note: Any = None, revision: str = "r1", **facts: Any) -> PodFacts:
    said = note if isinstance(note, str) else json.dumps(note or {})
    usual = PodFacts(
        name, f"uid-{name}", BEGAN, revision, "Running", is_ready=True, role=Role.DRIVER,
        container=ContainerFacts(running=Running(BEGAN)), spark=SparkMarks(note=said),
    )  # fmt: skip
    return replace(usual, **facts)


def note(application: str, started_at: float = BEGAN + 1) -> dict[str, Any]:
    return {"applicationId": application, "startedAt": started_at, "phase": "running"}


def a_set(application: str, owner: str = "d1", replicas: int = 2) -> SetFacts:
    return SetFacts(
        f"spark-s-{application}-0", f"uid-{application}", f"uid-{owner}", application, replicas, "7"
    )


def executor(application: str, place: int, number: str = "", **facts: Any) -> PodFacts:
    usual = PodFacts(
        f"spark-s-{application}-0-{place}", f"uid-{application}-{place}", BEGAN, "", "Running",
        is_ready=True, role=Role.EXECUTOR, place=place, made_by=f"uid-{application}",
        spark=SparkMarks(application, number, f"spark-s-{application}-0"),
    )  # fmt: skip
    return replace(usual, **facts)


def crew(*drivers: PodFacts, **given: Any) -> Crew:
    usual: dict[str, Any] = {"told": 5, "executors": (), "sets": (), "alive": None}
    found = usual | given
    return crew_of(
        DEPLOYMENT, found["told"], drivers, found["executors"], found["sets"], found["alive"]
    )


def left(found: Crew) -> list[str]:
    return [name for name, _ in found.spark.left_behind]


def test_a_member_is_called_by_its_driver_and_its_number() -> None:
    made = (executor(NEW, 0, "7"), executor(NEW, 1))
    found = crew(driver(), executors=made, sets=[a_set(NEW)], alive={"d1-x7"})
    assert [pod.name for pod in found.executors] == ["d1-x7", made[1].name]
    assert [pod.called for pod in found.executors] == [pod.name for pod in made]
    assert [pod.revision for pod in found.executors] == ["r1", "r1"]
    assert [pod.is_ready for pod in found.executors] == [True, False], "one has joined"


def test_what_no_driver_of_the_group_owns_is_nobodys() -> None:
    strange = a_set(NEW, owner="somebody")
    found = crew(driver(), executors=(executor(NEW, 0, "1"),), sets=[strange])
    assert (found.executors, found.standing, left(found)) == ((), None, [])


def test_before_there_is_a_stateful_set_there_are_as_many_as_the_driver_was_told() -> None:
    assert crew(driver()).workload.replicas == 5
    assert crew(driver(), sets=[a_set(NEW)]).workload.replicas == 2
    stopped = crew_of(replace(DEPLOYMENT, replicas=0), 5, [driver()], (), [a_set(NEW)], None)
    assert stopped.workload.replicas == 0


def test_the_newest_driver_that_has_executors_says_how_many_there_are() -> None:
    old, new = driver(revision="r0"), driver("d2")
    sets = [a_set(OLD), a_set(NEW, "d2", 4)]
    assert crew(old, new, sets=sets[:1]).standing == sets[0]
    assert crew(old, new, sets=sets).standing == sets[1]
    going = replace(new, is_deleting=True)
    assert crew(old, going, sets=sets).standing == sets[0]


def test_an_executor_goes_with_its_driver() -> None:
    made = (executor(NEW, 0, "1"),)
    (found,) = crew(driver(is_deleting=True), executors=made, sets=[a_set(NEW)]).executors
    assert found.is_deleting


def test_an_application_of_another_life_is_left_behind() -> None:
    again = ContainerFacts(
        running=Running(BEGAN + 100), last_end=Ended(BEGAN, BEGAN + 90), restarts=1
    )
    sets = [a_set(OLD), a_set(NEW)]
    now = driver(note=note(NEW, BEGAN + 101), container=again)
    found = crew(now, sets=sets, executors=(executor(OLD, 0, "1"),))
    assert left(found) == [sets[0].name]
    assert found.standing == sets[1]
    assert found.executors[0].is_deleting


def test_what_a_life_has_left_that_ended_is_left_behind_while_the_next_one_waits() -> None:
    waits = ContainerFacts(waiting="CrashLoopBackOff", last_end=Ended(BEGAN, BEGAN + 90))
    assert left(crew(driver(note=note(OLD), container=waits), sets=[a_set(OLD)])) == [
        a_set(OLD).name
    ]


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({}, id="it said nothing"),
        pytest.param("not JSON", id="it cannot be read"),
        pytest.param(note(""), id="it has not begun an application"),
        pytest.param(note(OLD, BEGAN - 50), id="of a life before the last one that is known"),
        pytest.param({"applicationId": NEW, "phase": "running"}, id="an older driver"),
    ],
)
def test_where_it_is_not_known_for_certain_nothing_is_left_behind(said: Any) -> None:
    assert left(crew(driver(note=said), sets=[a_set(OLD), a_set(NEW)])) == []


def test_a_set_that_goes_already_is_not_removed_again() -> None:
    sets = [replace(a_set(OLD), is_deleting=True), a_set(NEW)]
    found = crew(driver(note=note(NEW)), sets=sets)
    assert (left(found), found.standing) == ([], sets[1])


@pytest.mark.parametrize("said", ["", "[]", "null", '{"batch": 5}', '{"startedAt": "x"}'])
def test_a_note_that_cannot_be_read_says_nothing(said: str) -> None:
    assert note_of(driver(note=said)).application == ""


def test_a_note_says_the_last_batch_and_what_fails() -> None:
    said = {**note(NEW), "executors": 2, "failure": "PipelineFailed: no",
            "batch": {"number": 4, "at": 5.5, "events": 9, "seconds": 0.25}}  # fmt: skip
    found = note_of(driver(note=said))
    assert (found.application, found.phase, found.executors) == (NEW, "running", 2)
    assert (found.batch_at, found.batch_events, found.batch_s) == (5.5, 9, 0.25)
    assert found.failure == "PipelineFailed: no"


def test_the_facts_of_a_stateful_set_are_as_spark_makes_it() -> None:
    found = set_facts(
        {
            "metadata": {
                "name": "spark-s-a-0", "uid": "u", "resourceVersion": "9",
                "ownerReferences": [{"kind": "Pod", "uid": "d", "controller": True}],
            },
            "spec": {"replicas": 3, "selector": {"matchLabels": {"spark-app-selector": "a"}}},
        }
    )  # fmt: skip
    assert found == SetFacts("spark-s-a-0", "u", "d", "a", 3, "9")
