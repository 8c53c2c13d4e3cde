"""`watch`: a group as it is now, again and again, until somebody has seen enough.

Rules: on a terminal it takes the screen and gives it back as it was; elsewhere it writes what it
would show, each time that anything has changed. An API server that does not answer is said, and
asked again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TextIO

from tidegate.ops.terminal import Size, Terminal
from tidegate.ops.view import is_wanted
from tidegate_http.output import end_if_unread
from tidegate_operator.kube_errors import NotThere, Unreachable
from tidegate_operator.plugin.cluster import Cluster
from tidegate_operator.plugin.reports import GroupReport, as_document, report_of
from tidegate_operator.plugin.tables import page, screen

# What there is to show, why it is no newer, and for how long that has been so.
Show = Callable[[GroupReport, str, float], None]


async def watch(
    cluster: Cluster,
    name: str,
    *,
    as_json: bool,
    every_s: float,
    environment: Mapping[str, str],
    stream: TextIO | None = None,
    size: Callable[[], Size] | None = None,
) -> int:
    """Until Ctrl-C or SIGTERM, which is a good end. Raises KubeError where it cannot begin."""
    out = stream or sys.stdout
    first = report_of(await cluster.group(name), now=time.time())
    show_on = _showing(out, environment, size, cluster.program, as_json=as_json)
    with show_on as show, _until_told():
        show(first, "", 0.0)
        with contextlib.suppress(asyncio.CancelledError):
            await _keep_looking(cluster, name, first, show, every_s)
    return 0


async def _keep_looking(
    cluster: Cluster, name: str, first: GroupReport, show: Show, every_s: float
) -> None:
    report, seen_at = first, time.monotonic()
    while True:
        await asyncio.sleep(every_s)
        end_if_unread()
        trouble = ""
        try:
            report = report_of(await cluster.group(name), now=time.time())
        except (NotThere, Unreachable) as problem:
            trouble = str(problem)
        else:
            seen_at = time.monotonic()
        show(report, trouble, time.monotonic() - seen_at)


@contextlib.contextmanager
def _showing(
    out: TextIO,
    environment: Mapping[str, str],
    size: Callable[[], Size] | None,
    program: str,
    *,
    as_json: bool,
) -> Iterator[Show]:
    if as_json or not is_wanted(out, environment):
        yield _printer(out, program, as_json=as_json)
        return
    terminal = Terminal(out, has_colours="NO_COLOR" not in environment)
    size_of = size or (lambda: os.get_terminal_size(out.fileno()))

    def draw(report: GroupReport, trouble: str, age_s: float) -> None:
        columns, rows = at = size_of()
        terminal.show(screen(report, columns=columns, rows=rows, trouble=trouble, age_s=age_s), at)

    terminal.open()
    try:
        yield draw
    finally:
        terminal.close()


def _printer(out: TextIO, program: str, *, as_json: bool) -> Show:
    """Writes what changed: a JSON document a line, or the whole page."""
    said = ""

    def write(report: GroupReport, trouble: str, _age_s: float) -> None:
        nonlocal said
        if trouble:
            text = f"{program}: {trouble}"
        elif as_json:
            text = json.dumps(as_document(report), ensure_ascii=False)
        else:
            text = "\n".join(line.text for line in page(report)) + "\n"
        if text != said:
            said = text
            print(text, file=sys.stderr if trouble else out, flush=True)

    return write


@contextlib.contextmanager
def _until_told() -> Iterator[None]:
    """SIGTERM ends this as Ctrl-C does, so that the terminal is given back."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
