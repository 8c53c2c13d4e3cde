"""The settings of a session: all that executors and their driver depend on, in both places."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.group_file.spark_spec import DepsSpec, ExecutorSpec, SparkSpec
from tidegate.settings import SettingsError
from tidegate.spark.owned_keys import refusal, why_owned
from tidegate.spark.secret_conf import make_conf
from tidegate.spark.session_conf import ClusterPlace, LocalPlace, session_conf

LOCAL = LocalPlace("spark://127.0.0.1:7077", Path("there"))
POD = {
    "TIDEGATE_POD_NAMESPACE": "homes",
    "TIDEGATE_MEMBER": "activity-driver-x1",
    "TIDEGATE_EXECUTORS": "2",
    "TIDEGATE_POD_IP": "10.0.0.7",
    "TIDEGATE_EXECUTOR_IMAGE": "tidegate-spark:1",
    "TIDEGATE_EXECUTOR_ACCOUNT": "activity-executor",
}
# Written by us although a user may write them: values that are better than Spark's own.
FREE = {
    "spark.cleaner.periodicGC.interval",
    "spark.executor.failuresValidityInterval",
    "spark.executor.logs.rolling.maxRetainedFiles",
    "spark.executor.logs.rolling.maxSize",
    "spark.executor.logs.rolling.strategy",
    "spark.executor.syncLogLevel.enabled",
    "spark.kubernetes.executor.missingPodDetectDelta",
    "spark.kubernetes.executor.request.cores",
    "spark.locality.wait",
    "spark.log.level",
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled",
    "spark.sql.session.timeZone",
    "spark.sql.shuffle.partitions",
    "spark.sql.streaming.numRecentProgressUpdates",
    "spark.sql.ui.retainedExecutions",
    "spark.ui.killEnabled",
    "spark.ui.retainedJobs",
    "spark.ui.retainedStages",
    "spark.ui.retainedTasks",
    "spark.ui.showConsoleProgress",
}


def in_a_cluster(**more: str) -> ClusterPlace:
    return ClusterPlace.of({**POD, **more})


@pytest.mark.parametrize(
    "place",
    [
        LOCAL,
        in_a_cluster(TIDEGATE_EXECUTOR_TEMPLATE="/t.yaml", TIDEGATE_EXECUTOR_PULL_POLICY="Never"),
    ],
)
def test_what_we_write_is_refused_to_the_user(place: LocalPlace | ClusterPlace) -> None:
    spec = SparkSpec(deps=DepsSpec(packages=("org.example:name:1",)))
    ours = set(session_conf("activity", spec, place)) - FREE
    assert {key for key in ours if why_owned(key) is None} == set()


@pytest.mark.parametrize("place", [LOCAL, in_a_cluster()])
def test_executors_and_driver_know_one_another_and_no_secret_stands_on_a_command_line(
    place: LocalPlace | ClusterPlace,
) -> None:
    found = session_conf("activity", SparkSpec(), place)
    assert found["spark.authenticate"] == found["spark.network.crypto.enabled"] == "true"
    assert not [key for key in found if "secret" in key]
    for key in ("spark.authenticate", "spark.authenticate.secret", "spark.network.crypto.enabled"):
        with pytest.raises(SettingsError, match="by a secret of this driver alone"):
            SparkSpec(spark_conf={key: "false"}).checked()


def test_the_secret_of_one_machine_is_in_a_file_of_this_user_and_new_each_time(
    tmp_path: Path,
) -> None:
    given = tmp_path / "given"
    given.mkdir()
    (given / "log4j2.properties").write_text("mine", encoding="utf-8")
    (given / "spark-defaults.conf").write_text("spark.authenticate.secret old", encoding="utf-8")
    made = [make_conf(tmp_path / name, str(given)) for name in ("one", "other")]
    secrets = set()
    for folder in made:
        file = folder / "spark-defaults.conf"
        assert (file.stat().st_mode & 0o777, folder.stat().st_mode & 0o077) == (0o600, 0)
        assert (folder / "log4j2.properties").read_text(encoding="utf-8") == "mine"
        said = dict(line.split() for line in file.read_text().splitlines() if line)
        assert said["spark.authenticate"] == said["spark.network.crypto.enabled"] == "true"
        assert said["spark.master.rest.enabled"] == "false"
        assert len(said["spark.authenticate.secret"]) == 64
        secrets.add(said["spark.authenticate.secret"])
    assert len(secrets) == 2


def test_what_is_the_users_to_write_is_theirs() -> None:
    theirs = dict.fromkeys(FREE, "9")
    spec = SparkSpec(spark_conf=theirs).checked()
    found = session_conf("activity", spec, LOCAL)
    assert {key: found[key] for key in FREE} == theirs


def test_there_is_one_writer_of_the_number_of_executors() -> None:
    found = session_conf("activity", SparkSpec(), in_a_cluster())
    assert found["spark.dynamicAllocation.enabled"] == "false"
    assert found["spark.executor.instances"] == "2"
    assert found["spark.kubernetes.allocation.pods.allocator"] == "statefulset"
    assert "spark.executor.instances" not in session_conf("activity", SparkSpec(), LOCAL)


def test_a_driver_pod_is_reached_by_its_address_and_owns_its_executors() -> None:
    found = session_conf("activity", SparkSpec(), in_a_cluster())
    assert (found["spark.driver.host"], found["spark.driver.bindAddress"]) == (
        "10.0.0.7",
        "0.0.0.0",
    )
    assert (found["spark.driver.port"], found["spark.driver.blockManager.port"]) == ("7078", "7079")
    assert found["spark.kubernetes.driver.pod.name"] == "activity-driver-x1"
    assert found["spark.kubernetes.namespace"] == "homes"
    account = found["spark.kubernetes.authenticate.executor.serviceAccountName"]
    assert account == "activity-executor"


def test_the_template_of_executors_names_their_container() -> None:
    assert "spark.kubernetes.executor.podTemplateFile" not in session_conf(
        "activity", SparkSpec(), in_a_cluster()
    )
    found = session_conf(
        "activity", SparkSpec(), in_a_cluster(TIDEGATE_EXECUTOR_TEMPLATE="/t/executor.yaml")
    )
    assert found["spark.kubernetes.executor.podTemplateFile"] == "/t/executor.yaml"
    assert found["spark.kubernetes.executor.podTemplateContainerName"] == "executor"


def test_memory_and_cores_are_those_of_the_file() -> None:
    spec = SparkSpec(executor=ExecutorSpec(cores=2, memory="2Gi", memory_overhead="700m"))
    found = session_conf("activity", spec, in_a_cluster())
    assert (found["spark.executor.memory"], found["spark.executor.cores"]) == ("2048m", "2")
    assert found["spark.executor.memoryOverhead"] == "700m"
    assert found["spark.driver.memory"] == "1024m"


def test_spark_never_begins_with_no_executor_at_all() -> None:
    assert in_a_cluster(TIDEGATE_EXECUTORS="0").executors == 1


def test_a_pod_that_was_told_half_says_what_is_missing() -> None:
    told = {key: text for key, text in POD.items() if key != "TIDEGATE_POD_IP"}
    with pytest.raises(SettingsError, match="TIDEGATE_POD_IP is not: the operator sets both"):
        ClusterPlace.of(told)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("spark.master", "is not yours to set: the engine decides where executors run"),
        ("spark.executor.memory", "write spec.spark.executor.memory"),
        ("spark.kubernetes.driver.request.cores", "the operator makes the driver"),
        ("spark.storage.decommission.enabled", "partitions are handed over"),
        ("master", "they begin with 'spark.'"),
        ("spark.sql.shuffle.partitions", None),
        ("spark.kubernetes.executor.request.cores", None),
        ("spark.hadoop.fs.azure.account.key", None),
    ],
)
def test_a_setting_is_refused_with_its_reason(key: str, said: str | None) -> None:
    found = refusal(key)
    assert (said is None and found is None) or (found is not None and said is not None)
    assert found is None or str(said) in found
