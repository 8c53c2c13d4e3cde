"""What of a group is shown on a terminal, as lines of text. Pure.

Rules: all that others wrote (names, messages) is clipped to the width and cannot steer the
terminal. Where rows are short, what is in trouble is shown first, and the rest is counted.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Sequence

from tidegate.bounded import cut
from tidegate.ops.live import UNBOUNDED, ShownLine, Style, clip, seconds_text, text_width, wrapped
from tidegate_operator.plugin.reports import ConditionReport, GroupReport, PartitionReport
from tidegate_operator.wording import capital

_NOTHING = "-"
# A condition takes no more lines than this on a screen.
_NOTE_LINES = 4
_UNSEEN = "the operator has not looked at it yet: is one running?"
_HEADS = ("PARTITION", "OWNER", "EPOCH", "POSITION", "LAG", "BEHIND", "")
_NUMBERS = ("EPOCH", "POSITION", "LAG", "BEHIND")


def page(report: GroupReport) -> list[ShownLine]:
    """Everything of a group, from its summary to its last partition."""
    return _lines(report, UNBOUNDED, None)


def screen(
    report: GroupReport, *, columns: int, rows: int, trouble: str = "", age_s: float = 0.0
) -> list[ShownLine]:
    """As much as there is room for; `trouble` says why it is `age_s` old."""
    lines = _lines(report, columns, max(rows - (2 if trouble else 0), 1))
    if trouble:
        old = f" (as it was {seconds_text(age_s)} ago)" if age_s >= 1 else ""
        lines = [ShownLine(trouble + old, Style.BAD), ShownLine(""), *lines]
    return [ShownLine(clip(line.text, columns), line.style) for line in lines[:rows]]


def _lines(report: GroupReport, columns: int, rows: int | None) -> list[ShownLine]:
    head = [ShownLine(text, Style.STRONG) for text in wrapped(_summary(report), columns)]
    stale = [ShownLine(clip(capital(report.stale), columns), Style.BAD)] if report.stale else []
    notes = [line for each in report.of_note for line in _condition(each, columns)]
    above = [*head, *stale, *notes, ShownLine("")]
    room = None if rows is None else max(rows - len(above), 2)
    return [*above, *_table(report, room)]


def _summary(report: GroupReport) -> list[str]:
    """What there is to say of the whole, in parts that stay together."""
    parts = [f"{report.namespace}/{report.name}"]
    if not report.has_status:
        if report.state:
            parts.append(report.state)
        # The line below has the reason.
        return [*parts, "no figures yet"] if report.stale else [*parts, _UNSEEN]
    if report.state:
        parts.append(report.state)
    if report.ready:
        parts.append(f"{report.ready} ready")
    if report.partition_count is not None:
        owned = _NOTHING if report.owned is None else report.owned
        parts.append(f"{owned} of {report.partition_count} partitions owned")
    parts.append(f"lag {_number(report.lag, report.lag_kind)}{_share(report)}")
    if report.behind:
        parts.append(f"behind {report.behind}")
    if not report.is_current:
        parts.append("the operator has not seen its newest change yet")
    return parts


def _condition(each: ConditionReport, columns: int) -> list[ShownLine]:
    """A condition on up to four lines: the remedy is at the end of its message."""
    text = clip(f"{each.type} {each.status}, {each.reason}: {each.message}", UNBOUNDED)
    style = Style.BAD if each.is_trouble else Style.WARNING
    if columns == UNBOUNDED:
        return [ShownLine(text, style)]
    lines = textwrap.wrap(cut(text, (columns - 1) * _NOTE_LINES * 9 // 10), columns)
    return [ShownLine(clip(line, columns), style) for line in lines[:_NOTE_LINES]]


def _table(report: GroupReport, room: int | None) -> list[ShownLine]:
    """A row for each partition; where they do not fit, the worst of them, in their order."""
    rows = report.partitions
    if not rows:
        return [ShownLine(_why_empty(report), Style.FAINT)]
    shown, left = rows, 0
    if room is not None and len(rows) + 1 > room:
        count = max(room - 2, 1)
        worst = sorted(rows, key=_worst_first)[:count]
        shown = tuple(row for row in rows if row in worst)
        left = len(rows) - len(shown)
    cells = [_HEADS, *(_cells(row) for row in shown)]
    styles = [Style.STRONG, *(_style(row) for row in shown)]
    lines = [ShownLine(*each) for each in zip(aligned(cells, _NUMBERS), styles, strict=True)]
    if left:
        lines.append(ShownLine(f"and {left} more, none of them worse", Style.FAINT))
    return lines


def _why_empty(report: GroupReport) -> str:
    if report.partition_count:
        return "its partitions are too many for its status: --from-ledger reads them there"
    return "no partitions are known yet"


def _worst_first(row: PartitionReport) -> tuple[bool, bool, float, int]:
    is_missed = row.owner is None and not row.is_paused
    behind_s = math.inf if row.lag_kind == "unknown" else row.behind_s or 0.0
    return (not is_missed, row.lag_kind != "lost", -behind_s, -(row.lag or 0))


def _cells(row: PartitionReport) -> tuple[str, ...]:
    return (
        row.partition,
        row.owner or "nobody",
        _NOTHING if row.epoch is None else str(row.epoch),
        _NOTHING if row.sequence is None else f"{row.sequence:,}",
        _number(row.lag, row.lag_kind),
        _NOTHING if row.behind_s is None else seconds_text(row.behind_s),
        ", ".join(row.notes),
    )


def _number(lag: int | None, kind: str) -> str:
    if lag is None:
        return "unknown"
    return f"{'~' if kind == 'estimated' else ''}{lag:,}"


def _share(report: GroupReport) -> str:
    """Where the lag is not known of every partition: of how many it is the sum."""
    known, count = report.lag_partitions, report.partition_count
    if report.lag is None or known is None or count is None or known >= count:
        return ""
    return f" in {known} of {count} partitions"


def _style(row: PartitionReport) -> Style:
    if row.lag_kind == "lost":
        return Style.BAD
    if row.owner is None:
        return Style.FAINT if row.is_paused else Style.WARNING
    return Style.PLAIN


def aligned(cells: Sequence[Sequence[str]], numbers: Collection[str]) -> list[str]:
    """A table as lines; the first row has the heads, and those of `numbers` go to the right."""
    heads = cells[0]
    widths = [max(text_width(line[at]) for line in cells) for at in range(len(heads))]
    lines = []
    for line in cells:
        parts = []
        for head, cell, width in zip(heads, line, widths, strict=True):
            space = " " * (width - text_width(cell))
            parts.append(space + cell if head in numbers else cell + space)
        lines.append("  ".join(parts).rstrip())
    return lines
