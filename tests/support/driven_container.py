"""A container that is read by a Spark driver, `tidegate run` with `engine: spark`.

    driven = DrivenContainer(group)          # `group` is a ContainerGroup with stateOnSplit: copy
    driven.start()
    driven.until_counted(group.written)
    assert driven.totals() == truth(group.written)

The pipeline counts each home into the state that stands with each checkpoint. A home's items are of
one partition key, so that a partition which has a copy of another's state goes on with its own
homes alone: of each home the highest count is the one that holds.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Sequence

from support.container_group import ContainerGroup
from support.wait import wait_until
from tidegate.commands import wiring
from tidegate.model import Checkpoint, PartitionId
from tidegate.ports import LedgerError, ReadCheckpoint, Refusal

NAME = "driver"
COUNTING = """
from pyspark.sql import functions as F

def pipeline(df, context):
    counted = df.groupBy("partition", "home").agg(F.count("*").alias("n"), F.sum("n").alias("sum"))
    for row in counted.collect():
        state = context.state[row.partition]
        n, total = state.get(row.home, (0, 0))
        state[row.home] = [n + row.n, total + row["sum"]]
"""
_SPARK = """
  engine: spark
  spark:
    schema: "home string, n long"
    triggerSeconds: 0.5
    maxEvents: 500
    driver: {memory: 600m}
    executor: {memory: 512m}
"""
_LOOK_S = 1.0
Totals = dict[str, tuple[int, int]]


class DrivenContainer:
    """See the module."""

    def __init__(self, group: ContainerGroup, pipeline: str = COUNTING) -> None:
        self.group = group
        (group.folder / "pipeline.py").write_text(pipeline, encoding="utf-8")
        self.file = group.folder / "spark.yaml"
        text = group.file.read_text(encoding="utf-8").rstrip()
        text = text.replace("handler.py:handle", "pipeline.py:pipeline")
        self.file.write_text(text + _SPARK, encoding="utf-8")

    def start(self, *more: str) -> None:
        self.group.start(NAME, more=("--listen", "127.0.0.1:0", *more), file=self.file)

    @property
    def said(self) -> str:
        return self.group.output(NAME)

    def states(self) -> Sequence[bytes]:
        """Those that stand with the checkpoints."""
        return asyncio.run(self._states(tuple(self.group.listing().checkpoints)))

    def totals(self) -> Totals:
        """Of each home: how many items were counted, and the sum of their numbers."""
        found: Totals = {}
        for state in self.states():
            for home, (count, total) in json.loads(state).items():
                found[home] = max(found.get(home, (0, 0)), (count, total))
        return found

    async def _states(self, partitions: Sequence[PartitionId]) -> Sequence[bytes]:
        ledger = wiring.new_ledger(wiring.set_up(self.file, self.group.environment))
        found: list[bytes] = []
        try:
            for partition in partitions:
                reply = await ledger.perform(ReadCheckpoint(partition))
                assert reply is None or isinstance(reply, Checkpoint)
                if reply is not None and reply.state:
                    found.append(reply.state)
        finally:
            await ledger.close()
        return found

    def until_counted(self, items: int, seconds: float = 300) -> None:
        """Waits until so many items were counted, or more."""

        def counted() -> int:
            # A look costs storage as much as a batch does: the machine is for those.
            time.sleep(_LOOK_S)
            try:
                return sum(count for count, _ in self.totals().values())
            except LedgerError as error:
                # Storage that is slow for a look is no total: it is looked at again.
                assert error.refusal in (Refusal.BUSY, Refusal.UNKNOWN), error
                return -1

        wait_until(
            lambda: counted() >= items,
            seconds,
            f"{items} items to be counted",
            lambda: (counted(), self.said[-4000:]),
        )


def truth(written: int, homes: int = 64) -> Totals:
    """The totals of all items that a ContainerGroup has written."""
    counts, sums = Counter[str](), Counter[str]()
    for number in range(written):
        counts[f"h{number % homes}"] += 1
        sums[f"h{number % homes}"] += number
    return {home: (counts[home], sums[home]) for home in counts}
