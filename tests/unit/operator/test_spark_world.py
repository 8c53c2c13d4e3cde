"""A group on Spark, round by round: one driver, and as many executors as are wanted."""

from __future__ import annotations

from support.operated_spark import OWNED, SparkWorld
from support.operated_world import KEY, NAME, OperatedWorld
from tidegate.ports import Break, WriteRoster
from tidegate_operator.executors import set_name
from tidegate_operator.freshness import BEAT_S
from tidegate_operator.kinds import POD, STATEFUL_SET, ObjectName


def roster_of(world: SparkWorld) -> WriteRoster:
    (found,) = [each for each in world.ledger.performed if isinstance(each, WriteRoster)]
    return found


def test_a_driver_is_made_once_whatever_the_number_of_executors() -> None:
    world = SparkWorld(replicas=3)
    assert (world.drivers(), world.told_executors()) == (1, 3)
    assert world.status["spark"]["phase"] == "stopped"
    world.begin_driver()
    assert world.replicas() == 3
    members = world.count_executors("driver-1", "app-1")
    world.settle()
    status = world.status
    assert members == ["driver-1-x1", "driver-1-x2", "driver-1-x3"]
    assert [each["name"] for each in status["members"]] == members
    assert (status["ready"], status["replicas"]) == ("3/3", 3)
    assert status["selector"] == "tidegate.dev/group=activity,tidegate.dev/role=executor"
    assert status["spark"] == {
        "driver": "driver-1", "phase": "running", "applicationId": "app-1",
        "executorsWanted": 3, "executorsReady": 3,
    }  # fmt: skip


def test_what_grows_is_the_drivers_stateful_set(one: SparkWorld) -> None:
    one.scale(3)
    one.round()
    assert (one.replicas(), one.drivers(), one.told_executors()) == (3, 1, 3)
    one.make_executors("app-1")
    one.round()
    # Their places on the roster are kept until the driver has given them numbers.
    expected = roster_of(one).roster.expected
    assert expected[0] == "driver-1-x1" and len(expected) == 3
    assert one.status["ready"] == "1/3"
    members = one.count_executors("driver-1", "app-1")
    one.round()
    assert set(roster_of(one).roster.expected) == set(members)


def test_executors_go_by_their_place_and_only_when_they_own_nothing(three: SparkWorld) -> None:
    three.scale(1)
    three.round()
    assert set(roster_of(three).roster.leaving) == {"driver-1-x2", "driver-1-x3"}
    for _ in range(10):
        three.round()
        assert three.replicas() == 3, "they have not handed over yet"
    for partition in OWNED:
        three.own(partition, "driver-1-x1")
    for _ in range(3):
        three.round()
    assert (three.replicas(), three.drivers()) == (1, 1)
    assert not [each for each in three.kube.written if each == "patch Pod"], "nobody is marked"


def test_a_stateful_set_that_somebody_scaled_is_decided_anew_and_put_right(
    three: SparkWorld,
) -> None:
    name = ObjectName(STATEFUL_SET, KEY.namespace, set_name("app-1"))
    three.kube.edit(name, {"spec": {"replicas": 5}})
    three.make_executors("app-1")
    three.count_executors("driver-1", "app-1")
    for _ in range(5):
        three.round()
    assert three.replicas() == 3


def test_none_are_wanted_and_the_driver_goes_and_comes_back_with_them(three: SparkWorld) -> None:
    three.scale(0)
    for _ in range(4):
        three.round()
    assert three.drivers() == 0
    three.take_driver("driver-1", "app-1")
    three.settle()
    assert three.condition("Ready")[1] == "ScaledToZero"
    assert three.status["spark"]["phase"] == "stopped"
    three.scale(2)
    three.round()
    assert (three.drivers(), three.told_executors()) == (1, 2)


def test_paused_is_none_and_a_pause_keeps_as_many_as_it_says(three: SparkWorld) -> None:
    three.kube.edit(NAME, {"spec": {"paused": True, "pausedReplicas": 1}})
    # Nobody gives its partitions here, so that each step waits as long as a hand-over may take.
    for _ in range(400):
        three.round()
    assert (three.replicas(), three.drivers()) == (1, 1)


def test_a_rollout_brings_all_new_executors_before_an_old_one_goes(three: SparkWorld) -> None:
    three.begin_driver("driver-2", revision="r2", application="app-2")
    new = three.count_executors("driver-2", "app-2")
    three.round()
    roster = roster_of(three).roster
    assert set(roster.leaving) == {"driver-1-x1", "driver-1-x2", "driver-1-x3"}
    assert roster.expected == tuple(new)
    assert three.condition("Scaling")[1] == "RollingOut"
    for partition in OWNED:
        three.own(partition, new[int(partition) % 3])
    for _ in range(5):
        three.round()
        assert (three.replicas("app-1"), three.replicas("app-2")) == (3, 3), "the driver takes them"
    three.take_driver("driver-1", "app-1")
    three.settle()
    assert three.condition("Scaling")[1] == "AsWanted"
    assert three.status["spark"]["driver"] == "driver-2"


def test_while_a_new_driver_has_no_executors_the_old_one_is_scaled(one: SparkWorld) -> None:
    """A pipeline that does not import must not keep the old one from growing."""
    one.begin_driver("driver-2", revision="r2", application="app-2")
    for name in list(one.kube.objects):
        if name.name.startswith(set_name("app-2")):
            one.kube.take(name)
    one.say("driver-2")
    one.end_container("driver-2", "driver", "HandlerNotImported: No module named 'homes'", 78)
    one.scale(2)
    one.round()
    assert one.replicas("app-1") == 2
    assert one.condition("Ready")[1:] == (
        "HandlerNotImported",
        "The driver of pod driver-2 cannot begin: No module named 'homes'. Mend the code in the "
        "image or in the ConfigMap of spec.handler. 1 pod read on.",
    )


def test_a_driver_that_is_begun_again_in_place_loses_what_its_last_life_left(
    three: SparkWorld,
) -> None:
    three.end_container("driver-1", "driver")
    three.round()
    assert three.replicas("app-1") is None, "nobody would ever end those executors"
    three.run_container("driver-1", "driver", restarts=1)
    three.say("driver-1")
    three.begin_application("driver-1", "app-2")
    for _ in range(3):
        three.round()
    assert three.replicas("app-2") == 3


def test_the_executors_of_a_life_that_goes_on_are_never_taken_for_left_behind(
    three: SparkWorld,
) -> None:
    """A driver writes that it begins before Spark makes anything, and names it only afterwards."""
    three.end_container("driver-1", "driver")
    three.run_container("driver-1", "driver", restarts=1)
    three.say("driver-1")
    three.begin_application("driver-1", "app-2")
    three.say("driver-1")
    for _ in range(3):
        three.round()
    assert three.replicas("app-2") == 3


def test_a_dead_driver_ends_the_leases_of_all_its_members(three: SparkWorld) -> None:
    three.end_container("driver-1", "driver")
    three.round()
    broken = {each.partition for each in three.ledger.performed if isinstance(each, Break)}
    assert broken == set(OWNED)


def test_a_dead_executor_ends_nobodys_lease(three: SparkWorld) -> None:
    """Its driver lives, and holds them on."""
    pod = f"{set_name('app-1')}-2"
    three.end_container(pod, "executor")
    three.round()
    assert not [each for each in three.ledger.performed if isinstance(each, Break)]


def test_executors_of_somebody_else_are_nobodys(one: SparkWorld) -> None:
    metadata = {
        "namespace": KEY.namespace, "name": "spark-s-strange-0-0",
        "labels": {
            "tidegate.dev/group": KEY.name, "tidegate.dev/role": "executor", "spark-exec-id": "1",
        },
        "ownerReferences": [{"kind": "StatefulSet", "name": "x", "uid": "x", "controller": True}],
    }  # fmt: skip
    one.kube.put({"apiVersion": "v1", "kind": POD.name, "metadata": metadata})
    for _ in range(3):
        one.round()
        assert one.ledger.performed == []
    assert one.status["ready"] == "1/1"


def test_a_group_on_spark_on_which_nothing_happens_is_written_nowhere(three: SparkWorld) -> None:
    three.settle()
    beats = 0
    for _ in range(30):
        before = dict(three.status)
        three.round(after_s=5.0)
        beats += bool(three.kube.written)
        assert set(three.kube.written) <= {"status ConsumerGroup"}
        assert before | {"observedTime": None} == {**three.status, "observedTime": None}
    assert beats <= 150 / BEAT_S + 1


def test_a_group_without_spark_asks_for_no_stateful_set() -> None:
    world = OperatedWorld()
    world.put_secret()
    world.create(scaling={"min": 2, "max": 4})
    world.settle()
    assert not [each for each in world.kube.asked if "StatefulSet" in each or "Role" in each]
