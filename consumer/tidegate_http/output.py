"""Standard output of a command line, whose reader may go away before the end.

Rules:
- `tidegate get | head -1` ends without a word: exit code 141, as a shell says of a program that
  SIGPIPE ended. SIGPIPE itself stays ignored, because it would end the process for a socket too.
- Anything else that keeps output from being written, such as a full disk, is one line on standard
  error and exit code 1.
- While a member runs, a user's code prints and output is no result: `drop_what_fails` then
  has a write that fails dropped, so that it never reaches the user's code.
- A terminal that was closed is no failure: SIGHUP asks for the end.
- A stream that is closed from the start takes everything and keeps nothing.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, TextIO

NOT_READ = 141  # 128 + SIGPIPE
NOT_WRITTEN = 1


class OutputEnded(BaseException):
    """A write to standard output failed. No Exception, so that nothing takes it for its own."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output cannot be written: {error.strerror or error}")
        self.code = NOT_READ if isinstance(error, BrokenPipeError) else NOT_WRITTEN


class _Output(io.FileIO):
    """The file behind standard output. Reports its first failure, and drops later writes."""

    current: ClassVar[_Output | None] = None

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)
        # Asked now: it cannot be asked of a terminal that is closed.
        self._is_terminal = self.isatty()
        self.on_end: Callable[[OutputEnded], None] = _end
        self.ended: OutputEnded | None = None

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if self._is_terminal and error.errno == errno.EIO:
                # The terminal was closed. SIGHUP says so, and asks for a clean stop.
                return memoryview(data).nbytes
            if self.ended is None:
                self.ended = OutputEnded(error)
                self.on_end(self.ended)
            return memoryview(data).nbytes


def _end(ended: OutputEnded) -> None:
    raise ended


def drop_what_fails(tell: Callable[[OutputEnded], None]) -> None:
    """Drop writes that fail from now on, and report the first failure."""
    if _Output.current is not None:
        _Output.current.on_end = tell


def end_if_unread() -> None:
    """For programs that write seldom: without this they would learn of it with their next line."""
    output = _Output.current
    if output is None or output.ended is not None:
        return
    poll = select.poll()
    poll.register(output.fileno(), 0)
    if any(events & select.POLLERR for _, events in poll.poll(0)):
        output.ended = OutputEnded(BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)))
        output.on_end(output.ended)


@contextmanager
def standard_output(program: str) -> Iterator[None]:
    """The whole of a program, from its first line of output to its last."""
    former, output = sys.stdout, _replaced()
    stream = sys.stdout
    try:
        try:
            yield
        finally:
            if not stream.closed:  # by user code, which may have put another in its place as well
                stream.flush()
    except OutputEnded as ended:
        if ended.code != NOT_READ:
            print(f"{program}: {ended}", file=sys.stderr)
        sys.exit(ended.code)
    except SystemExit as end:
        if not end.code and output is not None and output.ended is not None:
            sys.exit(output.ended.code)
        raise
    finally:
        sys.stdout, _Output.current = former, None


def _replaced() -> _Output | None:
    """Puts our file behind `sys.stdout`."""
    if sys.stderr is None:
        # `print` takes None for standard output.
        sys.stderr = _nowhere()
    if sys.stdout is None:
        sys.stdout = _nowhere()
    elif sys.platform != "win32":  # terminals on Windows are not files
        _Output.current = _Output(sys.stdout.fileno())
        sys.stdout = _stream(sys.stdout, _Output.current)
    return _Output.current


def _nowhere() -> TextIO:
    return io.TextIOWrapper(io.FileIO(os.devnull, "w"), encoding="utf-8")


def _stream(former: Any, output: _Output) -> io.TextIOWrapper:
    """A stream such as the former, also in whether it is buffered."""
    former.flush()
    is_buffered = isinstance(former.buffer, io.BufferedIOBase)
    return io.TextIOWrapper(
        io.BufferedWriter(output) if is_buffered else output,
        encoding=former.encoding,
        # A character that the terminal cannot show must not end the process.
        errors="backslashreplace" if former.errors == "strict" else former.errors,
        line_buffering=former.line_buffering,
        write_through=former.write_through,
    )
