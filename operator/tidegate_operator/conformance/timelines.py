"""The timelines of a report, as SVG: partitions by owner, pods, lag and size, with what was done.

Rules: pure. One scale for all of them, so that a moment is at the same place in each; colours are
given to members in the order in which they came, and what they mean is also said in words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from html import escape
from itertools import pairwise

from tidegate_operator.conformance.checks.spans import by_partition, spans
from tidegate_operator.conformance.record import Record

WIDTH, LEFT, RIGHT, ROW, HEAD, FOOT = 1160, 150, 14, 18, 22, 26
# A partition is read several times a second; longer than this is a pause that is shown.
PAUSE_S = 2.0
# A status without an owner for less than this says that one is on its way.
_UNTOLD_S = 10.0
_COLOURS = (
    "#3b7dd8", "#d9822b", "#2f9e77", "#b0529e", "#8a7a2c", "#5b62c9", "#c4504a", "#3c98a8",
    "#7b9a35", "#93603d",
)  # fmt: skip
_TICKS = (5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600)


class Scale:
    """From moments to places."""

    def __init__(self, record: Record) -> None:
        self.began = record.began
        self.ended = max(record.ended, record.began + 1.0)
        self._per_s = (WIDTH - LEFT - RIGHT) / (self.ended - self.began)

    def x(self, at: float) -> float:
        within = min(max(at, self.began), self.ended)
        return round(LEFT + (within - self.began) * self._per_s, 1)

    def ticks(self) -> Iterator[tuple[float, str]]:
        length = self.ended - self.began
        step = next((each for each in _TICKS if length / each <= 14), _TICKS[-1])
        for number in range(int(length / step) + 1):
            seconds = number * step
            yield self.x(self.began + seconds), f"{seconds // 60}:{seconds % 60:02d}"


def colours(record: Record) -> dict[str, str]:
    """By member, in the order in which they came."""
    names = dict.fromkeys(
        row.owner for row in sorted(record.owned, key=lambda each: each.at) if row.owner
    )
    return {name: _COLOURS[number % len(_COLOURS)] for number, name in enumerate(names)}


def partitions(record: Record) -> str:
    scale, colour = Scale(record), colours(record)
    rows = sorted({row.partition for row in record.owned}, key=_in_order)
    calls = by_partition(record)
    parts, last = [], record.stopped or record.ended
    for number, partition in enumerate(rows):
        y = HEAD + number * ROW
        parts.append(_label(y, short(partition)))
        parts += _owner_bars(record, scale, colour, partition, y)
        there = _lives(record, partition)
        times = [record.began, *(given.at for given in calls.get(partition, ())), last]
        for begin, end in pairwise(times):
            for before, after in _within(begin, end, there):
                if after - before <= PAUSE_S or after <= record.began:
                    continue
                said = f"partition {partition} was not read for {after - before:.1f} s"
                parts.append(_bar(scale, before, after, y + ROW - 6, 3, "pause", said))
    return _drawing(record, scale, len(rows), parts, "Who owned each partition")


def _owner_bars(
    record: Record, scale: Scale, colour: dict[str, str], partition: str, y: float
) -> Iterator[str]:
    rows = sorted(
        (row for row in record.owned if row.partition == partition), key=lambda each: each.at
    )
    ends = [row.at for row in rows[1:]] + [record.ended]
    there = _lives(record, partition)
    for row, until in zip(rows, ends, strict=True):
        for begin, end in _within(row.at, until, there):
            if row.owner and end > record.began:
                said = f"partition {partition}: {row.owner}, epoch {row.epoch}"
                yield _bar(scale, begin, end, y + 2, ROW - 9, "", said, colour[row.owner])


def _lives(record: Record, partition: str) -> list[tuple[float, float]]:
    """When it was there. A range that was split keeps the name of its last owner in the ledger, and
    is not in the status any more."""
    if record.setting.source != "cosmos":
        return [(float("-inf"), float("inf"))]
    found: list[tuple[float, float]] = []
    for told in sorted(record.told, key=lambda each: each.at):
        if partition in told.owners:
            is_new = not found or told.at - found[-1][1] > _UNTOLD_S
            found[len(found) - (not is_new) :] = [(told.at if is_new else found[-1][0], told.at)]
    return found


def _within(
    begin: float, end: float, lives: list[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    for born, died in lives:
        if max(begin, born) < min(end, died):
            yield max(begin, born), min(end, died)


def short(partition: str) -> str:
    """A range as people tell it from its neighbours: zeros at an end say nothing."""
    if len(partition) < 20:
        return partition
    ends = [f"{end.rstrip('0'):0<2}" if end else "" for end in partition.split("-")]
    name = "-".join(ends)
    return name if len(name) < 20 else f"{name[:18]}…"


def pods(record: Record) -> str:
    scale, colour = Scale(record), colours(record)
    seen: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for row in sorted(record.pods, key=lambda each: each.at):
        seen[row.pod].append((row.at, row.what))
    parts = []
    for number, (name, those) in enumerate(seen.items()):
        y = HEAD + number * ROW
        parts.append(_label(y, name if len(name) < 20 else f"…{name[-18:]}"))
        fill = colour.get(name, "#8a8f98")
        parts += _pod_bars(scale, name, those, y, fill)
        for at, what in those:
            if what in ("restarted", "leaving"):
                x = scale.x(at)
                parts.append(
                    f'<g class="{what}"><title>{escape(name)}: {what}</title>'
                    f'<path d="M{x - 4} {y} h8 l-4 7z"/></g>'
                )
    return _drawing(record, scale, len(seen), parts, "Pods")


def _pod_bars(
    scale: Scale, name: str, those: list[tuple[float, str]], y: float, fill: str
) -> Iterator[str]:
    """Thin while it begins, thick while it is ready."""
    is_ready = False
    for (at, what), (until, _) in pairwise([*those, (scale.ended, "")]):
        is_ready = what == "ready" or (is_ready and what == "leaving")
        if what != "gone" and until > scale.began:
            said, top, height = ("ready", 2, ROW - 6) if is_ready else ("begins", 6, 4)
            yield _bar(scale, at, until, y + top, height, "", f"{name}: {said}", fill)


def lag(record: Record) -> str:
    """Events that wait, and how many consumers are asked for."""
    scale, height = Scale(record), 5 * ROW
    told = [
        each for each in sorted(record.told, key=lambda each: each.at) if each.at >= record.began
    ]
    most = max((each.lag or 0 for each in told), default=0) or 1
    sizes = max((each.replicas or 0 for each in told), default=0) or 1
    parts = [_label(HEAD, f"lag, at most {most}"), _label(HEAD + ROW, f"consumers, to {sizes}")]
    base = HEAD + height
    line = [
        f"{scale.x(each.at)},{base - each.lag * (height - 4) / most:.1f}"
        for each in told
        if each.lag is not None
    ]
    steps: list[str] = []
    for before, after in pairwise(told):
        if before.replicas is not None:
            y = base - before.replicas * (height - 4) / (sizes + 1)
            steps += [f"{scale.x(before.at)},{y:.1f}", f"{scale.x(after.at)},{y:.1f}"]
    for before, after in pairwise(told):
        if not before.is_lag_known:
            parts.append(
                _bar(scale, before.at, after.at, base - 4, 4, "pause", "the lag was not known")
            )
    parts.append(f'<polyline class="lag" points="{" ".join(line)}"/>')
    parts.append(f'<polyline class="size" points="{" ".join(steps)}"/>')
    return _drawing(record, scale, 5, parts, "Lag and size")


# --- parts of a drawing


def _in_order(partition: str) -> tuple[int, str]:
    return (int(partition), "") if partition.isdecimal() else (1 << 31, partition)


def _label(y: float, text: str) -> str:
    return f'<text class="name" x="{LEFT - 8}" y="{y + ROW - 6}">{escape(text)}</text>'


def _bar(
    scale: Scale, begin: float, end: float, y: float, height: float, name: str, said: str,
    fill: str = "",
) -> str:  # fmt: skip
    x, until = scale.x(begin), scale.x(end)
    style = f' fill="{fill}"' if fill else f' class="{name}"'
    return (
        f'<rect x="{x}" y="{y}" width="{max(until - x, 0.6):.1f}" height="{height}"{style}>'
        f"<title>{escape(said)}</title></rect>"
    )


def _drawing(record: Record, scale: Scale, rows: int, parts: Iterable[str], name: str) -> str:
    height = HEAD + rows * ROW
    bands = []
    for number, span in enumerate(spans(record), 1):
        x, until = scale.x(span.began), scale.x(span.what.ended)
        said = f"{number}: {span.what.kind} {span.what.target}"
        bands.append(
            f'<g><title>{escape(said)}</title><rect class="band" x="{x}" y="{HEAD - 4}" '
            f'width="{max(until - x, 2):.1f}" height="{rows * ROW + 4}"/>'
            f'<text class="what" x="{x}" y="{HEAD - 8}">{number}</text></g>'
        )
    ticks = "".join(
        f'<line class="tick" x1="{x}" x2="{x}" y1="{HEAD}" y2="{height + 4}"/>'
        f'<text class="time" x="{x}" y="{height + 18}">{text}</text>'
        for x, text in scale.ticks()
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {height + FOOT}" role="img" aria-label="{escape(name)}">'
        f"{ticks}{''.join(bands)}{''.join(parts)}</svg>"
    )
