"""Handlers of every kind under `tidegate run`: CPU-bound, waiting and fast, on real processes.

Parts: `moves`: one member of a CPU-bound plain handler with 16 partitions, then four, then one;
`sizes`: how much it handles by default, beside batch sizes that are set by hand; `waiting`:
handlers that wait for others, plain and async; `fast`: CPU for an event of handlers that count.

Rules: 10 ms of CPU for an event are 10 ms of the thread's own clock, however busy the machine is.
The peer is the code in the folder that `BEFORE` names (its `consumer/`), in the same run; for
`sizes`, the best size set by hand.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import Bench, Better, left_out, make_line, parts_of
from hub_server import PARTITIONS, ServedHub, server

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.azurite import running_azurite
from support.command_group import CommandGroup, a_command_group
from support.wait import WaitedTooLong, wait_until

EVENT_S = 0.010
BALANCED_LIMIT_S, HANDLED_LIMIT_S = 180.0, 600.0
MOVED = ("m1", "m2", "m3")
TOO_LONG = f"not within {BALANCED_LIMIT_S:g} s"
BEFORE = os.environ.get("BEFORE", "")

# Records each event with its time: one write a call, because a write lets other threads run.
_RECORDS = """
import asyncio, time
from seen import see

def record(context, events, times):
    rows = [f"{at:.4f} {context.member} {context.partition} {event.sequence_number}"
            for event, at in zip(events, times)]
    see("\\n".join(rows + [f"call {time.monotonic():.4f} {time.process_time():.4f} {len(rows)}"]))
"""
_COMPUTES = (
    _RECORDS
    + """
def handle(events, context):
    times = []
    for event in events:
        until = time.thread_time() + 0.010
        while time.thread_time() < until:
            sum(range(200))
        times.append(time.monotonic())
    record(context, events, times)
"""
)
_WAITS = (
    _RECORDS
    + """
def handle(events, context):
    times = []
    for event in events:
        time.sleep(0.010)
        times.append(time.monotonic())
    record(context, events, times)
"""
)
_AWAITS = (
    _RECORDS
    + """
async def handle(events, context):
    times = []
    for event in events:
        await asyncio.sleep(0.010)
        times.append(time.monotonic())
    record(context, events, times)
"""
)
_COUNTS = (
    _RECORDS
    + """
def handle(events, context):
    size = 0
    for event in events:
        size += len(event.content)
    see(f"call {time.monotonic():.4f} {time.process_time():.4f} {len(events)}")
"""
)


@dataclass(frozen=True, slots=True)
class Handled:
    """One event that a member handled."""

    at: float
    member: str
    partition: str
    number: int


@dataclass(frozen=True, slots=True)
class Call:
    """The end of a call: the time, the CPU of the process so far, and how many events it had."""

    at: float
    cpu_s: float
    events: int


def seen(group: CommandGroup) -> tuple[list[Handled], list[Call]]:
    """The events and calls that the handlers have recorded so far."""
    handled, calls = [], []
    for words in group.seen():
        if words[0] == "call":
            calls.append(Call(float(words[1]), float(words[2]), int(words[3])))
        elif len(words) == 4:
            handled.append(Handled(float(words[0]), words[1], words[2], int(words[3])))
    return handled, calls


# Our figure and that of the peer; None if there is none.
Pair = tuple[float | None, float | None]


@contextlib.contextmanager
def place(
    handler: str, events: int, delivery: str = "{}", code: str = ""
) -> Iterator[CommandGroup]:
    """A group without members, with events waiting; `code` is another `consumer/`."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-handlers-")))
        azurite = stack.enter_context(running_azurite(folder))
        hub = stack.enter_context(server())
        group = stack.enter_context(
            a_command_group(
                ServedHub(hub.port), azurite, folder, handler, partitions=PARTITIONS,
                delivery=delivery, hub_name="load",
            )
        )  # fmt: skip
        if code:
            group.environment["PYTHONPATH"] = code
        for partition in range(PARTITIONS):
            group.send(str(partition), 0, events // PARTITIONS)
        yield group


# --- moves


@dataclass(frozen=True, slots=True)
class Moved:
    """What 1 to 4 to 1 members brought."""

    pause_s: float
    twice: int
    lost: int
    taken: int
    # None: it took longer than the limit.
    grown_s: float | None
    shrunk_s: float | None


def moves(events: int, alone_s: float, four_s: float, code: str = "") -> Moved:
    """One member for `alone_s`, then four for `four_s`, then one until nothing waits."""
    with place(_COMPUTES, events, code=code) as group:
        group.start("m0")
        wait_until(lambda: seen(group)[0], 120, "a first event")
        time.sleep(alone_s)
        for name in MOVED:
            group.start(name)
        grown = _balanced_s(group, Counter(dict.fromkeys(("m0", *MOVED), PARTITIONS // 4)))
        time.sleep(four_s)
        for name in MOVED:
            group.signal(name, signal.SIGTERM)
        shrunk = _balanced_s(group, Counter({"m0": PARTITIONS}))
        # What is not handled by then counts as lost.
        with contextlib.suppress(WaitedTooLong):
            wait_until(lambda: _left(group, events) == 0, HANDLED_LIMIT_S, "all events")
        handled, _ = seen(group)
        outputs = [group.output(name) for name in ("m0", *MOVED)]
        return Moved(
            longest_pause_s(handled),
            len(handled) - len({(each.partition, each.number) for each in handled}),
            _left(group, events),
            sum(output.count("did not give it within") for output in outputs),
            grown,
            shrunk,
        )


def _left(group: CommandGroup, events: int) -> int:
    handled, _ = seen(group)
    whole = events // PARTITIONS * PARTITIONS
    return whole - len({(each.partition, each.number) for each in handled})


def _balanced_s(group: CommandGroup, wanted: Counter[str]) -> float | None:
    """The time until the members own as many partitions as they shall."""
    begun = time.monotonic()
    while time.monotonic() - begun < BALANCED_LIMIT_S:
        rows = group.listing().ownerships.values()
        owned = Counter(row.owner.name for row in rows if row.owner and row.lease.is_held)
        if owned == wanted:
            return time.monotonic() - begun
        time.sleep(0.25)
    return None


def longest_pause_s(handled: Sequence[Handled]) -> float:
    """The longest time without an event of a partition that had some, from the first of all on."""
    begun = min(each.at for each in handled)
    times: defaultdict[str, list[float]] = defaultdict(lambda: [begun])
    for each in sorted(handled, key=lambda each: each.at):
        times[each.partition].append(each.at)
    return max(after - at for each in times.values() for at, after in itertools.pairwise(each))


def measure_moves(quick: bool) -> list[Pair]:
    events, alone_s, four_s = (2_400, 3.0, 3.0) if quick else (21_000, 20.0, 40.0)
    before = moves(events, alone_s, four_s, BEFORE) if BEFORE else None
    ours = moves(events, alone_s, four_s)
    figures = ("pause_s", "twice", "lost", "taken", "grown_s", "shrunk_s")
    return [(getattr(ours, each), getattr(before, each, None)) for each in figures]


# --- throughput


@dataclass(frozen=True, slots=True)
class Rate:
    """What one member handled."""

    events_s: float
    useful: float  # the share of its CPU that was the handler's work
    cpu_us: float  # of the process for an event


def rate(
    handler: str, seconds: float, delivery: str = "{}", code: str = "", events: int = 8_000
) -> Rate:
    """Measure one member from its second call on, for `seconds` or until all is handled."""
    with place(handler, events, delivery, code) as group:
        group.start("m0")
        wait_until(lambda: len(seen(group)[1]) > 1, 300, "a second call")
        begun = time.monotonic()
        whole = events // PARTITIONS * PARTITIONS
        while time.monotonic() - begun < seconds:
            if sum(call.events for call in seen(group)[1]) >= whole:
                break
            time.sleep(0.25)
        calls = sorted(seen(group)[1], key=lambda call: call.at)
        first, last = calls[0], calls[-1]
        done, used = sum(call.events for call in calls[1:]), last.cpu_s - first.cpu_s
        found = Rate(done / (last.at - first.at), done * EVENT_S / used, used / done * 1e6)
        print(f"  {delivery} {code or 'ours'}: {len(calls)} calls, {found}", flush=True)
        return found


def measure_sizes(quick: bool) -> list[Pair]:
    seconds = 6.0 if quick else 20.0
    by_hand = [
        rate(_COMPUTES, seconds, f"{{batch: {{maxEvents: {size}, targetSeconds: 0}}}}")
        for size in ((10, 50) if quick else (1, 10, 50, 200))
    ]
    ours = rate(_COMPUTES, seconds)
    return [
        (ours.useful / max(each.useful for each in by_hand), None),
        (ours.useful, max(each.useful for each in by_hand)),
        (ours.events_s, max(each.events_s for each in by_hand)),
    ]


def measure_waiting(quick: bool) -> list[Pair]:
    found: list[Pair] = []
    for handler in (_WAITS, _AWAITS):
        seconds = 5.0 if quick else 20.0
        peer = rate(handler, seconds, code=BEFORE, events=40_000).events_s if BEFORE else None
        found.append((rate(handler, seconds, events=40_000).events_s, peer))
    return found


def measure_fast(quick: bool) -> list[Pair]:
    found: list[Pair] = []
    for handler in (_COUNTS, _COUNTS.replace("def handle", "async def handle")):
        costs: defaultdict[str, list[float]] = defaultdict(list)
        for _ in range(1 if quick else 3):
            for code in {"", BEFORE}:
                events = 100_000 if quick else 400_000
                costs[code].append(rate(handler, 120.0, code=code, events=events).cpu_us)
        found.append((min(costs[""]), min(costs[BEFORE]) if BEFORE else None))
    return found


_MOVES = "CPU-bound, plain, 16 partitions, 1 to 4 to 1 members:"
_SIZES = "CPU-bound, plain, one member, beside the best size by hand:"
_WAITING = "waits 10 ms an event, one member, 16 partitions:"
# What, its unit, the target, and which is better.
LINES: dict[str, tuple[tuple[str, str, float | None, Better], ...]] = {
    "moves": (
        (f"{_MOVES} longest pause of a partition", "s", 5.0, "less"),
        (f"{_MOVES} handled twice", "events", 0.0, "less"),
        (f"{_MOVES} lost", "events", 0.0, "less"),
        (f"{_MOVES} taken from a living owner", "partitions", 0.0, "less"),
        (f"{_MOVES} balanced, 1 to 4", "s", 30.0, "less"),
        (f"{_MOVES} balanced, 4 to 1", "s", 30.0, "less"),
    ),
    "sizes": (
        (f"{_SIZES} throughput for the same CPU", "times", 0.95, "more"),
        (f"{_SIZES} CPU that is the handler's", "share", None, "more"),
        (f"{_SIZES} handled", "events/s", None, "more"),
    ),
    "waiting": (
        (f"{_WAITING} plain, handled", "events/s", None, "more"),
        (f"{_WAITING} async, handled", "events/s", None, "more"),
    ),
    "fast": (
        ("counts bytes, plain: CPU of the member", "us an event", None, "less"),
        ("counts bytes, async: CPU of the member", "us an event", None, "less"),
    ),
}
MEASURES: dict[str, Callable[[bool], list[Pair]]] = {
    "moves": measure_moves,
    "sizes": measure_sizes,
    "waiting": measure_waiting,
    "fast": measure_fast,
}


def main() -> None:
    bench = Bench("handlers")
    wanted = parts_of(os.environ, tuple(LINES))
    for part, lines in LINES.items():
        is_wanted = part in wanted
        found = MEASURES[part](bench.quick) if is_wanted else [(None, None)] * len(lines)
        for (what, unit, target, better), (ours, peer) in zip(lines, found, strict=True):
            line = make_line(what, unit, ours=ours, peer=peer, target=target, better=better,
                             reason=TOO_LONG if ours is None else None)  # fmt: skip
            bench.add(line if is_wanted else left_out(line, part))
    bench.finish()


if __name__ == "__main__":
    main()
