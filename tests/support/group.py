"""A group of real processes on a real hub and Azurite, and what their handlers saw.

    with a_group(hub, azurite, directory, partitions=16) as group:
        group.start("a", "b")
        group.wait_until_read_by({"a", "b"}, 30)
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
from pathlib import Path
from typing import Any

from azure.storage.blob import BlobServiceClient

from support.member_logs import MemberLogs
from support.member_process import source_of
from support.steady_sender import steady_events
from support.wait import wait_until
from tidegate.ports import Source
from tidegate_hub.testing import RunningHub

OUR_PROGRAM = Path(__file__).with_name("member_process.py")
_numbers = itertools.count(1)


class Group(MemberLogs):
    """See the module. Made by `a_group`."""

    def __init__(
        self,
        hub: RunningHub,
        azurite: str,
        directory: Path,
        partitions: int,
        program: Path,
        config: dict[str, Any],
    ) -> None:
        super().__init__(directory)
        self._program = program
        self.storage = azurite
        number = next(_numbers)
        self.hub_name = f"group-{os.getpid()}-{number}"
        self.container = f"group-{os.getpid()}-{number}"
        self.partitions = partitions
        self._config = {
            "events": hub.connection_string,
            "hub": self.hub_name,
            "group": "$default",
            "transport": "native",
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

    def start(self, *names: str, program: Path | None = None, **config: Any) -> None:
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
                [sys.executable, str(program or self._program), str(path)],
                stdout=output,
                stderr=output,
            )
            output.close()

    def start_together(self, *names: str, **config: Any) -> None:
        """Starts members whose processes all begin at one moment, however long each took to be
        ready for it."""
        gate = self.directory / "gate"
        self.start(*names, gate=str(gate), **config)
        wait_until(lambda: self.are_ready(names), 60, "all members to be ready", self.outputs)
        gate.touch()

    def pids(self) -> list[int]:
        return [process.pid for process in self._processes.values()]

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

    def ends_within(self, name: str, seconds: float) -> bool:
        """Whether a member that was asked to stop ends; one that does not is killed, as Kubernetes
        does it."""
        try:
            self._processes[name].wait(max(seconds, 0.0))
        except subprocess.TimeoutExpired:
            self.kill(name)
            return False
        del self._processes[name]
        return True

    def close(self) -> None:
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait(30)

    def source(self) -> Source:
        """The hub, as members see it."""
        return source_of(self._config)

    # --- waiting for what handlers see

    def wait_until_read_by(
        self, names: set[str], seconds: float, *, since: float = 0.0, window_s: float = 1.5
    ) -> float:
        """Waits until these members, evenly, read every partition; gives when that was so.

        What was handled before `since` does not count, nor what is older than the window.
        """

        def is_so() -> bool:
            readers = self.readers(max(time.time() - window_s, since))
            shares = [list(readers.values()).count(name) for name in names]
            whole = len(readers) == self.partitions and set(readers.values()) == names
            return whole and max(shares) - min(shares) <= 1

        what = f"{sorted(names)} to read all {self.partitions} partitions"
        wait_until(is_so, seconds, what, self.standing)
        return time.time()

    def wait_for_readers(self, count: int, seconds: float) -> dict[str, str]:
        """Waits until so many partitions are read, by whomever; gives who reads which."""

        def found() -> dict[str, str] | None:
            readers = self.readers(time.time() - 1.5)
            return readers if len(readers) == count else None

        what = f"{count} partitions to be read"
        return wait_until(found, seconds, what, self.standing) or {}

    def wait_for_words(self, words: str, seconds: float) -> None:
        """Waits until some member reports these words."""

        def is_said() -> bool:
            return any(words in line for line in self.reports())

        wait_until(is_said, seconds, f"a report of {words!r}", self.standing)

    def wait_for_report(self, kind: str, seconds: float, *, of: str = "") -> str:
        """Waits until a member (`of`, or any) reports this; gives the line."""

        def found() -> str:
            lines = self.reports(kind)
            return next((line for line in lines if line.startswith(of)), "")

        return wait_until(found, seconds, f"a report of {kind}", self.standing)

    def standing(self) -> str:
        """Who handled what lately, and all reports, for messages."""
        readers = self.readers(time.time() - 1.5)
        return f"{dict(sorted(readers.items()))} {self.reports()} {self.outputs()}"

    def outputs(self) -> str:
        """What processes printed: errors that ended them."""
        return "\n".join(path.read_text()[-2000:] for path in sorted(self.directory.glob("*.out")))


@contextlib.contextmanager
def a_group(
    hub: RunningHub,
    azurite: str,
    directory: Path,
    partitions: int,
    *,
    program: Path = OUR_PROGRAM,
    every_s: float = 0.05,
    **config: Any,
) -> Iterator[Group]:
    """A group without members yet; an event comes to every partition every `every_s`."""
    group = Group(hub, azurite, directory, partitions, program, config)
    try:
        with steady_events(hub.port, group.hub_name, partitions, every_s=every_s):
            yield group
    finally:
        group.close()
