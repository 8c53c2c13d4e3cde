"""Graceful shutdown of a process: a thread notices its signals, and ends it when its time is up.

Rules:
- SIGINT, SIGTERM and SIGHUP ask for the end. The process then has its grace period. A further
  SIGINT or SIGTERM ends it at once. A further SIGHUP does not: a closed terminal sends several. If
  SIGHUP is ignored when the process starts (`nohup`), it stays ignored.
- Code that blocks the event loop, tasks that refuse to be cancelled, threads and exit hooks that
  hang delay none of this. The thread waits for nothing that other code can hold.
- One thing does: code in C that keeps the interpreter's lock. If it takes the lock after the
  request, faulthandler prints where it is and ends the process with code 1, seconds later. If it
  has the lock before and never releases it, only SIGKILL ends the process (or SIGQUIT, Ctrl-\\).
"""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import logging
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import AsyncGeneratorType, FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

# The exit code of a process that was ended before its shutdown was complete.
CUT = 130
_HANGUP = getattr(signal, "SIGHUP", None)  # which Windows does not have
SIGNALS = tuple(number for number in (_HANGUP, signal.SIGINT, signal.SIGTERM) if number)
# How long a process takes at most that has nothing to hand over, and one that was cut.
_EARLY_S = 3.0
_LAST_S = 1.0
# Time limit for the last line: its reader may be gone, or the machine busy.
_WORDS_S = 2.0
# Extra time before faulthandler ends the process.
_BEYOND_S = 2.0
_STDERR = 2
_NEVER = float("inf")


class EndedEarly(KeyboardInterrupt):
    """Raised wherever the main thread is. Not an Exception: no import of user code catches it."""


def _nothing() -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Listener:
    """Callbacks of a process that is asked to end. They run on its loop, or without a loop on the
    thread that notices signals, where they must not block."""

    # Begins a graceful shutdown: the name of the signal, or why the process asks for it itself.
    asked: Callable[[str], object]
    # Cancels the rest within a second and reports why. Without it the process ends at once.
    cut: Callable[[str], object] | None = None
    # Runs on its own thread before the last line of a process that is ended by force: restores the
    # terminal, and returns the consequences of ending now.
    forced: Callable[[], str] = _nothing
    loop: AbstractEventLoop | None = None


class Shutdown:
    """See the module. There is one, because signals belong to the whole process."""

    def __init__(self) -> None:
        self._say: Callable[[str], None] = print
        self._listener: Listener | None = None
        self._has_listened = False
        # The last listener's, to name what still runs on it.
        self._loop: AbstractEventLoop | None = None
        self._code: int | None = None
        self._error: Exception | None = None
        self._grace_s = _EARLY_S
        # Why the process is being cut, and why it ends when `until` has come.
        self._cut_by = ""
        self._until, self._why = _NEVER, ""
        self._is_asked = False
        # Why the process itself asks for its end.
        self._own_reason = ""
        # A signal is noticed in C, if nothing has taken the descriptor away, and in Python, if the
        # main thread comes to that. Each one counts once.
        self._in_c: Counter[int] = Counter()
        self._in_python: Counter[int] = Counter()
        self._heard: Counter[int] = Counter()
        self._wake = -1

    # --- the main thread calls

    def begin(self, say: Callable[[str], None]) -> None:
        """From now on a signal ends the process: by EndedEarly, as long as nothing has listened.

        `say` takes the last line of a process that has to be ended by force.
        """
        self._say = say
        if self._wake < 0:
            reading, self._wake = os.pipe()
            os.set_blocking(self._wake, False)
            os.register_at_fork(
                before=_hold_signals, after_in_parent=_let_signals, after_in_child=_in_child
            )
            thread = threading.Thread(
                target=self._watch, args=(reading,), name="tidegate-signals", daemon=True
            )
            thread.start()
        self.take()

    def take(self) -> None:
        """Takes the signals; again, if a library has taken them meanwhile."""
        for number in SIGNALS:
            if number == _HANGUP and signal.getsignal(number) is signal.SIG_IGN:
                continue
            signal.signal(number, self._on_signal)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)

    def release(self) -> None:
        """The process does not listen any more: its signals are what they were."""
        _reset_signals()

    def grant(self, grace_s: float) -> None:
        """Start the grace period. The loop calls this when it is asked to end."""
        self._grace_s = grace_s
        self._limit(grace_s, f"the {grace_s:g} s of grace are over")
        self._wake_up()

    @contextmanager
    def listening(self, listener: Listener, grace_s: float) -> Iterator[None]:
        """While this lasts, a signal is what the listener makes of it."""
        self._grace_s = grace_s
        self._has_listened = True
        self._loop, self._listener = listener.loop, listener
        try:
            yield
        except Exception as error:
            # The interpreter prints it, if nothing hangs before that.
            self._error = error
            raise
        finally:
            self._listener = None

    def over(self, code: int) -> None:
        """All is done, but for exit hooks and threads: the process ends with this code."""
        if self._wake < 0:
            return
        self._code = code
        self.end()

    def end(self) -> None:
        """The process ends, be it because it has failed: that takes its grace period at most."""
        if self._until == _NEVER:
            self._limit(self._grace_s, f"it did not end within {self._grace_s:g} s")
            self._wake_up()

    def ask(self, reason: str) -> None:
        """Asks for the end, on any thread. A signal that was there before has done that already:
        unlike a second signal, this never ends the process at once."""
        if not self._has_listened:
            # Nothing is owned: as a signal from outside.
            os.kill(os.getpid(), signal.SIGTERM)
            return
        self._own_reason = reason
        self._wake_up()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._in_python[number] += 1
        self._wake_up()
        if not self._has_listened:
            raise EndedEarly(f"{signal.Signals(number).name}: ended at once, for nothing is owned")

    def _wake_up(self) -> None:
        try:
            os.write(self._wake, b"\0")
        except BlockingIOError:
            return  # it is full: the thread wakes up anyway

    # --- on the thread

    def _watch(self, reading: int) -> None:
        poll = select.poll()
        poll.register(reading, select.POLLIN)
        while True:
            left_s = self._until - time.monotonic()
            if left_s <= 0:
                self._cut(self._why)
            elif poll.poll(min(left_s, 3600.0) * 1000):
                self._hear(os.read(reading, 4096))

    def _hear(self, data: bytes) -> None:
        self._in_c.update(number for number in data if number)
        for number in SIGNALS:
            while self._heard[number] < max(self._in_c[number], self._in_python[number]):
                self._heard[number] += 1
                if not self._is_asked:
                    self._begin_end(signal.Signals(number).name)
                elif number != _HANGUP:
                    self._cut("asked a second time")
        # Without a listener the process is on its way out.
        if self._own_reason and not self._is_asked and self._listener is not None:
            self._begin_end(self._own_reason)

    def _begin_end(self, name: str) -> None:
        self._is_asked = True
        listener = self._listener
        if listener is None:
            self._limit(_EARLY_S, f"{name}, and it did not end within {_EARLY_S:g} s")
        else:
            self._limit(self._grace_s, f"the {self._grace_s:g} s of grace are over")
            self._tell(listener, listener.asked, name)

    def _limit(self, seconds: float, why: str) -> None:
        self._why = why
        self._until = time.monotonic() + seconds
        faulthandler.dump_traceback_later(seconds + _LAST_S + _BEYOND_S, exit=True, file=_STDERR)

    def _cut(self, why: str) -> None:
        listener = self._listener
        if self._cut_by or listener is None or listener.cut is None:
            self._force(self._cut_by or why)
            return
        self._cut_by = why
        self._limit(_LAST_S, why)
        self._tell(listener, listener.cut, why)

    def _tell(self, listener: Listener, function: Callable[[str], object], word: str) -> None:
        if listener.loop is None:
            function(word)
            return
        try:
            listener.loop.call_soon_threadsafe(function, word)
        except RuntimeError:
            return  # the loop has been closed: the main thread is on its way out

    def _force(self, why: str) -> None:
        """Ends the process, whatever becomes of the words: a pipe may be full."""
        try:
            words = threading.Thread(target=self._last_line, args=(why,), daemon=True)
            words.start()
            words.join(_WORDS_S)
        finally:
            os._exit(self._code or CUT)

    def _last_line(self, why: str) -> None:
        listener = self._listener
        said = [f"ended by force: {why}.", listener.forced() if listener is not None else ""]
        failure = "".join(traceback.format_exception(self._error)) if self._error else ""
        said.append(f"Still running: {still_running(self._loop) or 'nothing that has a name'}.")
        self._say(failure + " ".join(filter(None, said)))
        # Log handlers may hold counts that are not written yet.
        logging.shutdown()
        _flush()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # the stream is full or closed


class _Held(threading.local):
    mask: Any = None


_held = _Held()


def _hold_signals() -> None:
    """A process that is forked shares the pipe: its signals wait until it has left that."""
    _held.mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)


def _let_signals() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _held.mask)


def _in_child() -> None:
    faulthandler.cancel_dump_traceback_later()
    _reset_signals()
    _let_signals()


def _reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            is_int = number == signal.SIGINT
            signal.signal(number, signal.default_int_handler if is_int else signal.SIG_DFL)


# --- what still runs

_MOST = 5
_LIBRARY = str(Path(os.__file__).parent)
_PACKAGES = f"{os.sep}site-packages{os.sep}"
_OURS = tuple(
    f"{Path(__file__).parents[1] / name}{os.sep}"
    for name in ("tidegate", "tidegate_amqp", "tidegate_http", "tidegate_hub", "tidegate_operator")
)


def still_running(loop: AbstractEventLoop | None) -> str:
    """The code of others that threads and tasks are in, with file and line."""
    found: list[str] = []
    frames = sys._current_frames()
    for thread in threading.enumerate():
        place = _place(frames.get(thread.ident or 0))
        if place or not (thread.daemon or thread is threading.main_thread()):
            found.append(f"thread '{thread.name}'{place}")
    for task in asyncio.all_tasks(loop) if loop is not None else ():
        place = _place_of_task(task)
        if place:
            found.append(f"task '{task.get_name()}'{place}")
    found.sort(key=lambda text: _PACKAGES in text)
    more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return "; ".join(found[:_MOST]) + more


def _place(frame: FrameType | None) -> str:
    """The innermost frame that is neither the standard library's nor ours."""
    while frame is not None:
        if not _is_known(frame.f_code.co_filename):
            return _named(frame)
        frame = frame.f_back
    return ""


def _place_of_task(task: asyncio.Task[Any]) -> str:
    found = ""
    waited: Any = task.get_coro()
    while waited is not None:
        frame = _first(waited, "cr_frame", "ag_frame")
        if frame is not None and not _is_known(frame.f_code.co_filename):
            found = _named(frame)
        following = _first(waited, "cr_await", "ag_await", "gi_yieldfrom")
        if following is None and frame is None:
            # The cleanup of an async generator has no attribute that leads to the generator.
            referents = gc.get_referents(waited)
            following = next((r for r in referents if isinstance(r, AsyncGeneratorType)), None)
        waited = following
    return found


def _first(holder: object, *names: str) -> Any:
    return next((found for name in names if (found := getattr(holder, name, None))), None)


def _named(frame: FrameType) -> str:
    code = frame.f_code
    return f" at {code.co_filename}:{frame.f_lineno} in {code.co_name}"


def _is_known(file: str) -> bool:
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if file.startswith("<frozen") or file == script or file.startswith(_OURS):
        return True
    return file.startswith(_LIBRARY) and _PACKAGES not in file


SHUTDOWN = Shutdown()
