"""Every kind of callable: what it returns is awaited, or is a failure; nothing is lost silently."""

from __future__ import annotations

import asyncio
import functools
import sqlite3
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tidegate.delivery.policy import OnFailure
from tidegate.handlers.calls import Calls
from tidegate.handlers.context import Context
from tidegate.handlers.loading import HandlerError, load
from tidegate.handlers.results import is_async
from tidegate.handlers.threads import PartitionThread
from tidegate.handling import Close, HungError
from tidegate_http.shutdown import EndedEarly
from unit.delivery.events import MadeEvent
from unit.handlers.delivering import QUICK, Delivery

ASIDE = replace(QUICK, on_failure=OnFailure.DEAD_LETTER, attempts=1)
Seen = list[int]
Made = Callable[[Seen], Callable[..., Any]]


def _taken(given: Any) -> list[int]:
    batch = [given] if isinstance(given, MadeEvent) else given
    return [event.sequence_number for event in batch]


def _async_function(seen: Seen) -> Callable[..., Any]:
    async def take(given: Any, context: Context) -> None:
        await asyncio.sleep(0)
        seen.extend(_taken(given))

    return take


def _partial(seen: Seen) -> Callable[..., Any]:
    async def take(seen: Seen, given: Any, context: Context) -> None:
        await asyncio.sleep(0)
        seen.extend(_taken(given))

    return functools.partial(functools.partial(take), seen)


def _decorated_without_wraps(seen: Seen) -> Callable[..., Any]:
    inner = _async_function(seen)

    def take(given: Any, context: Context) -> Any:
        return inner(given, context)

    return take


def _decorated_with_wraps(seen: Seen) -> Callable[..., Any]:
    inner = _async_function(seen)

    @functools.wraps(inner)
    def take(given: Any, context: Context) -> Any:
        return inner(given, context)

    return take


def _wrapped_and_plain_all_the_same(seen: Seen) -> Callable[..., Any]:
    inner = _async_function(seen)

    @functools.wraps(inner)
    def take(given: Any, context: Context) -> None:
        seen.extend(_taken(given))

    return take


def _lambda(seen: Seen) -> Callable[..., Any]:
    inner = _async_function(seen)
    return lambda given, context: inner(given, context)  # noqa: PLW0108  (the lambda is the point)


def _async_that_returns_a_coroutine(seen: Seen) -> Callable[..., Any]:
    inner = _async_function(seen)

    async def take(given: Any, context: Context) -> Any:
        return inner(given, context)

    return take


def _object(seen: Seen) -> Callable[..., Any]:
    inner = _async_function(seen)

    class Taker:
        async def __call__(self, given: Any, context: Context) -> None:
            await inner(given, context)

    return functools.partial(Taker())


def _future(seen: Seen) -> Callable[..., Any]:
    inner = _async_function(seen)

    class Later:
        def __init__(self, coroutine: Any) -> None:
            self._coroutine = coroutine

        def __await__(self) -> Any:
            return self._coroutine.__await__()

    return lambda given, context: Later(inner(given, context))


def _executor(seen: Seen) -> Callable[..., Any]:
    pool = ThreadPoolExecutor(1)
    return lambda given, context: pool.submit(lambda: seen.extend(_taken(given)))


def _generator_that_is_a_coroutine(seen: Seen) -> Callable[..., Any]:
    @types.coroutine
    def take(given: Any, context: Context) -> Any:
        yield
        seen.extend(_taken(given))

    return take


KINDS: list[Made] = [
    _async_function,
    _partial,
    _decorated_without_wraps,
    _decorated_with_wraps,
    _wrapped_and_plain_all_the_same,
    _lambda,
    _async_that_returns_a_coroutine,
    _object,
    _future,
    _executor,
    _generator_that_is_a_coroutine,
]
NAMES = [made.__name__.strip("_") for made in KINDS]


@pytest.mark.parametrize("takes_one", [False, True], ids=["batches", "single events"])
@pytest.mark.parametrize("made", KINDS, ids=NAMES)
async def test_the_body_of_every_kind_of_handler_runs_once_for_each_event_in_order(
    made: Made, takes_one: bool
) -> None:
    seen: Seen = []
    delivery = Delivery(made(seen), takes_one=takes_one)
    await delivery.give(0, 25)
    await delivery.close()
    assert seen == list(range(25))
    assert delivery.done == 24
    assert delivery.kinds == []


@pytest.mark.parametrize("made", KINDS, ids=NAMES)
@pytest.mark.parametrize("hook", ["on_open", "on_close", "on_time", "on_error"])
async def test_the_body_of_every_kind_of_hook_runs(
    hook: str, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidegate.handlers.partition.ON_TIME_EVERY_S", 0.0)
    seen: Seen = []
    taken = made(seen)
    calls = 0

    def handle(events: list[MadeEvent], context: Context) -> None:
        nonlocal calls
        calls += 1
        if hook == "on_error" and calls == 1:
            raise ValueError("once")

    # The events that these take are those of a handler: each hook gives them one.
    hooks: dict[str, Any] = {
        "on_open": functools.partial(lambda partition: taken([MadeEvent(1)], None)),
        "on_close": lambda partition, reason: taken([MadeEvent(1)], None),
        "on_time": lambda context: taken([MadeEvent(1)], context),
        "on_error": lambda error, context: taken([MadeEvent(1)], context),
    }
    delivery = Delivery(handle, **{hook: hooks[hook]})
    await delivery.partition.open()
    await delivery.give(0, 3)
    await delivery.close(Close.GIVEN)
    assert 1 in seen
    assert delivery.kinds == []


GENERATORS = {
    "a generator": "def handle(events, context):\n    yield",
    "an async generator": "async def handle(events, context):\n    yield",
    "a partial of one": "def take(x, events, context):\n    yield\nhandle = partial(take, 1)",
    "an object": (
        "class Taker:\n    def __call__(self, events, context):\n        yield\nhandle = Taker()"
    ),
    "a method": (
        "class Taker:\n    async def take(self, events, context):\n        yield\n"
        "handle = Taker().take"
    ),
    "wrapped": (
        "def take(events, context):\n    yield\n"
        "@wraps(take)\ndef handle(events, context):\n    return take(events, context)"
    ),
    "a context manager": "@contextmanager\ndef handle(events, context):\n    yield",
    "a single-event one": "def handle(event, context):\n    yield",
}
IMPORTS = "from functools import partial, wraps\nfrom contextlib import contextmanager\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_is_refused_when_it_is_loaded_with_its_file_its_name_and_what_to_write(
    folder: Path, name: str
) -> None:
    (folder / "given.py").write_text(IMPORTS + GENERATORS[name])
    with pytest.raises(
        HandlerError, match=r"'handle' in given\.py is a generator: `yield` stands in "
    ) as raised:
        load("given.py:handle", folder)
    assert "(given.py, line " in str(raised.value)
    assert "Write it without `yield`" in str(raised.value)


@pytest.mark.parametrize(
    "hook",
    [
        "on_error(error, context)",
        "on_open(partition)",
        "on_close(partition, reason)",
        "on_time(context)",
        "on_stop()",
    ],
)
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_hook_that_is_a_generator_is_refused_when_it_is_loaded(
    folder: Path, hook: str, kind: str
) -> None:
    (folder / "given.py").write_text(
        f"def handle(events, context): ...\n{kind} {hook}:\n    yield 1\n"
    )
    with pytest.raises(
        HandlerError, match=rf"'{hook.partition('(')[0]}' in given.py is a generator"
    ):
        load("given.py:handle", folder)


def test_a_class_is_refused_for_a_call_would_only_make_an_object(folder: Path) -> None:
    (folder / "given.py").write_text("class Take:\n    def __init__(self, events, context): ...\n")
    with pytest.raises(HandlerError, match=r"'Take' in given.py is a class.* take = Take\(\)"):
        load("given.py:Take", folder)


def test_what_types_coroutine_makes_of_a_generator_is_taken(folder: Path) -> None:
    (folder / "given.py").write_text(
        "import types\n@types.coroutine\ndef handle(events, context):\n    yield\n"
    )
    assert not load("given.py:handle", folder).takes_one


def test_a_module_whose_own_getattr_fails_is_an_error_of_the_configuration(folder: Path) -> None:
    (folder / "given.py").write_text(
        "def handle(events, context): ...\ndef __getattr__(name):\n    raise KeyError(name)\n"
    )
    with pytest.raises(HandlerError, match=r"'on_error' in given\.py: .*line 3"):
        load("given.py:handle", folder)


@pytest.mark.parametrize(
    "end", ["KeyboardInterrupt", "GeneratorExit", "BaseException", "SystemExit"]
)
def test_an_import_that_ends_the_process_is_an_error_of_the_configuration(
    folder: Path, end: str
) -> None:
    (folder / "given.py").write_text(f"raise {end}\n")
    with pytest.raises(HandlerError, match=f"given.py, line 1: raise {end}: {end}"):
        load("given.py:handle", folder)


def test_a_signal_that_comes_while_a_handler_is_imported_is_no_fault_of_the_handler(
    folder: Path,
) -> None:
    (folder / "given.py").write_text(
        "from tidegate_http.shutdown import EndedEarly\nraise EndedEarly('SIGTERM')\n"
    )
    with pytest.raises(EndedEarly):
        load("given.py:handle", folder)


def _generator(events: Any, context: Any) -> Any:
    def run() -> Iterator[None]:
        yield

    return run()


def _async_generator(events: Any, context: Any) -> Any:
    async def run() -> Any:
        yield

    return run()


def _context_manager(events: Any, context: Any) -> Any:
    @contextmanager
    def run() -> Iterator[None]:
        yield

    return run()


async def _nothing(event: Any) -> None:
    pass


RETURNS: dict[str, Callable[..., Any]] = {
    "returned a generator (run)": _generator,
    "returned a generator (run) ": _async_generator,
    "returned a map object": lambda events, context: map(print, [events]),
    "returned a _GeneratorContextManager object": _context_manager,
    "returned a list of 1 awaitables": lambda events, context: [_nothing(events)],
}


@pytest.mark.parametrize("takes_one", [False, True], ids=["batches", "single events"])
@pytest.mark.parametrize("is_async_too", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize("words", RETURNS)
async def test_a_call_that_returns_what_nobody_runs_has_failed(
    words: str, is_async_too: bool, takes_one: bool
) -> None:
    returns = RETURNS[words]

    async def asynchronous(given: Any, context: Context) -> Any:
        return returns(given, context)

    handle = asynchronous if is_async_too else returns
    delivery = Delivery(handle, ASIDE, takes_one=takes_one)
    await delivery.give(0, 2)
    assert [letter.position.sequence for letter in delivery.letters.kept] == [0, 1]
    assert f"the handler of partition 3 {words.strip()}" in delivery.letters.kept[0].error


@pytest.mark.parametrize("takes_one", [False, True], ids=["batches", "single events"])
async def test_a_call_may_return_the_cursor_of_a_statement_that_has_run(takes_one: bool) -> None:
    with closing(sqlite3.connect(":memory:", check_same_thread=False)) as database:
        database.execute("CREATE TABLE seen (n)")

        def handle(given: Any, context: Context) -> sqlite3.Cursor:
            rows = [(number,) for number in _taken(given)]
            return database.executemany("INSERT INTO seen VALUES (?)", rows)

        delivery = Delivery(handle, ASIDE, takes_one=takes_one)
        await delivery.give(0, 2)
        assert database.execute("SELECT n FROM seen ORDER BY n").fetchall() == [(0,), (1,)]
    assert not delivery.letters.kept
    assert delivery.done == 1


@pytest.mark.parametrize("made", [_lambda, _executor], ids=["coroutine", "thread pool"])
async def test_what_a_plain_function_leaves_to_await_may_fail(made: Made) -> None:
    inner = made([])

    def handle(events: list[MadeEvent], context: Context) -> Any:
        return inner(None, context)

    delivery = Delivery(handle, ASIDE)
    await delivery.give(0, 1)
    assert [letter.position.sequence for letter in delivery.letters.kept] == [0]
    assert "TypeError" in delivery.letters.kept[0].error


@pytest.mark.parametrize("ends", [True, False], ids=["ends when told", "goes on"])
async def test_what_a_plain_function_leaves_to_await_has_the_same_time_limit(ends: bool) -> None:
    release = asyncio.Event()
    calls = 0

    async def wait(context: Context) -> None:
        if calls > 1:
            return
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                if ends:
                    raise

    def handle(events: list[MadeEvent], context: Context) -> Any:
        nonlocal calls
        calls += 1
        return wait(context)

    delivery = Delivery(handle, replace(QUICK, timeout_s=0.1, told_s=0.1))
    if ends:
        await delivery.give(0, 3)
        assert (calls, delivery.done) == (2, 2)
        return
    with pytest.raises(HungError):
        await delivery.give(0, 3)
    release.set()
    assert delivery.done is None


async def test_on_stop_of_any_kind_runs() -> None:
    seen: Seen = []
    take = _lambda(seen)
    thread = PartitionThread("handler-stop")
    calls = Calls("on_stop", lambda: thread, 5, 1, lambda: None, lambda: None, lambda: 0.0)
    await calls.run(lambda: take([MadeEvent(4)], None))
    assert seen == [4]


@pytest.mark.parametrize(
    ("made", "expected"),
    [(_partial, True), (_object, True), (_decorated_with_wraps, True), (_lambda, False)],
)
def test_an_async_function_is_seen_through_partials_objects_and_wraps(
    made: Made, expected: bool
) -> None:
    assert is_async(made([])) is expected


def test_an_object_whose_class_calls_itself_for_ever_is_looked_at_for_a_while_only() -> None:
    endless: Any = type("Endless", (), {})
    endless.__call__ = endless()
    assert is_async(endless()) is False
