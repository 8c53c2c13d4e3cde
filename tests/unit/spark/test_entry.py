"""What a container of the Spark image runs, by its words and by what Spark says in variables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tidegate.spark.entry import NotStarted, class_path, command_of, java_options

SAID_BY_SPARK = {
    "SPARK_HOME": "/spark",
    "SPARK_EXECUTOR_MEMORY": "512m",
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.0.0.1:7078",
    "SPARK_EXECUTOR_ID": "EXECID",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.2",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_EXECUTOR_POD_NAME": "home-exec-0",
}


def test_an_executor_is_the_jvm_that_spark_describes() -> None:
    environ = SAID_BY_SPARK | {"JAVA_HOME": "/java", "SPARK_JAVA_OPT_0": "-Da=b c"}
    assert command_of(["executor"], environ) == [
        "/java/bin/java", "-Da=b c", "-Xms512m", "-Xmx512m", "-cp", "/spark/conf:/spark/jars/*",
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
        "--driver-url", "spark://CoarseGrainedScheduler@10.0.0.1:7078", "--executor-id", "EXECID",
        "--cores", "2", "--app-id", "spark-1", "--hostname", "10.0.0.2",
        "--resourceProfileId", "0", "--podName", "home-exec-0",
    ]  # fmt: skip


def test_options_of_the_jvm_keep_the_order_of_their_numbers() -> None:
    environ = {f"SPARK_JAVA_OPT_{number}": f"-D{number}" for number in range(12)}
    others = {"SPARK_JAVA_OPTS": "no", "SPARK_JAVA_OPT_X": "no"}
    assert java_options(environ | others) == [f"-D{number}" for number in range(12)]


def test_settings_come_before_what_is_added_and_that_before_sparks_jars() -> None:
    environ = {
        "SPARK_HOME": "/spark",
        "SPARK_CONF_DIR": "/conf",
        "SPARK_CLASSPATH": "/mine.jar",
        "SPARK_EXTRA_CLASSPATH": "/last.jar",
    }
    assert class_path(environ) == "/conf:/mine.jar:/spark/jars/*:/last.jar"


@pytest.mark.parametrize("name", sorted(SAID_BY_SPARK))
def test_an_executor_that_spark_did_not_describe_is_refused_with_what_is_missing(name: str) -> None:
    environ = {**SAID_BY_SPARK, name: ""}
    with pytest.raises(NotStarted, match=rf"in variables: {name} are not set\."):
        command_of(["executor"], environ)


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["consumer", "group.yaml", "--log-format", "json"],
         ["tidegate", "run", "group.yaml", "--log-format", "json"]),
        (["tidegate", "--help"], ["tidegate", "--help"]),
        (["python", "-c", "print(1)"], ["python", "-c", "print(1)"]),
        (["executor", "of", "mine"], ["executor", "of", "mine"]),
        (["help"], []),
        ([], []),
    ],
)  # fmt: skip
def test_any_other_word_is_run_as_given(words: list[str], command: list[str]) -> None:
    assert command_of(words, {}) == command


def run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-m", "tidegate.spark.entry", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environ)


def test_the_container_becomes_what_was_said(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text('#!/bin/sh\necho "$#" "$1"; exit 3\n', encoding="utf-8")
    java.chmod(0o755)
    said = run(
        "executor", **(SAID_BY_SPARK | {"JAVA_HOME": str(tmp_path), "SPARK_JAVA_OPT_0": "-Da=b c"})
    )
    assert (said.returncode, said.stdout, said.stderr) == (3, "20 -Da=b c\n", "")


def test_what_cannot_be_started_is_told_with_what_can() -> None:
    assert run().stdout.startswith("Name what this container is to be")
    missing = run("no-such-program")
    assert missing.returncode == 127
    assert missing.stderr.startswith("no-such-program cannot be run: No such file or directory.\n")
    unasked = run("executor")
    assert unasked.returncode == 2
    assert "SPARK_DRIVER_URL" in unasked.stderr
