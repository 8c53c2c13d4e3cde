"""Several things at once on a loop; the first that fails ends the others and is raised as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def together(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """What comes of each, in their order."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
    except BaseExceptionGroup as errors:
        raise _first(errors) from None
    return [task.result() for task in tasks]


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
