"""`make demo`, as a person meets it: both pages are up, keys do what they say, totals are exact
whatever is killed, and nothing is left behind when it ends."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import urllib.request
from pathlib import Path

import psutil

from support.demo_process import DemoProcess, running_demo
from support.living import living
from support.wait import wait_until

RUNS = "demo: everything runs"


def text_of(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return str(answer.read().decode())


def said_by(line: str) -> str:
    """What a line of the shell prints where the project is not on the PATH."""
    surroundings = {"PATH": "/usr/bin:/bin"}
    return subprocess.run(
        line, shell=True, env=surroundings, capture_output=True, text=True, check=True, timeout=60
    ).stdout


def test_both_pages_are_up_and_keys_do_what_they_say() -> None:
    with running_demo() as demo:
        demo.until_said(RUNS)
        assert "Groups · Tidegate" in text_of(demo.console())
        assert "<main" in text_of(demo.home())
        demo.until_said(r"activity \(python\): 1/1 consumers.*alarms \(python\): 1/1")
        line = demo.until_said("and in a terminal (.+)\n")[1]
        assert re.search(r"^alarms +eventhubs +python", said_by(line), re.MULTILINE), (
            "the line works"
        )
        assert "alarms" in said_by(line.removesuffix("get") + "explain alarms")
        demo.until_said("with 6 sensors", demo.press("c"))
        demo.until_said("has joined", demo.press("k"))
        demo.until_said("alarms  Paused", demo.press("p"))
        demo.until_said("alarms  Resumed", demo.press("p"))
        demo.press("q")
        assert demo.ended() == 0, demo.said
        assert demo.said.endswith("demo: everything has ended\n")


def test_it_ends_by_itself_after_its_seconds_and_leaves_nothing() -> None:
    with running_demo(DEMO_SECONDS="5") as demo:
        assert demo.ended() == 0, demo.said
        run = demo.until_said(r"see (\S+)/state/events.txt")
    assert not Path(run[1]).exists()


def test_ctrl_c_ends_the_demo_and_every_program_that_it_started() -> None:
    with running_demo() as demo:
        demo.until_said(RUNS)
        programs = psutil.Process(demo.process.pid).children(recursive=True)
        demo.process.send_signal(signal.SIGINT)
        assert demo.ended() == 0, demo.said
    # Homes, page, `tidegate up`, hub, storage, and a consumer of each group.
    assert len(programs) >= 7
    assert not living(programs)


def test_a_demo_whose_reader_has_gone_away_ends_all_the_same_when_it_is_asked_to() -> None:
    with running_demo(reads=False) as demo:
        demo.process.stdout.close()  # type: ignore[union-attr]
        programs = wait_until(lambda: programs_of(demo, 7), 90, "its programs")
        demo.process.send_signal(signal.SIGTERM)
        assert demo.process.wait(120) in (0, 120)
    assert not living(programs)


def test_nothing_outlives_a_demo_that_is_killed() -> None:
    with running_demo() as demo:
        demo.until_said(RUNS)
        programs = programs_of(demo, 7)
        demo.process.kill()
        demo.ended()
        wait_until(lambda: not living(programs), 30, "its programs to be gone")


def programs_of(demo: DemoProcess, least: int) -> list[psutil.Process]:
    """All that it has started; nothing before there are so many."""
    found = psutil.Process(demo.process.pid).children(recursive=True)
    return found if len(found) >= least else []


def test_when_the_hub_ends_the_demo_says_so_and_ends_the_others() -> None:
    with running_demo() as demo:
        demo.until_said(RUNS)
        programs = psutil.Process(demo.process.pid).children(recursive=True)
        hub = next(program for program in programs if "tidegate_hub" in program.cmdline())
        hub.kill()
        assert demo.ended() == 1
    assert "the embedded hub has ended by itself" in demo.said
    assert not living(programs)


def test_a_port_that_is_asked_for_and_taken_is_named() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        taken = str(other.getsockname()[1])
        with running_demo(PAGE_PORT=taken) as demo:
            assert demo.ended() == 1
    assert f"PAGE_PORT={taken} is taken by another program" in demo.said


def test_every_total_is_what_was_sent_while_members_are_killed() -> None:
    with running_demo(DEMO_KILLS="20") as demo:
        assert demo.ended() == 0, demo.said
    assert re.search(r"demo: [1-9]\d* members were killed", demo.said), demo.said
    assert re.search(r"demo: exact: [\d,]+ readings", demo.said), demo.said
    assert re.search(r"demo: on the pages of 20 homes exact: [1-9]", demo.said), demo.said


def test_a_comparison_that_is_asked_to_end_ends() -> None:
    with running_demo(DEMO_KILLS="2") as demo:
        demo.until_said("members were killed")
        demo.press("q")
        assert demo.ended() == 0, demo.said
