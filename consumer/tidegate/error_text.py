"""Texts of errors that user code raised, made without trusting the error. Pure.

Rules:
- The class of an error, its `__str__` and its notes are user code: they may raise, return
  megabytes or return control characters. Each function here returns a bounded text whatever they
  do, and never raises.
- Attributes of an error are read as `BaseException` defines them: a subclass may override them.
- Where a text is cut, the last partial word is left out: it may be the beginning of a secret.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from tidegate.bounded import bounded

# Characters of an error in a dead letter and in a log line.
ERROR_LIMIT = 8_000
LINE_LIMIT = 1_000
# Twice what a letter keeps of a trace: a key that is cut in half here is not in the second half.
TRACE_LIMIT = 16_000
_NAME_LIMIT = 100
# A source line in a trace.
_WIDTH = 300
# Limits of a traceback: errors of a chain, members of a group, frames and notes of each.
_CHAIN, _MEMBERS, _FRAMES, _NOTES = 8, 5, 50, 5
# Longer than any key: the end of a cut text after its last space can be left out.
_LONGEST_WORD = 200

_CAUSED = "\nThe above exception was the direct cause of the following exception:\n\n"
_DURING = "\nDuring handling of the above exception, another exception occurred:\n\n"


def one_line(text: str, limit: int = LINE_LIMIT) -> str:
    """A text in one line of at most `limit` characters, without control characters."""
    length = len(text)
    if length > limit:
        end = f" … ({length:,} characters)"
        line = " ".join(text[: limit - len(end)].split())
        whole, _, word = line.rpartition(" ")
        line = (whole if len(word) < _LONGEST_WORD else line[:-_LONGEST_WORD]) + end
    else:
        line = " ".join(text.split())
    if line.isprintable():
        return line
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in line)[:limit]


def class_name(error: BaseException) -> str:
    """The name of its class, whatever a metaclass makes of that."""
    name: str = type.__dict__["__name__"].__get__(type(error))
    return one_line(name, _NAME_LIMIT)


def said(error: BaseException, limit: int = ERROR_LIMIT) -> str:
    """An error in one line."""
    name, text = class_name(error), one_line(text_of(error), limit)
    return f"{name}: {text}" if text else name


def traceback_of(error: BaseException) -> TracebackType | None:
    found: TracebackType | None = _attribute("__traceback__", error)
    return found


def cause_of(error: BaseException) -> BaseException:
    """The error that this one was raised from, or the error itself."""
    found: BaseException | None = _attribute("__cause__", error)
    return error if found is None else found


def trace_of(error: BaseException) -> str:
    """The traceback of an error and of those behind it, bounded however many and long they are."""
    parts: list[str] = []
    for each, link in reversed(list(_chain(error))):
        parts += ("(earlier errors left out)\n",) if each is None else _lines(each)
        parts.append(link)
    return bounded("".join(parts), TRACE_LIMIT)


def text_of(value: object) -> str:
    """`str(value)`, or a note that there is none."""
    try:
        # `__str__` may return an instance of a subclass of str; this returns a plain str.
        return str.__str__(str(value))
    except BaseException as problem:  # also what elsewhere ends a process
        return f"(no text: its __str__ raised {class_name(problem)})"


def _chain(error: BaseException) -> Iterator[tuple[BaseException | None, str]]:
    """The error and its causes, each with the words that follow it in a traceback. None stands for
    the rest of a longer chain."""
    each, link = error, ""
    seen: set[int] = set()
    while True:
        seen.add(id(each))
        yield each, link
        before, link = _attribute("__cause__", each), _CAUSED
        if before is None and not _attribute("__suppress_context__", each):
            before, link = _attribute("__context__", each), _DURING
        if before is None or id(before) in seen:
            return
        if len(seen) == _CHAIN:
            yield None, link
            return
        each = before


def _lines(error: BaseException, margin: str = "") -> Iterator[str]:
    """One error with its frames, its notes and, if it is a group, its first members."""
    found = traceback_of(error)
    if found is not None:
        yield f"{margin}Traceback (most recent call last):\n"
        frames = traceback.StackSummary.extract(traceback.walk_tb(found), limit=-_FRAMES)
        for text in frames.format():
            yield "".join(f"{margin}{line[:_WIDTH]}\n" for line in text.splitlines())
    yield f"{margin}{said(error, LINE_LIMIT)}\n"
    for note in _notes(error):
        yield f"{margin}{one_line(text_of(note))}\n"
    if issubclass(type(error), BaseExceptionGroup) and not margin:
        members = _attribute("exceptions", error, BaseExceptionGroup)
        for each in members[:_MEMBERS]:
            yield from _lines(each, "  | ")
        if len(members) > _MEMBERS:
            yield f"  | and {len(members) - _MEMBERS:,} more\n"


def _notes(error: BaseException) -> list[Any]:
    try:
        found = BaseException.__getattribute__(error, "__notes__")
    except BaseException:  # there are none, or the class has its own idea of them
        return []
    return found[:_NOTES] if type(found) is list else []


def _attribute(name: str, error: BaseException, kind: type[BaseException] = BaseException) -> Any:
    return kind.__dict__[name].__get__(error)
