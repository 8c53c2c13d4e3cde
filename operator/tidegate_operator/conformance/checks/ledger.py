"""P1, P3 and P12: epochs, checkpoints, and whether the status says what the leases say.

Rules: pure. The ledger is looked at several times a second: every state that lasts is seen, and not
every write.
"""

from __future__ import annotations

from tidegate_operator.conformance.agreement import Agreement
from tidegate_operator.conformance.checks.spans import CUTS, SKEW_S, Span, spans
from tidegate_operator.conformance.record import Owned, Record, Told
from tidegate_operator.conformance.verdicts import Verdict, judged, not_tried

# Without an operator, or with storage out of its reach, nobody can write a status.
_UNTOLD = ("operator-away", "operators", *CUTS)


def p1(record: Record) -> Verdict:
    if not record.stored or not record.handled:
        return not_tried("P1", "no checkpoint and no call was seen")
    top: dict[str, int] = {}
    cases = []
    for row in sorted(record.stored, key=lambda each: each.at):
        if row.epoch < top.get(row.partition, 0):
            cases.append(
                f"partition {row.partition}: a checkpoint of epoch {row.epoch} after one of "
                f"{top[row.partition]}"
            )
        top[row.partition] = max(row.epoch, top.get(row.partition, 0))
    whose: dict[tuple[str, int], str] = {}
    for given in sorted(record.handled):
        owner = whose.setdefault((given.partition, given.epoch), given.who)
        if owner != given.who:
            cases.append(
                f"partition {given.partition}: epoch {given.epoch} is {owner}'s and {given.who}'s"
            )
    epochs = len(whose)
    if epochs <= len({partition for partition, _ in whose}) and not cases:
        return not_tried("P1", "no partition had a second epoch, so that none could be late")
    return judged(
        "P1", dict.fromkeys(cases), f"{epochs} epochs of {len(top)} partitions", {"epochs": epochs}
    )


def p3(record: Record) -> Verdict:
    if not record.stored:
        return not_tried("P3", "no checkpoint was seen")
    stands: dict[str, int] = {}
    cases = []
    for row in sorted(record.stored, key=lambda each: each.at):
        before = stands.get(row.partition)
        if before is not None and row.sequence < before:
            cases.append(
                f"partition {row.partition}: the checkpoint went from {before} back to "
                f"{row.sequence}"
            )
        stands[row.partition] = row.sequence
    count = len(record.stored)
    return judged("P3", cases, f"{count} checkpoints seen", {"checkpoints": count})


def p12(record: Record) -> Verdict:
    """Looks at each status with the owners as they were last seen before it."""
    left_out = [span for span in spans(record) if span.what.kind in _UNTOLD]
    owned = sorted(record.owned, key=lambda each: each.at)
    agreement, owners, place = Agreement(), dict[str, str](), 0
    for told in sorted(record.told, key=lambda each: each.at):
        place = _taken(owned, owners, place, told)
        if _is_within(left_out, told.at):
            # What differs is counted from its end on.
            agreement.look({}, {}, told.at)
        elif told.owners:
            agreement.look(told.owners, owners, told.at)
    changes = sum(1 for row in owned if row.at > record.began)
    if not agreement.looks or not changes:
        return not_tried("P12", "no owner changed while there was a status to compare")
    limit_s = record.setting.look_s + SKEW_S
    late = agreement.longest_s
    cases = [f"the status was behind the leases for {late:.1f} s"] if late > limit_s else []
    return judged(
        "P12", cases, f"{agreement.looks} looks, at most {late:.1f} s behind",
        {"looks": agreement.looks, "longest s": round(late, 3)},
    )  # fmt: skip


def _taken(owned: list[Owned], owners: dict[str, str], place: int, told: Told) -> int:
    while place < len(owned) and owned[place].at <= told.at:
        row = owned[place]
        if row.owner:
            owners[row.partition] = row.owner
        else:
            owners.pop(row.partition, None)
        place += 1
    return place


def _is_within(found: list[Span], at: float) -> bool:
    return any(span.began - SKEW_S <= at <= span.until + SKEW_S for span in found)
