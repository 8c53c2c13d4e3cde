"""A group that is run by its command, `tidegate run`, on a real hub and Azurite.

    with a_command_group(hub, azurite, folder, HANDLER, delivery="{attempts: 2}") as group:
        group.send("0", 0, 100)              # numbered events to a partition
        group.start("a")
        group.wait_until_seen(100, 30)

The handler of a test writes what it sees by `from seen import see`; a line each, flushed at once.
`hub_name` names a hub that is there already, which several groups may read; `events` and `storage`
are ways there of the members' own, such as through a proxy.
Rules: processes are ended by their own id; everything they said stays in the folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn, Protocol

from azure.eventhub import EventData, EventHubProducerClient
from azure.eventhub.amqp import AmqpAnnotatedMessage
from azure.storage.blob import BlobServiceClient

from support.wait import wait_until
from tidegate.commands import wiring
from tidegate.model import Listing
from tidegate.ports import List

_TIDEGATE = Path(sys.executable).with_name("tidegate")
SEEN = """
import os
_log = os.open(__file__.replace("seen.py", "seen.log"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def see(*words):
    os.write(_log, (" ".join(map(str, words)) + "\\n").encode())
"""
_FILE = """\
apiVersion: tidegate.dev/v1alpha1
kind: ConsumerGroup
metadata: {{name: {name}}}
spec:
  source:
    eventHubs: {{hub: {hub}, connectionString: {{env: EVENTS}}, start: {start}, {source}}}
  ledger: {{container: {name}, connectionString: {{env: STORAGE}}}}
  handler: {{code: "handler.py:handle"}}
  delivery: {delivery}
"""
_numbers = itertools.count(1)


class HubPlace(Protocol):
    """A hub server, wherever it runs."""

    @property
    def connection_string(self) -> str: ...

    def add_hub(self, name: str, partitions: int = ...) -> None: ...


class CommandGroup:
    """See the module. Made by `a_command_group`."""

    def __init__(
        self,
        hub: HubPlace,
        azurite: str,
        folder: Path,
        handler: str,
        *,
        partitions: int,
        delivery: str,
        source: str,
        hub_name: str,
        events: str,
        storage: str,
        start: str,
    ) -> None:
        self.name = f"command-{os.getpid()}-{next(_numbers)}"
        self.folder = folder
        self.partitions = partitions
        self._connection_string = hub.connection_string
        self.environment = os.environ | {
            "EVENTS": events or hub.connection_string,
            "STORAGE": storage or azurite,
        }
        self.hub_name = hub_name or self.name
        if not hub_name:
            hub.add_hub(self.name, partitions)
        with BlobServiceClient.from_connection_string(azurite) as service:
            service.create_container(self.name)
        (folder / "seen.py").write_text(SEEN, encoding="utf-8")
        (folder / "handler.py").write_text(handler, encoding="utf-8")
        self.file = folder / "group.yaml"
        text = _FILE.format(
            name=self.name, hub=self.hub_name, delivery=delivery, source=source, start=start
        )
        self.file.write_text(text, encoding="utf-8")
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    # --- events

    def send(self, partition: str, first: int, end: int) -> None:
        """Numbered events, `{"n": number}`."""
        client = EventHubProducerClient.from_connection_string(
            self._connection_string, eventhub_name=self.hub_name
        )
        with client:
            for start in range(first, end, 500):
                numbers = range(start, min(start + 500, end))
                events: list[EventData | AmqpAnnotatedMessage] = [
                    EventData(json.dumps({"n": number})) for number in numbers
                ]
                client.send_batch(events, partition_id=partition)

    # --- processes

    def start(
        self,
        name: str,
        *more: str,
        file: Path | None = None,
        within: Sequence[str] = (),
        stdout: int | None = None,
    ) -> None:
        """A member; `file` is another group file of the same group, `within` are the first words
        of a command that runs it, and `stdout` takes its standard output."""
        with (self.folder / f"{name}.out").open("ab") as output:
            self._processes[name] = subprocess.Popen(
                [*within, *self._words(name, file), *more],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output if stdout is None else stdout,
                stderr=output,
            )

    def become(self, name: str, **more: str) -> NoReturn:
        """This process becomes a member, with its input and output as they are."""
        words = self._words(name, None)
        os.execve(words[0], words, self.environment | more)

    def _words(self, name: str, file: Path | None) -> list[str]:
        told = ("--name", name, "--log-format", "text")
        return [str(_TIDEGATE), "run", str(file or self.file), *told]

    def pid(self, name: str) -> int:
        return self._processes[name].pid

    def output(self, name: str) -> str:
        return (self.folder / f"{name}.out").read_text(encoding="utf-8", errors="replace")

    def kill(self, name: str) -> None:
        process = self._processes.pop(name)
        process.kill()
        process.wait(30)

    def signal(self, name: str, number: signal.Signals) -> None:
        self._processes[name].send_signal(number)

    def ended(self, name: str, seconds: float = 60.0) -> int:
        """Waits for the end of a process; gives its exit code."""
        code = self._processes[name].wait(seconds)
        del self._processes[name]
        return code

    def stop(self, name: str) -> None:
        self.signal(name, signal.SIGTERM)
        code = self.ended(name)
        assert code == 0, f"{name} ended with {code}:\n{self.output(name)[-3000:]}"

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Another command with the same surroundings."""
        return subprocess.run(
            [_TIDEGATE, *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    def close(self) -> None:
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait(30)

    def listing(self) -> Listing:
        """What stands in the ledger."""

        async def look() -> Listing:
            setup = wiring.set_up(self.file, self.environment, runs_code=False)
            ledger = wiring.new_ledger(setup)
            try:
                found = await ledger.perform(List())
            finally:
                await ledger.close()
            assert isinstance(found, Listing)
            return found

        return asyncio.run(look())

    # --- what the handler saw

    def seen(self) -> list[Sequence[str]]:
        path = self.folder / "seen.log"
        # The last line may be half written.
        whole = path.read_text().rpartition("\n")[0] if path.exists() else ""
        return [line.split() for line in whole.splitlines()]

    def counts(self) -> Counter[tuple[str, int]]:
        """How often each event was handled: lines `partition number`."""
        return Counter(
            (words[0], int(words[1]))
            for words in self.seen()
            if len(words) == 2 and words[1].isdecimal()
        )

    def wait_until_seen(self, events: int, seconds: float) -> None:
        """Waits until so many different events were handled."""
        wait_until(
            lambda: len(self.counts()) >= events,
            seconds,
            f"{events} events to be handled",
            detail=lambda: (len(self.counts()), {n: self.output(n) for n in self._processes}),
        )

    def wait_for_output(self, name: str, words: str, seconds: float) -> None:
        wait_until(
            lambda: words in self.output(name),
            seconds,
            f"{name} to say {words!r}",
            detail=lambda: self.output(name)[-3000:],
        )


@contextlib.contextmanager
def a_command_group(
    hub: HubPlace,
    azurite: str,
    folder: Path,
    handler: str,
    *,
    partitions: int = 2,
    delivery: str = "{}",
    source: str = "transport: native",
    hub_name: str = "",
    events: str = "",
    storage: str = "",
    start: str = "earliest",
) -> Iterator[CommandGroup]:
    """A group without members yet."""
    group = CommandGroup(
        hub,
        azurite,
        folder,
        handler,
        partitions=partitions,
        delivery=delivery,
        source=source,
        hub_name=hub_name,
        events=events,
        storage=storage,
        start=start,
    )
    try:
        yield group
    finally:
        group.close()
