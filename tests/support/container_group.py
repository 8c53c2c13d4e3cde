"""A group that reads a Cosmos container, by `tidegate run` on tidegate-cosmos and Azurite.

    with a_container_group(cosmos, azurite, folder, HANDLER, ranges=4) as group:
        group.start("a", "b")
        with group.writing(per_s=200):
            group.split(); group.kill("a")
        group.wait_until_all_seen(60)
        group.repeats()                       # items that were given again

The handler of a test writes what it sees by `from seen import see`; a line each, flushed at once.
Rules: items are numbered and written once each; processes are ended by their own id; everything
they said stays in the folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from azure.cosmos import CosmosClient
from azure.storage.blob import BlobServiceClient

from support.command_group import SEEN
from support.wait import wait_until
from tidegate.commands import wiring
from tidegate.model import Listing, PartitionId
from tidegate.ports import List
from tidegate.ports.lineage import Tiling
from tidegate_cosmos.testing import RunningCosmos

_TIDEGATE = Path(sys.executable).with_name("tidegate")
DATABASE = "home"
HANDLER = """
from seen import see
async def handle(changes, context):
    for change in changes:
        see("h", context.member, context.partition, context.epoch, change["n"], change.lsn)
"""
_FILE = """\
apiVersion: tidegate.dev/v1alpha1
kind: ConsumerGroup
metadata: {{name: {name}}}
spec:
  source:
    cosmos:
      database: home
      container: {name}
      connectionString: {{env: COSMOS}}
      start: {start}
      {source}
  ledger: {{container: {name}, connectionString: {{env: STORAGE}}}}
  handler: {{code: "handler.py:handle"}}
  delivery: {delivery}
"""
_numbers = itertools.count(1)


class ContainerGroup:
    """See the module. Made by `a_container_group`."""

    def __init__(
        self,
        cosmos: RunningCosmos,
        azurite: str,
        folder: Path,
        handler: str,
        *,
        ranges: int,
        source: str,
        delivery: str,
        start: str,
    ) -> None:
        self.name = f"container-{os.getpid()}-{next(_numbers)}"
        self.folder = folder
        self.cosmos = cosmos
        self.environment = os.environ | {"COSMOS": cosmos.connection_string, "STORAGE": azurite}
        cosmos.add_container(DATABASE, self.name, "/home", ranges=ranges)
        with BlobServiceClient.from_connection_string(azurite) as service:
            service.create_container(self.name)
        (folder / "seen.py").write_text(SEEN, encoding="utf-8")
        (folder / "handler.py").write_text(handler, encoding="utf-8")
        self.file = folder / "group.yaml"
        text = _FILE.format(name=self.name, source=source, delivery=delivery, start=start)
        self.file.write_text(text, encoding="utf-8")
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.written = 0

    # --- items

    def write(self, count: int, homes: int = 64) -> None:
        """So many more items, in order of their numbers."""
        with CosmosClient(self.cosmos.endpoint, self.cosmos.key) as client:
            items = client.get_database_client(DATABASE).get_container_client(self.name)
            for number in range(self.written, self.written + count):
                home = f"h{number % homes}"
                items.upsert_item({"id": str(number), "home": home, "n": number})
        self.written += count

    @contextlib.contextmanager
    def writing(self, per_s: float = 100) -> Iterator[None]:
        """Items all the time until the block ends."""
        over = threading.Event()

        def write() -> None:
            while not over.wait(0.1):
                self.write(max(int(per_s / 10), 1))

        thread = threading.Thread(target=write, name="items")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(60)

    def ranges(self) -> list[str]:
        """The ids of the server's ranges, in the order of their keys."""
        found = self.cosmos.ranges(DATABASE, self.name)
        return sorted(found, key=lambda id: found[id][0])

    def partitions_of_service(self) -> list[PartitionId]:
        found = self.cosmos.ranges(DATABASE, self.name).values()
        return [f"{least}-{beyond}".lower() for least, beyond in sorted(found)]

    def split(self, index: int = 0) -> None:
        self.cosmos.split(DATABASE, self.name, self.ranges()[index])

    def merge(self, index: int = 0) -> None:
        first, second = self.ranges()[index : index + 2]
        self.cosmos.merge(DATABASE, self.name, first, second)

    # --- processes

    def start(self, *names: str, more: Sequence[str] = (), file: Path | None = None) -> None:
        """Members; `more` are further words of the command, `file` another file of the group."""
        for name in names:
            told = ("--name", name, "--log-format", "text", "--no-view", *more)
            with (self.folder / f"{name}.out").open("ab") as output:
                self._processes[name] = subprocess.Popen(
                    [_TIDEGATE, "run", file or self.file, *told],
                    env=self.environment,
                    stdout=output,
                    stderr=output,
                )

    def pid(self, name: str) -> int:
        return self._processes[name].pid

    def kill(self, name: str) -> None:
        process = self._processes.pop(name)
        process.kill()
        process.wait(30)

    def stop(self, *names: str) -> None:
        """Clean stops; waits for their ends."""
        for name in names:
            self._processes[name].send_signal(signal.SIGTERM)
        for name in names:
            code = self._processes.pop(name).wait(60)
            assert code == 0, f"{name} ended with {code}: {self.output(name)[-3000:]}"

    def output(self, name: str) -> str:
        return (self.folder / f"{name}.out").read_text(encoding="utf-8", errors="replace")

    def outputs(self) -> str:
        names = sorted(path.stem for path in self.folder.glob("*.out"))
        return "\n".join(f"--- {name}\n{self.output(name)[-1500:]}" for name in names)

    def close(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait(30)

    # --- what was seen

    def lines(self) -> list[list[str]]:
        path = self.folder / "seen.log"
        # The last line may be half written.
        whole = path.read_text(encoding="utf-8").rpartition("\n")[0] if path.exists() else ""
        return [line.split() for line in whole.splitlines()]

    def seen(self) -> Counter[int]:
        """How often each item was given."""
        return Counter(int(line[4]) for line in self.lines() if line[0] == "h")

    def readers(self) -> dict[PartitionId, str]:
        """Who was given something of each partition last."""
        return {line[2]: line[1] for line in self.lines() if line[0] == "h"}

    def repeats(self) -> int:
        return sum(count - 1 for count in self.seen().values())

    def missing(self) -> list[int]:
        seen = self.seen()
        return [number for number in range(self.written) if number not in seen]

    def wait_until_all_seen(self, seconds: float) -> None:
        wait_until(lambda: not self.missing(), seconds, "all items to be seen", self._standing)

    def _standing(self) -> str:
        missing = self.missing()
        return f"{len(missing)} missing, such as {missing[:5]}; {self.outputs()}"

    # --- the ledger

    def listing(self) -> Listing:
        return asyncio.run(self._listing())

    async def _listing(self) -> Listing:
        setup = wiring.set_up(self.file, self.environment, runs_code=False)
        ledger = wiring.new_ledger(setup)
        try:
            found = await ledger.perform(List())
        finally:
            await ledger.close()
        assert isinstance(found, Listing)
        return found

    def tiling(self) -> Tiling:
        """The partitions, as the ledger alone says."""
        setup = wiring.set_up(self.file, self.environment, runs_code=False)
        return setup.group.spec.source.lineage.tiling((), self.listing())

    def owners(self) -> dict[PartitionId, str]:
        """Who has each partition that there is."""
        listing = self.listing()
        setup = wiring.set_up(self.file, self.environment, runs_code=False)
        tiling = setup.group.spec.source.lineage.tiling((), listing)
        rows = {id: listing.ownerships.get(id) for id in tiling.partitions}
        return {
            id: row.owner.name
            for id, row in rows.items()
            if row is not None and row.owner is not None and row.lease.is_held
        }

    def wait_until_owned_by(self, names: set[str], seconds: float) -> dict[PartitionId, str]:
        """Until these have all ranges of the service, evenly."""

        def owned() -> dict[PartitionId, str]:
            owners = self.owners()
            counts = Counter(owners.values())
            is_even = max(counts.values(), default=0) - min(counts.values(), default=0) <= 1
            is_whole = sorted(owners) == sorted(self.partitions_of_service())
            return owners if is_whole and set(owners.values()) == names and is_even else {}

        what = f"{sorted(names)} to have all partitions, evenly"
        return wait_until(owned, seconds, what, lambda: f"{self.owners()}; {self.outputs()}")


@contextlib.contextmanager
def a_container_group(
    cosmos: RunningCosmos,
    azurite: str,
    folder: Path,
    handler: str = HANDLER,
    *,
    ranges: int = 2,
    source: str = "pollSeconds: 0.2",
    delivery: str = "{}",
    start: str = "earliest",
) -> Iterator[ContainerGroup]:
    """A group whose members are started by the test."""
    group = ContainerGroup(
        cosmos, azurite, folder, handler,
        ranges=ranges, source=source, delivery=delivery, start=start,
    )  # fmt: skip
    try:
        yield group
    finally:
        group.close()
