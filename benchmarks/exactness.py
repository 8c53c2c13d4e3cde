"""Exactness: members of `tidegate run` killed at random while millions of numbered events flow.

Two groups read one hub. One counts in windows, on its state, and writes their totals to blobs: they
must equal what the events' numbers say. The other keeps no state and tells its duplicates: at most
its budget for each partition that a kill takes away, and none in a rolling restart.

Rules: every process is its own: hub, Azurite, sender and members share this machine's cores. What
is killed and when follows from the seed, which is printed; SEED=… repeats a run. The official SDK
keeps no state, so it has no such totals, and how often it repeats is up to its user.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness import Bench, make_line
from hub_server import ServedHub, server

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.azurite import running_azurite
from support.exact_groups import PLAIN, ExactGroups, exact_groups
from support.killed_group import kills
from support.ledger_watch import LedgerWatch, ledger_watch

HUB = "exact"
BUDGET = 4_000
CATCH_UP_S = 900.0
SETTLE_S = 120.0
NO_PEER = "no peer: the SDK's processor keeps no state, so its user has no totals that survive"


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is to do."""

    partitions: int
    members: int
    events: int  # of each partition, while members are killed
    seconds: float
    kill_s: float  # so long of it
    gap_s: tuple[float, float]
    in_place: float  # this share of the killed comes back with its name and its leases
    restart_events: int  # of each partition, during the rolling restart
    restart_s: float


# A quick run has no time to wait for the leases of the dead to end.
FULL = Size(16, 4, 312_500, 300.0, 300.0, (3.0, 9.0), 2 / 3, 30_000, 40.0)
QUICK = Size(4, 2, 20_000, 6.0, 4.0, (0.5, 1.0), 1.0, 8_000, 6.0)


@contextmanager
def place(size: Size) -> Iterator[tuple[ExactGroups, tuple[LedgerWatch, ...]]]:
    """Hub, Azurite and both groups, without members yet; their ledgers are watched."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-exactness-")))
        azurite = stack.enter_context(running_azurite(folder))
        declared = f"{HUB}:{size.partitions}:{PLAIN}"
        stored = ("--data", str(folder / "events"), "--fsync", "never")
        hub = stack.enter_context(server("--hub", declared, *stored))
        groups = stack.enter_context(
            exact_groups(
                ServedHub(hub.port),
                azurite,
                folder,
                HUB,
                partitions=size.partitions,
                members=size.members,
                budget=BUDGET,
            )
        )
        ledgers = tuple(
            stack.enter_context(ledger_watch(azurite, members.group.name))
            for members in groups.both
        )
        yield groups, ledgers


def kill_them(bench: Bench, groups: ExactGroups, size: Size, seed: int) -> int:
    """Events flow, members are killed and come back; then all is handled. Gives what was sent."""
    with groups.sending(0, size.events, size.seconds):
        groups.wait_until_each_reads(SETTLE_S)
        begun = time.monotonic()
        groups.strike(
            kills(
                seed,
                groups=2,
                members=size.members,
                until_s=size.kill_s,
                gap_s=size.gap_s,
                in_place=size.in_place,
            )
        )
    sent = time.monotonic()
    groups.wait_until_handled(size.events, CATCH_UP_S)
    caught_up_s = round(time.monotonic() - sent, 1)
    events = size.events * size.partitions
    rate = round(2 * events / (time.monotonic() - begun))
    handled_up_to = groups.settle(size.events, SETTLE_S)
    plain = groups.plain_log
    most = max(plain.repeats.values(), default=0)
    killed = f"{events:,} events"
    for what, unit, ours, target in (
        ("members killed, windows", "kills", groups.windows.killed, None),
        ("members killed, plain handler", "kills", groups.plain.killed, None),
        ("handled by both groups, on the average", "events/s", rate, None),
        ("all handled after the last was sent", "s", caught_up_s, None),
        ("plain handler: lost", "events", plain.lost(), 0),
        ("plain handler: duplicates", "events", plain.duplicates, None),
        ("plain handler: owners that repeated something", "owners", len(plain.repeats), None),
        ("plain handler: most duplicates of one owner, against its budget", "events", most, BUDGET),
    ):
        bench.add(make_line(f"{killed}, {what}", unit, ours=ours, target=target))
    return handled_up_to


def restart_them(bench: Bench, groups: ExactGroups, size: Size, sent: int) -> int:
    """A clean rolling restart of both groups, while events flow. Gives what was sent."""
    before = sum(log.duplicates for log in groups.logs)
    end = sent + size.restart_events
    with groups.sending(sent, end, size.restart_s):
        groups.restart_each(groups.both, SETTLE_S)
    end = groups.settle(end, CATCH_UP_S)
    again = sum(log.duplicates for log in groups.logs) - before
    what = f"rolling restart of {2 * size.members} members: duplicates"
    bench.add(make_line(what, "events", ours=again, target=0))
    return end


def main() -> None:
    bench = Bench("exactness")
    size = QUICK if bench.quick else FULL
    seed = int(os.environ.get("SEED") or random.randrange(1 << 32))
    print(f"SEED={seed}")
    with place(size) as (groups, ledgers):
        groups.start()
        sent = kill_them(bench, groups, size, seed)
        events = restart_them(bench, groups, size, sent)
        wrong = groups.wrong_totals(events, SETTLE_S)
        groups.stop()
        lost = sum(log.lost() for log in groups.logs)
        disorder = sum(len(log.disorder) for log in groups.logs)
    everything = f"{events * size.partitions:,} events, both groups"
    what = f"{everything}: windows whose totals are not exact"
    bench.add(make_line(what, "windows", ours=wrong, target=0, reason=NO_PEER))
    for what, unit, ours in (
        ("lost", "events", lost),
        ("out of order", "batches", disorder),
        ("checkpoints that went back", "steps", sum(len(each.steps_back()) for each in ledgers)),
    ):
        bench.add(make_line(f"{everything}: {what}", unit, ours=ours, target=0))
    bench.finish()


if __name__ == "__main__":
    main()
