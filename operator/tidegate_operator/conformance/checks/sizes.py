"""P9, P10, P11 and P14: the size of a group, and its operators.

Rules: pure. Which operator acted is what the Events of the group say; the Lease says which one may.
"""

from __future__ import annotations

from itertools import pairwise

from tidegate_operator.conformance.checks.spans import by_partition, come_by, most_unread_s, spans
from tidegate_operator.conformance.record import Led, Record
from tidegate_operator.conformance.verdicts import Verdict, judged, not_tried

# An Event has whole seconds, and the Lease is looked at twice a second.
_EVENT_S = 2.0


def p9(record: Record) -> Verdict:
    known = [told for told in record.told if told.replicas is not None]
    sizes = {told.replicas or 0 for told in known}
    cases = []
    for told in known:
        size = told.replicas or 0
        most = min(told.most, record.setting.partitions)
        if not told.least <= size <= most:
            cases.append(f"{size} consumers were asked for; {told.least} to {most} are allowed")
    if len(sizes) < 2 and not cases:
        return not_tried("P9", "the size never changed in this run")
    return judged(
        "P9", dict.fromkeys(cases),
        f"{len(known)} looks, sizes {', '.join(str(size) for size in sorted(sizes))}",
        {"looks": len(known)},
    )  # fmt: skip


def p10(record: Record) -> Verdict:
    """Only where the operator made the group smaller as soon as it knew the lag: else that it did
    not before says nothing."""
    told = sorted(record.told, key=lambda each: each.at)
    unknown_s, cases, smaller = 0.0, [], ""
    for before, after in pairwise(told):
        if not (before.is_auto and after.is_auto):
            continue
        is_smaller = (after.replicas or 0) < (before.replicas or 0)
        if not before.is_lag_known and not after.is_lag_known:
            unknown_s += after.at - before.at
            if is_smaller:
                cases.append(
                    f"from {before.replicas} to {after.replicas} consumers while the lag was "
                    "unknown"
                )
        elif is_smaller and unknown_s and after.is_lag_known:
            smaller = f"from {before.replicas} to {after.replicas} consumers"
    if not unknown_s:
        return not_tried("P10", _why_never_unknown(record))
    if not smaller and not cases:
        return not_tried("P10", "the operator wanted no fewer consumers with the lag known either")
    return judged(
        "P10", cases,
        f"{unknown_s:.0f} s of unknown lag in which the operator might choose the size"
        + (f"; it went {smaller} when the lag was known again" if smaller else ""),
        {"unknown s": round(unknown_s, 1)},
    )  # fmt: skip


def _why_never_unknown(record: Record) -> str:
    if record.setting.group_file:
        return "storage of your own is never taken away, so that the lag stays known"
    return record.refused("storage-away") or (
        "the lag was never unknown: storage was not taken away, which takes two minutes, in a run "
        "of six or more"
    )


def p11(record: Record) -> Verdict:
    away = [span for span in spans(record) if span.what.kind == "operator-away"]
    if not away:
        why = record.refused("operator-away") or (
            "the operator was not taken away in this run"
            if record.setting.operator
            else "--operator does not name one that may be taken away"
        )
        return not_tried("P11", why)
    handled = by_partition(record)
    longest, cases = 0.0, []
    for span in away:
        end, its_limit_s = span.what.ended, most_unread_s(record, span.what)
        for partition in _owned_at(record, span.began):
            limit_s = its_limit_s if partition in span.what.partitions else most_unread_s(record)
            calls = handled.get(partition, [])
            those = calls[come_by(calls, span.began - 1.0) : come_by(calls, end)]
            times = [given.at for given in those]
            for before, after in pairwise([span.began, *times, end]):
                longest = max(longest, after - before)
                if after - before > limit_s:
                    cases.append(f"{partition} was not read for {after - before:.1f} s")
    away_s = sum(span.what.ended - span.began for span in away)
    return judged(
        "P11", cases,
        f"without an operator for {away_s:.0f} s, {len(away)} consumers killed meanwhile; no "
        f"partition stood still for more than {longest:.1f} s",
        {"away s": round(away_s, 1), "longest s": round(longest, 3)},
    )  # fmt: skip


def _owned_at(record: Record, at: float) -> list[str]:
    """The partitions that there were then and had an owner, as the status said; all that were ever
    handled where it said nothing yet."""
    told = [each for each in record.told if each.at <= at]
    return sorted(told[-1].owners) if told else sorted(by_partition(record))


def p14(record: Record) -> Verdict:
    if not record.done("operators"):
        why = record.refused("operators") or (
            "two operators did not run at once in this run"
            if record.setting.operator
            else "--operator does not name one that may be doubled"
        )
        return not_tried("P14", why)
    led = sorted(record.led, key=lambda each: each.at)
    holders = {each.holder for each in led if each.holder}
    cases = [
        f"{act.instance} told {act.reason}, and the Lease was another's"
        if act.instance in holders
        else f"{act.instance} told of the group and never held the Lease: another operator looks "
        "after this namespace too, which it must not"
        for act in record.acts
        if not _may(led, act.instance, act.at)
    ]
    acted = {act.instance for act in record.acts}
    if len(holders) < 2 and not cases:
        return not_tried("P14", "only one operator ever held the Lease")
    if len(acted) < 2 and not cases:
        return not_tried("P14", "only one operator was seen to act: there is nothing to compare")
    return judged(
        "P14", dict.fromkeys(cases),
        f"{len(record.acts)} acts by {len(acted)} operators, each while it held the Lease",
        {"acts": len(record.acts), "operators": len(acted)},
    )  # fmt: skip


def _may(led: list[Led], instance: str, at: float) -> bool:
    """Whether it held the Lease at about that time, as far as the Lease was watched."""
    if not led or at < led[0].at:
        return True
    held = pairwise([*led, Led(float("inf"), "")])
    return any(
        each.holder == instance and each.at - _EVENT_S <= at <= after.at + _EVENT_S
        for each, after in held
    )
