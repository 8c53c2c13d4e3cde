"""Every scenario that the Python clients implement, by name: one function for both clients."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from contract.hub.python import (
    content,
    facts,
    positions,
    processors,
    receiving,
    refusals,
    sending,
)
from contract.hub.python.stage import Stage

_MODULES = (sending, content, positions, facts, receiving, refusals, processors)

IMPLEMENTED: dict[str, Callable[[Stage], Awaitable[None]]] = {
    name: function
    for module in _MODULES
    for name, function in vars(module).items()
    if inspect.iscoroutinefunction(function)
    and function.__module__ == module.__name__
    and not name.startswith("_")
}
