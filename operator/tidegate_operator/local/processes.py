"""A process of another program: started in a session of its own, with its output in a file.

Rules: Ctrl-C reaches whoever started it alone. It ends with whoever started it, however that ends:
the kernel sees to that. Its log is kept short.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tidegate.spark import tied

_LOG_BYTES = 16 << 20
_LOG_EVERY_S = 10.0


class Process:
    """See the module. Made by `started`."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._ended = asyncio.create_task(self._wait(log))

    @classmethod
    async def started(
        cls,
        command: Sequence[str],
        variables: Mapping[str, str],
        log: Path,
        folder: Path | None = None,
    ) -> Process:
        """Raises OSError."""
        tie = [sys.executable, "-I", "-S", str(tied.__file__), str(os.getpid())]
        with log.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                *tie,
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=dict(variables),
                cwd=folder,
                start_new_session=True,
            )
        return cls(process, log)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    def terminate(self) -> None:
        if self.is_running:
            self._process.terminate()

    def kill(self) -> None:
        """With all that it has started itself."""
        if self.is_running:
            # It may have ended a moment ago, and nobody has been told yet.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def ended(self) -> int:
        """How it ended, once it has."""
        return await asyncio.shield(self._ended)

    async def _wait(self, log: Path) -> int:
        waiting = asyncio.create_task(self._process.wait())
        while True:
            done, _ = await asyncio.wait([waiting], timeout=_LOG_EVERY_S)
            if done:
                # As with a container: what it has started and left behind ends with it.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                return waiting.result()
            if log.exists() and log.stat().st_size > _LOG_BYTES:
                # It is written at its end, wherever that is.
                os.truncate(log, 0)
