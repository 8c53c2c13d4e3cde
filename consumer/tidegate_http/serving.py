"""A server that runs: in a thread for tests and examples, or as a program until it is stopped.

Rules: every call to a server in a thread returns after the server has done it, or raises what that
raised. A program stops cleanly at Ctrl-C, SIGTERM and SIGHUP, be it while its server starts; at a
second signal, or after its grace period, it ends at once with code 130.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Protocol, TypeVar

from tidegate_http.shutdown import CUT, SHUTDOWN, Listener

T = TypeVar("T")


class Server(Protocol):
    """What can be started and stopped."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


S = TypeVar("S", bound=Server)

_PATIENCE_S = 30.0
# The chart gives the pods of the servers 10 s.
_GRACE_S = 8.0


class Running:
    """What other threads have of a server that runs in one of its own. Made by `in_a_thread`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def call(self, function: Callable[[], T]) -> T:
        """Runs a function where the server runs, and gives its result."""
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(function())
            except BaseException as error:
                done.set_exception(error)

        self._loop.call_soon_threadsafe(run)
        return done.result(_PATIENCE_S)


@contextlib.contextmanager
def in_a_thread(
    name: str, made: Callable[[], S], shown: Callable[[S, asyncio.AbstractEventLoop], T]
) -> Iterator[T]:
    """A server that was started, as others are shown it; stopped when the block ends."""
    started: Future[T] = Future()
    stop = threading.Event()

    async def serve() -> None:
        server = made()
        await server.start()
        started.set_result(shown(server, asyncio.get_running_loop()))
        await asyncio.to_thread(stop.wait)
        await server.stop()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        yield started.result(_PATIENCE_S)
    finally:
        stop.set()
        thread.join(_PATIENCE_S)


async def until_stopped(server: Server, told: Callable[[], Iterable[str]]) -> None:
    """Runs a program's server, and prints what is to be told of it once it has started."""
    stopped = asyncio.Event()
    running = asyncio.ensure_future(_serve(server, told, stopped))
    SHUTDOWN.begin(lambda text: print(text, file=sys.stderr, flush=True))
    listener = Listener(
        lambda _: stopped.set(), lambda _: running.cancel(), loop=asyncio.get_running_loop()
    )
    with SHUTDOWN.listening(listener, _GRACE_S):
        await asyncio.wait([running])
    if running.cancelled():
        sys.exit(CUT)
    if running.exception() is not None:
        SHUTDOWN.release()
    running.result()


async def _serve(server: Server, told: Callable[[], Iterable[str]], stopped: asyncio.Event) -> None:
    await server.start()
    try:
        for line in told():
            print(line)
        print("ready; Ctrl-C stops it", flush=True)
        await stopped.wait()
    finally:
        await server.stop()
