"""Work that goes on beside a benchmark, in a process of its own that never outlives it.

    with Aside(partial(measured, 16)) as peer:
        ...
        peer.result()

Rules: who leaves the block early, such as by Ctrl-C, interrupts the process, so that the work ends
what it has started; one that does not end within STOP_S is killed. It is interrupted once: a Ctrl-C
at the terminal does not reach it by itself. Where the benchmark is killed, it ends too. What the
work raises, `result` raises as a ChildProcessError.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Generic, TypeVar

T = TypeVar("T")

STOP_S = 30.0
# A new interpreter: a fork would copy the locks of the threads that are there, but not the threads.
_SPAWNED = multiprocessing.get_context("spawn")


class Aside(Generic[T]):
    """See the module. The work and what it gives are picklable."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._answers, answering = _SPAWNED.Pipe(duplex=False)
        self._process = _SPAWNED.Process(target=_run, args=(work, answering))
        self._process.start()
        # Only the process has that end now, so its death is the end of what can be read.
        answering.close()

    def result(self) -> T:
        """What the work came to; waits for it."""
        try:
            found, problem = self._answers.recv()
        except EOFError:
            self._process.join()
            ended = f"work beside the benchmark ended with {self._process.exitcode}"
            raise ChildProcessError(ended) from None
        if problem is not None:
            raise ChildProcessError(f"work beside the benchmark failed: {problem}")
        given: T = found
        return given

    def stop(self) -> None:
        """Ends the process, and with it what it has started."""
        pid = self._process.pid
        assert pid is not None
        if self._process.is_alive():
            os.kill(pid, signal.SIGINT)
            self._process.join(STOP_S)
        if self._process.is_alive():
            self._process.kill()
        self._process.join()

    def __enter__(self) -> Aside[T]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _run(work: Callable[[], T], answering: Connection) -> None:
    os.setsid()
    # Who was started in the background, as by `&` of a script, inherits that it is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    try:
        found = work()
    except KeyboardInterrupt:
        return
    except Exception as error:
        answering.send((None, f"{type(error).__name__}: {error}"))
        raise
    answering.send((found, None))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGINT)
