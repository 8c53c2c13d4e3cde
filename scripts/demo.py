"""The demo: a hub on a free port, sensors that send to it, and a reader that prints.

Rules: standard library only; run by the Python of `.venv`. Every program it starts is ended with
it, in the order sensors, reader, hub, also on Ctrl-C, SIGTERM and a closed terminal. It ends by
itself after DEMO_SECONDS, or when one of its programs ends. Exit 0 means a clean end.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "home-security"
HUB_COMMAND = (
    sys.executable, "-m", "tidegate_hub", "serve", "--port", "0", "--hub", "telemetry:16",
)  # fmt: skip
CONNECTION_LINE = "connection string: "
HUB_READY_S = 60.0
END_S = 10.0


class DemoError(Exception):
    """The demo cannot go on; the message says why and what to do."""


class EndRequest(BaseException):
    """Somebody asked the demo to end: Ctrl-C, SIGTERM, or a closed terminal."""


def environment(connection: str) -> dict[str, str]:
    """What the programs find around them: this tree's packages, and where the hub is."""
    path = (os.environ.get("PYTHONPATH"), str(ROOT / "consumer"))
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
        "PYTHONUNBUFFERED": "1",
        "TIDEGATE_CONNECTION_STRING": connection,
    }


class Program:
    """A program of the demo: its process, and the thread that shows what it prints."""

    def __init__(self, name: str, command: tuple[str, ...], connection: str = "") -> None:
        self.name = name
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        # In a process group of its own, so that Ctrl-C reaches the demo alone, which then ends all.
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            env=environment(connection),
            start_new_session=True,
        )
        self._shower = threading.Thread(target=self._show_lines, daemon=True)
        self._shower.start()

    def _show_lines(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            show(line.rstrip("\n"))
            self.lines.put(line.rstrip("\n"))

    def end(self) -> bool:
        """Ask it to end, and make it after a while. Whether it ended well by itself."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(timeout=END_S)
        except subprocess.TimeoutExpired:
            show(f"demo: {self.name} did not end within {END_S:.0f} s and was killed")
            self.process.kill()
            self.process.wait()
            return False
        finally:
            self._shower.join(timeout=END_S)
        return self.process.returncode in (0, -signal.SIGTERM)


def show(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def connection_of(hub: Program) -> str:
    """The connection string that the hub prints once it accepts connections."""
    deadline = time.monotonic() + HUB_READY_S
    while time.monotonic() < deadline:
        try:
            line = hub.lines.get(timeout=0.05)
        except queue.Empty:
            if hub.process.poll() is not None:
                break
            continue
        if line.startswith(CONNECTION_LINE):
            return line.removeprefix(CONNECTION_LINE)
    status = hub.process.poll()
    state = "is not ready" if status is None else f"ended with status {status}"
    raise DemoError(f"The hub {state}. Try it alone: {' '.join(HUB_COMMAND)}")


def watch(programs: Sequence[Program], seconds: float | None) -> None:
    """Wait until the time is over; fail when a program ends before it."""
    deadline = None if seconds is None else time.monotonic() + seconds
    while deadline is None or time.monotonic() < deadline:
        for program in programs:
            status = program.process.poll()
            if status is not None:
                raise DemoError(f"{program.name} ended by itself with status {status}.")
        time.sleep(0.1)


def run(seconds: float | None, programs: list[Program]) -> None:
    """Start everything and watch it. What was started is added to `programs` at once."""
    programs.append(Program("hub", HUB_COMMAND))
    connection = connection_of(programs[0])
    for name in ("reader", "sensors"):
        command = (sys.executable, str(EXAMPLE / f"{name}.py"))
        programs.append(Program(name, command, connection))
    limit = "Ctrl-C ends it" if seconds is None else f"it ends after {seconds:g} s"
    show(f"demo: everything runs; {limit}")
    watch(programs, seconds)


def main() -> int:
    """Run the demo; 0 after a clean end."""

    def ask_to_end(_number: int, _frame: FrameType | None) -> None:
        raise EndRequest

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, ask_to_end)
    limit = os.environ.get("DEMO_SECONDS", "")
    programs: list[Program] = []
    failure = ""
    try:
        run(float(limit) if limit else None, programs)
    except EndRequest:
        show("\ndemo: ending")
    except DemoError as error:
        failure = str(error)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # a second Ctrl-C must not leave programs behind
    ended_well = [program.end() for program in reversed(programs)]
    if failure:
        print(f"demo: {failure}", file=sys.stderr, flush=True)
        return 1
    show("demo: everything has ended")
    return 0 if all(ended_well) else 1


if __name__ == "__main__":
    sys.exit(main())
