"""What `tidegate run` shows on a terminal, as lines of text: the board in so many columns and rows.

Rules: pure. A line is never wider than asked, whatever it holds, so that a terminal never breaks
it; what does not fit is counted, never dropped silently. Trouble is shown first where rows are
short. Nothing that a log line or a name carries can steer the terminal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from tidegate.lag import Lag, LagKind, total
from tidegate.model import PartitionId
from tidegate.ops.board import Board, Row, by_number

_NOTHING = "·"
_OLD_LISTING_S = 10.0
# Of these rows the log has one, however long the table is.
_LOG_SHARE = 5
# Wider than any terminal: the text of a pipe is not clipped.
UNBOUNDED = 1 << 16


class Style(Enum):
    """How a line stands out; a terminal without colours shows all alike."""

    PLAIN = "0"
    STRONG = "1"
    FAINT = "2"
    BAD = "31"
    GOOD = "32"
    WARNING = "33"


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line of the screen."""

    text: str
    style: Style = Style.PLAIN


@dataclass(frozen=True, slots=True)
class _Column:
    title: str
    least_screen: int  # the narrowest screen that shows it
    is_number: bool = True


_COLUMNS = (
    _Column("partition", 0, is_number=False),
    _Column("owner", 0, is_number=False),
    _Column("events/s", 44),
    _Column("lag", 0),
    _Column("behind", 34),
    _Column("position", 64),
    _Column("epoch", 76),
    _Column("", 0, is_number=False),  # what is wrong, where anything is
)


def screen(
    board: Board,
    log: Sequence[str],
    *,
    group: str,
    columns: int,
    rows: int,
    now: float,
    wall: float,
) -> list[ShownLine]:
    """The whole screen: what the group is, its partitions, and the last lines of the log."""
    all_rows = board.rows(now, wall)
    said = wrapped(_head(board, all_rows, group, now), columns)
    head = [ShownLine(text, Style.STRONG) for text in said]
    room = rows - len(head) - 1
    log_rows = min(len(log), max(rows // _LOG_SHARE, room - len(all_rows) - 2))
    body = _table(all_rows, columns, max(room - log_rows - 1, 2))
    lines = [*head, ShownLine(""), *body]
    if log_rows:
        lines += [ShownLine(""), *(_log_line(text) for text in log[-log_rows:])]
    return [ShownLine(clip(line.text, columns), line.style) for line in lines[:rows]]


def _log_line(text: str) -> ShownLine:
    for word, style in ((" error: ", Style.BAD), (" warning: ", Style.WARNING)):
        if word in text:
            return ShownLine(text, style)
    return ShownLine(text, Style.FAINT)


def _head(board: Board, rows: Sequence[Row], group: str, now: float) -> list[str]:
    """What there is to say of the whole, in parts that stay together."""
    parts = [group, board.name]
    if board.is_stopping:
        parts.append("stopping")
    if board.listing is None:
        return [*parts, board.unlisted]
    if not board.is_present() and not board.is_stopping:
        parts.append("joining")
    parts += [
        f"{name} declines {ranges(member.declines)}"
        for name, member in sorted(board.listing.members.items())
        if member.is_alive and member.declines
    ]
    ours = [row for row in rows if row.is_ours]
    owned, members = sum(row.owner is not None for row in rows), len(board.members())
    parts += [
        f"{members} member{'' if members == 1 else 's'}",
        f"{owned} of {len(rows)} partitions owned, {len(ours)} here",
    ]
    if ours:
        lag = total(row.lag for row in ours).of_all
        parts += [
            f"{number_text(sum(row.rate for row in ours))} events/s",
            f"lag {lag_text(lag)}",
            f"behind {behind_text(lag)}",
        ]
    age = now - (board.listed_at or now)
    if age > _OLD_LISTING_S:
        parts.append(f"the ledger was last read {seconds_text(age)} ago")
    return parts


def wrapped(parts: Iterable[str], columns: int) -> list[str]:
    """The parts in as few lines as they need, with a dot between them."""
    lines: list[str] = []
    for part in parts:
        joined = f"{lines[-1]} · {part}" if lines else part
        if lines and text_width(joined) <= columns:
            lines[-1] = joined
        else:
            lines.append(part)
    return lines


# --- the table


def _table(rows: Sequence[Row], columns: int, room: int) -> list[ShownLine]:
    """A row for each partition; where they do not fit, rows for ours and a summary of the rest."""
    if not rows:
        return [ShownLine("no partitions are known yet", Style.FAINT)]
    if len(rows) + 1 <= room:
        return _rows(rows, columns)
    ours = sorted((row for row in rows if row.is_ours), key=_trouble_first)
    others = _others([row for row in rows if not row.is_ours])
    space = max(room - len(others) - 1, 1)
    shown = ours if len(ours) <= space else ours[: max(space - 1, 1)]
    lines = _rows(sorted(shown, key=lambda row: by_number(row.partition)), columns)
    if len(shown) < len(ours):
        lines.append(ShownLine(f"and {len(ours) - len(shown)} more here", Style.FAINT))
    return [*lines, *others][:room]


def _trouble_first(row: Row) -> tuple[bool, float, tuple[int, int, str]]:
    return (not row.note, -(row.lag.behind_s or 0.0), by_number(row.partition))


def _others(rows: Sequence[Row]) -> list[ShownLine]:
    """Who owns the rest, a line each; what nobody owns comes first."""
    by_owner: dict[str, list[PartitionId]] = {}
    for row in rows:
        by_owner.setdefault(row.owner or "", []).append(row.partition)
    return [
        ShownLine(f"{owner}: {ranges(partitions)}", Style.FAINT)
        if owner
        else ShownLine(f"nobody: {ranges(partitions)}", Style.WARNING)
        for owner, partitions in sorted(by_owner.items())
    ]


def _rows(rows: Sequence[Row], columns: int) -> list[ShownLine]:
    picked = [column for column in _COLUMNS if columns >= column.least_screen]
    cells = [_cells(row) for row in rows]
    has_notes = any(row.note for row in rows)
    picked = [column for column in picked if column.title or has_notes]
    lines = [[column.title for column in picked]]
    lines += [[each[column.title] for column in picked] for each in cells]
    widths = [max(text_width(line[at]) for line in lines) for at in range(len(picked))]
    styles = [Style.STRONG, *(_style(row) for row in rows)]
    return [
        ShownLine(
            "  ".join(
                _padded(cell, width, to_right=column.is_number)
                for cell, width, column in zip(line, widths, picked, strict=True)
            ).rstrip(),
            style,
        )
        for line, style in zip(lines, styles, strict=True)
    ]


def _cells(row: Row) -> dict[str, str]:
    if not row.is_ours:
        blank = dict.fromkeys((column.title for column in _COLUMNS), _NOTHING)
        return {**blank, "partition": row.partition, "owner": row.owner or "nobody", "": ""}
    return {
        "partition": row.partition,
        "owner": row.owner or "",
        "events/s": number_text(row.rate),
        "lag": lag_text(row.lag),
        "behind": behind_text(row.lag),
        "position": _NOTHING if row.handled is None else f"{row.handled:,}",
        "epoch": str(row.epoch),
        "": row.note,
    }


def _style(row: Row) -> Style:
    if row.note or row.lag.kind is LagKind.LOST:
        return Style.BAD
    if row.owner is None:
        return Style.WARNING
    return Style.PLAIN if row.is_ours else Style.FAINT


# --- words and numbers


def number_text(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def lag_text(lag: Lag) -> str:
    if lag.events is None:
        return str(lag.kind)
    about = "~" if lag.kind is LagKind.ESTIMATED else ""
    return f"{about}{lag.events:,}" + (" lost" if lag.kind is LagKind.LOST else "")


def behind_text(lag: Lag) -> str:
    return _NOTHING if lag.behind_s is None else seconds_text(lag.behind_s)


def seconds_text(seconds: float) -> str:
    """A time in the unit that says most: 0 s, 1.2 s, 45 s, 3 min, 2.5 h."""
    if seconds < 10:
        return f"{seconds:.1f} s" if seconds >= 0.05 else "0 s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def ranges(partitions: Iterable[PartitionId]) -> str:
    """'0-3 7 9-10': the partitions in order, neighbours together."""
    runs: list[list[PartitionId]] = []
    for partition in sorted(partitions, key=by_number):
        last = runs[-1][-1] if runs else ""
        if partition.isdecimal() and last.isdecimal() and int(partition) == int(last) + 1:
            runs[-1].append(partition)
        else:
            runs.append([partition])
    return " ".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def clip(text: str, columns: int) -> str:
    """The text in at most so many columns, without anything that a terminal would obey."""
    text = "".join(char if char.isprintable() else " " for char in text)
    if text_width(text) <= columns:
        return text
    kept, used = [], 0
    for char in text:
        used += _char_width(char)
        if used > columns - 1:
            break
        kept.append(char)
    return "".join(kept) + "…"


def _padded(text: str, width: int, *, to_right: bool) -> str:
    space = " " * (width - text_width(text))
    return space + text if to_right else text + space


def text_width(text: str) -> int:
    return len(text) if text.isascii() else sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
