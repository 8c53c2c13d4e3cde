"""P6: a partition is soon read again that its owner reads no more, where nothing else is amiss.

- From a kill to the next reader is at most a lease and a tick.

- Where the dead had at least half of all leases their ending looks like a stall of storage, and
  rule 8 waits one lease more.
- Who comes back in the same place while its leases last has its partitions again at once, and
  nobody else moves.
- What an owner gives up because its handler hangs, somebody else reads at the next tick.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulation.checkers.seen import Seen
from simulation.facts import Violation
from simulation.history import (
    ASKED_TO_STOP,
    KILLED,
    STARTED,
    STOPPED,
    Attached,
    Detached,
    Lived,
    name_of,
)
from simulation.script import Script, Trouble, What

NAME = "P6"
_HARMLESS = (What.JOIN, What.ROSTER, What.OPERATOR_DIES, What.MORE_PARTITIONS)


def check(seen: Seen) -> Iterator[Violation]:
    if seen.was_ever_paused():
        return
    for trouble in seen.script.troubles:
        if trouble.what is What.HUNG_HANDLER and is_alone(trouble, seen.script):
            yield from _check_hung(seen, trouble)
        if trouble.what is not What.KILL or not is_alone(trouble, seen.script):
            continue
        killed = [
            life
            for life in seen.lives
            if life.what == KILLED and life.at == trouble.at and name_of(life.who) == trouble.member
        ]
        if killed:
            yield from _check(seen, trouble, killed[0])


def _lasts(trouble: Trouble, script: Script) -> float:
    return 3 * script.lease_s if trouble.what in (What.KILL, What.STOP) else trouble.length_s


def is_alone(kill: Trouble, script: Script) -> bool:
    """Whether nothing else befalls the world around this trouble, which it was calm before."""
    before, after = kill.at - script.lease_s, kill.at + 3 * script.lease_s
    if kill.at < script.lease_s or script.rates.cumulative():
        return False
    return not any(
        other is not kill and other.at < after and other.at + _lasts(other, script) > before
        for other in script.troubles
        if other.what not in _HARMLESS
    )


def _check(seen: Seen, trouble: Trouble, killed: Lived) -> Iterator[Violation]:
    owners = readers_at(seen, killed.at)
    lost = [partition for partition, who in owners.items() if who == killed.who]
    is_back = trouble.then == "same-place" and trouble.length_s < seen.script.lease_s * 2 / 3
    others = alive_from(seen, killed)
    if is_back:
        limit_s = trouble.length_s + 1.0 + 24 * seen.script.latency_s + seen.script.fast_tick_s
    elif others is None:
        return
    else:
        limit_s = seen.script.lease_s + seen.script.settled_tick_s + others - killed.at
        limit_s += 1.0 + 24 * seen.script.latency_s
        if 2 * len(lost) >= len(owners):
            limit_s += seen.script.lease_s
    for partition in lost:
        resumed = _resumed(seen, partition, killed.at)
        if resumed is None or resumed.at - killed.at > limit_s:
            after = "never" if resumed is None else f"after {resumed.at - killed.at:.2f} s"
            text = f"{partition}: {killed.who} was killed, and it was read again {after}"
            yield Violation(NAME, killed.at, f"{text}, allowed {limit_s:.2f} s")
        elif is_back and name_of(resumed.who) != trouble.member:
            text = f"{partition}: {trouble.member} came back in its place, and {resumed.who} has it"
            yield Violation(NAME, killed.at, text)


def _check_hung(seen: Seen, trouble: Trouble) -> Iterator[Violation]:
    script, partition = seen.script, trouble.partition
    who = readers_at(seen, trouble.at).get(partition, "")
    end = min(trouble.at + trouble.length_s, script.quiet_from)
    if name_of(who) != trouble.member or any(t.what is What.ROSTER for t in script.troubles):
        return
    given_up_at = [
        record.at
        for record in seen.partitions[partition]
        if isinstance(record, Detached)
        and record.who == who
        and trouble.at + script.handler_limit_s <= record.at < end
    ]
    others = {life.who for life in seen.lives if life.what == STARTED and life.at < trouble.at}
    gone = {life.who for life in seen.lives if life.what in (KILLED, STOPPED, ASKED_TO_STOP)}
    if not given_up_at or not others - gone - {who}:
        return
    limit_s = script.settled_tick_s + 2 * script.fast_tick_s + 1.0 + 24 * script.latency_s
    resumed = _resumed(seen, partition, given_up_at[0])
    if resumed is None or resumed.who == who or resumed.at - given_up_at[0] > limit_s:
        text = f"{partition}: its handler hung in {who}, and it was read again by {resumed}"
        yield Violation(NAME, given_up_at[0], f"{text}, allowed {limit_s:.2f} s")


def readers_at(seen: Seen, at: float) -> dict[str, str]:
    """Who was reading what."""
    readers: dict[str, str] = {}
    for partition, records in seen.partitions.items():
        for record in records:
            if record.at > at:
                break
            if isinstance(record, Attached):
                readers[partition] = record.who
            elif isinstance(record, Detached) and readers.get(partition) == record.who:
                del readers[partition]
    return readers


def alive_from(seen: Seen, killed: Lived) -> float | None:
    """From when on somebody else was there; None where nobody was."""
    alive: set[str] = set()
    for life in seen.lives:
        if life.at > killed.at and alive - {killed.who}:
            return max(killed.at, killed.at)
        if life.at > killed.at + seen.script.lease_s:
            return None
        if life.what == STARTED:
            alive.add(life.who)
            if life.at > killed.at:
                return life.at + 1.0
        elif life.what in (KILLED, STOPPED, ASKED_TO_STOP):
            alive.discard(life.who)
    return killed.at if alive - {killed.who} else None


def _resumed(seen: Seen, partition: str, after: float) -> Attached | None:
    for record in seen.partitions[partition]:
        if isinstance(record, Attached) and record.at > after:
            return record
    return None
