"""The office: a thread with a loop on which our members live, beside whatever Spark does.

    office = Office(setup, "home-driver", observer=observer)
    office.start()
    office.follow(["1", "2"])                # the live executors: a member for each
    ...                                      # Spark's Python processes ask at office.address
    office.done(batch.number, states)        # or office.failed(batch.number, error)
    office.stop()                            # all is handed over

Rules:
- All methods block and may be called from any thread but the office's own.
- A defect, or what cannot work at all, ends the office: `start` and every later call say why.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from tidegate.commands import wiring
from tidegate.model import PartitionId
from tidegate.ops.observer import Observer
from tidegate.ops.secrets import Secrets
from tidegate.settings import SettingsError
from tidegate.sources.choose import EndingSource
from tidegate.spark.desk import Desk
from tidegate.spark.figures import OfficeFigures
from tidegate.spark.members import Members, MemberTools
from tidegate.spark.opening import open_tools
from tidegate.spark.positions import Batch, Turn
from tidegate.spark.work import Work

T = TypeVar("T")

_START_S = 60.0
# Kubernetes gives a pod 30 s.
_GRACE_S = 25.0
# What remains after a batch was given up: leases are handed over and blobs are written.
_LEAVE_S = 15.0
_LOOK_S = 1.0


class OfficeError(Exception):
    """The office has ended, or was not started; the message says why."""


@dataclass(frozen=True, slots=True)
class _Open:
    """What there is while the office is open."""

    work: Work
    members: Members
    stopping: asyncio.Event


class Office:
    """See the module.

    `host` is where the desk listens and what others reach it by; `scratch` a folder that outlives a
    restart of the driver; `around` what runs on the loop for as long as the office is open. Without
    a driver of ours, batches end by what the planner says.
    """

    def __init__(
        self,
        setup: wiring.Setup,
        name: str,
        *,
        observer: Observer | None = None,
        scratch: Path | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        pod_uid: str = "",
        around: Callable[[], AbstractAsyncContextManager[object]] = nullcontext,
    ) -> None:
        self.token = secrets.token_urlsafe(32)
        self._setup = setup
        self._member = replace(
            wiring.member_settings(setup, name), pod_uid=pod_uid, started_at=round(time.time(), 3)
        )
        self._observer = observer or Observer()
        self._scratch = scratch
        self._around = around
        self._host, self._port = host, port
        self._started: Future[None] = Future()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="tidegate-office", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open: _Open | None = None
        self._grace_s = _GRACE_S

    # --- its life

    def start(self) -> None:
        """Opens the office. Raises SettingsError and OfficeError."""
        self._thread.start()
        try:
            self._started.result(_START_S)
        except TimeoutError:
            raise OfficeError(f"the office did not open within {_START_S:g} s") from None

    def stop(self, grace_s: float = _GRACE_S) -> None:
        """Hands everything over, after the batch under way if that ends in time, and ends."""
        loop, opened = self._loop, self._open
        if loop is not None and opened is not None and self._thread.is_alive():
            self._grace_s = grace_s
            loop.call_soon_threadsafe(opened.stopping.set)
        if self._thread.ident is not None:
            self._thread.join(grace_s + 2 * _LEAVE_S)
        if self._failure is not None:
            raise self._ended()

    @property
    def address(self) -> str:
        """HOST:PORT of the desk, once it is open."""
        return f"{self._host}:{self._port}"

    @property
    def is_open(self) -> bool:
        return self._open is not None and self._thread.is_alive()

    # --- what the driver asks

    def follow(self, ids: Iterable[str]) -> None:
        """These executors live, and no others."""
        living = tuple(ids)
        self._do(lambda opened: opened.members.follow(living))

    def batch_under_way(self) -> Batch | None:
        """The batch that was begun and has not ended."""

        def found(opened: _Open) -> Batch | None:
            under_way = opened.work.under_way
            return None if under_way is None else under_way.batch

        return self._do(found)

    def turns(self) -> dict[PartitionId, Turn]:
        """The turns of the batch under way that are still ours, as far as they were read: for when
        its job has run."""

        def found(opened: _Open) -> dict[PartitionId, Turn]:
            under_way = opened.work.under_way
            if under_way is None:
                return {}
            reads, still = under_way.reads, opened.work.still()
            return {
                partition: replace(turn, to=reads[partition].sequence)
                for partition, turn in under_way.batch.turns.items()
                if partition in reads and partition in still
            }

        return self._do(found)

    def state_of(self, partition: PartitionId) -> bytes | None:
        """The state of a partition, as it is where its turn begins."""
        return self._do(lambda opened: opened.work.state_of(partition))

    def checkpointed(self, partition: PartitionId, epoch: int) -> int | None:
        """The last event of a partition that is in a checkpoint; None where it is not ours under
        this epoch."""
        return self._do(lambda opened: opened.work.stands(partition, epoch))

    def done(self, batch: int, states: Mapping[PartitionId, bytes | None] | None = None) -> None:
        """A batch is handled, and these are the states then; what is not named stays.

        Raises BatchError where that cannot be: the batch has failed then.
        """
        known = dict(states or {})
        self._do(lambda opened: opened.work.done(batch, known))

    def failed(self, batch: int, error: str, *, blames_events: bool = True) -> None:
        """A batch failed: nothing moves. Where its events are not to blame, because an executor was
        lost for instance, it is tried again and never split. Raises BatchError."""
        self._do(lambda opened: opened.work.failed(batch, error, blames_events=blames_events))

    def figures(self) -> OfficeFigures:
        """How the office stands."""
        return self._do(lambda opened: opened.work.figures())

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs something of the caller's on the office's loop, and gives what comes of it."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("the office's own thread asks it: its loop would wait for itself")
        if not self.is_open or self._loop is None:
            work.close()
            raise self._ended()
        try:
            asked = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:
            # The loop was closed in this very moment.
            work.close()
            raise self._ended() from None
        while True:
            try:
                return asked.result(_LOOK_S)
            except CancelledError:
                raise self._ended() from None
            except FutureTimeout:
                # What was asked may say so as well; and nobody answers on a loop that has ended.
                if asked.done():
                    raise
                if not self._thread.is_alive():
                    raise self._ended() from None

    def _do(self, ask: Callable[[_Open], T]) -> T:
        async def asked() -> T:
            assert self._open is not None
            return ask(self._open)

        return self.call(asked())

    def _ended(self) -> OfficeError:
        if self._failure is None:
            return OfficeError("the office is not open: it was not started, or has been stopped")
        failure = self._failure
        return OfficeError(f"the office has ended: {type(failure).__name__}: {failure}")

    # --- on the thread

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except BaseException as error:
            self._failure = _only(error)
            if not self._started.done():
                self._started.set_exception(self._failure)
        finally:
            self._open = None

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._around())
            tools = await open_tools(self._setup, stack, self._observer)
            async with asyncio.TaskGroup() as tasks:
                members: Members | None = None
                work = Work(tools, tasks, lambda: members.group() if members else (None, set()))
                members = Members(self._member_tools(work, tools.source), tasks)
                desk = Desk(work, self.token)
                self._port = await self._listen(desk)
                stack.push_async_callback(desk.close)
                watching = tasks.create_task(work.watch.watch())
                self._open = _Open(work, members, asyncio.Event())
                self._started.set_result(None)
                await self._open.stopping.wait()
                await self._leave(work, members)
                watching.cancel()

    def _member_tools(self, work: Work, source: EndingSource) -> MemberTools:
        return MemberTools(
            self._member,
            lambda: wiring.new_ledger(self._setup),
            work.source,
            work.new_handlers,
            self._observer,
            self._scratch,
            time.monotonic,
            Secrets(self._setup.secrets).hide,
            lambda: wiring.admission(self._setup, source),
        )

    async def _listen(self, desk: Desk) -> int:
        try:
            return await desk.open(self._host, self._port)
        except OSError as error:
            raise SettingsError(
                f"the office of the group cannot listen at {self.address}: {error}"
            ) from None

    async def _leave(self, work: Work, members: Members) -> None:
        """Everybody hands over what they hold, between batches where that can be."""
        work.is_ending = True
        leaving = asyncio.ensure_future(members.stop())
        await asyncio.wait([leaving], timeout=self._grace_s)
        work.end()
        async with asyncio.timeout(_LEAVE_S):
            await leaving


def _only(error: BaseException) -> BaseException:
    """The error of a group of one."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
