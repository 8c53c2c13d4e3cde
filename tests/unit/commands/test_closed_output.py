"""Commands whose standard output nobody reads any more, or that has no room, or is closed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from support.unread_pipe import unread_pipe
from tidegate_http.output import NOT_READ, NOT_WRITTEN
from unit.commands.one_group import GROUP

PROGRAMS = (
    ("tidegate", "--help"),
    ("tidegate", "up", "--help"),
    ("tidegate", "--version"),
    ("tidegate-hub", "serve", "--help"),
    ("tidegate-cosmos", "serve", "--help"),
    ("tidegate-operator", "run", "--help"),
    ("kubectl-consumergroup", "--help"),
)
SERVERS = ("tidegate-hub", "tidegate-cosmos")


def ended(
    *command: str,
    stdout: int | None = None,
    unbuffered: str = "",
    secrets: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name(command[0]), *command[1:]],
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered, **(secrets or {})},
        stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
        text=True, check=False, timeout=120, preexec_fn=before,
    )  # fmt: skip


@pytest.fixture
def unread() -> Iterator[int]:
    with unread_pipe() as pipe:
        yield pipe


@pytest.mark.parametrize("command", PROGRAMS, ids=" ".join)
def test_a_command_whose_reader_has_gone_ends_without_a_word(
    command: tuple[str, ...], unread: int
) -> None:
    result = ended(*command, stdout=unread)
    assert (result.returncode, result.stderr) == (NOT_READ, "")


def test_so_does_one_whose_output_is_not_buffered(unread: int) -> None:
    result = ended("tidegate", "--help", stdout=unread, unbuffered="1")
    assert (result.returncode, result.stderr) == (NOT_READ, "")


@pytest.mark.parametrize("program", SERVERS)
def test_a_server_whose_first_lines_nobody_reads_stops_without_a_word(
    program: str, unread: int
) -> None:
    result = ended(program, "serve", "--port", "0", stdout=unread)
    assert (result.returncode, result.stderr) == (NOT_READ, "")


def test_a_disk_without_room_is_one_line_and_a_failure() -> None:
    with Path("/dev/full").open("wb") as full:
        result = ended("tidegate", "--help", stdout=full.fileno())
    assert (result.returncode, result.stderr) == (
        NOT_WRITTEN,
        "tidegate: standard output cannot be written: No space left on device\n",
    )


def test_output_that_is_closed_from_the_start_is_no_failure() -> None:
    result = ended("tidegate", "--version", before=lambda: os.close(1))
    assert (result.returncode, result.stderr) == (0, "")


def test_what_is_wrong_is_not_written_into_the_result_where_standard_error_is_closed() -> None:
    result = subprocess.run(
        [Path(sys.executable).with_name("tidegate"), "rewind", "none.yaml", "--to", "earliest"],
        stdout=subprocess.PIPE, text=True, check=False, timeout=120,
        preexec_fn=lambda: os.close(2),
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (78, "")


def test_an_import_of_the_handler_that_prints_without_a_reader_is_no_wrong_configuration(
    tmp_path: Path, unread: int
) -> None:
    (tmp_path / "group.yaml").write_text(GROUP)
    (tmp_path / "handler.py").write_text(
        "print('a line', flush=True)\ndef handle(events, context): ...\n"
    )
    secrets = {
        "HUB": "Endpoint=sb://h/;SharedAccessKeyName=k;SharedAccessKey=v",
        "STORE": "UseDevelopmentStorage=true",
    }
    file = str(tmp_path / "group.yaml")
    result = ended("tidegate", "run", "--check", file, stdout=unread, secrets=secrets)
    assert (result.returncode, result.stderr) == (NOT_READ, "")


def test_ctrl_c_in_a_pipeline_ends_the_reader_too_and_the_clean_stop_goes_on(
    tmp_path: Path, unread: int
) -> None:
    program = tmp_path / "member.py"
    program.write_text(
        """
import asyncio, os, signal
from tidegate.commands.last_words import say, stop_without_a_reader
from tidegate_http.output import standard_output
from tidegate_http.shutdown import SHUTDOWN, Listener

async def member():
    asked, cut = asyncio.Event(), asyncio.Event()
    listener = Listener(
        lambda _: asked.set(), lambda why: cut.set(), loop=asyncio.get_running_loop()
    )
    with SHUTDOWN.listening(listener, 60.0):
        stop_without_a_reader()
        os.kill(os.getpid(), signal.SIGINT)
        await asked.wait()
        print("a line of the handler", flush=True)
        try:
            await asyncio.wait_for(cut.wait(), 1.0)
            say("cut")
        except TimeoutError:
            say("clean")

with standard_output("tidegate"):
    SHUTDOWN.begin(say)
    asyncio.run(member())
    SHUTDOWN.over(0)
    raise SystemExit(0)
"""
    )
    result = ended("python", str(program), stdout=unread)
    assert (result.returncode, result.stderr.splitlines()[1:]) == (NOT_READ, ["clean"])
    assert "a clean stop is begun" in result.stderr


def test_a_reader_that_goes_away_before_a_member_begins_ends_it_at_once(
    tmp_path: Path, unread: int
) -> None:
    program = tmp_path / "member.py"
    program.write_text(
        """
import time
from tidegate.commands.last_words import say, stop_without_a_reader
from tidegate_http.output import standard_output
from tidegate_http.shutdown import SHUTDOWN, EndedEarly

with standard_output("tidegate"):
    SHUTDOWN.begin(say)
    stop_without_a_reader()
    try:
        print("a line of an import", flush=True)
        time.sleep(60)
    except EndedEarly as ended:
        say(f"early: {ended}")
    raise SystemExit(0)
"""
    )
    result = ended("python", str(program), stdout=unread)
    assert result.returncode == NOT_READ
    assert result.stderr.splitlines()[1:] == ["early: SIGTERM: ended at once, for nothing is owned"]
