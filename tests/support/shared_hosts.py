"""Hosts of Java's change feed processor and members of ours, which share leases under a writer.

    with shared_hosts(cosmos, folder) as shared:
        shared.start_java("java-1")
        shared.start_member("ours-1")
        shared.wait_until(lambda: shared.owners()["java-1"] > 0, "a host of Java's owns a lease")
        shared.split()

Rules: every item has a number, given once; a host writes down each number that it was given before
its batch counts as handled. Processes are ended by their own id; what they said stays there.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from azure.cosmos import CosmosClient

from support.tree import ROOT
from support.wait import wait_until
from tidegate_cosmos.running import RunningCosmos

BUILT = ROOT / ".tools" / "java"
JAVA = [
    "java", "-Xmx256m", "-cp", os.pathsep.join([str(BUILT / "classes"), str(BUILT / "lib" / "*")]),
    "tidegate.sharing.FeedHost",
]  # fmt: skip
_TIDEGATE = Path(sys.executable).with_name("tidegate")
# How often Java's hosts take and renew leases, and after what time one is anybody's.
EXPIRY_S = 10.0
_CLOCKS = {"pollMs": 300, "acquireMs": 2000, "renewMs": 3000, "expiryMs": int(EXPIRY_S * 1000)}
_PREFIX = "shared"
_LOOK_S = 0.25
_HANDLER = """\
import os
_log = os.open(os.environ["SEEN"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def handle(events, context):
    os.write(_log, "".join(f"item {event['number']}\\n" for event in events).encode())
"""
_FILE = f"""\
apiVersion: tidegate.dev/v1alpha1
kind: ConsumerGroup
metadata: {{name: shared}}
spec:
  source:
    cosmos:
      {{database: d, container: monitored, connectionString: {{env: COSMOS}}, start: earliest,
        pollSeconds: 0.3, pageItems: 20}}
  ledger:
    cosmos:
      {{database: d, container: leases, connectionString: {{env: COSMOS}}, dialect: DIALECT,
        prefix: {_PREFIX}, hostExpirySeconds: {EXPIRY_S:g}}}
  handler: {{code: "handler.py:handle"}}
  delivery: {{checkpoint: {{everySeconds: 1}}}}
"""


class SharedHosts:
    """See the module. Made by `shared_hosts`."""

    def __init__(self, cosmos: RunningCosmos, folder: Path, dialect: str, ranges: int) -> None:
        self.cosmos = cosmos
        self._folder = folder
        self._dialect = dialect
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        cosmos.add_container("d", "leases")
        cosmos.add_container("d", "monitored", "/home", ranges=ranges)
        (folder / "handler.py").write_text(_HANDLER, encoding="utf-8")
        (folder / "group.yaml").write_text(_FILE.replace("DIALECT", dialect), encoding="utf-8")
        self.written = 0
        self.moves = 0
        self._last_owner: dict[str, str] = {}
        self._stopping = threading.Event()
        self._writer = threading.Thread(target=self._write, name="writer", daemon=True)

    # --- items

    def _write(self) -> None:
        with CosmosClient(self.cosmos.endpoint, self.cosmos.key) as client:
            monitored = client.get_database_client("d").get_container_client("monitored")
            while not self._stopping.is_set():
                number = self.written
                item = {"id": str(number), "home": f"home-{number % 97}", "number": number}
                monitored.create_item(item)
                self.written = number + 1
                # A pace, not a wait for anything: some 50 items a second.
                self._stopping.wait(0.02)

    def begin(self) -> None:
        self._writer.start()

    def end(self) -> None:
        """Nothing is written any more."""
        self._stopping.set()
        self._writer.join(30)

    def seen(self) -> dict[str, list[int]]:
        """The numbers that each host was given, in its order."""
        found: dict[str, list[int]] = {}
        for path in sorted(self._folder.glob("*.seen")):
            lines = path.read_text(encoding="utf-8").split("\n")[:-1]
            found[path.stem] = [int(line[5:]) for line in lines if line.startswith("item ")]
        return found

    def lost(self) -> set[int]:
        return set(range(self.written)) - {n for each in self.seen().values() for n in each}

    def repeats(self) -> int:
        numbers = [number for each in self.seen().values() for number in each]
        return len(numbers) - len(set(numbers))

    # --- hosts

    def start_java(self, name: str) -> None:
        told = {
            "endpoint": self.cosmos.endpoint,
            "key": self.cosmos.key,
            "database": "d",
            "monitored": "monitored",
            "leases": "leases",
            "prefix": _PREFIX,
            "host": name,
            "byRange": self._dialect == "javaEpk",
            "pageItems": 20,
            **_CLOCKS,
        }
        process = self._start(name, JAVA, f"{name}.seen")
        assert process.stdin is not None
        process.stdin.write(json.dumps(told).encode() + b"\n")
        process.stdin.flush()

    def start_member(self, name: str) -> None:
        command = [str(_TIDEGATE), "run", str(self._folder / "group.yaml"), "--name", name]
        self._start(name, [*command, "--log-format", "text", "--no-view"], f"{name}.log")

    def _start(self, name: str, command: list[str], output: str) -> subprocess.Popen[bytes]:
        environment = os.environ | {
            "COSMOS": self.cosmos.connection_string,
            "SEEN": str(self._folder / f"{name}.seen"),
        }
        errors_to = self._folder / f"{name}.err"
        with (self._folder / output).open("ab") as out, errors_to.open("ab") as errors:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=out, stderr=errors, env=environment
            )
        self._processes[name] = process
        return process

    def kill(self, name: str) -> None:
        with self._processes.pop(name) as process:
            process.kill()

    def stop(self, name: str) -> None:
        """A clean stop."""
        process = self._processes.pop(name)
        assert process.stdin is not None
        process.stdin.close()
        if name.startswith("ours"):
            process.terminate()
        assert process.wait(60) == 0, f"{name} ended badly: see {name}.err in {self._folder}"

    def stop_all(self) -> None:
        for name in list(self._processes):
            self.kill(name)

    # --- leases

    def leases(self) -> dict[str, str | None]:
        """Who owns each lease, by its token."""
        items = self.cosmos.items("d", "leases")
        return {str(each["LeaseToken"]): each["Owner"] for each in items if "LeaseToken" in each}

    def owners(self) -> Counter[str]:
        return Counter(owner for owner in self.leases().values() if owner)

    def has_equal_counts(self, *names: str) -> bool:
        counts = self.owners()
        return set(counts) == set(names) and max(counts.values()) - min(counts.values()) <= 1

    def wait_until(self, holds: Callable[[], bool], what: str, limit_s: float = 90.0) -> None:
        asked_at = 0.0

        def looked() -> bool:
            nonlocal asked_at
            if time.monotonic() - asked_at < _LOOK_S:
                return False
            asked_at = time.monotonic()
            self._count_moves()
            return holds()

        wait_until(looked, limit_s, what, self.described)

    def described(self) -> str:
        lost = sorted(self.lost())
        return f"leases {self.leases()}, written {self.written}, {len(lost)} not seen: {lost[:20]}"

    def _count_moves(self) -> None:
        """Leases that have another owner than when it was looked last, none in between or some."""
        now = self.leases()
        for token, owner in now.items():
            if owner is not None:
                self.moves += self._last_owner.get(token, owner) != owner
                self._last_owner[token] = owner

    # --- ranges

    def split(self) -> None:
        """Splits the first range of the monitored container."""
        ranges = self.cosmos.ranges("d", "monitored")
        self.cosmos.split("d", "monitored", min(ranges, key=lambda id: ranges[id]))

    def split_of(self, name: str) -> None:
        """Splits a range that a host owns, where leases are named by ids of ranges."""
        self.cosmos.split(
            "d", "monitored", min(id for id, at in self.leases().items() if at == name)
        )

    def merge(self) -> None:
        """Merges the first two ranges of the monitored container."""
        ranges = self.cosmos.ranges("d", "monitored")
        first, second = sorted(ranges, key=lambda id: ranges[id])[:2]
        self.cosmos.merge("d", "monitored", first, second)


@contextlib.contextmanager
def shared_hosts(
    cosmos: RunningCosmos, folder: Path, dialect: str = "javaEpk", ranges: int = 4
) -> Iterator[SharedHosts]:
    """Leases and a monitored container, under a writer; all processes are ended in the end."""
    shared = SharedHosts(cosmos, folder, dialect, ranges)
    shared.begin()
    try:
        yield shared
    finally:
        shared.end()
        shared.stop_all()
