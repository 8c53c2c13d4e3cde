"""Takes an executor out of work before its pod ends: the pod's preStop hook runs this.

Rules: the executor is told by SIGPWR, upon which it tells the driver, takes no new task, ends those
that it has and then itself. The hook returns once it has ended, or when its time is up: what is
left of the pod's grace period is for the executor's ordinary end. Where there is no executor the
hook returns at once. It writes to the output of the first process, which is the log of the
container: what a hook prints itself is kept nowhere.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tidegate.spark.entry import EXECUTOR_CLASS

# Of Kubernetes' 30 seconds of grace, unless Spark is told another number (and this one with it).
SECONDS = 25.0
SECONDS_FROM = "TIDEGATE_DECOMMISSION_S"
LOOK_EVERY_S = 0.2
PROCESSES = Path("/proc")


def executor_in(processes: Path) -> int | None:
    """The process id of the executor's JVM."""
    for folder in sorted(processes.glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it ended while it was looked at
            continue
        # The whole word, and behind the program: an init or a shell has it in one with others.
        if words[0].endswith(b"java") and EXECUTOR_CLASS.encode() in words:
            return int(folder.name)
    return None


def decommission(
    processes: Path,
    seconds: float,
    tell: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Whether the executor has ended after it was asked to."""
    executor = executor_in(processes)
    if executor is None:
        tell("No executor runs here, so there is none to take out of work.")
        return True
    begun = clock()
    try:
        os.kill(executor, signal.SIGPWR)
    except ProcessLookupError:
        return True
    tell("The pod is to end: the executor takes no new tasks.")
    while executor_in(processes) == executor:
        if clock() - begun >= seconds:
            tell(f"The executor had not ended its work after {seconds:.0f} s.")
            return False
        time.sleep(LOOK_EVERY_S)
    tell(f"The executor ended its work in {clock() - begun:.1f} s.")
    return True


def _to_log(text: str) -> None:
    try:
        with Path("/proc/1/fd/2").open("w") as log:
            print(text, file=log)
    except OSError:  # outside of a container the first process is not ours
        print(text, file=sys.stderr)


def main() -> int:
    """Decommission the executor of this container."""
    decommission(PROCESSES, float(os.environ.get(SECONDS_FROM, SECONDS)), _to_log)
    return 0  # a hook that fails only costs an event in the pod: it ends all the same


if __name__ == "__main__":
    sys.exit(main())
