"""The programs of the demo: their processes, and the threads that hear what they print.

Rules: standard library only. Each runs in a process group of its own, so that Ctrl-C reaches the
demo alone, which then ends all of them in its own order. What a program started and left in its
group, such as a pip that fetches, ends with it.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "home-security"
TIED = ROOT / "consumer" / "tidegate" / "spark" / "tied.py"
END_S = 60.0


class DemoError(Exception):
    """The demo cannot go on; the message says why and what to do."""


def show(line: str) -> None:
    """Print a line at once. Where the terminal has gone away, all else goes on to its end."""
    with contextlib.suppress(OSError, ValueError):
        print(line, flush=True)


def surroundings(**more: str) -> dict[str, str]:
    """What the programs find around them: this tree's packages, and its Node."""
    path = (os.environ.get("PYTHONPATH"), str(ROOT / "consumer"), str(ROOT / "operator"))
    found = f"{ROOT / '.tools' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
        "PYTHONUNBUFFERED": "1",
        "PATH": found,
        **more,
    }


class Program:
    """See the module. `hear` is told each line of it, by a thread of its own."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        hear: Callable[[str], None],
        variables: Mapping[str, str],
        folder: Path = ROOT,
    ) -> None:
        self.name = name
        self.said: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.last = ""
        self._hear = hear
        # It ends with this process, however that ends: the kernel sees to that.
        tie = (sys.executable, "-I", "-S", str(TIED), str(os.getpid()))
        self.process = subprocess.Popen(
            (*tie, *command),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.PIPE,
            text=True,
            errors="replace",
            env=dict(variables),
            cwd=folder,
            start_new_session=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.last = line.rstrip("\n") or self.last
            self._hear(line.rstrip("\n"))
            self.said.put(line.rstrip("\n"))

    def tell(self, line: str) -> None:
        """A line on its standard input."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()
        except OSError:
            raise self.failure() from None

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def failure(self) -> DemoError:
        """That it ended by itself, with its last words."""
        self._listener.join(timeout=1.0)
        words = f": {self.last}" if self.last else ""
        return DemoError(f"{self.name} ended by itself with status {self.process.poll()}{words}")

    def until_said(self, sign: str, seconds: float) -> str:
        """The line that has this in it. Raises DemoError."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                line = self.said.get(timeout=0.1)
            except queue.Empty:
                if not self.is_running:
                    raise self.failure() from None
                continue
            if sign in line:
                return line
        raise DemoError(f"{self.name} is not ready after {seconds:.0f} s: {self.last}")

    def end(self) -> bool:
        """Ask it to end, and make it after a while. Whether it ended well."""
        was_running, ended_well = self.is_running, True
        if was_running:
            self.process.terminate()
        try:
            self.process.wait(timeout=END_S)
        except subprocess.TimeoutExpired:
            show(f"demo: {self.name} did not end within {END_S:.0f} s and was killed")
            ended_well = False
        finally:
            if was_running:
                self._kill_group()
        self.process.wait()
        self._listener.join(timeout=END_S)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        return ended_well and self.process.returncode in (0, -signal.SIGTERM)

    def _kill_group(self) -> None:
        """Whatever is left of its group; most programs have ended their own by then."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
