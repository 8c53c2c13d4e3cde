"""What `tidegate get` prints and `tidegate up` shows, as lines of text. Pure.

Rules: the columns are those of `kubectl get consumergroups`, from the same table; what is not known
is a dash. Nothing that others wrote can steer the terminal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegate.ops.live import ShownLine, Style, clip
from tidegate_operator.crd import COLUMNS
from tidegate_operator.facts import seconds_of
from tidegate_operator.plugin.tables import aligned

_NOTHING = "-"
_WELL = ("Balanced", "Paused")
_MEMBER_HEADS = ("MEMBER", "READY", "PARTITIONS", "")
# The log has so many of the rows at least.
_LOG_SHARE = 3

Document = Mapping[str, Any]
Column = tuple[str, str, str, str, int]


def table(groups: Sequence[Document], wall: float, *, is_wide: bool = False) -> list[str]:
    """The groups in columns, with their heads."""
    columns = [each for each in COLUMNS if is_wide or each[4] == 0]
    heads = ("NAME", *(each[0].upper().replace(" ", "-") for each in columns))
    rows = [
        (
            each["metadata"]["name"],
            *(_cell(each, path, kind, wall) for _, path, kind, _, _ in columns),
        )
        for each in groups
    ]
    return aligned([heads, *rows], ())


def _cell(group: Document, path: str, kind: str, wall: float) -> str:
    value = at_path(group, path)
    if value is None:
        return _NOTHING
    if kind == "date":
        at = seconds_of(value)
        return _NOTHING if at is None else age_text(max(wall - at, 0.0))
    return str(value)


def at_path(document: Any, path: str) -> Any:
    """What stands at a path such as .status.lag; None where nothing does."""
    found = document
    for step in path.strip(".").split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(step)
    return found


def age_text(age_s: float) -> str:
    """As kubectl writes ages."""
    seconds = int(age_s)
    if seconds < 120:
        return f"{seconds}s"
    minutes = seconds // 60
    if minutes < 180:
        rest = seconds % 60
        return f"{minutes}m{rest}s" if minutes < 10 and rest else f"{minutes}m"
    hours = minutes // 60
    return f"{hours}h" if hours < 48 else f"{hours // 24}d"


# --- the live view


def screen(
    groups: Sequence[Document],
    log: Sequence[str],
    *,
    head: str,
    columns: int,
    rows: int,
    wall: float,
) -> list[ShownLine]:
    """The whole screen: the groups, their members, and what happened last."""
    lines = [ShownLine(head, Style.STRONG), ShownLine("")]
    heads, *found = table(groups, wall)
    lines.append(ShownLine(heads, Style.STRONG))
    lines += [ShownLine(*each) for each in zip(found, map(_style, groups), strict=True)]
    lines += [
        ShownLine(f"{each['metadata']['name']}: {why}", Style.WARNING)
        for each in groups
        if (why := _why(each))
    ]
    room = rows - len(lines) - 1 - max(min(len(log), rows // _LOG_SHARE), 1)
    members = _members(groups)
    if members and room > 3:
        lines += [ShownLine(""), *members[: room - 1]]
        if len(members) > room - 1:
            lines.append(ShownLine(f"and {len(members) - room + 1} more", Style.FAINT))
    left = rows - len(lines) - 1
    if left > 0:
        lines += [ShownLine(""), *(ShownLine(text, Style.FAINT) for text in log[-left:])]
    return [ShownLine(clip(line.text, columns), line.style) for line in lines[:rows]]


def _why(group: Document) -> str:
    """Why a group is not as it is wanted, in the words of the condition that is its state."""
    if _style(group) is Style.PLAIN:
        return ""
    return str(at_path(group, ".status.message") or "")


def _style(group: Document) -> Style:
    state = at_path(group, ".status.state")
    return Style.PLAIN if state in _WELL or state is None else Style.WARNING


def _members(groups: Sequence[Document]) -> list[ShownLine]:
    cells = [_MEMBER_HEADS]
    for group in groups:
        for each in at_path(group, ".status.members") or ():
            cells.append(
                (
                    str(each.get("name", _NOTHING)),
                    "yes" if each.get("ready") else "no",
                    str(each.get("partitions", _NOTHING)),
                    "leaving" if each.get("leaving") else "",
                )
            )
    if len(cells) == 1:
        return []
    heads, *others = aligned(cells, ("PARTITIONS",))
    return [ShownLine(heads, Style.STRONG), *(ShownLine(text) for text in others)]
