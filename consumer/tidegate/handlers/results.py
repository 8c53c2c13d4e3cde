"""Kinds of user functions, and results of calls that have not run their body yet.

Rules:
- A call that returns an awaitable has not run yet: `still_to_await` returns it to the caller.
- Any other result that has not run, such as a generator, is an error with a remedy. Without the
  error every event would count as handled and be lost.
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
    """A call returned without running its body. The message names the remedy."""


def is_async(function: _Function) -> bool:
    """True if the function must be called on the event loop, because it returns a coroutine.

    A decorator with `wraps` counts as the function inside it. An async function that is not
    recognized runs on a thread, and its awaitable is awaited afterwards.
    """
    return any(inspect.iscoroutinefunction(each) for each in _bodies(function))


def generator_code(function: _Function) -> CodeType | None:
    """The code of the generator function in a callable, or None."""
    for each in _bodies(function):
        # `types.coroutine` turns a generator function into an awaitable.
        code: CodeType | None = getattr(each, "__code__", None)
        if code is not None and not code.co_flags & inspect.CO_ITERABLE_COROUTINE:
            if inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each):
                return code
    return None


def _bodies(function: Any) -> list[Any]:
    """The functions whose bodies may run in a call: a method, `__call__`, a wrapped function."""
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
    """The awaitable that a call returned, or None. Raises NotRunError."""
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
                each.close()  # otherwise Python warns that it was never awaited
        raise NotRunError(
            f"{what} returned {_article(type(result).__name__)} of {len(waiting)} awaitables, and "
            "they were not awaited. Make the handler `async def`, and write: await "
            "asyncio.gather(*those)"
        )


def _is_lazy(kind: type) -> bool:
    """True for Python's own iterators and for results of `contextlib.contextmanager`.

    Other iterators are allowed: a database cursor is one, and its statement has run.
    """
    is_own = kind.__module__ in ("builtins", "itertools")
    return (is_own and hasattr(kind, "__next__")) or hasattr(kind, "_recreate_cm")


def _place_of(generator: Any) -> str:
    code = getattr(generator, "gi_code", None) or getattr(generator, "ag_code", None)
    return f" ({code.co_name})" if code is not None else ""


def _article(name: str) -> str:
    return f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


async def _finished(result: concurrent.futures.Future[Any]) -> Any:
    return await asyncio.wrap_future(result)
