"""A member that owns nothing: its CPU, beside the official SDK's processor, sync and of asyncio.

A hub of one partition and a group of two: the second has nothing to own. That is every member of a
group that has more of them than partitions, and every newcomer until it is given something.

Rules: whole processes with their defaults, on one hub and one Azurite; the other member reads an
event a second. CPU is counted once the partition has been read for so long that all are settled.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from harness import Bench, cpu_seconds, make_line

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.azurite import running_azurite
from support.group import a_group
from tidegate_hub.testing import running_hub

HERE = Path(__file__).resolve().parent
PEERS = {"sync": HERE / "sdk_sync_member.py", "aio": HERE / "sdk_member.py"}
NOT_QUICK = "the peer settles in half a minute: run without QUICK=1"
READ_LIMIT_S, SETTLE_S, COUNTED_S, QUICK_S = 90.0, 10.0, 30.0, 10.0


def core_percent(program: Path | None, counted_s: float) -> float:
    """What the member takes that owns nothing."""
    with tempfile.TemporaryDirectory(prefix="bench-idle-") as name:
        folder = Path(name)
        with (
            running_azurite(folder) as azurite,
            running_hub() as hub,
            a_group(hub, azurite, folder, 1, every_s=1.0) as group,
        ):
            group.start("owner", program=program)
            group.wait_for_readers(1, READ_LIMIT_S)
            group.start("other", program=program)
            (pid,) = (pid for pid in group.pids() if pid != group.pids()[0])
            time.sleep(SETTLE_S)
            before = cpu_seconds(pid)
            time.sleep(counted_s)
            used = (cpu_seconds(pid) - before) / counted_s * 100
            if set(group.readers(time.time() - 3.0).values()) != {"owner"}:
                raise RuntimeError(f"the partition moved meanwhile: {group.standing()}")
            return used


def main() -> None:
    bench = Bench("idle")
    ours = core_percent(None, QUICK_S if bench.quick else COUNTED_S)
    for name, program in PEERS.items():
        theirs = None if bench.quick else core_percent(program, COUNTED_S)
        bench.add(
            make_line(
                f"a member that owns nothing, SDK {name}", "% of a core", ours=round(ours, 2),
                peer=None if theirs is None else round(theirs, 2), target=1.0,
                reason=NOT_QUICK if theirs is None else None,
            )
        )  # fmt: skip
    bench.finish()


if __name__ == "__main__":
    main()
