"""A processor in a process of its own, so that it can be killed the hard way.

Rules: run as a program it reads as a processor, writes a checkpoint for each batch, and prints one
JSON line for each thing that happens, a checkpoint only once it is stored. `Victim` starts it and
keeps what it says. SIGKILL ends it: nothing is closed, released or said.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from contract.hub.aio_client import AioReader
from contract.hub.clients import Blob, Heard, Reading
from contract.hub.sync_client import SyncReader

ROOTS = Path(__file__).resolve().parents[3]


class Victim:
    """The other processor: what it owns and what it has checkpointed, until it is killed."""

    def __init__(self, kind: str, connection_string: str, hub: str, store: Blob) -> None:
        self.heard = Heard()
        self._settings = json.dumps(
            [kind, connection_string, hub, store.connection_string, store.container]
        )
        self._process: asyncio.subprocess.Process | None = None
        self._listening: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Victim:
        # The settings hold keys, so they go by the pipe and not by the command line.
        roots = os.pathsep.join([str(ROOTS), *filter(None, sys.path)])
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            __file__,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": roots},
        )
        assert self._process.stdin is not None
        self._process.stdin.write(self._settings.encode() + b"\n")
        await self._process.stdin.drain()
        self._listening = asyncio.create_task(self._listen())
        return self

    async def _listen(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            said = json.loads(line)
            self.heard.owned = set(said["owned"])
            self.heard.checkpoints = said["checkpoints"]
            self.heard.errors = [RuntimeError(error) for error in said["errors"]]

    async def kill(self) -> None:
        """SIGKILL, and the end of the process awaited."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        assert self._listening is not None
        await self._listening

    async def __aexit__(self, *reason: object) -> None:
        await self.kill()


async def _process(settings: list[str]) -> None:
    """Read for ever, and say what is so each time that it has changed."""
    kind, connection_string, hub, blob, container = settings
    reader_of: Any = {"sync": SyncReader, "aio": AioReader}[kind]
    reading = Reading(
        partition=None, store=Blob(blob, container), checkpoint_when=lambda event: True
    )
    said = ""
    async with reader_of(connection_string, {"eventhub_name": hub}, reading) as reader:
        while True:
            heard = reader.heard
            now = json.dumps(
                {
                    "owned": sorted(heard.owned),
                    "checkpoints": dict(heard.checkpoints),
                    "errors": [str(error) for error in heard.errors],
                }
            )
            if now != said:
                said = now
                print(now, flush=True)
            await asyncio.sleep(0.02)


def _end_with_the_test() -> None:
    """The test holds the other end of stdin: when it is gone, so is this process."""
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    given = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_the_test, daemon=True).start()
    asyncio.run(_process(given))
