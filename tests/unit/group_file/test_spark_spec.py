"""`engine: spark` and `spec.spark` of a group file, and what is said of one that cannot work."""

from __future__ import annotations

import pytest

from tidegate.group_file.nodes import FileError
from tidegate.group_file.reading import read_group
from tidegate.group_file.spark_spec import EngineKind, mebibytes

HEAD = """\
apiVersion: tidegate.dev/v1alpha1
kind: ConsumerGroup
metadata: {name: home-activity}
spec:
  source: {eventHubs: {hub: telemetry, connectionString: {env: EVENTS}}}
  ledger: {container: ledger, connectionString: {env: STORAGE}}
  handler: {code: "pipeline.py:pipeline"}
"""
SPARK = HEAD + "  engine: spark\n"


def problem(text: str) -> str:
    with pytest.raises(FileError) as raised:
        read_group(text, "group.yaml")
    return str(raised.value)


def test_a_file_that_says_nothing_of_an_engine_is_for_python() -> None:
    assert read_group(HEAD, "group.yaml").engine is EngineKind.PYTHON


def test_the_engine_alone_is_enough() -> None:
    group = read_group(SPARK, "group.yaml")
    assert group.engine is EngineKind.SPARK
    assert (group.spark.trigger_s, group.spark.max_events) == (2.0, 50_000)
    assert (group.spark.driver.memory_mib, group.spark.driver.overhead_mib) == (1024, 768)
    assert (group.spark.executor.memory_mib, group.spark.executor.overhead_mib) == (1024, 409)


def test_everything_that_spark_offers() -> None:
    group = read_group(
        SPARK
        + """\
  spark:
    schema: "home string, value double"
    triggerSeconds: 1.5
    maxEvents: 10_000
    maxBytes: 1_000_000
    options: {floor: "2"}
    sparkConf: {spark.sql.shuffle.partitions: "4"}
    deps: {packages: ["org.example:name:1.2.3"], files: [helper.py]}
    driver: {cores: 2, memory: 2Gi}
    executor: {cores: 3, memory: 1500m, memoryOverhead: 512Mi, template: {spec: {}}}
    output: {container: results, prefix: minutes}
""",
        "group.yaml",
    )
    spark = group.spark
    assert (spark.schema, spark.trigger_s) == ("home string, value double", 1.5)
    assert (spark.max_events, spark.max_bytes) == (10_000, 1_000_000)
    assert dict(spark.options) == {"floor": "2"}
    assert dict(spark.spark_conf) == {"spark.sql.shuffle.partitions": "4"}
    assert (spark.deps.packages, spark.deps.files) == (("org.example:name:1.2.3",), ("helper.py",))
    assert (spark.driver.cores, spark.driver.memory_mib, spark.driver.overhead_mib) == (
        2,
        2048,
        819,
    )
    assert (spark.executor.memory_mib, spark.executor.overhead_mib) == (1500, 512)
    assert spark.executor.template == {"spec": {}}
    assert (spark.output.container, spark.output.prefix) == ("results", "minutes")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "  engine: flink\n", "group.yaml:8: spec.engine: write one of python, spark"),
        (HEAD + "  spark: {}\n", "spark is for engine: spark; write that, or leave spark out"),
        (SPARK + "  spark: {maxRows: 1}\n", "spec.spark has no 'maxRows': did you mean"),
        (SPARK + "  spark: {triggerSeconds: 0}\n", "triggerSeconds 0: write more than 0"),
        (SPARK + "  spark: {maxEvents: 0}\n", "maxEvents 0: write 1 or more"),
        (SPARK + "  spark: {executor: {cores: 0}}\n", "cores 0: write 1 or more"),
        (SPARK + "  spark: {driver: {memory: 1gb}}\n", "memory '1gb': write a size such as 512m"),
        (SPARK + "  spark: {executor: {memoryOverhead: '5'}}\n", "memoryOverhead '5': write a"),
        (SPARK + "  spark: {executor: {memory: 200m}}\n",
         "group.yaml:9: spec.spark.executor: memory 200m is too little: Spark does not start"),
        (SPARK + "  spark: {deps: {packages: [numpy]}}\n", "'numpy': write GROUP:ARTIFACT:VERSION"),
        (SPARK + "  spark:\n    sparkConf: {spark.dynamicAllocation.enabled: 'true'}\n",
         "spec.spark: sparkConf 'spark.dynamicAllocation.enabled' is not yours to set: how many "
         "executors there are is decided from the lag"),
        (SPARK + "  spark: {sparkConf: {master: local}}\n",
         "sparkConf 'master' is no setting of Spark: they begin with 'spark.'"),
        (SPARK + "  spark: {sparkConf: {spark.task.cpus: 2}}\n", "write a text, in quotes"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_what_to_write(text: str, said: str) -> None:
    assert said in problem(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [("512m", 512), ("1g", 1024), ("2Gi", 2048), ("700Mi", 700), ("1", None), ("0g", None)],
)
def test_a_size_is_written_as_kubernetes_or_spark_write_it(text: str, size: int | None) -> None:
    assert mebibytes(text) == size


def test_spark_reads_a_change_feed_as_well() -> None:
    cosmos = "cosmos: {database: shop, container: orders, connectionString: {env: COSMOS}}"
    hubs = "eventHubs: {hub: telemetry, connectionString: {env: EVENTS}}"
    text = SPARK.replace(hubs, cosmos)
    group = read_group(text, "group.yaml")
    assert group.engine is EngineKind.SPARK
    assert group.spec.source.cosmos is not None
    assert group.spec.source.cosmos.container == "orders"
