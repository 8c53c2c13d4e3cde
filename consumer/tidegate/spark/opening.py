"""Opens what an office works with: the source, and where dead letters go."""

from __future__ import annotations

import random
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, cast

from tidegate.commands import wiring
from tidegate.member.messages import Report
from tidegate.ops import observer as facts
from tidegate.ops.board import FELL_BACK
from tidegate.ops.observer import Observer
from tidegate.spark.admission import Limit
from tidegate.spark.container_place import SHARE_OF_DRIVER
from tidegate.spark.tools import Tools

if TYPE_CHECKING:
    from tidegate.sources.cosmos.source import CosmosSource


async def open_tools(setup: wiring.Setup, stack: AsyncExitStack, observer: Observer) -> Tools:
    """All of it is closed with the stack. Raises SettingsError."""

    def fell_back(why: str) -> None:
        observer.hear(facts.Reported(time.monotonic(), Report(FELL_BACK, None, why)))

    letters = wiring.dead_letters(setup)
    if letters is not None:
        stack.push_async_callback(letters.close)
    source = await wiring.open_source(setup, stack, fell_back)
    stack.push_async_callback(source.close)
    cosmos = setup.group.spec.source.cosmos
    if cosmos is not None and cosmos.request_units_per_second is not None:
        # The rest is for the workers, who read.
        bound = cosmos.request_units_per_second * SHARE_OF_DRIVER
        cast("CosmosSource", source).budget.bound(bound)
    spark = setup.group.spark
    return Tools(
        source,
        setup.group.spec.delivery,
        Limit(spark.max_events, spark.max_bytes or 0),
        letters,
        observer,
        time.monotonic,
        time.time,
        random.random,
    )
