"""A run's report as one HTML page that needs nothing else: verdicts, timelines, disturbances.

Rules: pure. No script and no address of anything outside; whatever comes from a cluster is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tidegate_operator.conformance import timelines
from tidegate_operator.conformance.judge import is_passed
from tidegate_operator.conformance.plan import KINDS
from tidegate_operator.conformance.record import Disturbed, Record
from tidegate_operator.conformance.report import again, said_of
from tidegate_operator.conformance.report_style import STYLE
from tidegate_operator.conformance.verdicts import PROPERTIES, Verdict


def page(record: Record, found: Sequence[Verdict]) -> str:
    setting = record.setting
    passed = is_passed(list(found), record)
    end = "passed" if passed else "failed"
    about = (
        f"{setting.engine} on {setting.source}, {setting.replicas} consumers, "
        f"{setting.partitions} partitions, {record.ended - record.began:.0f} s, seed {setting.seed}"
    )
    troubles = "".join(f'<p class="broken">{escape(said)}</p>' for said in record.troubles)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>Conformance, seed {setting.seed}: {end}</title><style>{STYLE}</style></head>"
        f'<body><main><h1>Tidegate conformance <span class="end {end}">{end}</span></h1>'
        f'<p class="about">{escape(about)}</p><p>Again: <code>{escape(again(record))}</code></p>'
        f"{troubles}<h2>What is promised</h2>{_properties(found)}"
        f"<h2>Partitions by owner</h2>{_legend(record)}{timelines.partitions(record)}"
        f"<h2>Pods</h2>{timelines.pods(record)}"
        '<h2>Lag and size</h2><ul class="legend"><li><i style="background:#3b7dd8"></i>events '
        'that wait</li><li><i style="background:#d9822b"></i>consumers asked for</li></ul>'
        f"{timelines.lag(record)}<h2>What was done</h2>{_disturbances(record)}"
        "</main></body></html>\n"
    )


def _properties(found: Sequence[Verdict]) -> str:
    rows = []
    for verdict in found:
        name = str(verdict.outcome).replace(" ", "")
        cases = "".join(f"<li>{escape(case)}</li>" for case in verdict.cases)
        rows.append(
            f'<tr><td>{verdict.name}</td><td class="outcome {name}">{verdict.outcome}</td>'
            f"<td>{escape(PROPERTIES[verdict.name])}<small>{escape(said_of(verdict))}</small>"
            f"{f'<ul>{cases}</ul>' if cases else ''}</td></tr>"
        )
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def _legend(record: Record) -> str:
    items = "".join(
        f'<li><i style="background:{colour}"></i>{escape(name)}</li>'
        for name, colour in timelines.colours(record).items()
    )
    said = f"not read for more than {timelines.PAUSE_S:g} s"
    red = f'<li><i style="background:var(--bad);height:4px;vertical-align:3px"></i>{said}</li>'
    return f'<ul class="legend">{items}{red}</ul>'


def _disturbances(record: Record) -> str:
    rows = []
    done = sorted(record.done(), key=lambda each: each.began)
    for each in sorted(record.disturbed, key=lambda each: each.began):
        number = "" if each.refused else f"{done.index(each) + 1}"
        rows.append(
            f'<tr><td>{number}</td><td class="at">{each.began - record.began:.1f} s</td>'
            f"<td>{escape(each.kind)}<small>{escape(KINDS[each.kind].text)}</small></td>"
            f"<td>{escape(each.target)}</td><td>{_end(record, each)}</td></tr>"
        )
    head = "".join(f"<th>{each}</th>" for each in ("no.", "at", "what", "to whom", "then"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _end(record: Record, each: Disturbed) -> str:
    if each.refused:
        return f"not done: {escape(each.refused)}"
    if each.settled is None:
        why = escape(each.overdue) or f"not in {record.setting.settle_s:.0f} s"
        return f'<span class="broken">not settled: {why}</span>'
    return f"settled after {each.settled - each.ended:.1f} s"
