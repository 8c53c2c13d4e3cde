"""The change feed of Cosmos DB: our members beside Java's own processor, on one tidegate-cosmos.

- `balance`: one host owns everything, then others join: how long until all own as much, for 2, 4
  and 8 hosts on 16 and 64 ranges.
- `failover`: one of two is killed while items are written: how long until all that was written by
  then is handled.
- `idle`: request units an hour of two hosts on 16 ranges to which nothing comes.
- `catch-up`: items that one host handles in a second, of those that wait.

PARTS=balance,idle asks for parts; QUICK=1 for 16 ranges and 2 hosts, and ours alone.

Rules: see cosmos_hosts.py. What the peer has not done within LIMIT_S stands as that limit. Where
there is no Java, the peer's figures are left out, and it says so.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from cosmos_hosts import Hosts, Place, javas, missing_of_java, ours, until
from harness import Bench, Line, left_out, make_line, parts_of
from support.azurite import running_azurite
from tidegate_cosmos.running import running_cosmos

PARTS = ("balance", "failover", "idle", "catch-up")
SIZES = tuple((ranges, hosts) for ranges in (16, 64) for hosts in (2, 4, 8))
TARGETS = {(16, 2): 15.0}
FAILOVER_S = 17.0
LIMIT_S = 240.0
IDLE_S = 60.0
ITEMS = 100_000
WHAT = {
    "failover": ("one of 2 hosts killed, 16 ranges: all is handled", "s"),
    "idle": ("2 hosts, 16 ranges, nothing comes", "request units an hour"),
    "catch-up": ("one host, 16 ranges: what waits is handled", "items/s"),
}
NOT_QUICK = "takes minutes: run without QUICK=1"

Party = Callable[[Place, int], AbstractContextManager[Hosts]]


@contextmanager
def a_place() -> Iterator[Place]:
    with (
        tempfile.TemporaryDirectory(prefix="bench-cosmos-") as folder,
        running_azurite(Path(folder)) as azurite,
        running_cosmos() as cosmos,
    ):
        yield Place(cosmos, azurite, Path(folder))


def names(count: int) -> list[str]:
    return [f"h{number}" for number in range(count)]


def balanced_after(party: Party, ranges: int, count: int) -> float:
    """Seconds until as many hosts own as much, where one owned everything."""
    with a_place() as place, party(place, ranges) as hosts:
        first, *others = names(count)
        hosts.start(first)
        if until(lambda: hosts.is_even(first), LIMIT_S) >= LIMIT_S:
            raise SystemExit(f"one host does not own all within {LIMIT_S:.0f} s: {hosts.owners()}")
        hosts.start(*others)
        return until(lambda: hosts.is_even(first, *others), LIMIT_S)


def handled_after_a_kill(party: Party) -> float:
    """Seconds until all is handled that was written when one of two hosts was killed."""
    with a_place() as place, party(place, 16) as hosts:
        first, second = names(2)
        hosts.start(first, second)
        until(lambda: hosts.is_even(first, second), LIMIT_S)
        with hosts.writing():
            until(lambda: len(hosts.seen()) > 100, LIMIT_S)
            hosts.kill(second)
            begun, more = time.monotonic(), hosts.written + 50
            until(lambda: hosts.written >= more, LIMIT_S)
            # By then something has been written to every range of the host that is gone.
            until(lambda: hosts.seen() >= set(range(more)), LIMIT_S)
            return time.monotonic() - begun


def units_an_hour(party: Party) -> float:
    """Request units of two hosts that have nothing to do."""
    with a_place() as place, party(place, 16) as hosts:
        first, second = names(2)
        hosts.start(first, second)
        until(lambda: hosts.is_even(first, second), LIMIT_S)
        before = hosts.charge()
        time.sleep(IDLE_S)
        return (hosts.charge() - before) * 3600 / IDLE_S


def items_a_second(party: Party, items: int) -> float:
    """Of one host, from the first item that it was given to the last."""
    with a_place() as place, party(place, 16) as hosts:
        hosts.write(items)
        hosts.start("h0")
        until(lambda: bool(hosts.seen()), LIMIT_S)
        before, begun = len(hosts.seen()), time.monotonic()
        until(lambda: len(hosts.seen()) >= items, LIMIT_S)
        return (len(hosts.seen()) - before) / (time.monotonic() - begun)


def balance_of(ranges: int, count: int) -> str:
    return f"1 -> {count} hosts, {ranges} ranges: all own as much"


def unmeasured(part: str) -> list[Line]:
    """The lines of a part, without figures."""
    balance = [(balance_of(*size), "s") for size in SIZES]
    named = balance if part == "balance" else [WHAT[part]]
    return [make_line(what, unit, reason=NOT_QUICK) for what, unit in named]


def lines_of(part: str, bench: Bench, peer: str) -> Iterator[Line]:
    """The figures of a part; `peer` is why there are none of the peer's."""

    def beside(measure: Callable[[Party], float]) -> float | None:
        return None if peer else round(measure(javas), 2)

    if part == "balance":
        for ranges, count in SIZES:
            what = balance_of(ranges, count)
            target = TARGETS.get((ranges, count))
            if bench.quick and (ranges, count) != (16, 2):
                yield make_line(what, "s", reason=NOT_QUICK)
                continue

            def balanced(party: Party, ranges: int = ranges, count: int = count) -> float:
                return balanced_after(party, ranges, count)

            mine = round(balanced(ours), 2)
            yield make_line(what, "s", ours=mine, peer=beside(balanced), target=target)
    elif bench.quick:
        yield from unmeasured(part)
    elif part == "failover":
        mine = round(handled_after_a_kill(ours), 2)
        theirs = beside(handled_after_a_kill)
        yield make_line(*WHAT[part], ours=mine, peer=theirs, target=FAILOVER_S)
    elif part == "idle":
        mine = round(units_an_hour(ours))
        yield make_line(*WHAT[part], ours=mine, peer=beside(units_an_hour))
    else:
        mine = round(items_a_second(ours, ITEMS))
        theirs = beside(lambda party: items_a_second(party, ITEMS))
        yield make_line(*WHAT[part], ours=mine, peer=theirs, better="more")


def main() -> None:
    wanted = parts_of(os.environ, PARTS)
    bench = Bench("cosmos")
    peer = NOT_QUICK if bench.quick else missing_of_java()
    if peer:
        print(f"Java's processor is left out: {peer}")
    for part in PARTS:
        if part not in wanted:
            for line in unmeasured(part):
                bench.add(left_out(line, part))
            continue
        for line in lines_of(part, bench, peer):
            bench.add(line)
    bench.finish()


if __name__ == "__main__":
    main()
