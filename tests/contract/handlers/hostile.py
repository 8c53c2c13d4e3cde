"""Hostile handlers: one mistake of user code each, on events of partition 0.

A handler is the text of its file, behind PRELUDE. `numbers` are those of what a call is given,
`good` notes them as handled, and `has_poison` says whether event POISON of partition 0 is among
them, and counts how often it is. If it is hostile at every attempt, that event becomes a dead
letter; if it is hostile once, by `first_time`, all events are handled.
"""

from __future__ import annotations

from dataclasses import dataclass

POISON = 13
PRELUDE = f"""
import asyncio, contextlib, functools, sys, threading, time, types
from concurrent.futures import ThreadPoolExecutor

POISON = {POISON}
SEEN = []
HITS = []
_times = {{}}

def as_list(given):
    return list(given) if isinstance(given, (list, tuple)) else [given]

def numbers(given):
    return [event.body_as_json()["n"] for event in as_list(given)]

def good(given, context):
    SEEN.extend((context.partition, number) for number in numbers(given))

async def good_later(given, context):
    await asyncio.sleep(0)
    good(given, context)

def has_poison(given, context):
    if context.partition == "0" and POISON in numbers(given):
        HITS.append(len(as_list(given)))
        return True
    return False

def first_time(context):
    _times[context.partition] = _times.get(context.partition, 0) + 1
    return context.partition == "0" and _times["0"] == 1
"""


@dataclass(frozen=True, slots=True)
class Hostile:
    """A handler. The log names its `cause`, '' if nothing fails; `aside`: POISON is put aside."""

    name: str
    text: str
    cause: str = ""
    aside: bool = False
    # How many lines of the log name the cause; None for one or more.
    lines: int | None = None
    # Half a minute: a partition that was given away because a call hangs comes back no sooner.
    is_slow: bool = False


def kinds() -> list[Hostile]:
    """Callables of every kind: each runs, and nothing fails."""
    texts = {
        "a plain function": "def handle(events, context): good(events, context)",
        "an async function": "async def handle(events, context): await good_later(events, context)",
        "a partial of an async function": (
            "async def take(extra, events, context): await good_later(events, context)\n"
            "handle = functools.partial(take, 1)"
        ),
        "an async function under a decorator without wraps": (
            "def timed(f):\n    def inner(events, context): return f(events, context)\n"
            "    return inner\n"
            "@timed\nasync def handle(events, context): await good_later(events, context)"
        ),
        "an async function under a decorator with wraps": (
            "def timed(f):\n    @functools.wraps(f)\n    def inner(*a): return f(*a)\n"
            "    return inner\n"
            "@timed\nasync def handle(events, context): await good_later(events, context)"
        ),
        "a lambda that returns a coroutine": (
            "handle = lambda events, context: good_later(events, context)"
        ),
        "an object with an async call": (
            "class Taker:\n    async def __call__(self, events, context):\n"
            "        await good_later(events, context)\nhandle = Taker()"
        ),
        "an async function that returns a coroutine": (
            "async def handle(events, context): return good_later(events, context)"
        ),
        "a future of a thread pool": (
            "pool = ThreadPoolExecutor(1)\n"
            "def handle(events, context): return pool.submit(good, events, context)"
        ),
        "a coroutine by types.coroutine": (
            "@types.coroutine\ndef handle(events, context):\n    yield\n    good(events, context)"
        ),
        "single events by a partial": (
            "async def take(extra, event, context): await good_later(event, context)\n"
            "handle = functools.partial(take, 1)"
        ),
        "single events by a lambda that returns a coroutine": (
            "handle = lambda event, context: good_later(event, context)"
        ),
    }
    return [Hostile(name, text) for name, text in texts.items()]


def changes() -> list[Hostile]:
    """Changes of the list, of the events and of the context."""
    harmless = {
        "sorts its list": "events.sort(key=lambda event: -event.sequence_number)",
        "drains its list": "while events: events.pop(0)",
        "cuts its list": "del events[:5]",
        "fills its list with others": "events[:] = events[:1] * 1000",
        "changes its events": "for event in events: event.properties['x'] = object()",
        "keeps odd things in memory": "context.memory[object()] = lambda: 1 / 0",
    }
    failing = {
        "sorts its list": ("events.reverse()", "ValueError: bad"),
        "drains its list": ("events.clear()", "ValueError: bad"),
        "changes its events": (
            "for event in events: event.properties.clear(); event.properties[b'k'] = object()",
            "ValueError: bad",
        ),
        "assigns its position": ("context.position = 1", "AttributeError"),
        "assigns its memory": ("context.memory = None", "AttributeError"),
        "assigns an event's place": ("events[0].sequence_number = 10**9", "AttributeError"),
        "marks an event of another call": ("context.checkpoint(object())", "not one of the events"),
        "keeps what cannot be stored": ("context.state['n'] = object(); return", "cannot be kept"),
        "keeps a dictionary that exits": (
            "kind = type('D', (dict,), {'items': lambda s: sys.exit(0)})\n"
            "        context.state['n'] = kind(a=1); return",
            "sys.exit(0) was called",
        ),
        "marks those before one": (
            "k = numbers(events).index(POISON)\n        good(events[:k], context)\n"
            "        if k: context.checkpoint(events[k - 1])",
            "ValueError: bad",
        ),
    }
    found = [
        Hostile(f"{name} when it is done", _def(f"good(events, context)\n    {code}"))
        for name, code in harmless.items()
    ]
    found += [
        Hostile(
            f"{name} and fails", _poisoned(f"{code}\n        raise ValueError('bad')"), cause, True
        )
        for name, (code, cause) in failing.items()
    ]
    found.append(
        Hostile(
            "marks all its events and fails",
            _def(
                "good(events, context)\n    context.checkpoint(events[-1])\n"
                "    if POISON in numbers(events): raise ValueError('after all of it')"
            ),
            "ValueError: after all of it",
        )
    )
    return found


def _def(code: str, kind: str = "def") -> str:
    return f"{kind} handle(events, context):\n    {code}\n"


def _poisoned(code: str, kind: str = "def", argument: str = "events") -> str:
    return (
        f"{kind} handle({argument}, context):\n"
        f"    if has_poison({argument}, context):\n"
        f"        {code}\n"
        f"    good({argument}, context)\n"
    )


_CLASSES = """
class BadText(Exception):
    def __str__(self): raise ValueError("no text")
    __repr__ = __str__
class TextExits(Exception):
    def __str__(self): sys.exit(0)
class NoText(Exception):
    def __str__(self): return 7
class Meta(type):
    __name__ = property(lambda cls: 1 / 0)
class Nameless(Exception, metaclass=Meta): pass
class NoParts(Exception):
    __traceback__ = __cause__ = __context__ = __class__ = property(lambda self: 1 / 0)
class Own(BaseException): pass
Renamed = type("A\\nB" * 1000, (Exception,), {})
def recurse(): recurse()
def chained(count):
    error = ValueError("first")
    for number in range(count):
        above = ValueError(str(number)); above.__cause__ = error; error = above
    return error
"""


# What the handler does, by its name, and what is said of it.
_PLAIN = {
    "an error without a text": ("raise BadText", "BadText: (no text: its __str__ raised"),
    "an error whose text exits": ("raise TextExits", "TextExits: (no text: its __str__ raised"),
    "an error whose text is a number": ("raise NoText", "NoText: (no text: its __str__ raised"),
    "an error of a class without a name": ("raise Nameless('x')", "Nameless: x"),
    "an error of a class with a huge name": ("raise Renamed('x')", "A B"),
    "an error whose parts raise": ("raise NoParts('x')", "NoParts: x"),
    "20 MB of text": ("raise ValueError('x' * 20_000_000)", "(20,000,000 characters)"),
    "control characters and half a character": (
        r"raise ValueError('\x1b[2J\r\n\x00\ud800')",
        r"ValueError: \x1b[2J \x00\ud800",
    ),
    "endless recursion": ("recurse()", "RecursionError: maximum recursion"),
    "more memory than there is": ("bytearray(1 << 62)", "MemoryError"),
    "a group of 10,000 errors": (
        "raise ExceptionGroup('many', [ValueError(i) for i in range(10_000)])",
        "ExceptionGroup: many",
    ),
    "a chain of 10,000 errors": ("raise chained(10_000)", "ValueError: 9999"),
    "StopIteration": ("next(iter(()))", "StopIteration"),
    "a base exception of its own": ("raise Own('x')", "Own: x: that fails the call"),
    "sys.exit(0)": ("sys.exit(0)", "sys.exit(0) was called"),
    "sys.exit with a text": ("sys.exit('bye')", "sys.exit(bye) was called"),
    "KeyboardInterrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt: that fails the call"),
    "GeneratorExit": ("raise GeneratorExit", "GeneratorExit: that fails the call"),
    "what nobody can run: a generator": (
        "return (each for each in events)",
        "returned a generator",
    ),
    "what nobody can run: a map": ("return map(print, events)", "returned a map object"),
    "what nobody awaits: a list of coroutines": (
        "return [good_later(each, context) for each in events]",
        "awaitables, and they were not awaited. Make the handler `async def`, and write: await",
    ),
    "a context manager": (
        "return contextlib.contextmanager(lambda: iter(()))()",
        "returned a _GeneratorContextManager object",
    ),
}
_ASYNC = {
    "sys.exit(0)": ("sys.exit(0)", "sys.exit(0) was called"),
    "KeyboardInterrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt: that fails the call"),
    "GeneratorExit": ("raise GeneratorExit", "GeneratorExit: that fails the call"),
    "StopIteration": ("raise StopIteration", "coroutine raised StopIteration"),
    "StopAsyncIteration": ("raise StopAsyncIteration", "StopAsyncIteration"),
    "CancelledError": ("raise asyncio.CancelledError", "CancelledError: the handler raised it"),
    "the end of its own task": (
        "asyncio.current_task().cancel(); await asyncio.sleep(1)",
        "CancelledError: the handler raised it",
    ),
    "an error without a text": ("raise BadText", "BadText: (no text: its __str__ raised"),
    "a coroutine that nobody awaits, in a list": (
        "return [good_later(events, context)]",
        "awaitables, and they were not awaited",
    ),
}
_SINGLE = {
    "sys.exit(0) at one event": ("sys.exit(0)", "sys.exit(0) was called"),
    "an error without a text at one event": ("raise BadText", "BadText: (no text"),
    "a generator at one event": ("return iter(())", "returned a tuple_iterator object"),
}


def raised() -> list[Hostile]:
    """Exceptions and exits: each is a failed batch, and the event a dead letter."""
    found = [
        Hostile(name, _CLASSES + _poisoned(code), cause, True)
        for name, (code, cause) in _PLAIN.items()
    ]
    found += [
        Hostile(f"{name}, async", _CLASSES + _poisoned(code, "async def"), cause, True)
        for name, (code, cause) in _ASYNC.items()
    ]
    found += [
        Hostile(name, _CLASSES + _poisoned(code, argument="event"), cause, True)
        for name, (code, cause) in _SINGLE.items()
    ]
    return found


def hooks() -> list[Hostile]:
    """Failures of the hooks: each is reported, and every event is handled."""
    fails = (
        "    if context.attempt == 1 and has_poison(events, context): raise ValueError('once')\n"
    )
    handle = "def handle(events, context):\n    good(events, context)\n"
    failing = f"def handle(events, context):\n{fails}    good(events, context)\n"
    texts = {
        "on_error exits": (
            f"{failing}def on_error(error, context): sys.exit(0)",
            "on_error failed: sys.exit(0)",
            1,
        ),
        "on_error marks": (
            f"{failing}def on_error(error, context): context.checkpoint(object())",
            "on_error failed: ValueError: context.checkpoint",
            1,
        ),
        "on_close exits": (
            f"{handle}async def on_close(partition, reason): sys.exit(0)",
            "on_close failed: sys.exit(0)",
            2,
        ),
        "on_close is interrupted": (
            f"{handle}def on_close(partition, reason): raise KeyboardInterrupt",
            "on_close failed: KeyboardInterrupt",
            2,
        ),
        "on_stop exits": (
            f"{handle}def on_stop(): sys.exit(3)",
            "on_stop failed: sys.exit(3)",
            1,
        ),
        "on_open exits once": (
            f"{handle}def on_open(partition):\n"
            "    if partition == '0' and not _times: _times['open'] = 1; sys.exit(0)",
            "on_open failed: sys.exit(0)",
            None,
        ),
        "on_time exits once": (
            f"{handle}async def on_time(context):\n"
            "    if not _times: _times['time'] = 1; sys.exit(0)",
            "on_time failed: sys.exit(0)",
            1,
        ),
    }
    return [Hostile(name, text, cause, lines=n) for name, (text, cause, n) in texts.items()]


def hangs() -> list[Hostile]:
    """Calls that take too long, once: everything is handled all the same, and nothing twice."""
    return [
        Hostile(
            "a plain function returns when it is told",
            _def(
                "if first_time(context):\n        while not context.cancelled: time.sleep(.01)\n"
                "        return\n    good(events, context)"
            ),
            "returned when it was told to stop",
            lines=1,
        ),
        Hostile(
            "an async function swallows its cancellation and returns",
            _def(
                "if first_time(context):\n        try: await asyncio.sleep(60)\n"
                "        except asyncio.CancelledError: return\n    good(events, context)",
                "async def",
            ),
            "returned when it was told to stop",
            lines=1,
        ),
        Hostile(
            "an async function swallows every cancellation",
            _def(
                "if first_time(context):\n        until = time.monotonic() + 2\n"
                "        while time.monotonic() < until:\n"
                "            try: await asyncio.sleep(.1)\n"
                "            except asyncio.CancelledError: pass\n"
                "        return\n    good(events, context)",
                "async def",
            ),
            "did not come back",
            is_slow=True,
        ),
        Hostile(
            "a plain function does not come back for a while",
            _def(
                "if first_time(context):\n        time.sleep(2)\n        return\n"
                "    good(events, context)"
            ),
            "did not come back",
            is_slow=True,
        ),
        Hostile(
            "an error takes long to tell its text",
            "class Slow(Exception):\n    def __str__(self): time.sleep(2); return 'slow'\n"
            + _def("if first_time(context): raise Slow\n    good(events, context)"),
            "did not come back",
            is_slow=True,
        ),
    ]


EVERY = [*kinds(), *changes(), *raised(), *hooks(), *hangs()]
