"""P2, P4, P5 and P13: no event is lost, few are handled twice, and order is kept.

Rules: pure. What was sent is what the service has accepted, and what was handled is what handlers
wrote down before they came back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tidegate_operator.conformance.checks.spans import (
    CUTS,
    SKEW_S,
    again,
    by_partition,
    causes,
    spans,
    stretches,
)
from tidegate_operator.conformance.plan import CALM_S
from tidegate_operator.conformance.record import Disturbed, Record
from tidegate_operator.conformance.stretches import Stretch
from tidegate_operator.conformance.verdicts import Verdict, judged, not_tried

# After these nobody handles anything twice: what is given away is drained and checkpointed.
CLEAN = ("delete", "scale-in", "scale-out", "rollout", "operators")
_CASES = 20
# The longest batch of Spark that comes again when its executor is gone.
_BATCH_S = 5.0


def p2(record: Record) -> Verdict:
    sent = sum(count for _, count in record.sent.values())
    if not sent:
        return not_tried("P2", "no event was sent, or it is not known how many")
    cases = list(_lost(record)) + list(_passed(record))
    handled = sum(given.last - given.first + 1 for given in record.handled)
    streams = len(record.sent)
    return judged(
        "P2", cases[:_CASES], f"{sent} events sent in {streams} streams, {handled} handled",
        {"sent": sent, "handled": handled},
    )  # fmt: skip


def _lost(record: Record) -> Iterator[str]:
    found = stretches(record)
    for stream, (first, count) in sorted(record.sent.items()):
        stretch, last = found[stream], first + count - 1
        for begin, end in stretch.gaps:
            yield f"{stream}: {begin} to {end} were passed over and never handled"
        if not stretch.gaps and stretch.through < last:
            yield f"{stream}: {stretch.through + 1} to {last} were never handled"


def _passed(record: Record) -> Iterator[str]:
    """Checkpoints before what they cover was handled; only where both have the same numbers."""
    if record.setting.source != "hub":
        return
    calls = by_partition(record)
    progress: dict[str, tuple[Stretch, int]] = {}
    for row in sorted(record.stored, key=lambda each: each.at):
        if row.partition not in record.sent:
            continue
        first = record.sent[row.partition][0]
        stretch, place = progress.get(row.partition, (Stretch(first - 1), 0))
        those = calls.get(row.partition, [])
        while place < len(those) and those[place].at <= row.at + SKEW_S:
            stretch.take(those[place].first, those[place].last)
            place += 1
        progress[row.partition] = stretch, place
        if row.sequence > stretch.whole and row.sequence >= first:
            yield (
                f"partition {row.partition}: a checkpoint at {row.sequence} covers "
                f"{stretch.whole + 1}, which nobody had handled"
            )


def p4(record: Record) -> Verdict:
    if not record.done():
        return not_tried("P4", "nothing was disturbed, so that nothing could come twice")
    found, about = again(record), spans(record, with_refused=True)
    counted: dict[tuple[str, int], int] = defaultdict(int)
    for each in found:
        # Whoever reads on after a kill may take its time: that another step began meanwhile does
        # not make it that one's doing.
        those = causes(about, each.since, each.given.at)
        what = max(those, key=lambda one: most_again(record, one), default=None)
        index = -1 if what is None else record.disturbed.index(what)
        counted[each.given.stream, index] += each.events
    cases = []
    for (stream, index), events in sorted(counted.items()):
        what = None if index < 0 else record.disturbed[index]
        most = most_again(record, what)
        if events > most:
            name = "nothing" if what is None else what.kind
            cases.append(f"{stream}: {events} events again after {name}; at most {most}")
    clean = len(record.done(*CLEAN))
    total = sum(each.events for each in found)
    most_seen = max(counted.values(), default=0)
    return judged(
        "P4", cases[:_CASES],
        f"{total} events were handled again, at most {most_seen} of one stream at once; "
        f"{clean} clean disturbances",
        {"again": total, "most of one stream": most_seen},
    )  # fmt: skip


def most_again(record: Record, what: Disturbed | None) -> int:
    """How many events of one stream may come again because of a disturbance."""
    if what is None or (not what.refused and what.kind in (*CLEAN, "split", "merge")):
        return 0
    setting = record.setting
    # Handled and not yet checkpointed: by time, and the call that was under way.
    open_s = setting.checkpoint_s + 0.5
    if what.kind in CUTS:
        open_s += what.ended - what.began
    if setting.engine != "python":
        # One batch for all that an executor has; its checkpoint follows when it has ended.
        open_s += _BATCH_S
    return round(setting.rate * open_s) + 2 + min(setting.batch, round(setting.rate * open_s))


def p5(record: Record) -> Verdict:
    calls = sum(1 for _ in record.handled)
    if not calls:
        return not_tried("P5", "no handler wrote anything down")
    last: dict[tuple[str, str, int, str], int] = {}
    cases = []
    for given in sorted(record.handled):
        key = given.stream, given.partition, given.epoch, given.who
        before = last.get(key)
        if (
            before is not None
            and given.first != before + 1
            and not _is_retry(record, given.first, before)
        ):
            cases.append(
                f"{given.stream}: {given.who} in epoch {given.epoch} was given {given.first} "
                f"after {before}"
            )
        last[key] = given.last
    failed = f"; {len(record.failed)} failed, and were not counted" if record.failed else ""
    return judged(
        "P5", cases[:_CASES], f"{calls} calls in {len(last)} tenures{failed}", {"calls": calls}
    )


def _is_retry(record: Record, first: int, before: int) -> bool:
    """A batch of Spark that failed comes again, within the tenure."""
    return record.setting.engine != "python" and first <= before


def p13(record: Record) -> Verdict:
    if record.setting.source != "cosmos":
        return not_tried("P13", "the source is an event hub: it has no ranges that split")
    done = record.done("split", "merge")
    if not done:
        why = record.refused("split", "merge") or "no range was split or merged in this run"
        return not_tried("P13", why)
    cases = []
    for each in done:
        # What comes of a merge may be called as what was split long before.
        since = each.began - CALM_S
        later = {given.partition for given in record.handled if given.at > each.began}
        before = {g.partition for g in record.handled if since <= g.at <= each.began}
        if not later - before:
            cases.append(f"{each.kind}: no partition that came of it was ever handled")
    cases += _lost(record)
    return judged(
        "P13", cases[:_CASES],
        f"{len(record.done('split'))} splits and {len(record.done('merge'))} merges, and every "
        "item accounted for",
        {"splits": len(record.done("split")), "merges": len(record.done("merge"))},
    )  # fmt: skip
