"""Hosts of one processor on one container, ours and Java's own, for `make bench-cosmos`.

    with ours(place, ranges=16) as hosts:
        hosts.start("a", "b")
        until(lambda: hosts.is_even("a", "b"), 60)

Rules: both read the same server with the settings that they have where nothing is said. Items are
numbered and written once. A host of Java's counts as started when its processor says so, which
leaves the start of its JVM out; one of ours with its process.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from azure.cosmos.aio import CosmosClient

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.container_group import DATABASE, HANDLER, ContainerGroup, a_container_group
from tidegate_cosmos.running import RunningCosmos

BUILT = Path(__file__).resolve().parents[1] / ".tools" / "java"
# What Java's processor has where nothing is set, in milliseconds.
_DEFAULTS = {"pollMs": 5000, "acquireMs": 13_000, "renewMs": 17_000, "expiryMs": 60_000}
_HOMES, _AT_ONCE, _LOOK_S = 997, 16, 0.05


@dataclass(frozen=True, slots=True)
class Place:
    """Where hosts meet."""

    cosmos: RunningCosmos
    azurite: str
    folder: Path


def missing_of_java() -> str:
    """Why there are no hosts of Java's; empty where there are."""
    if shutil.which("java") is None:
        return "there is no java on the PATH"
    return "" if (BUILT / "classes").is_dir() else "its SDK is not there: run make test-java once"


def until(holds: Callable[[], bool], limit_s: float) -> float:
    """How long it took; the limit where it did not come to that."""
    begun = time.monotonic()
    while (taken := time.monotonic() - begun) < limit_s:
        if holds():
            return time.monotonic() - begun
        time.sleep(_LOOK_S)
    return taken


class Hosts(ABC):
    """See the module."""

    def __init__(self, place: Place, container: str, ranges: int) -> None:
        self.place = place
        self.container = container
        self.ranges = ranges
        self.written = 0

    @abstractmethod
    def start(self, *names: str) -> None:
        """Returns when they have started."""

    @abstractmethod
    def kill(self, name: str) -> None: ...

    @abstractmethod
    def owners(self) -> Counter[str]:
        """How many ranges each of them owns."""

    @abstractmethod
    def seen(self) -> set[int]:
        """The numbers of the items that they were given."""

    @abstractmethod
    def charge(self) -> float:
        """The request units that it all has cost."""

    def is_even(self, *names: str) -> bool:
        counts = self.owners()
        return (
            counts.total() == self.ranges
            and set(counts) == set(names)
            and max(counts.values()) - min(counts.values()) <= 1
        )

    def write(self, count: int) -> None:
        """So many more items, all over the keys."""
        asyncio.run(self._write(range(self.written, self.written + count)))
        self.written += count

    async def _write(self, numbers: range) -> None:
        turns = asyncio.Semaphore(_AT_ONCE)
        cosmos = self.place.cosmos
        async with CosmosClient(cosmos.endpoint, cosmos.key) as client:
            items = client.get_database_client(DATABASE).get_container_client(self.container)

            async def write(number: int) -> None:
                home = f"h{number % _HOMES}"
                async with turns:
                    await items.create_item(
                        {"id": str(number), "home": home, "n": number, "number": number}
                    )

            await asyncio.gather(*map(write, numbers))

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Some fifty items a second, all the time."""
        over = threading.Event()

        def write() -> None:
            while not over.wait(0.5):
                self.write(25)

        thread = threading.Thread(target=write, name="items")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(60)


class Ours(Hosts):
    """`tidegate run`, with its ledger in Blob storage."""

    def __init__(self, place: Place, group: ContainerGroup, ranges: int) -> None:
        super().__init__(place, group.name, ranges)
        self._group = group

    def start(self, *names: str) -> None:
        self._group.start(*names)

    def kill(self, name: str) -> None:
        self._group.kill(name)

    def owners(self) -> Counter[str]:
        return Counter(self._group.owners().values())

    def seen(self) -> set[int]:
        return set(self._group.seen())

    def charge(self) -> float:
        return self.place.cosmos.charge(DATABASE, self.container)


class Javas(Hosts):
    """Java's ChangeFeedProcessor, with its leases in a container beside."""

    def __init__(self, place: Place, container: str, ranges: int) -> None:
        super().__init__(place, container, ranges)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._leases = f"{container}-leases"
        place.cosmos.add_container(DATABASE, container, "/home", ranges=ranges)
        place.cosmos.add_container(DATABASE, self._leases, "/id", ranges=1)

    def start(self, *names: str) -> None:
        for name in names:
            self._start(name)
        late = until(lambda: all("started" in self._said(name) for name in names), 120) >= 120
        if late:
            raise SystemExit(f"hosts of Java's do not start: {[*map(self._said, names)]}")

    def _start(self, name: str) -> None:
        path = os.pathsep.join([str(BUILT / "classes"), str(BUILT / "lib" / "*")])
        command = ["java", "-Xmx256m", "-cp", path, "tidegate.sharing.FeedHost"]
        with self._file(name).open("ab") as out, self._file(f"{name}-err").open("ab") as errors:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=errors)
        self._processes[name] = process
        cosmos = self.place.cosmos
        told = {
            "endpoint": cosmos.endpoint, "key": cosmos.key, "database": DATABASE,
            "monitored": self.container, "leases": self._leases, "prefix": "bench",
            "host": name, "byRange": True, "pageItems": 1000, **_DEFAULTS,
        }  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(json.dumps(told).encode() + b"\n")
        process.stdin.flush()

    def _file(self, name: str) -> Path:
        return self.place.folder / f"{self.container}-{name}.out"

    def _said(self, name: str) -> str:
        return self._file(name).read_text(encoding="utf-8")

    def kill(self, name: str) -> None:
        with self._processes.pop(name) as process:
            process.kill()

    def owners(self) -> Counter[str]:
        items = self.place.cosmos.items(DATABASE, self._leases)
        return Counter(str(each["Owner"]) for each in items if each.get("Owner"))

    def seen(self) -> set[int]:
        files = self.place.folder.glob(f"{self.container}-*.out")
        lines = (line for file in files for line in file.read_text("utf-8").split("\n")[:-1])
        return {int(line[5:]) for line in lines if line.startswith("item ")}

    def charge(self) -> float:
        cosmos = self.place.cosmos
        return sum(cosmos.charge(DATABASE, each) for each in (self.container, self._leases))

    def close(self) -> None:
        for name in list(self._processes):
            self.kill(name)


@contextlib.contextmanager
def ours(place: Place, ranges: int) -> Iterator[Hosts]:
    folder = place.folder / f"ours-{time.monotonic_ns()}"
    folder.mkdir()
    with a_container_group(
        place.cosmos, place.azurite, folder, HANDLER, ranges=ranges, source=""
    ) as group:
        yield Ours(place, group, ranges)


@contextlib.contextmanager
def javas(place: Place, ranges: int) -> Iterator[Hosts]:
    hosts = Javas(place, f"java-{time.monotonic_ns()}", ranges)
    try:
        yield hosts
    finally:
        hosts.close()
