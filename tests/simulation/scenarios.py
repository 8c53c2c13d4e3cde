"""Exact scenarios in virtual time, and the figures that are measured in them.

Tests and benchmarks share these. A scenario is a script without chance but for the phase of clocks
and latencies, which the seed draws; its change comes at `CHANGE_AT`, when all was long settled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from simulation.history import KILLED, Attached, Detached, Did, Handled, Record, name_of
from simulation.script import Kind, RosterFacts, Script, Trouble, What
from simulation.world import World

CHANGE_AT = 60.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What a scenario cost, from its change on."""

    # Until the last partition was read by whom it shall be read.
    balanced_s: float
    moves: int
    duplicates: int
    # Of each partition that was without a reader, how long; in order of length.
    idle_s: tuple[float, ...]
    owners: dict[str, int]
    operations: Counter[str]

    def idle(self, share: float) -> float:
        return percentile(self.idle_s, share)


def percentile(sorted_values: Sequence[float], share: float) -> float:
    """The value that this share of all is not above; 0 where there are none."""
    if not sorted_values:
        return 0.0
    return sorted_values[min(int(share * len(sorted_values)), len(sorted_values) - 1)]


def members(first: int, last: int, at: float = 0.0, spread_s: float = 0.0) -> list[Trouble]:
    """Members m<first> to m<last - 1> join, spread over so many seconds."""
    count = max(last - first, 1)
    return [
        Trouble(at + spread_s * (number - first) / count, What.JOIN, f"m{number:02d}")
        for number in range(first, last)
    ]


def script(seed: int, partitions: int, troubles: Sequence[Trouble], **settings: object) -> Script:
    """A script of a scenario: settings as in the product, 10 ms to storage, an event in 2 s."""
    dice = Random(f"scenario {seed}")
    shift_s = dice.random() * 10.0
    shifted = [
        replace(trouble, at=trouble.at + shift_s) if trouble.at >= CHANGE_AT else trouble
        for trouble in troubles
    ]
    made = Script(
        seed,
        Kind.CALM,
        partitions,
        tuple(shifted),
        max(trouble.at + trouble.length_s for trouble in shifted) + 1.0,
        event_every_s=2.0,
    )
    return replace(made, **settings)  # type: ignore[arg-type]


def measure(script: Script) -> Figures:
    """Runs a scenario and takes its figures."""
    world = World(script)
    world.run()
    change_at = min(
        (trouble.at for trouble in script.troubles if trouble.at >= CHANGE_AT), default=0.0
    )
    return figures(world.records, change_at)


def figures(records: Sequence[Record], change_at: float) -> Figures:
    owners: dict[str, str] = {}
    left: dict[str, float] = {}
    seen: set[tuple[str, int]] = set()
    idle: list[float] = []
    operations: Counter[str] = Counter()
    balanced_at, moves, duplicates = change_at, 0, 0
    readers: dict[str, str] = {}
    for record in records:
        is_after = record.at >= change_at
        if isinstance(record, Did):
            operations[type(record.operation).__name__] += is_after
        elif isinstance(record, Attached):
            name = name_of(record.who)
            if is_after and owners.get(record.partition) != name:
                moves += 1
            if is_after:
                balanced_at = record.at
                if record.partition in left:
                    idle.append(record.at - left.pop(record.partition))
            left.pop(record.partition, None)
            owners[record.partition] = name
            readers[record.partition] = record.who
        elif isinstance(record, Detached):
            if record.why != "stolen" and readers.get(record.partition) == record.who:
                left.setdefault(record.partition, record.at)
        elif isinstance(record, Handled):
            for sequence in range(record.first, record.last + 1):
                key = record.partition, sequence
                duplicates += key in seen
                seen.add(key)
        elif getattr(record, "what", "") == KILLED:
            who = getattr(record, "who", "")
            for partition in [p for p, reader in readers.items() if reader == who]:
                left.setdefault(partition, record.at)
    counts = Counter(owners.values())
    return Figures(
        balanced_at - change_at,
        moves,
        duplicates,
        tuple(sorted(idle)),
        dict(sorted(counts.items())),
        operations,
    )


# --- the scenarios of the figures to beat


def growing(seed: int, partitions: int, before: int, after: int) -> Script:
    """From so many members to so many; the new ones join within two seconds."""
    joined = members(before, after, CHANGE_AT, spread_s=2.0)
    return script(seed, partitions, [*members(0, before), *joined])


def cold_start(seed: int, partitions: int, count: int, *, has_roster: bool) -> Script:
    """All members start within two seconds, or within eight where the roster names them."""
    joined = members(0, count, CHANGE_AT, spread_s=8.0 if has_roster else 2.0)
    names = tuple(trouble.member for trouble in joined)
    roster = [Trouble(CHANGE_AT - 10.0, What.ROSTER, roster=RosterFacts(expected=names))]
    return script(seed, partitions, [*(roster if has_roster else []), *joined])


def killed(seed: int, partitions: int, count: int, **settings: object) -> Script:
    """One of the members is killed and does not come back."""
    kill = Trouble(CHANGE_AT, What.KILL, "m03", then="nothing")
    return script(seed, partitions, [*members(0, count), kill], **settings)


def restarted_in_place(seed: int, partitions: int, count: int, start_s: float) -> Script:
    kill = Trouble(CHANGE_AT, What.KILL, "m03", length_s=start_s, then="same-place")
    return script(seed, partitions, [*members(0, count), kill], kind=Kind.KILLS)


def shrinking(seed: int, partitions: int, before: int, after: int) -> Script:
    """Members are asked to stop, all at the same moment; the roster has said who."""
    names = tuple(f"m{number:02d}" for number in range(after, before))
    said = Trouble(CHANGE_AT, What.ROSTER, roster=RosterFacts(leaving=names))
    stops = [Trouble(CHANGE_AT + 0.1, What.STOP, name) for name in names]
    return script(seed, partitions, [*members(0, before), said, *stops])


def rolled_out(seed: int, partitions: int, count: int, start_s: float = 5.0) -> Script:
    """A surge rollout: each new member takes the place of an old one, one after the other."""
    old = tuple(f"m{number:02d}" for number in range(count))
    new = tuple(f"n{number:02d}" for number in range(count))
    troubles = members(0, count)
    facts = RosterFacts(expected=new, leaving=old)
    troubles.append(Trouble(CHANGE_AT, What.ROSTER, roster=facts))
    at = CHANGE_AT + 1.0
    for gone, come in zip(old, new, strict=True):
        troubles.append(Trouble(at, What.JOIN, come))
        at += start_s
        troubles.append(Trouble(at, What.STOP, gone))
    return script(seed, partitions, troubles, kind=Kind.RELEASES)


def stalled(seed: int, partitions: int, count: int, length_s: float) -> Script:
    """Storage fails everybody for so long."""
    stall = Trouble(CHANGE_AT, What.STORAGE_DOWN, "*", length_s=length_s)
    return script(seed, partitions, [*members(0, count), stall], kind=Kind.STALL)


def paused(seed: int, partitions: int, count: int, leases: float) -> Script:
    """SIGSTOP for so many leases, then SIGCONT."""
    pause = Trouble(CHANGE_AT, What.PAUSE, "m03", length_s=leases * 15.0)
    return script(seed, partitions, [*members(0, count), pause], kind=Kind.PAUSES)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table: what it is, and the script of each seed."""

    what: str
    script: Callable[[int], Script]
    seeds: int = 3


LINES = (
    Line("32 partitions, 1 -> 2 members", lambda seed: growing(seed, 32, 1, 2)),
    Line("32 partitions, 1 -> 8", lambda seed: growing(seed, 32, 1, 8)),
    Line("32 partitions, 4 -> 8", lambda seed: growing(seed, 32, 4, 8)),
    Line("32 partitions, 8 -> 16", lambda seed: growing(seed, 32, 8, 16)),
    Line("32 partitions, 0 -> 8", lambda seed: cold_start(seed, 32, 8, has_roster=False)),
    Line("32 partitions, 0 -> 8, roster", lambda seed: cold_start(seed, 32, 8, has_roster=True)),
    Line("128 partitions, 1 -> 16", lambda seed: growing(seed, 128, 1, 16), 1),
    Line("32 partitions, SIGKILL one of 8", lambda seed: killed(seed, 32, 8), 10),
    Line("32 partitions, 8 -> 4 cleanly", lambda seed: shrinking(seed, 32, 8, 4)),
    Line("32 partitions, rolling update of 8", lambda seed: rolled_out(seed, 32, 8)),
    Line("restart in place in 2 s, one of 8", lambda seed: restarted_in_place(seed, 32, 8, 2.0)),
    Line("storage stalls 20 s for all 8", lambda seed: stalled(seed, 32, 8, 20.0)),
    Line("SIGSTOP for 3 leases, one of 8", lambda seed: paused(seed, 32, 8, 3.0)),
)


def merged(found: Sequence[Figures]) -> Figures:
    """The worst of each figure over the seeds, and the idle times of all."""
    operations: Counter[str] = Counter()
    for one in found:
        operations.update(one.operations)
    return Figures(
        max(one.balanced_s for one in found),
        max(one.moves for one in found),
        max(one.duplicates for one in found),
        tuple(sorted(second for one in found for second in one.idle_s)),
        found[-1].owners,
        operations,
    )


# What the services charge apart: a listing costs about ten times an operation of another kind.
_KINDS = {"List": "listings", "WriteCheckpoint": "writes", "Announce": "writes"}
TICKS_S = (1.0, 2.0, 5.0, 10.0)


def operations_an_hour(count: int, tick_s: float) -> Counter[str]:
    """Storage operations of a settled group of so many members and 32 partitions."""
    quiet = script(0, 32, [*members(0, count), Trouble(CHANGE_AT, What.OPERATOR_DIES)])
    world = World(replace(quiet, settled_tick_s=tick_s, quiet_from=CHANGE_AT + 60.0))
    world.clock.run_until(CHANGE_AT + 60.0)
    counts: Counter[str] = Counter()
    for record in world.records:
        if isinstance(record, Did) and record.at >= CHANGE_AT:
            counts[_KINDS.get(type(record.operation).__name__, "other operations")] += 60
    return counts


def ticks_table(seeds: int = 40) -> str:
    """What each settled tick costs, and how soon the dead are noticed with it."""
    kinds = ("listings", "other operations", "writes")
    rows = [
        f"{'members, settled tick':24s} idle p50     p95   " + "  ".join(f"{k}/h" for k in kinds)
    ]
    for count in (4, 32):
        for tick_s in TICKS_S:
            scripts = (killed(seed, 32, count, settled_tick_s=tick_s) for seed in range(seeds))
            got = merged([measure(made) for made in scripts])
            costs = operations_an_hour(count, tick_s)
            numbers = "  ".join(f"{costs[kind]:{len(kind) + 2}d}" for kind in kinds)
            rows.append(
                f"{count:3d} members, {tick_s:4.0f} s tick  {got.idle(0.5):6.2f} s "
                f"{got.idle(0.95):6.2f} s   {numbers}"
            )
    return "\n".join(rows)


def table(lines: Sequence[Line] = LINES) -> str:
    """Time to balanced, idle p50 and p95, moves and duplicates of every scenario."""
    rows = [f"{'scenario':36s} {'balanced':>9s} {'idle p50':>9s} {'p95':>7s} moves duplicates"]
    for line in lines:
        got = merged([measure(line.script(seed)) for seed in range(line.seeds)])
        rows.append(
            f"{line.what:36s} {got.balanced_s:7.1f} s {got.idle(0.5):7.2f} s "
            f"{got.idle(0.95):5.2f} s {got.moves:5d} {got.duplicates:10d}"
        )
    return "\n".join(rows)
