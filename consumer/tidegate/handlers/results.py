"""What user functions are, and what their calls return: what runs at once, and what does not.

Rules:
- A call that returns an awaitable has not run yet: `still_to_await` gives it to be awaited.
- What else has not run, such as a generator, is an error that says what to write: taken for done,
  every event would be lost.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import inspect
from collections.abc import Awaitable, Callable
from types import CodeType
from typing import Any

_Function = Callable[..., Any]
# Looks through `partial` in `partial` and the like; more depth than anybody writes.
_DEPTH = 20


class NotRunError(Exception):
    """A call returned without running what it was called for; the message says what to write."""


def is_async(function: _Function) -> bool:
    """Whether a call is to be made on the loop: it gives a coroutine.

    A decorator with `wraps` is taken for what it wraps. What is not seen here runs on a thread, and
    an awaitable that it returns is awaited all the same.
    """
    return any(inspect.iscoroutinefunction(each) for each in _bodies(function))


def generator_code(function: _Function) -> CodeType | None:
    """The code of the generator function that this is, or wraps; None where it is none."""
    for each in _bodies(function):
        # What `types.coroutine` makes of a generator function is awaited, as a coroutine is.
        code: CodeType | None = getattr(each, "__code__", None)
        if code is not None and not code.co_flags & inspect.CO_ITERABLE_COROUTINE:
            if inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each):
                return code
    return None


def _bodies(function: Any) -> list[Any]:
    """The functions whose bodies may run in a call: that of a method, of `__call__`, wrapped."""
    found: list[Any] = []
    for _ in range(_DEPTH):
        if isinstance(function, functools.partial):
            function = function.func
        elif inspect.ismethod(function) or isinstance(function, staticmethod):
            function = function.__func__
        else:
            wrapped = getattr(function, "__wrapped__", None)
            if inspect.isroutine(function):
                found.append(function)
                function = wrapped
            else:
                function = wrapped or getattr(type(function), "__call__", None)  # noqa: B004
                if not (wrapped or inspect.isfunction(function)):
                    break
        if function is None:
            break
    return found


def still_to_await(what: str, result: Any) -> Awaitable[Any] | None:
    """What is to be awaited of what a call returned. Raises NotRunError."""
    if result is None:
        return None
    if inspect.isawaitable(result):
        return result
    if isinstance(result, concurrent.futures.Future):
        return _finished(result)
    kind = type(result)
    if kind in (list, tuple, set, frozenset):
        _check_members(what, result)
    elif inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise NotRunError(f"{what} returned a generator{_place_of(result)}: {_YIELD}")
    elif _is_lazy(kind):
        raise NotRunError(
            f"{what} returned {_article(kind.__name__)} object, and nothing of it has run. Run "
            "through it in the handler, and return nothing"
        )
    return None


_YIELD = "nothing of it has run. Take `yield` out of it, or run through it in the handler"


def _check_members(what: str, result: Any) -> None:
    waiting = [each for each in result if hasattr(type(each), "__await__")]
    if waiting:
        for each in waiting:
            if inspect.iscoroutine(each):
                each.close()  # or Python would warn that it was never awaited
        raise NotRunError(
            f"{what} returned {_article(type(result).__name__)} of {len(waiting)} awaitables, and "
            "nobody awaits them. Make the handler `async def`, and write: await "
            "asyncio.gather(*those)"
        )


def _is_lazy(kind: type) -> bool:
    """Iterators, and what `contextlib.contextmanager` makes of a generator function."""
    names = ("__next__", "__anext__", "_recreate_cm")
    return any(hasattr(kind, name) for name in names)


def _place_of(generator: Any) -> str:
    code = getattr(generator, "gi_code", None) or getattr(generator, "ag_code", None)
    return f" ({code.co_name})" if code is not None else ""


def _article(name: str) -> str:
    return f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


async def _finished(result: concurrent.futures.Future[Any]) -> Any:
    return await asyncio.wrap_future(result)
