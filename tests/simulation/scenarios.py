"""Exact scenarios in virtual time, and the figures that are measured in them.

Tests and benchmarks share these; benchmarks/balance.py prints them all. A scenario is a script
without chance but for latencies and the phases of everybody's clocks, which the seed draws; its
change comes at `CHANGE_AT` or up to 10 s later, when all was long settled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from simulation.history import KILLED, Attached, Detached, Handled, Lived, Record, name_of
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
    # Of each partition that changed its reader, how long it had none; in order of length. One that
    # a reader took straight from another was never without.
    idle_s: tuple[float, ...]
    owners: dict[str, int]

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


def settled(seed: int, count: int) -> list[Trouble]:
    """Members that have been there for long: since when differs, so that no ticks or renewals of
    one keep step with those of another."""
    dice = Random(f"settled {seed}")
    return [replace(joined, at=dice.random() * 20.0) for joined in members(0, count)]


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


def changed_at(script: Script) -> float:
    """When the change of a scenario comes."""
    return min((trouble.at for trouble in script.troubles if trouble.at >= CHANGE_AT), default=0.0)


def measure(script: Script) -> Figures:
    """Runs a scenario and takes its figures."""
    world = World(script)
    world.run()
    return figures(world.records, changed_at(script))


def figures(records: Sequence[Record], change_at: float) -> Figures:
    owners: dict[str, str] = {}
    left: dict[str, float] = {}
    seen: set[tuple[str, int]] = set()
    idle: list[float] = []
    balanced_at, moves, duplicates = change_at, 0, 0
    readers: dict[str, str] = {}
    for record in records:
        is_after = record.at >= change_at
        if isinstance(record, Attached):
            name, left_at = name_of(record.who), left.pop(record.partition, None)
            owner = owners.get(record.partition)
            if is_after:
                balanced_at = record.at
                moves += owner != name
                if left_at is not None:
                    idle.append(record.at - left_at)
                elif owner not in (None, name):
                    idle.append(0.0)
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
        elif isinstance(record, Lived) and record.what == KILLED:
            for partition in [p for p, reader in readers.items() if reader == record.who]:
                left.setdefault(partition, record.at)
    counts = Counter(owners.values())
    return Figures(
        balanced_at - change_at,
        moves,
        duplicates,
        tuple(sorted(idle)),
        dict(sorted(counts.items())),
    )


# --- the scenarios of the figures to beat


def growing(seed: int, partitions: int, before: int, after: int) -> Script:
    """From so many members to so many; the new ones join within two seconds."""
    joined = members(before, after, CHANGE_AT, spread_s=2.0)
    return script(seed, partitions, [*settled(seed, before), *joined])


def cold_start(seed: int, partitions: int, count: int, *, has_roster: bool) -> Script:
    """All members start within two seconds, or within eight where the roster names them."""
    joined = members(0, count, CHANGE_AT, spread_s=8.0 if has_roster else 2.0)
    names = tuple(trouble.member for trouble in joined)
    roster = [Trouble(CHANGE_AT - 10.0, What.ROSTER, roster=RosterFacts(expected=names))]
    return script(seed, partitions, [*(roster if has_roster else []), *joined])


def killed(seed: int, partitions: int, count: int, **settings: object) -> Script:
    """One of the members is killed and does not come back."""
    kill = Trouble(CHANGE_AT, What.KILL, "m03", then="nothing")
    return script(seed, partitions, [*settled(seed, count), kill], **settings)


def replaced(seed: int, partitions: int, count: int, after_s: float, **settings: object) -> Script:
    """One of the members is killed; so long after it, while its leases last, another comes."""
    kill = Trouble(CHANGE_AT, What.KILL, "m03", then="nothing")
    joined = Trouble(CHANGE_AT + after_s, What.JOIN, "n00")
    return script(seed, partitions, [*settled(seed, count), kill, joined], **settings)


def restarted_in_place(seed: int, partitions: int, count: int, start_s: float) -> Script:
    kill = Trouble(CHANGE_AT, What.KILL, "m03", length_s=start_s, then="same-place")
    return script(seed, partitions, [*settled(seed, count), kill], kind=Kind.KILLS)


def shrinking(seed: int, partitions: int, before: int, after: int) -> Script:
    """Members are asked to stop, all at the same moment; the roster has said who."""
    names = tuple(f"m{number:02d}" for number in range(after, before))
    said = Trouble(CHANGE_AT, What.ROSTER, roster=RosterFacts(leaving=names))
    stops = [Trouble(CHANGE_AT + 0.1, What.STOP, name) for name in names]
    return script(seed, partitions, [*settled(seed, before), said, *stops])


def rolled_out(seed: int, partitions: int, count: int, start_s: float = 5.0) -> Script:
    """A surge rollout: each new member takes the place of an old one, one after the other."""
    old = tuple(f"m{number:02d}" for number in range(count))
    new = tuple(f"n{number:02d}" for number in range(count))
    troubles = settled(seed, count)
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
    return script(seed, partitions, [*settled(seed, count), stall], kind=Kind.STALL)


def paused(seed: int, partitions: int, count: int, leases: float) -> Script:
    """SIGSTOP for so many leases, then SIGCONT."""
    pause = Trouble(CHANGE_AT, What.PAUSE, "m03", length_s=leases * 15.0)
    return script(seed, partitions, [*settled(seed, count), pause], kind=Kind.PAUSES)


def merged(found: Sequence[Figures]) -> Figures:
    """The worst of each figure over the seeds, and the idle times of all."""
    return Figures(
        max(one.balanced_s for one in found),
        max(one.moves for one in found),
        max(one.duplicates for one in found),
        tuple(sorted(second for one in found for second in one.idle_s)),
        found[-1].owners,
    )
