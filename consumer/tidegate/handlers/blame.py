"""What a handler raised, for people, with the line of the user's own code. Pure.

Rules: the line is the last one of the user's files that the error came through; where there is
none, for the code is installed in the image, it is the first one behind ours. Nothing of the line's
text is said, for it may hold what the log must not.
"""

from __future__ import annotations

import asyncio
import os
import sysconfig
import traceback
from dataclasses import dataclass
from pathlib import Path, PurePath
from types import TracebackType

from tidegate.error_text import (
    LINE_LIMIT,
    cause_of,
    class_name,
    one_line,
    said,
    trace_of,
    traceback_of,
)

_OURS = str(Path(__file__).resolve().parents[1]) + os.sep
_PYTHONS = tuple(f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib"))
_NAME_LIMIT = 100


@dataclass(frozen=True, slots=True)
class Raised:
    """How a call of user code failed. All texts are made at once, on the thread of the call: to
    make them runs user code, which may hang."""

    error: BaseException  # for `on_error`
    kind: str  # the name of its class
    said: str
    line: str  # the same, as much as a line of the log has of it
    blamed: str  # that, and where it was raised
    trace: str


class CallFailedError(Exception):
    """A call of user code failed, in any way but that it does not come back."""

    def __init__(self, raised: Raised) -> None:
        super().__init__(raised.blamed)
        self.raised = raised


def call_failed(error: BaseException) -> CallFailedError:
    """The failure of a call that raised this, an end of the process included."""
    if type(error) is CallFailedError:
        return error
    text = _meaning(error)
    # A dead letter has more room for an error than a line of the log.
    line = text if text is not None else said(error, LINE_LIMIT)
    whole = text if text is not None else said(error)
    # A coroutine that raises StopIteration fails with an error of Python's own, which has no place.
    place = _place(traceback_of(error)) or _place(traceback_of(cause_of(error)))
    where = f"{line} ({place})" if place else line
    return CallFailedError(Raised(error, class_name(error), whole, line, where, trace_of(error)))


def blamed(error: BaseException) -> str:
    """The error in one line, and where it was raised."""
    return call_failed(error).raised.blamed


def _meaning(error: BaseException) -> str | None:
    """What is said of an error that elsewhere ends a task or the process."""
    kind, text = type(error), said(error, LINE_LIMIT)
    if issubclass(kind, SystemExit):
        return (
            f"sys.exit({text.partition(': ')[2]}) was called: that fails the call and does not end "
            "the member. Raise an exception of your own, or send SIGTERM to the process for a "
            "clean stop"
        )
    if issubclass(kind, asyncio.CancelledError):
        return f"{text}: the handler raised it itself, for nobody has cancelled the call"
    if not issubclass(kind, Exception):
        return (
            f"{text}: that fails the call and does not end the member. Raise a subclass of "
            "Exception"
        )
    return None


def _place(trace: TracebackType | None) -> str:
    """File and line of the user's own code, or '' where there is none."""
    # The traceback alone is walked: its lines' texts, which are not said, would be read from disk.
    walked = traceback.walk_tb(trace)
    places = [
        (name, line)
        for name, line in ((frame.f_code.co_filename, line) for frame, line in walked)
        if not name.startswith((_OURS, "<")) and not _is_pythons(name)
    ]
    if not places:
        return ""
    own = [place for place in places if "site-packages" not in place[0]]
    name, line = own[-1] if own else places[0]
    return f"{one_line(PurePath(name).name, _NAME_LIMIT)}, line {line}"


def _is_pythons(name: str) -> bool:
    # Packages may be installed below the folder of the standard library.
    return name.startswith(_PYTHONS) and "site-packages" not in name
