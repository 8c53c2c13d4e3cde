"""`make demo`, as a person meets it: both pages are up, keys do what they say, and nothing is left
behind when it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from support.tree import ROOT

DEMO = (sys.executable, str(ROOT / "scripts" / "demo.py"))
RUNS = re.compile(r"demo: everything runs")
SMALL = {"HOMES": "200", "ENGINE": "python", "SEED": "11"}


@pytest.fixture
def ports() -> dict[str, str]:
    """Two that are free now, so that several demos can run at once."""
    found = []
    for name in ("PAGE_PORT", "CONSOLE_PORT"):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            found.append((name, str(probe.getsockname()[1])))
    return dict(found)


@contextmanager
def demo(**environment: str) -> Iterator[subprocess.Popen[str]]:
    """A running demo; whatever a failed test left of it is ended."""
    with subprocess.Popen(
        DEMO,
        env=os.environ | SMALL | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        try:
            yield running
        finally:
            if running.poll() is None:
                running.terminate()


def lines_until(running: subprocess.Popen[str], sign: re.Pattern[str]) -> str:
    """What the demo prints, up to the first line with this sign in it."""
    assert running.stdout is not None
    printed = []
    for line in running.stdout:
        printed.append(line)
        if sign.search(line):
            return "".join(printed)
    raise AssertionError(f"the demo ended without '{sign.pattern}':\n{''.join(printed)}")


def press(running: subprocess.Popen[str], key: str) -> None:
    assert running.stdin is not None
    running.stdin.write(key)
    running.stdin.flush()


def text_of(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return str(answer.read().decode())


def test_both_pages_are_up_and_keys_do_what_they_say(ports: dict[str, str]) -> None:
    with demo(**ports) as running:
        said = lines_until(running, RUNS)
        console = re.search(r"the console +(http\S+)", said)
        home = re.search(r"home 17 +(\S+)", said)
        assert console and home
        assert "Groups · Tidegate" in text_of(console[1])
        assert "<main" in text_of(home[1])
        stand = r"activity \(python\): 1/1 consumers.*alarms \(python\): 1/1"
        lines_until(running, re.compile(stand))
        press(running, "c")
        lines_until(running, re.compile(r"with 6 sensors"))
        press(running, "k")
        lines_until(running, re.compile(r"has joined"))
        press(running, "p")
        lines_until(running, re.compile(r"alarms +Paused"))
        press(running, "q")
        output, _ = running.communicate()
    assert running.returncode == 0, output
    assert output.endswith("demo: everything has ended\n")


def test_it_ends_by_itself_after_its_seconds_and_leaves_nothing(ports: dict[str, str]) -> None:
    with demo(DEMO_SECONDS="5", **ports) as running:
        output, _ = running.communicate()
    assert running.returncode == 0, output
    run = re.search(r"see (\S+)/state/events.txt", output)
    assert run
    assert not Path(run[1]).exists()


def test_ctrl_c_ends_the_demo_and_every_program_that_it_started(ports: dict[str, str]) -> None:
    with demo(**ports) as running:
        lines_until(running, RUNS)
        programs = psutil.Process(running.pid).children(recursive=True)
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate()
    # Homes, page, `tidegate up`, hub, storage, and a consumer of each group.
    assert len(programs) >= 7
    assert running.returncode == 0, output
    assert not [program for program in programs if program.is_running()]


def test_when_the_hub_ends_the_demo_says_so_and_ends_the_others(ports: dict[str, str]) -> None:
    with demo(**ports) as running:
        lines_until(running, RUNS)
        programs = psutil.Process(running.pid).children(recursive=True)
        hub = next(program for program in programs if "tidegate_hub" in program.cmdline())
        hub.kill()
        output, _ = running.communicate()
    assert running.returncode == 1
    assert "the embedded hub has ended by itself" in output
    assert not [program for program in programs if program.is_running()]


def test_a_port_that_is_asked_for_and_taken_is_named(ports: dict[str, str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        taken = str(other.getsockname()[1])
        with demo(**ports | {"PAGE_PORT": taken}) as running:
            output, _ = running.communicate()
    assert running.returncode == 1
    assert f"PAGE_PORT={taken} is taken by another program" in output


def test_every_total_is_what_was_sent_while_members_are_killed(ports: dict[str, str]) -> None:
    with demo(DEMO_KILLS="20", **ports) as running:
        output, _ = running.communicate()
    assert running.returncode == 0, output
    assert re.search(r"demo: [1-9]\d* members were killed", output), output
    assert re.search(r"demo: exact: [\d,]+ readings", output), output
