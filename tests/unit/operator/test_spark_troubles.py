"""What goes wrong with a group on Spark: where it is said, and in which words."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from support.operated_spark import OWNED, SparkWorld
from tidegate_operator.executors import set_name
from tidegate_operator.kinds import EVENT, STATEFUL_SET, Document, Kind
from tidegate_operator.kube_errors import Denied


def test_why_kubernetes_makes_no_executors_is_said(one: SparkWorld) -> None:
    refused = (
        'create Pod spark-s-app-1-0-1 failed error: pods "spark-s-app-1-0-1" is forbidden: '
        "exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2"
    )
    asked = []
    listing = one.kube.list

    async def events(kind: Kind, namespace: str | None = None, **how: Any) -> list[Document]:
        if kind != EVENT:
            return await listing(kind, namespace, **how)
        asked.append(how["fields"])
        return [
            {"message": "an older one", "lastTimestamp": "2001-09-09T01:46:40Z"},
            {"message": refused, "lastTimestamp": "2001-09-09T01:46:41Z"},
        ]

    one.kube.list = events  # type: ignore[method-assign]
    one.scale(2)
    for _ in range(4):
        one.round()
    assert not asked, "pods take a moment"
    for _ in range(8):
        one.round()
    uid = one.uid(STATEFUL_SET, set_name("app-1"))
    assert asked == [f"involvedObject.uid={uid},reason=FailedCreate"], "once for a while"
    _, reason, message = one.condition("Ready")
    assert (reason, "exceeded quota: few" in message) == ("QuotaExceeded", True)
    one.make_executors("app-1")
    one.count_executors("driver-1", "app-1")
    one.settle()
    assert one.condition("Ready")[1] != "QuotaExceeded"


def test_while_stateful_sets_cannot_be_read_nobody_leaves_and_nothing_is_scaled(
    three: SparkWorld,
) -> None:
    finding = three.kube.find

    async def refused(kind: Kind, namespace: str, name: str, **how: Any) -> Document | None:
        if kind == STATEFUL_SET:
            raise Denied("the operator may not get statefulsets.apps")
        return await finding(kind, namespace, name, **how)

    three.kube.find = refused  # type: ignore[method-assign]
    three.notes.sets = None
    three.scale(1)
    for _ in range(12):
        three.round()
        assert (three.replicas(), three.ledger.performed) == (3, [])
    assert three.condition("Ready")[1] == "ExecutorsUnknown"
    three.kube.find = finding  # type: ignore[method-assign]
    for _ in range(70):
        three.round()
    assert three.condition("Ready")[1] != "ExecutorsUnknown"


def test_what_fails_in_the_pipeline_is_a_condition_and_stands_in_the_status(
    one: SparkWorld,
) -> None:
    said = "PipelineFailed: KeyError: 'home' (pipeline.py, line 7)"
    one.say("driver-1", applicationId="app-1", phase="retrying", failure=said,
            batch={"number": 3, "at": one.now, "events": 40, "seconds": 0.5})  # fmt: skip
    one.round()
    truth, reason, message = one.condition("Stuck")
    assert (truth, reason) == ("True", "QueryFails")
    assert said in message and message.endswith("See `kubectl logs -n homes driver-1`.")
    status = one.status["spark"]
    assert (status["phase"], status["failure"]) == ("retrying", said)
    assert status["lastBatch"]["events"] == 40


def test_what_is_wrong_with_an_executor_names_its_pod_and_its_template(one: SparkWorld) -> None:
    one.scale(2)
    one.round()
    one.make_executors("app-1")
    pod = f"{set_name('app-1')}-1"
    waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
    one._status(pod, {"phase": "Pending", "containerStatuses": [
        {"name": "executor", "state": {"waiting": waiting}}]})  # fmt: skip
    one.round()
    assert one.condition("Ready")[1:] == (
        "ImageCannotBePulled",
        f"The image of pod {pod} cannot be pulled: no such image. Mend spec.image, or give the "
        "pull secret in spec.spark.executor.template (imagePullSecrets). 1 pod read on.",
    )


def test_an_operator_without_spark_says_how_to_give_it_one() -> None:
    world = SparkWorld(replicas=1)
    world.start()
    settings = dataclasses.replace(world.edges.settings, spark_image="")
    world.edges = dataclasses.replace(world.edges, settings=settings)
    before = world.deployment
    world.settle()
    truth, reason, message = world.condition("Ready")
    assert (truth, reason) == ("False", "EngineNotThere")
    assert "Set spark.enabled: true among the values of its chart" in message
    assert world.deployment == before, "what stands goes on"


@pytest.mark.parametrize(
    ("last_words", "reason"),
    [
        ("", "CrashLoop"),
        ("DriverLost: the driver's JVM ended with code 1", "CrashLoop"),
        ("DriverOutOfMemory: the driver's JVM had too little", "OutOfMemory"),
        ("DriverKilled: the driver's JVM was killed", "OutOfMemory"),
    ],
)
def test_the_last_words_of_a_driver_that_has_ended_stand_in_the_status(
    one: SparkWorld, last_words: str, reason: str
) -> None:
    one.end_container("driver-1", "driver", last_words)
    one.round()
    assert one.status["spark"].get("failure", "") == last_words
    assert one.status["spark"]["phase"] == "CrashLoopBackOff"
    _, found, message = one.condition("Ready")
    assert found == reason
    if reason == "OutOfMemory":
        assert last_words.partition(": ")[2] in message
        assert "spec.spark.driver.memoryOverhead" in message


@pytest.mark.parametrize("code", [3, 52])
def test_a_heap_that_is_too_small_for_an_executor_is_out_of_memory(
    one: SparkWorld, code: int
) -> None:
    pod = f"{set_name('app-1')}-1"
    one.scale(2)
    one.round()
    one.make_executors("app-1")
    one.end_container(pod, "executor", "Terminating due to java.lang.OutOfMemoryError", code)
    one.round()
    _, reason, message = one.condition("Ready")
    assert reason == "OutOfMemory"
    assert f"The executor of pod {pod} had too little memory: its JVM ended with code" in message
    assert "Raise spec.spark.executor.memoryOverhead (its Python workers) or memory" in message


@pytest.mark.parametrize(
    ("failure", "reason", "remedy"),
    [
        ("PipelineFailed: KeyError: 'home'", "PipelineFails", "onFailure: deadLetter"),
        ("OutOfMemory: an executor had too little memory. Raise spec.spark.executor.memory.",
         "BatchesFail", "Raise spec.spark.executor.memory."),
        ("HubNotRead: SourceError: the link is gone", "BatchesFail", "do they reach it"),
        ("SlicesNotWritten: no container", "BatchesFail", "Look at the storage account"),
        ("ReadTwice: keep it first", "BatchesFail", "keep it first"),
    ],
)  # fmt: skip
def test_batches_that_fail_by_no_fault_of_their_events_have_a_remedy_of_their_own(
    one: SparkWorld, failure: str, reason: str, remedy: str
) -> None:
    one.say("driver-1", applicationId="app-1", phase="running", failure=failure)
    one.is_stuck(*OWNED)
    one.round()
    truth, found, message = one.condition("Stuck")
    assert (truth, found) == ("True", reason)
    assert failure in message
    assert remedy in message
    assert ("deadLetter" in message) is (reason == "PipelineFails")


def test_a_ledger_that_is_to_go_waits_for_the_driver_that_holds_it() -> None:
    world = SparkWorld(replicas=1, ledger={
        "container": "ledger", "onDelete": "Delete",
        "connectionString": {"secret": "azure", "key": "storage"},
    })  # fmt: skip
    world.begin_driver()
    world.count_executors("driver-1", "app-1")
    world.settle()
    world.delete()
    for _ in range(3):
        world.round()
    assert (world.deployment, world.ledger.erased) == (None, 0)
    world.take_driver("driver-1", "app-1")
    for _ in range(3):
        world.round()
    assert world.ledger.erased == 1
