"""Finds the user's functions, and says what is wrong with them before anything is read.

    handler = load("handler.py:handle", folder)        # or "package.module:handle"

Rules:
- A function whose first argument is called `events` is given batches, one whose first argument is
  called `event` one event at a time; where neither is so, its own name decides.
- `on_error`, `on_open`, `on_close`, `on_time` and `on_stop` are taken from the same module, where
  they are.
- A class is refused, and so is a generator function: a call would run nothing of what it is for.
- An error names the file and the line where it is, the cause, and what to write.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tidegate.error_text import LINE_LIMIT, class_name, said, traceback_of
from tidegate.handlers.results import generator_code
from tidegate.settings import SettingsError
from tidegate_http.output import OutputEnded
from tidegate_http.shutdown import EndedEarly

Function = Callable[..., Any]

# An import may raise these and has not failed: a signal, and output without a reader.
_OF_THE_PROCESS = (EndedEarly, OutputEnded)
# The last frames of a traceback in which the user's own line is looked for.
_FRAMES = 100
# What this process imports under these names beside Python's own modules.
_TAKEN = frozenset(("tidegate", "tidegate_amqp", "aiohttp", "azure", "pyspark", "yaml"))
_HOW = "write 'module:function' or 'file.py:function'"
_SHAPES: dict[str, tuple[str, ...]] = {
    "on_error": ("error", "context"),
    "on_open": ("partition",),
    "on_close": ("partition", "reason"),
    "on_time": ("context",),
    "on_stop": (),
}


class HandlerError(SettingsError):
    """The handler cannot be used; the message says where and why."""

    reason = "HandlerNotImported"


@dataclass(frozen=True, slots=True)
class UserCode:
    """The user's functions. `takes_one`: an event at a time."""

    handle: Function
    takes_one: bool = False
    on_error: Function | None = None
    on_open: Function | None = None
    on_close: Function | None = None
    on_time: Function | None = None
    on_stop: Function | None = None


def load(reference: str, folder: Path) -> UserCode:
    """The functions that a reference names; files and modules are looked for in `folder` first."""
    module, function = _found(reference, folder)
    place = reference.rpartition(":")[0]
    others = {key: _member(module, key, place) for key in _SHAPES}
    for key, found in others.items():
        if found is not None:
            _check_takes(found, _SHAPES[key], key, place)
    return UserCode(function, _takes_one(function, reference), **others)


def function_of(reference: str, folder: Path) -> Function:
    """The one function that a reference names, whatever it takes. Raises HandlerError."""
    return _found(reference, folder)[1]


def _found(reference: str, folder: Path) -> tuple[ModuleType, Function]:
    place, separator, name = reference.rpartition(":")
    if not separator or not place or not name.isidentifier():
        raise HandlerError(f"handler '{reference}': {_HOW}")
    module = _file(place, folder) if place.endswith(".py") else _module(place, folder)
    function = _member(module, name, place)
    if not callable(function):
        raise HandlerError(f"handler '{reference}': {_lacks(module, name, place)}")
    return module, function


def _member(module: ModuleType, name: str, place: str) -> Any:
    """What a module has under a name, or None. Its own `__getattr__` may be asked."""
    try:
        return getattr(module, name, None)
    except _OF_THE_PROCESS:
        raise
    except BaseException as error:
        raise HandlerError(_problem(f"'{name}' in {place}", error)) from None


def _file(place: str, folder: Path) -> ModuleType:
    path = (folder / place).resolve()
    if not path.is_file():
        raise HandlerError(f"handler file '{place}': there is no such file in {folder}")
    if path.stem in sys.stdlib_module_names or path.stem in _TAKEN:
        raise HandlerError(
            f"handler file '{place}': '{path.stem}' is a module of Python or of Tidegate, which it "
            "would replace everywhere. Name the file otherwise"
        )
    _search_first(path.parent)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise HandlerError(f"handler file '{place}' is no Python file")
    module = importlib.util.module_from_spec(spec)
    # As for any import: what the file says of its own module has to find it.
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except _OF_THE_PROCESS:
        raise
    except BaseException as error:
        del sys.modules[path.stem]
        raise HandlerError(_problem(f"handler file '{place}'", error)) from None
    return module


def _module(place: str, folder: Path) -> ModuleType:
    _search_first(folder)
    try:
        return importlib.import_module(place)
    except _OF_THE_PROCESS:
        raise
    except BaseException as error:
        raise HandlerError(_problem(f"handler module '{place}'", error)) from None


def _search_first(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _problem(what: str, error: BaseException) -> str:
    """What went wrong in importing, and where in the user's own code."""
    text = said(error, LINE_LIMIT)
    if isinstance(error, SyntaxError) and error.filename:
        return f"{what}: {error.filename}, line {error.lineno}: {class_name(error)}: {error.msg}"
    frames = [
        frame
        for frame in traceback.extract_tb(traceback_of(error), limit=-_FRAMES)
        if not frame.filename.startswith("<frozen")
        and frame.filename not in (__file__, importlib.__file__)
    ]
    if not frames:
        return (
            f"{what} cannot be imported: {text}. Looked for it beside the group file and "
            "among the installed packages."
        )
    last = frames[-1]
    line = f": {last.line}" if last.line else ""
    return f"{what}: {last.filename}, line {last.lineno}{line}: {text}"


def _lacks(module: ModuleType, name: str, place: str) -> str:
    if hasattr(module, name):
        return f"'{name}' in {place} is no function"
    named = [
        key for key, value in vars(module).items() if inspect.isfunction(value) and key[0] != "_"
    ]
    there = f"; there are: {', '.join(sorted(named))}" if named else " and no other"
    return f"{place} has no function '{name}'{there}"


def _takes_one(function: Function, reference: str) -> bool:
    place, _, named = reference.rpartition(":")
    shape = _check_takes(function, ("events", "context"), named, place)
    first = shape[0] if shape else ""
    name = getattr(function, "__name__", "")
    if first in ("event", "events"):
        return first == "event"
    if name in ("handle", "handle_event"):
        return name == "handle_event"
    raise HandlerError(
        f"handler '{reference}': it cannot be seen whether '{name}' takes one event or several. "
        "Call its first argument 'event' or 'events'."
    )


def _check_takes(function: Function, names: tuple[str, ...], name: str, place: str) -> list[str]:
    """The names of its arguments, if it can be called with so many."""
    if not callable(function):
        raise HandlerError(f"'{name}' in {place} is no function")
    if inspect.isclass(function):
        raise HandlerError(
            f"'{name}' in {place} is a class, and a call would only make an object of it. Name an "
            f"object that can be called: {name.lower()} = {name}()"
        )
    code = generator_code(function)
    if code is not None:
        raise HandlerError(
            f"'{name}' in {place} is a generator: `yield` stands in {code.co_name} "
            f"({Path(code.co_filename).name}, line {code.co_firstlineno}), so that a call would "
            "run nothing of it. Write it without `yield`, as a plain function or `async def`"
        )
    try:
        shape = inspect.signature(function)
    except (TypeError, ValueError):  # written in C: only a call can tell
        return []
    try:
        shape.bind(*names)
    except TypeError:
        raise HandlerError(
            f"'{name}' in {place} is to take ({', '.join(names)}), and takes {shape}"
        ) from None
    return list(shape.parameters)
