"""Opens what an office works with: the hub, and where dead letters go."""

from __future__ import annotations

import random
import time
from contextlib import AsyncExitStack

from tidegate.commands import wiring
from tidegate.member.messages import Report
from tidegate.ops import observer as facts
from tidegate.ops.board import FELL_BACK
from tidegate.ops.observer import Observer
from tidegate.spark.admission import Limit
from tidegate.spark.tools import Tools


async def open_tools(setup: wiring.Setup, stack: AsyncExitStack, observer: Observer) -> Tools:
    """All of it is closed with the stack. Raises SettingsError."""

    def fell_back(why: str) -> None:
        observer.hear(facts.Reported(time.monotonic(), Report(FELL_BACK, None, why)))

    letters = wiring.dead_letters(setup)
    if letters is not None:
        stack.push_async_callback(letters.close)
    hub = await wiring.open_source(setup, stack, fell_back)
    stack.push_async_callback(hub.close)
    spark = setup.group.spark
    return Tools(
        hub,
        setup.group.spec.delivery,
        Limit(spark.max_events, spark.max_bytes or 0),
        letters,
        observer,
        time.monotonic,
        time.time,
        random.random,
    )
