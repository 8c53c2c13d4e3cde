"""P6, P7 and P8: how long nobody reads, how many partitions move, and that it comes to rest.

Rules: pure. The time without a reader is that from the disturbance to the next life's call for the
partition, which is too long by the pause between two events at most. A life that was stopped may
have called until it was, and does again: there it is the longest time without any call.
"""

from __future__ import annotations

from itertools import islice, pairwise

from tidegate_operator.conformance.checks.spans import (
    Span,
    by_partition,
    calm,
    come_by,
    most_unread_s,
    moves,
    owners_at,
    spans,
)
from tidegate_operator.conformance.record import Disturbed, Handled, Record
from tidegate_operator.conformance.verdicts import Verdict, judged, not_tried

KILLS = ("kill", "force", "pause", "delete", "operator-away", "executor", "driver")
# A new life of Spark begins with a JVM: its own start time is no matter of leases.
_JVM_S = 60.0


def p6(record: Record) -> Verdict:
    kills = record.done(*KILLS)
    if not kills:
        why = record.refused(*KILLS) or "no consumer was killed in this run"
        return not_tried("P6", why)
    calls = by_partition(record)
    waits: list[float] = []
    allowed: set[float] = set()
    cases = []
    for span in spans(record):
        kill = span.what
        if kill.kind not in KILLS:
            continue
        most_s = most_unread_s(record, kill)
        most_s += _JVM_S if kill.kind in ("executor", "driver") else 0.0
        for partition in kill.partitions:
            wait = _wait(calls.get(partition, []), span)
            if wait is None:
                cases.append(f"{kill.kind} of {kill.target}: {partition} was never read again")
                continue
            waits.append(wait)
            allowed.add(most_s)
            if wait > most_s:
                cases.append(
                    f"{kill.kind} of {kill.target}: {partition} was not read for {wait:.1f} s, "
                    f"and {most_s:.0f} s are allowed"
                )
    if not waits and not cases:
        return not_tried("P6", "who was killed owned nothing just then")
    longest = max(waits, default=0.0)
    return judged(
        "P6", cases,
        f"{len(kills)} kills, {len(waits)} partitions: 95 of 100 read on within "
        f"{p95(waits):.1f} s, all within {longest:.1f} s; {_limits(allowed)} s are allowed",
        {"kills": len(kills), "p95 s": round(p95(waits), 3), "longest s": round(longest, 3)},
    )  # fmt: skip


def _limits(allowed: set[float]) -> str:
    """They differ by who was killed, and by how much that one had."""
    least, most = min(allowed, default=0.0), max(allowed, default=0.0)
    return f"{most:.0f}" if least == most else f"{least:.0f} to {most:.0f}"


def _wait(those: list[Handled], span: Span) -> float | None:
    """How long the partition was not read; None where it never was again."""
    if span.what.kind == "pause":
        return _longest_gap(those, span)
    place = come_by(those, span.began)
    old = those[place - 1].who if place else ""
    other = (given.at for given in islice(those, place, None) if given.who != old)
    return next((at - span.began for at in other), None)


def _longest_gap(those: list[Handled], span: Span) -> float | None:
    """Up to the first call after the group was settled again, which may be long after that."""
    found = those[come_by(those, span.began) : come_by(those, span.until) + 1]
    times = [span.began, *(given.at for given in found)]
    return max((after - before for before, after in pairwise(times)), default=None)


def p95(values: list[float]) -> float:
    """The value that at most a twentieth of them are above; 0 of none."""
    found = sorted(values)
    return found[max(0, -(-len(found) * 95 // 100) - 1)] if found else 0.0


def p7(record: Record) -> Verdict:
    found = moves(record)
    cases, counted, total = [], 0, 0
    for span in spans(record):
        most = most_moves(record, span.what)
        if most is None:
            continue
        those = [each for each in found if span.began <= each.at <= span.until]
        counted, total = counted + 1, total + len(those)
        if len(those) > most:
            cases.append(
                f"{span.what.kind} of {span.what.target or 'the group'}: {len(those)} moves, and "
                f"{most} are enough"
            )
    if not counted:
        return not_tried("P7", "nothing was done that says how many moves are enough")
    return judged("P7", cases, f"{total} moves in {counted} changes of members", {"moves": total})


def most_moves(record: Record, what: Disturbed) -> int | None:
    """How many moves a disturbance needs; None where that cannot be said."""
    if what.overdue:
        return None  # whom it was done to is not known, or what came later
    setting = record.setting
    came = set(what.members_after) - set(what.members_before)
    partitions = len(owners_at(record, what.began)) or setting.partitions
    share = partitions // max(len(what.members_after), 1)
    gone = len(what.partitions)
    match what.kind:
        case "kill":
            return 0 if setting.engine == "python" and _is_quickly_back(record, what) else None
        case "break-lease":
            return 1
        case "scale-in":
            return gone
        case "scale-out":
            return share * len(came)
        case "delete" | "force" | "operators":
            # To who is left, and the share of the one that comes in its place.
            return gone + (share + 1) * len(came)
        case "rollout":
            return partitions
        case _:
            return None


def _is_quickly_back(record: Record, kill: Disturbed) -> bool:
    """Whether its container ran again while its leases held. One that has ended before is kept
    waiting by the kubelet, and the others are right to take over."""
    last = kill.began + record.setting.lease_s / 2
    return any(
        seen.what == "restarted" and seen.pod == kill.target and kill.began <= seen.at <= last
        for seen in record.pods
    )


def p8(record: Record) -> Verdict:
    done = record.done()
    if not done:
        return not_tried("P8", "nothing was disturbed")
    limit_s = record.setting.settle_s
    cases = [
        f"{each.kind} of {each.target or 'the group'}: "
        f"{each.overdue or f'not settled within {limit_s:.0f} s'}"
        for each in done
        if each.settled is None
    ]
    took = [each.settled - each.ended for each in done if each.settled is not None]
    quiet = list(calm(record))
    cases += [
        f"{each.partition} moved from {each.giver} to {each.taker}, though nothing was done"
        for each in moves(record)
        if any(begin < each.at < end for begin, end in quiet)
    ]
    calm_s = sum(end - begin for begin, end in quiet)
    return judged(
        "P8", cases,
        f"{len(took)} times settled, within {max(took, default=0.0):.1f} s; nothing moved in "
        f"{calm_s:.0f} s of calm",
        {"longest s": round(max(took, default=0.0), 3), "calm s": round(calm_s, 1)},
    )  # fmt: skip
