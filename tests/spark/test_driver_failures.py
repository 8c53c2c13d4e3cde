"""What a driver says of what cannot work, and how it goes on after what failed for a while."""

from __future__ import annotations

import pytest

from support.driven_group import COUNTING, NAME, NewDriven, truth
from support.fault_proxy import Refuse, fault_proxy
from support.letters import letters_of
from support.wait import wait_until
from tidegate.commands.codes import Code
from tidegate_hub.testing import RunningHub

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

# It fails until a file is there, in the driver or in the executors' workers.
WAITING = (
    COUNTING
    + """
from pathlib import Path
count = pipeline
open_file = Path(__file__).with_name("open")

def pipeline(df, context):
    if not open_file.exists():
        raise RuntimeError("the door is shut")
    count(df, context)
"""
)
WORKER_FAILS = """
import helper

def pipeline(df, context):
    df.sparkSession.udf.register("checked", helper.checked, "long")
    counted = df.selectExpr("partition", "checked(n) AS n").groupBy("partition")
    for row in counted.agg({"n": "sum", "*": "count"}).collect():
        state = context.state[row.partition]
        state["n"] = state.get("n", 0) + row["count(1)"]
        state["sum"] = state.get("sum", 0) + row["sum(n)"]
"""
HELPER = """
from pathlib import Path

def checked(n):
    if not Path("{open_file}").exists():
        raise ValueError("the number %d is not to be had" % n)
    return n
"""
# It waits with what was planned until a file is there, and says so by another.
HELD_UP = (
    COUNTING
    + """
import time
from pathlib import Path
count = pipeline
here = Path(__file__).parent

def pipeline(df, context):
    (here / "planned").touch()
    while not (here / "open").exists():
        time.sleep(0.05)
    count(df, context)
"""
)
FAILS_AT_ONCE = "sparkConf: {spark.task.maxFailures: '1'}"
HUNGRY = """
from pyspark.sql import functions as F

def pipeline(df, context):
    df.select(F.size(F.expr("sequence(1L, 400000000L + n)")).alias("n")).collect()
"""


@pytest.mark.parametrize(
    ("pipeline", "more", "said"),
    [
        ("import nothing_like_it\n", "", "pipeline.py, line 1"),
        ("def pipelines(df, context): ...\n", "", "has no function 'pipeline'"),
        (COUNTING, "sparkConf: {spark.executor.instances: '5'}",
         "sparkConf 'spark.executor.instances' is not yours to set: how many executors there are"),
        (COUNTING, "deps: {files: [none.py]}", "spec.spark.deps.files: 'none.py': there is no"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_file_is_one_line_before_anything_is_opened(
    new_driven: NewDriven, pipeline: str, more: str, said: str
) -> None:
    driven = new_driven(pipeline, more=more)
    driven.start()
    assert driven.group.ended(NAME) == Code.CONFIGURATION
    assert said in driven.said
    assert "Traceback" not in driven.said


def test_too_little_memory_is_refused_in_the_file(new_driven: NewDriven) -> None:
    driven = new_driven()
    text = driven.file.read_text(encoding="utf-8")
    driven.file.write_text(text.replace("memory: 512m", "memory: 100m"), encoding="utf-8")
    driven.start()
    assert driven.group.ended(NAME) == Code.CONFIGURATION
    assert "memory 100m is too little: Spark does not start with less than 512m" in driven.said


@pytest.mark.parametrize(
    ("schema", "more", "said"),
    [
        ("n no_type", ("--check",), "spec.spark.schema: column 'n': 'no_type' is no type of Spark"),
        # What Spark itself has to read first.
        ("n map<string,int>", (), "spec.spark.schema: column 'n' is of type map<string,int>"),
    ],
)
def test_a_schema_that_cannot_be_is_said(
    new_driven: NewDriven, schema: str, more: tuple[str, ...], said: str
) -> None:
    driven = new_driven()
    text = driven.file.read_text(encoding="utf-8")
    driven.file.write_text(text.replace('"n long"', f'"{schema}"'), encoding="utf-8")
    driven.start(*more)
    assert driven.group.ended(NAME, 300) == Code.CONFIGURATION
    assert said in driven.said
    assert "Traceback" not in driven.said


@pytest.mark.parametrize(
    ("delivery", "source", "said"),
    [
        ("{checkpoint: {byHand: true}}", "transport: native",
         "spec.delivery.checkpoint.byHand: with Spark a batch is handled when it has ended well"),
        ("{}", "transport: sdk", "spec.source.eventHubs.transport sdk: Spark reads by transport"),
    ],
)  # fmt: skip
def test_what_spark_cannot_keep_is_refused_in_the_file(
    new_driven: NewDriven, delivery: str, source: str, said: str
) -> None:
    driven = new_driven(delivery=delivery)
    text = driven.file.read_text(encoding="utf-8")
    driven.file.write_text(text.replace("transport: native", source), encoding="utf-8")
    driven.start("--check")
    assert driven.group.ended(NAME) == Code.CONFIGURATION
    assert said in driven.said


def test_a_value_that_spark_refuses_is_said_with_its_words(new_driven: NewDriven) -> None:
    driven = new_driven(more="sparkConf: {spark.task.cpus: '2'}")
    driven.start()
    assert driven.group.ended(NAME, 300) == Code.CONFIGURATION
    assert "tidegate: Spark does not start: " in driven.said
    assert "cpus per task = 2" in driven.said


def test_a_pipeline_that_fails_for_a_while_goes_on_where_it_stood(new_driven: NewDriven) -> None:
    driven = new_driven(WAITING)
    for partition in range(4):
        driven.group.send(str(partition), 0, 100)
    driven.start()
    driven.until_said("RuntimeError: the door is shut (pipeline.py, line ")
    assert f'tidegate_spark_failing{{group="{driven.group.name}"}} 1.0' in driven.metrics()
    (driven.group.folder / "open").touch()
    driven.until_totals(400)
    assert driven.totals() == truth(4, 0, 100)
    assert f'tidegate_spark_failing{{group="{driven.group.name}"}} 0.0' in driven.metrics()
    driven.group.stop(NAME)


def test_what_the_pipeline_imports_goes_to_the_workers_and_their_errors_come_back(
    new_driven: NewDriven,
) -> None:
    driven = new_driven(WORKER_FAILS)
    folder = driven.group.folder
    helper = HELPER.format(open_file=folder / "open")
    (folder / "helper.py").write_text(helper, encoding="utf-8")
    driven.group.send("0", 0, 50)
    driven.start()
    driven.until_said("ValueError: the number 0 is not to be had")
    (folder / "open").touch()
    driven.until_totals(50)
    assert driven.totals() == truth(1, 0, 50)
    driven.group.stop(NAME)


def test_executors_without_memory_are_told_apart_with_what_to_do(new_driven: NewDriven) -> None:
    driven = new_driven(HUNGRY, more=FAILS_AT_ONCE)
    driven.group.send("0", 0, 1)
    driven.start()
    driven.until_said("an executor had too little memory", 300)
    assert "Raise spec.spark.executor.memory" in driven.said
    driven.group.stop(NAME)


@pytest.mark.parametrize("on_failure", ["deadLetter", "halt"])
def test_a_hub_that_is_away_for_long_is_no_fault_of_the_events(
    new_driven: NewDriven, hub_server: RunningHub, on_failure: str
) -> None:
    delivery = f"{{onFailure: {on_failure}, attempts: 1, backoff: {{mostSeconds: 1}}}}"
    # One event and one attempt: blamed once, it would be put aside, or all would stand still.
    driven = new_driven(HELD_UP, partitions=1, delivery=delivery, more=FAILS_AT_ONCE)
    group = driven.group
    with fault_proxy(hub_server.port, is_http=False) as network:
        group.environment["EVENTS"] = hub_server.connection_string.replace(
            f":{hub_server.port}", f":{network.port}"
        )
        group.send("0", 0, 1)
        driven.start()
        wait_until((group.folder / "planned").exists, 300, "a batch", lambda: driven.said[-3000:])
        network.add(Refuse())
        network.cut()
        (group.folder / "open").touch()
        # Halves of two partitions of twenty events would be down to one event by then.
        wait_until(
            lambda: driven.figure("batches_failed_total{") >= 1,
            300,
            "batches to fail",
            lambda: driven.said[-3000:],
        )
        assert driven.figure('reason="HubNotRead"') >= 1
        network.clear()
        driven.until_totals(1)
    assert driven.totals() == truth(1, 0, 1)
    assert letters_of(group) == []
    group.stop(NAME)
