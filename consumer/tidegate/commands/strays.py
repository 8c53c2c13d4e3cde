"""Run the member although a task or a callback of user code asks for the end of the process.

Rules: `sys.exit` in a call of the handler fails that call. In a task that a call has started and
left behind there is no call to fail: asyncio would silently end the loop and the member. The exit
is logged and the member continues, as it does when a thread of the user's ends so. The same holds
for code that stops the loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from tidegate.event_loop import Loop
from tidegate.handlers.blame import blamed
from tidegate_http.shutdown import EndedEarly

_log = logging.getLogger("tidegate.group")

T = TypeVar("T")


def run_through(main: Coroutine[Any, Any, T]) -> T:
    """Run on a loop of ours. An exit that another task raises is logged, and ends nothing."""
    with asyncio.Runner(loop_factory=Loop) as runner:
        loop = runner.get_loop()
        loop.set_exception_handler(_unless_logged)
        task = loop.create_task(main)
        while True:
            try:
                return loop.run_until_complete(task)
            # The RuntimeError says that user code has stopped the loop.
            except (SystemExit, KeyboardInterrupt, RuntimeError) as error:
                if task.done() or loop.is_closed() or isinstance(error, EndedEarly):
                    raise
                _log.error(
                    "in a task or a callback that the handler has left behind: %s", blamed(error)
                )


def _unless_logged(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Asyncio logs the same exit again when its task is collected."""
    if not isinstance(context.get("exception"), SystemExit | KeyboardInterrupt):
        loop.default_exception_handler(context)
