"""Bounded text: long texts and tracebacks cut to a size that costs little to search and to write.

Rules:
- A text from outside (a message of user code, an event in an exception, an answer of a service) is
  cut before anything searches it, so that no text can occupy the process.
- A cut never leaves a part of a word: half a key is a secret too, and no pattern finds it.
- A traceback is bounded in frames, in causes, and in the members of exception groups. The errors
  nearest to the one that was raised are kept.

Pure.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator

LONGEST = 16_384
# Characters of keys, of connection strings and of tokens: a cut is made between two others.
_OF_WORDS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=%_.~&;:-")
_FRAMES = 50
_CAUSES = 8
_MEMBERS = 5
_DEPTH = 3


def bounded(text: str, longest: int = LONGEST) -> str:
    """The text; of a long one its beginning and its end, and how much is left out."""
    if len(text) <= longest:
        return text
    half = longest // 2
    end = next((at for at in range(half, 0, -1) if text[at - 1] not in _OF_WORDS), half)
    first = len(text) - half
    begin = next((at for at in range(first, len(text)) if text[at] not in _OF_WORDS), len(text))
    return f"{text[:end]}[{begin - end} characters left out]{text[begin:]}"


def text_of(error: BaseException) -> str:
    """The message of an error, bounded; also of one whose own `__str__` fails."""
    try:
        return bounded(str(error))
    except Exception as problem:
        return f"(its message cannot be read: __str__ raised {type(problem).__name__})"


def trace_of(error: BaseException) -> str:
    """The traceback of an error with its causes, as Python writes it, bounded."""
    return bounded("".join(_chain(error, 0)))


def _chain(error: BaseException, depth: int) -> Iterator[str]:
    chain: list[tuple[BaseException, str]] = []
    link: BaseException | None = error
    words, seen = "", set[int]()
    while link is not None and id(link) not in seen and len(chain) < _CAUSES:
        seen.add(id(link))
        chain.append((link, words))
        link, words = _before(link)
    if link is not None and id(link) not in seen:
        yield "(earlier errors left out)\n\n"
    for each, follows in reversed(chain):
        yield from _one(each, depth)
        if follows:
            yield f"\n{follows}\n\n"


def _before(error: BaseException) -> tuple[BaseException | None, str]:
    if error.__cause__ is not None:
        return error.__cause__, (
            "The above exception was the direct cause of the following exception:"
        )
    context = None if error.__suppress_context__ else error.__context__
    return context, "During handling of the above exception, another exception occurred:"


def _one(error: BaseException, depth: int) -> Iterator[str]:
    if error.__traceback__ is not None:
        yield "Traceback (most recent call last):\n"
        yield from traceback.extract_tb(error.__traceback__, limit=-_FRAMES).format()
    kind = type(error)
    module = "" if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}."
    text = text_of(error)
    yield f"{module}{kind.__qualname__}{f': {text}' if text else ''}\n"
    notes = getattr(error, "__notes__", None)
    if isinstance(notes, list):
        for note in notes[:_MEMBERS]:
            yield f"{bounded(note) if isinstance(note, str) else type(note).__name__}\n"
    if isinstance(error, BaseExceptionGroup):
        yield from _members(error, depth)


def _members(group: BaseExceptionGroup[BaseException], depth: int) -> Iterator[str]:
    shown = group.exceptions[:_MEMBERS] if depth < _DEPTH else ()
    for number, each in enumerate(shown, 1):
        yield f"---------------- {number} of {len(group.exceptions)} ----------------\n"
        yield from _chain(each, depth + 1)
    if len(shown) < len(group.exceptions):
        yield f"({len(group.exceptions) - len(shown)} more errors of the group left out)\n"
