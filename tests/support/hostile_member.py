"""One member in this process, with a handler from a file; the hub is real, the ledger in memory.

    told = await lived(hub.connection_string, "h", folder, "handler.py:handle", policy, is_done)

The handler of a test notes what it has handled in its module's `SEEN`: partition and number.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from support.wait import wait_until_async
from tidegate.delivery.letters import DeadLetter, decode_letter, encode_letter
from tidegate.delivery.policy import Policy
from tidegate.handlers.context import About
from tidegate.handlers.ending import call_on_stop
from tidegate.handlers.loading import load
from tidegate.handlers.partition import deliveries
from tidegate.handlers.tools import Tools
from tidegate.ledger.memory import MemoryClient, MemoryLedger
from tidegate.member.messages import Report
from tidegate.model import Listing
from tidegate.ops.logs import Lines, Logged
from tidegate.ops.observer import Reported
from tidegate.ops.secrets import Secrets
from tidegate.ports import List
from tidegate.runtime import Runtime
from tidegate.settings import MemberSettings
from tidegate.sources.eventhubs import NativeSource
from tidegate.sources.start import Start


class _Letters:
    """Keeps letters as they are read back from where they are written."""

    def __init__(self) -> None:
        self.kept: dict[str, DeadLetter] = {}

    async def put(self, letter: DeadLetter) -> str:
        self.kept[letter.id] = decode_letter(encode_letter(letter))
        return f"here/{letter.id}"

    async def close(self) -> None:
        pass


class _Kept(logging.Handler):
    """The lines of a log, as they are written."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.setFormatter(Lines(Secrets(), as_json=False))

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@dataclass(slots=True)
class Told:
    """What is known of a member, while it lives and afterwards."""

    module: str
    letters: dict[str, DeadLetter]
    lines: list[str]
    checkpoints: dict[str, int] = field(default_factory=dict)

    def seen(self, partition: str) -> list[int]:
        """The numbers of a partition that the handler has handled, in their order."""
        pairs: list[tuple[str, int]] = sys.modules[self.module].SEEN
        return [number for of, number in list(pairs) if of == partition]

    @property
    def hits(self) -> int:
        """How many calls were given what the handler fails on."""
        return len(sys.modules[self.module].HITS)


async def lived(
    connection_string: str,
    hub: str,
    folder: Path,
    handler: str,
    policy: Policy,
    is_done: Callable[[Told], bool],
) -> Told:
    """Runs the member until that is so, and stops it. Whatever ends it before is raised."""
    code = load(handler, folder)
    ledger, letters, kept = MemoryLedger(), _Letters(), _Kept()
    log = logging.getLogger(f"tidegate.hostile.{handler}")
    log.addHandler(kept)
    log.propagate = False
    observer = Logged("g", "m", log)

    def report(said: Report) -> None:
        observer.hear(Reported(time.monotonic(), said))

    about = About("m", "g", hub)
    tools = Tools(
        code, policy, about, letters, report, time.monotonic, time.time, lambda: 0.5, observer
    )
    runtime = Runtime(
        MemberSettings("m", newcomer_grace_s=0.0, fast_tick_s=0.1, settled_tick_s=0.2),
        lambda: MemoryClient(ledger, time.time),
        NativeSource(connection_string, hub, "$default", Start("earliest")),
        deliveries(tools),
        report=report,
    )
    told = Told(handler.partition(".py")[0], letters.kept, kept.lines)
    running = asyncio.create_task(runtime.run())
    try:
        await wait_until_async(
            lambda: running.done() or is_done(told),
            60,
            "every event to be handled or put aside",
            lambda: (told.seen("0"), told.seen("1"), list(letters.kept), kept.lines[-20:]),
        )
        if running.done():
            raise AssertionError(f"the member has ended by itself: {running.exception()!r}")
        runtime.stop()
        await asyncio.wait_for(running, 30)
        await call_on_stop(tools)
    finally:
        running.cancel()
        await asyncio.wait([running])
    found = ledger.perform_at(List(), time.time())
    assert isinstance(found, Listing)
    told.checkpoints = {key: row.position.sequence for key, row in found.checkpoints.items()}
    return told
