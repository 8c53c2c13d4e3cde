"""A run's report: as text for people, and as JSON for programs. HTML is in report_html.

Rules: pure. It says the seed and the command that plays the run again; what was not tried stands
beside what held, with its reason, and what was left out of the plan as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tidegate_operator.conformance.judge import is_passed
from tidegate_operator.conformance.plan import KINDS
from tidegate_operator.conformance.record import Record, Setting
from tidegate_operator.conformance.verdicts import PROPERTIES, Outcome, Verdict

_SIGNS = {Outcome.HELD: "ok  ", Outcome.BROKEN: "FAIL", Outcome.NOT_TRIED: "-   "}


def again(record: Record) -> str:
    """The command that plays the same plan."""
    setting = record.setting
    return (
        f"tidegate conformance --minutes {setting.seconds / 60:g} --seed {setting.seed} "
        f"--engine {setting.engine} {_where(setting)} --replicas {setting.replicas}"
        + (f" --operator {setting.operator}" if setting.operator else "")
        + (f" --only {setting.only}" if setting.only else "")
    )


def _where(setting: Setting) -> str:
    if setting.group_file:
        return f"--group-file {setting.group_file}"
    return f"--source {setting.source} --partitions {setting.partitions}"


def as_text(record: Record, found: Sequence[Verdict]) -> str:
    setting = record.setting
    lines = [
        f"tidegate conformance: {setting.engine} on {setting.source}, "
        f"{setting.replicas} consumers, {setting.partitions} partitions, seed {setting.seed}, "
        f"{record.ended - record.began:.0f} s",
        "",
    ]
    for verdict in found:
        lines.append(f"{_SIGNS[verdict.outcome]} {verdict.name:<4} {PROPERTIES[verdict.name]}")
        lines.append(f"          {said_of(verdict)}")
        lines += [f"          ! {case}" for case in verdict.cases]
    lines += ["", "Disturbances:"]
    for each in record.disturbed:
        at = each.began - record.began
        if each.refused:
            end = f"not done: {each.refused}"
        elif each.settled is None:
            end = f"NOT settled: {each.overdue or f'not within {setting.settle_s:.0f} s'}"
        else:
            end = f"settled after {each.settled - each.ended:.1f} s"
        lines.append(f"  {at:6.1f} s  {each.kind:<15} {end:<22} {each.target}".rstrip())
    never = [name for name in KINDS if name not in {each.kind for each in record.done()}]
    if never:
        lines.append(f"  not in this run: {', '.join(never)}")
    lines += [f"TROUBLE: {said}" for said in record.troubles]
    held = [verdict.outcome for verdict in found].count(Outcome.HELD)
    tried = sum(verdict.outcome is not Outcome.NOT_TRIED for verdict in found)
    end = "passed" if is_passed(list(found), record) else "FAILED"
    lines += ["", f"{end}: {held} of {tried} properties that were tried held; "
              f"{len(found) - tried} not tried", f"again: {again(record)}"]  # fmt: skip
    return "\n".join(lines) + "\n"


def said_of(verdict: Verdict) -> str:
    is_tried = verdict.outcome is not Outcome.NOT_TRIED
    return verdict.said if is_tried else f"not tried: {verdict.said}"


def as_json(record: Record, found: Sequence[Verdict]) -> dict[str, Any]:
    """Without the single observations: these are in record.json."""
    return {
        "passed": is_passed(list(found), record),
        "setting": asdict(record.setting),
        "again": again(record),
        "began": record.began,
        "seconds": round(record.ended - record.began, 1),
        "properties": [
            {
                "name": verdict.name, "text": PROPERTIES[verdict.name],
                "outcome": str(verdict.outcome), "said": verdict.said,
                "figures": dict(verdict.figures), "cases": list(verdict.cases),
            }
            for verdict in found
        ],
        "disturbances": [asdict(each) for each in record.disturbed],
        "troubles": record.troubles,
    }  # fmt: skip
