"""Everything that runs around one member, put together: what `tidegate run` starts and stops.

    async with around(settings, member="pod-1", group="home-activity", secrets=[...]) as ops:
        runtime = Runtime(..., watch=ops.watch)   # events and commands of the member
        ops.observer.hear(BatchHandled(...))      # what the delivery of events tells

Rules: the member runs the same with or without it; nothing here is asked for a decision. The log
and the endpoints are there before the member starts and end after it.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TextIO

from tidegate.member import messages as m
from tidegate.ops import logs
from tidegate.ops.board import Board
from tidegate.ops.health import Health
from tidegate.ops.meter import Meter
from tidegate.ops.metrics import Metrics, MetricsText
from tidegate.ops.observer import Observer, Observers
from tidegate.ops.secrets import Secrets
from tidegate.ops.serving import Address, serve
from tidegate.ops.tracing import tracing
from tidegate.ops.view import Pane, is_wanted, live_view
from tidegate.ops.witness import Witness
from tidegate.settings import SettingsError

_log = logging.getLogger(f"{logs.ROOT}.ops")


@dataclass(frozen=True, slots=True)
class OpsSettings:
    """What runs around a member, and how."""

    # Where /metrics, /healthz and /readyz are; None for nowhere.
    address: Address | None = None
    log_level: str = "INFO"
    # 'json', 'text', or 'auto': text where a terminal reads it.
    log_format: str = "auto"
    # The live view, where a terminal can show it.
    has_view: bool = True
    # Spans, where the process has a tracer provider.
    has_traces: bool = True

    def checked(self) -> OpsSettings:
        """These settings, or SettingsError."""
        if self.log_level not in logs.LEVELS:
            raise SettingsError(
                f"log level {self.log_level!r}: write one of {', '.join(logs.LEVELS)}"
            )
        if self.log_format not in ("auto", "json", "text"):
            raise SettingsError(f"log format {self.log_format!r}: write auto, json or text")
        return self


@dataclass(frozen=True, slots=True)
class Ops:
    """What a running member tells, and where it is shown."""

    observer: Observer
    board: Board
    meter: Meter
    secrets: Secrets
    url: str | None
    # Gives the terminal back, on any thread.
    leave_view: Callable[[], object]
    _witness: Witness

    def watch(self, message: m.Event | m.Command) -> None:
        """For the runtime: every event and command of the member."""
        self._witness.watch(message)


def _no_view() -> None:
    """There is no terminal to give back."""


@asynccontextmanager
async def around(
    settings: OpsSettings,
    *,
    member: str,
    group: str,
    hub: str,
    secrets: Iterable[str],
    environment: Mapping[str, str],
    output: TextIO | None = None,
    errors: TextIO | None = None,
    board: Board | None = None,
) -> AsyncIterator[Ops]:
    """Sets all of it up. Raises SettingsError; an address that cannot be had is one.

    `board` is for who runs several members.
    """
    settings.checked()
    output, errors = output or sys.stdout, errors or sys.stderr
    hidden = Secrets(secrets)
    board, clock = board or Board(member), time.monotonic
    health = Health(board, clock())
    metrics = Metrics(group, board, time.time)
    meter = Meter(board, clock)
    listeners: list[Observer] = [board, meter, health, metrics, logs.Logged(group, member)]
    spans = tracing(hub, group) if settings.has_traces else None
    if spans is not None:
        listeners.append(spans)
    observer = Observers(*listeners)
    pane = Pane(hidden)
    has_view = settings.has_view and is_wanted(output, environment)
    async with AsyncExitStack() as stack:
        as_json = {"json": True, "text": False, "auto": None}[settings.log_format]
        logs.set_up(
            hidden,
            level=settings.log_level,
            as_json=False if has_view else as_json,
            stream=pane if has_view else errors,
        )
        url = None
        if settings.address is not None:
            text = MetricsText(metrics, clock, time.time)
            endpoints = await serve(settings.address, text, health, clock)
            stack.push_async_callback(endpoints.close)
            url = endpoints.url
            _log.info("metrics and health at %s", url)
        leave_view: Callable[[], object] = _no_view
        if has_view:
            # What is said after the view has ended is for people who scroll back.
            log_to_errors = partial(
                logs.set_up, hidden, level=settings.log_level, as_json=as_json, stream=errors
            )
            stack.callback(log_to_errors)
            view = live_view(board, pane, group, environment, stream=output)
            end_view = await stack.enter_async_context(view)

            def leave() -> None:
                end_view()
                log_to_errors()

            leave_view = leave
        yield Ops(observer, board, meter, hidden, url, leave_view, Witness(observer, clock))
