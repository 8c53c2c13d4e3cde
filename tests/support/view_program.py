"""A member that is not there, with everything around it, on the terminal that it is started on.

It tells facts as a member does, logs and prints as handlers do, with a secret among it, until a
line comes on its input; then it leaves as `tidegate run` does.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time

from support.ops_facts import handled, listing
from tidegate.ops import observer as facts
from tidegate.ops.around import OpsSettings, around

SECRET = "c2VjcmV0LW9mLXRoZS1wcm9ncmFt"


async def main() -> None:
    partitions = tuple(str(number) for number in range(4))
    async with around(
        OpsSettings(),
        member="pod-1",
        group="home-activity",
        hub="telemetry",
        secrets=[SECRET],
        environment=os.environ,
    ) as ops:
        now = time.monotonic()
        ops.observer.hear(facts.PartitionsKnown(now, partitions))
        owners: dict[str, str | None] = dict.fromkeys(partitions[2:], "pod-2")
        ops.observer.hear(facts.Listed(now, listing(owners, ("pod-1", "pod-2"))))
        for partition in partitions[:2]:
            ops.observer.hear(facts.ReaderOpened(now, partition, 7))
            ops.observer.hear(handled(partition, 1_234, at=now))
        print(f"a handler prints {SECRET}")
        logging.getLogger("handlers").warning("a handler warns of %s", SECRET)
        await asyncio.to_thread(sys.stdin.readline)
        ops.observer.hear(facts.Stopping(time.monotonic()))
    print("it has ended")


if __name__ == "__main__":
    asyncio.run(main())
