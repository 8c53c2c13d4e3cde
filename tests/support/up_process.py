"""`tidegate up` as a process of its own, as people start it, and a group whose events are counted.

    with up_process(folder, group_file(folder)) as up:
        up.until_said("Balanced")
        up.ask("pause", "work")

Rules: all that it said is kept, and shown where a test fails. Whatever it started is known by its
state folder; nothing of it outlives the test.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import psutil
import yaml

from support.azurite import azurite_program, node_program
from support.handled_log import HandledLog
from support.tree import ROOT
from support.wait import wait_until
from tidegate_operator.kinds import CONSUMER_GROUP
from tidegate_operator.local.state import NotRunningError, State

HUB, PARTITIONS = "telemetry", 4
NAME = "work"
SOON, LATER, STOP_S = 30.0, 120.0, 60.0
_HERE = Path(__file__).parent
_SENDER = _HERE / "paced_sender.py"


def group_file(
    folder: Path, *, storage: dict[str, str] | None = None, container: str = "ledger", **spec: Any
) -> Path:
    """A group whose handler stands beside its file."""
    shutil.copy(_HERE / "up_handler.py", folder / "handler.py")
    document = {
        "apiVersion": "tidegate.dev/v1alpha1",
        "kind": "ConsumerGroup",
        "metadata": {"name": NAME},
        "spec": {
            "source": {
                "eventHubs": {
                    "hub": HUB,
                    "connectionString": {"secret": "ours", "key": "events"},
                    "start": "earliest",
                }
            },
            "ledger": {
                "container": container,
                "create": True,
                "connectionString": storage or {"secret": "ours", "key": "storage"},
            },
            "handler": {"code": "handler.py:handle"},
            **spec,
        },
    }
    path = folder / "group.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return path


def command(state: Path, *files: Path, partitions: int = PARTITIONS) -> list[str]:
    more = ("--partitions", str(partitions), "--state", str(state))
    return [sys.executable, "-m", "tidegate", "up", *map(str, files), *more]


def tools() -> dict[str, str]:
    """Where Azurite and Node are, as far as an environment says it."""
    path = f"{Path(node_program()).parent}{os.pathsep}{os.environ['PATH']}"
    return {"TIDEGATE_AZURITE": str(azurite_program().resolve()), "PATH": path}


class UpProcess:
    """See the module. Made by `up_process`."""

    def __init__(
        self, folder: Path, files: tuple[Path, ...], environment: dict[str, str], partitions: int
    ) -> None:
        self.partitions = partitions
        self.state = folder / "state"
        self.seen = HandledLog(folder / "seen.log")
        self._folder = folder
        self._out = folder / "out.txt"
        self._senders: list[subprocess.Popen[bytes]] = []
        self.environment = {**os.environ, **tools(), **environment}
        with self._out.open("ab") as out:
            self.process = subprocess.Popen(
                command(self.state, *files, partitions=partitions),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=self.environment,
                cwd=ROOT,
            )

    # --- looking

    @property
    def said(self) -> str:
        return self._out.read_text(errors="replace")

    def told(self) -> str:
        logs = [path.read_text(errors="replace")[-1500:] for path in self.state.glob("logs/*.log")]
        return "\n".join([self.said[-4000:], *logs])

    def until(self, what: str, condition: Callable[[], Any], seconds: float = LATER) -> Any:
        def met() -> Any:
            assert self.process.poll() is None, f"`tidegate up` ended: {self.told()}"
            return condition()

        return wait_until(met, seconds, what, self.told)

    def until_said(self, pattern: str, times: int = 1) -> None:
        self.until(f"'{pattern}'", lambda: len(re.findall(pattern, self.said)) >= times)

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tidegate", *words, "--state", str(self.state)],
            capture_output=True, text=True, env=self.environment, check=False,
        )  # fmt: skip

    def status(self) -> dict[str, Any]:
        """Of the group; empty while there is nothing to ask."""
        try:
            served = State(self.state).served()
            path = served.url + CONSUMER_GROUP.path("default", NAME)
            headers = {"Authorization": f"Bearer {served.token}"}
            with urlopen(Request(path, headers=headers), timeout=5) as answer:
                return dict(json.load(answer).get("status") or {})
        except (NotRunningError, OSError):
            return {}

    def until_settled(self, members: int, seconds: float = LATER) -> dict[str, Any]:
        """The status once so many consumers have joined, and nothing moves any more."""

        def settled() -> dict[str, Any] | None:
            status = self.status()
            ready = f"{members}/{members}"
            is_so = (status.get("state"), status.get("ready")) == ("Balanced", ready)
            return status if is_so else None

        found: dict[str, Any] = self.until(f"{members} settled consumers", settled, seconds)
        return found

    def consumers(self) -> list[psutil.Process]:
        return [each for each in self.processes() if "run" in each.cmdline()[:5]]

    def processes(self) -> list[psutil.Process]:
        """All that it has started."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                its = any(str(self.state) in word for word in process.cmdline())
                if its and process.pid != self.process.pid and "up" not in process.cmdline()[:4]:
                    found.append(process)
        return found

    # --- doing

    def send(self, rate: float) -> None:
        """From now on so many events a second."""
        rates = self._folder / "rate"
        rates.write_text(f"{rate:g}")
        if not self._senders:
            connection = (self.state / "events.txt").read_text().strip()
            with (self._folder / "sender.txt").open("ab") as out:
                self._senders.append(
                    subprocess.Popen(
                        [sys.executable, str(_SENDER), connection, HUB, str(self.partitions),
                         str(rates)],
                        stdout=out, stderr=out,
                    )
                )  # fmt: skip

    def end_sender(self) -> None:
        while self._senders:
            sender = self._senders.pop()
            sender.kill()
            sender.wait()

    def until_drained(self, seconds: float = LATER) -> None:
        """All that was sent has been handled."""

        def is_drained() -> bool:
            self.seen.read_on()
            status = self.status()
            return status.get("lag") == 0 and self.seen.lost() == 0

        self.until("all that was sent to be handled", is_drained, seconds)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def stop(self) -> int:
        """Ctrl-C, once; the exit code."""
        self.signal(signal.SIGINT)
        return self.process.wait(STOP_S)


@contextlib.contextmanager
def up_process(folder: Path, *files: Path, **environment: str) -> Iterator[UpProcess]:
    """One that runs until the block ends; nothing of it is left then."""
    with wide_up_process(PARTITIONS, folder, *files, **environment) as up:
        yield up


@contextlib.contextmanager
def wide_up_process(
    partitions: int, folder: Path, *files: Path, **environment: str
) -> Iterator[UpProcess]:
    """The same with this number of partitions."""
    up = UpProcess(folder, files, environment, partitions)
    try:
        yield up
    finally:
        up.end_sender()
        if up.process.poll() is None:
            up.process.kill()
            up.process.wait()
        for process in up.processes():
            with contextlib.suppress(psutil.Error):
                process.kill()
        # Shown where the test fails.
        print(f"`tidegate up` said:\n{up.said[-8000:]}")
