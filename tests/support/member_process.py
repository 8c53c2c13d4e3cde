"""One member of a group as a process of its own: `python member_process.py CONFIG.json`.

It logs what a user's handler would see, a line each, flushed at once, so that a kill loses nothing:

    s TIME                              it has started, and SIGTERM is a clean stop from now on
    h TIME PARTITION FIRST LAST COUNT   events were handled
    r TIME KIND PARTITION TEXT          a report of the member
    e TIME                              it has ended cleanly

With a `gate` in its configuration it begins once that file is there: so members begin together.

Rules: times are of the wall clock, which all processes of a machine share.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tidegate.handling import each_batch
from tidegate.ledger.access import BlobSettings
from tidegate.ledger.blob import BlobLedger
from tidegate.ledger.layout import GroupNames
from tidegate.member.messages import Report
from tidegate.model import PartitionId
from tidegate.ports import Ledger, Source, SourceEvent
from tidegate.runtime import Runtime
from tidegate.scratch import Scratch
from tidegate.settings import MemberSettings
from tidegate.sources.eventhubs import NativeSource
from tidegate.sources.eventhubs_sdk import SdkSource
from tidegate.sources.start import Start


class Log:
    """What happened, as lines of a file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8", buffering=1)

    def line(self, kind: str, *words: object) -> None:
        self._file.write(" ".join([kind, f"{time.time():.6f}", *map(str, words)]) + "\n")


def source_of(config: dict[str, Any]) -> Source:
    """The hub of a configuration, by its `transport`: `native`, or the official SDK's (`sdk`)."""
    kind = SdkSource if config["transport"] == "sdk" else NativeSource
    start = Start(config.get("start", "earliest"))
    return kind(config["events"], config["hub"], config["group"], start)


async def run(config: dict[str, Any]) -> None:
    log = Log(Path(config["log"]))
    names = GroupNames(config["host"], config["hub"], config["group"])
    lease_s = config.get("lease_s", 15)
    blobs = BlobSettings(
        config["container"],
        connection_string=config["blobs"],
        lease_s=lease_s,
        create=config.get("create", False),
    )

    def new_ledger() -> Ledger:
        return BlobLedger(blobs, names)

    async def handle(partition: PartitionId, events: Sequence[SourceEvent]) -> None:
        first, last = events[0].position.sequence, events[-1].position.sequence
        log.line("h", partition, first, last, len(events))
        await asyncio.sleep(config.get("handle_s", 0))

    def report(said: Report) -> None:
        log.line("r", said.kind, said.partition or "-", said.message.replace("\n", " "))

    scratch = Scratch(Path(config["scratch"])) if "scratch" in config else None
    runtime = Runtime(
        MemberSettings(config["name"], **config.get("settings", {})),
        new_ledger,
        source_of(config),
        each_batch(handle),
        scratch=scratch,
        report=report,
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, runtime.stop)
    log.line("s")
    while "gate" in config and not Path(config["gate"]).exists():
        await asyncio.sleep(0.01)
    await runtime.run()
    log.line("e")


if __name__ == "__main__":
    asyncio.run(run(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
