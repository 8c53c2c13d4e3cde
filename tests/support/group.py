"""A group of real processes on a real hub and Azurite, and what their handlers saw.

    with a_group(hub, azurite, directory, partitions=16) as group:
        group.start("a", "b")
        group.wait_until_all_are_read(30)
        group.kill("a")

Rules: processes are ended by their own id; everything they logged stays in `directory`.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from azure.storage.blob import BlobServiceClient

from support.steady_sender import steady_events
from support.wait import wait_until
from tidegate_hub.testing import RunningHub

_PROGRAM = Path(__file__).with_name("member_process.py")
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Batch:
    """Events that a handler was given."""

    at: float
    member: str
    partition: str
    first: int
    last: int


class Group:
    """See the module. Made by `a_group`."""

    def __init__(
        self, hub: RunningHub, azurite: str, directory: Path, partitions: int, **config: Any
    ) -> None:
        number = next(_numbers)
        self.hub_name = f"group-{os.getpid()}-{number}"
        self.container = f"group-{os.getpid()}-{number}"
        self.partitions = partitions
        self.directory = directory
        self._config = {
            "events": hub.connection_string,
            "hub": self.hub_name,
            "group": "$default",
            "host": "localhost",
            "blobs": azurite,
            "container": self.container,
            **config,
        }
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        hub.add_hub(self.hub_name, partitions)
        with BlobServiceClient.from_connection_string(azurite) as service:
            service.create_container(self.container)

    # --- processes

    def start(self, *names: str, **config: Any) -> None:
        for name in names:
            settings = {
                **self._config,
                "name": name,
                "log": str(self.directory / f"{name}.log"),
                "scratch": str(self.directory / f"{name}.leases"),
                **config,
            }
            path = self.directory / f"{name}.json"
            path.write_text(json.dumps(settings), encoding="utf-8")
            output = (self.directory / f"{name}.out").open("ab")
            self._processes[name] = subprocess.Popen(
                [sys.executable, str(_PROGRAM), str(path)], stdout=output, stderr=output
            )
            output.close()

    def signal(self, name: str, number: signal.Signals) -> float:
        """Sends a signal; gives when."""
        at = time.time()
        self._processes[name].send_signal(number)
        return at

    def kill(self, name: str) -> float:
        at = self.signal(name, signal.SIGKILL)
        self._processes.pop(name).wait(30)
        return at

    def stop(self, *names: str) -> float:
        """Clean stops; waits for their ends."""
        at = time.time()
        for name in names:
            self._processes[name].terminate()
        for name in names:
            code = self._processes.pop(name).wait(60)
            if code != 0:
                said = (self.directory / f"{name}.out").read_text(errors="replace")
                raise ChildProcessError(f"member {name} ended with {code}:\n{said[-3000:]}")
        return at

    def close(self) -> None:
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait(30)

    # --- what handlers saw

    def batches(self, since: float = 0.0) -> list[Batch]:
        """All that was handled since a moment, by time."""
        found = []
        for path in self.directory.glob("*.log"):
            for line in path.read_text(encoding="utf-8").splitlines():
                words = line.split()
                if len(words) == 6 and words[0] == "h" and float(words[1]) >= since:
                    found.append(
                        Batch(float(words[1]), path.stem, words[2], int(words[3]), int(words[4]))
                    )
        return sorted(found, key=lambda batch: batch.at)

    def reports(self, kind: str = "") -> list[str]:
        """What members reported."""
        return [
            line
            for path in sorted(self.directory.glob("*.log"))
            for line in path.read_text(encoding="utf-8").splitlines()
            if line.startswith("r ") and (not kind or line.split()[2] == kind)
        ]

    def readers(self, since: float) -> dict[str, str]:
        """Who handled each partition last."""
        return {batch.partition: batch.member for batch in self.batches(since)}

    def wait_until_read_by(
        self, names: set[str], seconds: float, *, window_s: float = 1.5
    ) -> float:
        """Waits until these members, evenly, read every partition; gives when that was so."""

        def is_so() -> bool:
            readers = self.readers(time.time() - window_s)
            shares = [list(readers.values()).count(name) for name in names]
            whole = len(readers) == self.partitions and set(readers.values()) == names
            return whole and max(shares) - min(shares) <= 1

        wait_until(is_so, seconds, f"{sorted(names)} to read all {self.partitions} partitions")
        return time.time()

    def wait_for_line(self, path: Path, words: str, seconds: float) -> None:
        """Waits until a log has a line with these words."""
        wait_until(
            lambda: path.exists() and words in path.read_text(encoding="utf-8"),
            seconds,
            f"{words!r} in {path.name}",
        )

    def duplicates(self) -> int:
        """Events that were handled more than once."""
        seen: dict[str, set[int]] = {}
        again = 0
        for batch in self.batches():
            done = seen.setdefault(batch.partition, set())
            for sequence in range(batch.first, batch.last + 1):
                again += sequence in done
                done.add(sequence)
        return again

    def missing(self) -> list[str]:
        """Events that were passed over: gaps in what was handled of a partition."""
        seen: dict[str, set[int]] = {}
        for batch in self.batches():
            seen.setdefault(batch.partition, set()).update(range(batch.first, batch.last + 1))
        return [
            f"{partition}: {sequence}"
            for partition, done in seen.items()
            for sequence in range(max(done))
            if sequence not in done
        ]

    def idle(self, since: float, until: float) -> dict[str, float]:
        """The longest time that each partition was not handled, where its reader changed."""
        longest: dict[str, float] = {}
        last: dict[str, Batch] = {}
        for batch in self.batches(since - 2):
            before = last.get(batch.partition)
            changed = before is not None and before.member != batch.member
            if before is not None and changed and since <= batch.at <= until:
                gap = batch.at - max(before.at, since)
                longest[batch.partition] = max(longest.get(batch.partition, 0.0), gap)
            last[batch.partition] = batch
        return longest

    def moves(self, since: float) -> int:
        """How often the reader of a partition changed."""
        count = 0
        last: dict[str, str] = {}
        for batch in self.batches():
            before = last.get(batch.partition)
            count += before is not None and before != batch.member and batch.at >= since
            last[batch.partition] = batch.member
        return count


@contextlib.contextmanager
def a_group(
    hub: RunningHub, azurite: str, directory: Path, partitions: int, **config: Any
) -> Iterator[Group]:
    """A group without members yet, and events that come to every partition all the time."""
    group = Group(hub, azurite, directory, partitions, **config)
    try:
        with steady_events(hub.port, group.hub_name, partitions):
            yield group
    finally:
        group.close()
