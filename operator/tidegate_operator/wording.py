"""How conditions and Events say things: lists that stay short, times, and what others have said.

Rules: pure; a text is one line that a terminal shows as it is, and never longer than it may be.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from tidegate.bounded import cut
from tidegate.model import MemberName, PartitionId
from tidegate.ops.live import ranges
from tidegate.ops.secrets import Secrets

# Of what a pod, the scheduler or a controller said, so much is repeated.
SAID_CHARS = 400
_SECRETS = Secrets()
_LIST_CHARS = 120
_NAMES = 3
# Of an age, in characters: what is longer was written by somebody else.
_LONGEST_AGE = 16
_AGES = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def said(text: str) -> str:
    """What somebody else said, as one line: the last, which of a log is the one that matters.

    What looks like a key is hidden; whoever said it knew its own and has hidden those.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = _SECRETS.hide(lines[-1]) if lines else ""
    return cut("".join(char if char.isprintable() else " " for char in last), SAID_CHARS)


def counted(count: int, noun: str) -> str:
    """'1 pod', '3 pods'."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def partitions_text(partitions: Collection[PartitionId]) -> str:
    """'partition 3', 'partitions 0-3 7'."""
    listed = cut(ranges(partitions), _LIST_CHARS)
    return f"partition{'' if len(partitions) == 1 else 's'} {listed}"


def names_text(names: Sequence[MemberName]) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(names[:_NAMES])
    return shown if len(names) <= _NAMES else f"{shown} and {len(names) - _NAMES} more"


def sentence(text: str) -> str:
    """The text as a sentence: a capital where it begins, a full stop where it ends."""
    return capital(stopped(text))


def capital(text: str) -> str:
    """With a capital where it begins, unless that is a field's path, such as spec.template."""
    first = text.partition(" ")[0].rstrip(":.")
    return text if "." in first else text[:1].upper() + text[1:]


def stopped(text: str) -> str:
    """The text with a full stop where it ends."""
    return text if not text or text[-1] in ".!?…" else text + "."


def time_text(at: float) -> str:
    """A time as Kubernetes writes it."""
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_at(text: object) -> float | None:
    """The time that `time_text` wrote."""
    try:
        return datetime.fromisoformat(str(text)).timestamp() if text else None
    except ValueError:
        return None


def age_seconds(age: str | None) -> int | None:
    """The seconds of an age such as 2s or 5m."""
    if not age or len(age) > _LONGEST_AGE or age[-1] not in _AGES or not age[:-1].isdecimal():
        return None
    return int(age[:-1]) * _AGES[age[-1]]
