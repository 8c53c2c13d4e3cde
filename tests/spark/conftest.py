"""What the tests that start Spark share: a Java, and Spark as the image has it.

Rules: a driver is a process of its own with little memory, so that no test inherits another's JVM.
Most of what a JVM costs here is its start: so it compiles fast rather than well.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from support.command_group import a_command_group
from support.driven_group import COUNTING, COUNTING_HANDLER, DrivenGroup, NewDriven
from support.spark_jars import INSTALLED, kept_jars
from support.spark_streams import NewStream, SparkStream, local_session
from tidegate.spark.java import ensure_java
from tidegate_cosmos.testing import RunningCosmos
from tidegate_hub.testing import RunningHub


@pytest.fixture(scope="session", autouse=True)
def _quick_java() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        yield


@pytest.fixture(scope="session")
def java_home() -> Path:
    return ensure_java()


@pytest.fixture(scope="session")
def pruned_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SPARK_HOME with just the jars that the image has."""
    home = tmp_path_factory.mktemp("pruned") / "spark"
    (home / "jars").mkdir(parents=True)
    for jar in kept_jars():
        (home / "jars" / jar.name).symlink_to(jar)
    for programs in ("bin", "sbin"):
        shutil.copytree(INSTALLED / programs, home / programs)
    return home


@pytest.fixture
def pruned_environment(pruned_home: Path, java_home: Path) -> Mapping[str, str]:
    """The environment of a driver, or of an executor, that has what the image has."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("SPARK")}
    return ours | {
        "JAVA_HOME": str(java_home),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(pruned_home),
    }


@pytest.fixture
def new_driven(hub_server: RunningHub, azurite: str, tmp_path: Path) -> Iterator[NewDriven]:
    with ExitStack() as groups:

        def make(
            pipeline: str = COUNTING,
            *,
            partitions: int = 4,
            more: str = "",
            delivery: str = "{}",
        ) -> DrivenGroup:
            group = a_command_group(
                hub_server,
                azurite,
                tmp_path,
                COUNTING_HANDLER,
                partitions=partitions,
                delivery=delivery,
            )
            driven = DrivenGroup(groups.enter_context(group), pipeline, more)
            # What a driver leaves behind is seen there.
            driven.group.environment["TMPDIR"] = str(tmp_path)
            return driven

        yield make


@pytest.fixture(scope="session")
def spark(
    hub_server: RunningHub,
    cosmos_server: RunningCosmos,
    azurite: str,
    java_home: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SparkSession]:
    """A session for the tests of the source; its processes have the secrets of CommandGroup."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            **{"JAVA_HOME": str(java_home), "PYSPARK_PYTHON": sys.executable},
            **{"EVENTS": hub_server.connection_string, "STORAGE": azurite},
            "COSMOS": cosmos_server.connection_string,
        }.items():
            patch.setenv(name, value)
        patch.delenv("SPARK_HOME", raising=False)
        session = local_session(tmp_path_factory.mktemp("spark"))
        yield session
        session.stop()


@pytest.fixture
def new_stream(
    spark: SparkSession, hub_server: RunningHub, azurite: str, tmp_path: Path
) -> Iterator[NewStream]:
    with ExitStack() as stack:

        def make(partitions: int = 2, **options: Any) -> SparkStream:
            group = stack.enter_context(
                a_command_group(hub_server, azurite, tmp_path, "", partitions=partitions, **options)
            )
            made = SparkStream(spark, group, hub_server, tmp_path)
            stack.callback(made.stop)
            return made

        yield make
        hub_server.clear_faults()
