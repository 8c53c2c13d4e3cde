"""A group that is run by a Spark driver, `tidegate run` with `engine: spark`, and by Python pods.

    driven = DrivenGroup(group, PIPELINE)    # `group` is a CommandGroup, with its hub and ledger
    driven.start("--executors", "2")
    driven.until_totals(1000)

The pipeline and the handler here count into the state that stands with each checkpoint, so that
what was counted is exactly what is handled, whoever handled it.
Rules: processes are ended by their own id; all that they say stays in the folder.
"""

from __future__ import annotations

import asyncio
import json
import re
import urllib.request
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import psutil

from support.command_group import CommandGroup
from support.living import living
from support.wait import wait_until
from tidegate.commands import wiring
from tidegate.commands.last_words import ELSEWHERE
from tidegate.model import Checkpoint, PartitionId
from tidegate.ports import ReadCheckpoint

NAME = "driver"
# Of the state: how many events, and the sum of their numbers.
COUNTING = """
from pyspark.sql import functions as F

def pipeline(df, context):
    counted = df.groupBy("partition").agg(F.count("*").alias("n"), F.sum("n").alias("sum"))
    for row in counted.collect():
        state = context.state[row.partition]
        state["n"] = state.get("n", 0) + row.n
        state["sum"] = state.get("sum", 0) + row["sum"]
"""
COUNTING_HANDLER = """
def handle(events, context):
    state = context.state
    state["n"] = state.get("n", 0) + len(events)
    state["sum"] = state.get("sum", 0) + sum(event.body_as_json()["n"] for event in events)
"""
_SPARK = """\
  engine: spark
  spark:
    schema: "{schema}"
    triggerSeconds: 0.5
    driver: {{memory: 600m}}
    executor: {{memory: 512m}}
    {more}
"""
_EXECUTOR = "CoarseGrainedExecutorBackend"
_SESSION = "org.apache.spark.deploy.SparkSubmit"
_MASTER = "org.apache.spark.deploy.master.Master"
_DAEMON = "pyspark.daemon"
_PLANNER = "python_streaming_source_runner"


class DrivenGroup:
    """See the module. `more` is of `spec.spark`, a line of YAML."""

    def __init__(
        self,
        group: CommandGroup,
        pipeline: str = COUNTING,
        more: str = "",
        schema: str = "n long",
    ) -> None:
        self.group = group
        (group.folder / "pipeline.py").write_text(pipeline, encoding="utf-8")
        self.file = group.folder / "spark.yaml"
        text = group.file.read_text(encoding="utf-8").replace(
            "handler.py:handle", "pipeline.py:pipeline"
        )
        self.file.write_text(text + _SPARK.format(schema=schema, more=more), encoding="utf-8")
        # Kubernetes gives each container such a file.
        self.last_words = group.folder / "last-words"
        self.last_words.touch()
        group.environment[ELSEWHERE] = str(self.last_words)

    def start(self, *more: str, name: str = NAME) -> None:
        self.group.start(name, "--listen", "127.0.0.1:0", *more, file=self.file)

    @property
    def said(self) -> str:
        return self.group.output(NAME)

    def until_said(self, words: str, seconds: float = 300) -> None:
        self.group.wait_for_output(NAME, words, seconds)

    # --- what is counted

    def totals(self) -> tuple[int, int]:
        """How many events were counted, and the sum of their numbers, by the checkpoints."""
        states = [
            json.loads(each.state)
            for each in asyncio.run(self._checkpoints()).values()
            if each is not None and each.state
        ]
        return sum(each["n"] for each in states), sum(each["sum"] for each in states)

    def until_totals(self, events: int, seconds: float = 300) -> None:
        """Waits until so many events were counted, or more."""
        wait_until(
            lambda: self.totals()[0] >= events,
            seconds,
            f"{events} events to be counted",
            lambda: (self.totals(), self.said[-4000:]),
        )

    async def _checkpoints(self) -> dict[PartitionId, Checkpoint | None]:
        ledger = wiring.new_ledger(wiring.set_up(self.file, self.group.environment))
        found: dict[PartitionId, Checkpoint | None] = {}
        try:
            for number in range(self.group.partitions):
                reply = await ledger.perform(ReadCheckpoint(str(number)))
                assert reply is None or isinstance(reply, Checkpoint)
                found[str(number)] = reply
        finally:
            await ledger.close()
        return found

    # --- who is there

    def shares(self) -> Counter[str]:
        """How many partitions each member owns."""
        rows = self.group.listing().ownerships.values()
        return Counter(
            row.owner.name for row in rows if row.owner is not None and row.lease.is_held
        )

    def until_shares(self, *shares: int, seconds: float = 300) -> Counter[str]:
        """Waits until the members own so many partitions each; in any order."""

        def found() -> Counter[str] | None:
            owned = self.shares()
            return owned if sorted(owned.values()) == sorted(shares) else None

        owned = wait_until(
            found, seconds, f"shares {shares}", lambda: (self.shares(), self.said[-3000:])
        )
        assert owned is not None
        return owned

    def metrics(self) -> str:
        url = re.findall(r"metrics and health at (\S+)", self.said)[-1]
        with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
            return str(answer.read().decode())

    def figure(self, words: str) -> float:
        """Of a line of the metrics that holds these words; 0 where there is none yet."""
        lines = [line for line in self.metrics().splitlines() if words in line]
        return float(lines[0].rpartition(" ")[2]) if lines else 0.0

    # --- its processes

    @property
    def pid(self) -> int:
        return self.group.pid(NAME)

    def tree(self) -> list[psutil.Process]:
        """The driver's own processes: Spark, its executors, and their Python workers."""
        return psutil.Process(self.pid).children(recursive=True)

    def executors(self) -> list[psutil.Process]:
        return _that_run(_EXECUTOR, self.tree())

    def jvms(self) -> list[psutil.Process]:
        """The driver's own, which has the session."""
        return _that_run(_SESSION, self.tree())

    def masters(self) -> list[psutil.Process]:
        """Spark's own, of whom workers and executors are asked for."""
        return _that_run(_MASTER, self.tree())

    def planners(self) -> list[psutil.Process]:
        """The Python process of the query, which asks the driver what to read."""
        return [each for each in self.tree() if _PLANNER in _command(each)]

    def python_workers(self) -> list[psutil.Process]:
        """The workers of executors, which read the hub."""
        daemons = [
            child
            for executor in self.executors()
            for child in executor.children()
            if _DAEMON in _command(child)
        ]
        return [worker for daemon in daemons for worker in daemon.children()]


def _that_run(word: str, processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Without their children: one that is about to run something else looks like its parent."""
    found = {each.pid: each for each in processes if word in _command(each)}
    return [each for each in found.values() if _parent(each) not in found]


def _parent(process: psutil.Process) -> int:
    try:
        return int(process.ppid())
    except psutil.Error:
        return 0


def _command(process: psutil.Process) -> str:
    """What it runs; nothing where it has ended meanwhile."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


class NewDriven(Protocol):
    """Makes a group for a driver."""

    def __call__(
        self,
        pipeline: str = COUNTING,
        *,
        partitions: int = 4,
        more: str = "",
        delivery: str = "{}",
    ) -> DrivenGroup: ...


def truth(partitions: int, first: int, end: int) -> tuple[int, int]:
    """The totals of numbered events, sent to each partition."""
    return (end - first) * partitions, sum(range(first, end)) * partitions


def are_gone(processes: list[psutil.Process], seconds: float = 30) -> None:
    """Waits until none of them lives."""
    wait_until(
        lambda: not living(processes),
        seconds,
        "the processes to end",
        lambda: [_command(each)[-200:] for each in living(processes)],
    )


def spark_folders(folder: Path) -> list[Path]:
    """The folders for what Spark writes that are there."""
    return sorted(folder.glob("tidegate-spark-*"))
