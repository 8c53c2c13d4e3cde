"""The end of a program whose server does not stop: by its grace period, or by a second signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from support.tree import ROOT

pytestmark = pytest.mark.slow

# A grace period of the servers, the last second of a process that is cut, and a busy machine.
GRACE_S, BEYOND_S = 8.0, 6.0
PROGRAM = """
import asyncio, time
from tidegate_http.serving import until_stopped
class Server:
    async def start(self): ...
    async def stop(self):
        print("stops", flush=True)
        {hangs}
asyncio.run(until_stopped(Server(), lambda: []))
"""
HANGS = {
    "blocks its loop": "time.sleep(600)",
    "waits for ever": "await asyncio.sleep(600)",
}


@contextmanager
def stopping(hangs: str) -> Iterator[subprocess.Popen[str]]:
    """A program that was asked to end, and hangs."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(hangs=hangs)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "consumer")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout is not None
        try:
            assert program.stdout.readline().startswith("ready")
            program.send_signal(signal.SIGTERM)
            assert program.stdout.readline() == "stops\n"
            yield program
        finally:
            program.kill()


@pytest.mark.parametrize("how", HANGS)
def test_a_second_signal_ends_a_server_at_once_that(how: str) -> None:
    with stopping(HANGS[how]) as program:
        asked = time.monotonic()
        program.send_signal(signal.SIGHUP)
        program.send_signal(signal.SIGINT)
        assert program.wait(60) == 130
        assert time.monotonic() - asked < BEYOND_S


def test_the_grace_period_ends_a_server_that_blocks_its_loop() -> None:
    with stopping(HANGS["blocks its loop"]) as program:
        asked = time.monotonic()
        assert program.wait(60) == 130
        assert GRACE_S - 1 < time.monotonic() - asked < GRACE_S + BEYOND_S
        assert program.stderr is not None
        last = program.stderr.read().splitlines()[-1]
        assert last.startswith("ended by force: the 8 s of grace are over.")
        assert "in stop" in last
