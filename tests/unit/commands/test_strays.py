"""An exit in a task that a handler has left behind does not end the member."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tidegate.commands.strays import run_through
from tidegate_http.shutdown import EndedEarly


async def _exits() -> None:
    sys.exit(0)


async def _interrupts() -> None:
    raise KeyboardInterrupt


def _task(made: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: asyncio.ensure_future(made())


@pytest.mark.parametrize(
    ("leave", "words"),
    [
        (_task(_exits), "sys.exit(0) was called"),
        (_task(_interrupts), "KeyboardInterrupt"),
        (lambda: asyncio.get_running_loop().call_soon(sys.exit, 3), "sys.exit(3) was called"),
    ],
    ids=["task that exits", "task that interrupts", "callback"],
)
def test_what_user_code_leaves_behind_may_exit_and_the_rest_goes_on(
    leave: Callable[[], Any], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> int:
        kept = [leave() for _ in range(3)]
        for _ in range(10):
            await asyncio.sleep(0)
        return len(kept)

    with caplog.at_level(logging.ERROR, "tidegate"):
        assert run_through(main()) == 3
    said = [record.getMessage() for record in caplog.records if words in record.getMessage()]
    assert len(said) == 3
    assert all("left behind" in each for each in said)


def test_a_loop_that_is_stopped_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> int:
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0.01)
        return 7

    assert run_through(main()) == 7
    assert "Event loop stopped" in caplog.text


def test_a_signal_that_ends_the_process_early_is_no_stray_exit() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_soon(_ended_early)
        await asyncio.sleep(60)

    with pytest.raises(EndedEarly):
        run_through(main())


def _ended_early() -> None:
    raise EndedEarly("SIGTERM")


def test_an_exit_of_the_main_task_itself_and_an_error_are_passed_on() -> None:
    with pytest.raises(SystemExit):
        run_through(_exits())

    async def fails() -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        run_through(fails())
