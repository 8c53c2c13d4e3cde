"""`make demo`, as a person meets it: it shows readings, and leaves nothing behind when it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from support.tree import ROOT

DEMO = (sys.executable, str(ROOT / "scripts" / "demo.py"))
SHOWS_READINGS = re.compile(r"  +[1-9]\d* events/s  \d+ homes  \d+ partitions  ")


@contextmanager
def demo(**environment: str) -> Iterator[subprocess.Popen[str]]:
    """A running demo; whatever a failed test left of it is ended."""
    with subprocess.Popen(
        DEMO,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        try:
            yield running
        finally:
            if running.poll() is None:
                running.terminate()


def lines_until(running: subprocess.Popen[str], sign: re.Pattern[str]) -> list[str]:
    """What the demo prints, up to the first line with this sign in it."""
    assert running.stdout is not None
    printed = []
    for line in running.stdout:
        printed.append(line)
        if sign.search(line):
            return printed
    raise AssertionError(f"the demo ended without '{sign.pattern}':\n{''.join(printed)}")


def count(said: str, output: str) -> int:
    """The number in a line such as 'sensors: sent 1,868 readings'."""
    found = re.search(rf"{said} ([\d,]+) readings", output)
    assert found, output
    return int(found[1].replace(",", ""))


def test_the_demo_shows_readings_and_ends_by_itself_after_its_seconds() -> None:
    # Its programs take their time to start where the machine is busy.
    with demo(DEMO_SECONDS="15") as running:
        output, _ = running.communicate()
    assert running.returncode == 0, output
    assert SHOWS_READINGS.search(output), output
    assert 0 < count("reader: read", output) <= count("sensors: sent", output)
    assert output.endswith("demo: everything has ended\n")


def test_ctrl_c_ends_the_demo_and_every_program_that_it_started() -> None:
    with demo() as running:
        lines_until(running, SHOWS_READINGS)
        programs = psutil.Process(running.pid).children(recursive=True)
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate()
    assert len(programs) == 3
    assert running.returncode == 0, output
    assert not [program for program in programs if program.is_running()]


def test_when_the_hub_ends_the_demo_says_so_and_ends_the_others() -> None:
    with demo() as running:
        lines_until(running, SHOWS_READINGS)
        programs = psutil.Process(running.pid).children(recursive=True)
        hub = next(program for program in programs if "tidegate_hub" in program.cmdline())
        hub.kill()
        output, _ = running.communicate()
    assert running.returncode == 1
    assert "demo: hub ended by itself with status -9." in output
    assert not [program for program in programs if program.is_running()]


def test_a_hub_that_does_not_start_is_named_with_the_line_to_try_it_alone(tmp_path: Path) -> None:
    broken = tmp_path / "tidegate_hub"
    broken.mkdir()
    (broken / "__init__.py").touch()
    (broken / "__main__.py").write_text("raise SystemExit(3)", encoding="utf-8")
    with demo(PYTHONPATH=str(tmp_path)) as running:
        output, _ = running.communicate()
    assert running.returncode == 1
    assert "The hub ended with status 3. Try it alone:" in output
    assert "-m tidegate_hub serve" in output
