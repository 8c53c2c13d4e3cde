"""`tidegate run` with `engine: spark` on a container: totals are exact, whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from support.container_group import a_container_group
from support.driven_container import NAME, DrivenContainer, truth
from support.wait import wait_until
from tidegate_cosmos.testing import RunningCosmos

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

NewDriven = Callable[..., DrivenContainer]
COPIES = "pollSeconds: 0.2\n      stateOnSplit: copy"


@pytest.fixture
def new_driven(
    cosmos_server: RunningCosmos, azurite: str, java_home: Path, tmp_path: Path
) -> Iterator[NewDriven]:
    with ExitStack() as stack:

        def make(pipeline: str = "", **options: Any) -> DrivenContainer:
            given = {"source": COPIES, "delivery": "{checkpoint: {everySeconds: 1}}"} | options
            group = stack.enter_context(
                a_container_group(cosmos_server, azurite, tmp_path, **given)
            )
            group.environment["JAVA_HOME"] = str(java_home)
            return DrivenContainer(group, pipeline) if pipeline else DrivenContainer(group)

        yield make


def test_totals_are_exact_through_a_split_a_merge_and_a_driver_that_is_killed(
    new_driven: NewDriven,
) -> None:
    driven = new_driven(ranges=2)
    group = driven.group
    scratch = ("--scratch", str(group.folder / "leases"))
    group.write(200)
    driven.start(*scratch)
    driven.until_counted(200)
    with group.writing(per_s=100):
        group.split(0)
        said = "its range was split: goes on as"
        wait_until(lambda: said in driven.said, 90, "the split", lambda: driven.said[-3000:])
        group.kill(NAME)
        group.merge(1)
        driven.start(*scratch)
        driven.until_counted(group.written)
    driven.until_counted(group.written)
    assert driven.totals() == truth(group.written)
    group.stop(NAME)
    assert driven.totals() == truth(group.written)
    assert not any(row.lease.is_held for row in group.listing().ownerships.values())
    assert "the query failed" not in driven.said


PUT_ASIDE = "seventeen (pipeline.py, line 7): is at "
FAILING = """
from pyspark.sql import functions as F

def pipeline(df, context):
    for row in df.groupBy("partition").agg(F.max("n").alias("most"), F.count("*")).collect():
        if df.where("n = 17").count():
            raise ValueError("seventeen")
        state = context.state[row.partition]
        state["most"] = max(state.get("most", 0), row.most)
"""


def test_the_item_that_a_pipeline_fails_for_is_put_aside_and_the_rest_goes_on(
    new_driven: NewDriven,
) -> None:
    delivery = "{onFailure: deadLetter, attempts: 1, backoff: {firstSeconds: 0.1}}"
    driven = new_driven(FAILING, ranges=1, delivery=delivery)
    driven.group.write(40)
    driven.start()
    wait_until(
        lambda: PUT_ASIDE in driven.said,
        300,
        "the item to be put aside",
        lambda: driven.said[-4000:],
    )
    wait_until(
        lambda: b'"most":39' in b"".join(driven.states()).replace(b" ", b""),
        120,
        "the rest to be handled",
        lambda: (driven.states(), driven.said[-3000:]),
    )
    assert driven.said.count(PUT_ASIDE) == 1, "one item alone was put aside"
