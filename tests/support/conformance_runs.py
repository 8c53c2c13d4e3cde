"""Records of runs, as tests need them: one in which all was held, to be broken in a place.

Rules: two members, two partitions, an event a second to each; `a` is killed at 20 and comes back,
`b` hands over and `c` comes in its place. Times are seconds since the beginning of the run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tidegate_operator.conformance.judge import verdicts
from tidegate_operator.conformance.record import (
    Disturbed,
    Handled,
    Led,
    OperatorAct,
    Owned,
    PodSeen,
    Reached,
    Record,
    Setting,
    Stored,
    Told,
)
from tidegate_operator.conformance.verdicts import Verdict

SETTING = Setting(
    "conformance", "here", 7, "python", "hub", 60.0, 2, 2, 1.0, operator="ops/tidegate-operator"
)  # fmt: skip
ENDED = 100.0


def told(at: float, owners: dict[str, str], **changes: Any) -> Told:
    usual = Told(at, "Balanced", 2, 2, 2, 1, 2, 0, True, False, owners)
    return usual._replace(**changes)


def calls(
    who: str, partition: str, epoch: int, first: int, last: int, shift: float = 0.0
) -> list[Handled]:
    """A call a second for each event, at the second of its number."""
    return [
        Handled(number + 0.5 + shift, who, partition, epoch, partition, number, number)
        for number in range(first, last + 1)
    ]


def whole() -> Record:
    """Everything held in it, and everything that a hub can have was tried."""
    record = Record(SETTING, began=0.0, ended=ENDED)
    record.sent = {"0": (0, 100), "1": (0, 100)}
    record.handled = [
        *calls("a#1", "0", 1, 0, 19), *calls("a#2", "0", 2, 20, 99, 4.0),
        *calls("b#1", "1", 1, 0, 49), *calls("c#1", "1", 2, 50, 99),
    ]  # fmt: skip
    record.owned = [
        Owned(-1.0, "0", "a", 1), Owned(-1.0, "1", "b", 1), Owned(23.0, "0", "a", 2),
        Owned(50.2, "1", "c", 2),
    ]  # fmt: skip
    record.stored = [
        Stored(10.0, "0", 9, 1), Stored(24.0, "0", 19, 2), Stored(99.0, "0", 90, 2),
        Stored(10.0, "1", 9, 1), Stored(50.0, "1", 49, 1), Stored(51.0, "1", 49, 2),
    ]  # fmt: skip
    record.told = [
        *(told(float(at), {"0": "a", "1": "b"}) for at in range(0, 51)),
        *(told(float(at), {"0": "a", "1": "c"}) for at in range(51, 60)),
        told(60.0, {"0": "a", "1": "c"}, replicas=1),
        *(
            told(float(at), {"0": "a", "1": "c"}, is_lag_known=False, is_auto=True)
            for at in range(61, 70)
        ),
        told(69.4, {"0": "a", "1": "c"}, is_auto=True),
        told(69.8, {"0": "a", "1": "c"}, replicas=1, is_auto=True),
    ]
    record.pods = [
        PodSeen(-5.0, "a", "came"), PodSeen(-4.0, "a", "ready"), PodSeen(21.0, "a", "restarted"),
        PodSeen(-5.0, "b", "came"), PodSeen(-4.0, "b", "ready"), PodSeen(50.0, "b", "leaving"),
        PodSeen(51.0, "b", "gone"), PodSeen(50.0, "c", "came"), PodSeen(50.1, "c", "ready"),
    ]  # fmt: skip
    record.led = [Led(-5.0, "one"), Led(82.0, "two")]
    record.acts = [OperatorAct(50.0, "one", "HandingOver"), OperatorAct(85.0, "two", "Balanced")]
    record.reached = [Reached(89.0, "a", (9090,), ())]
    record.disturbed = [
        Disturbed("kill", 20.0, 20.1, 26.0, "a", ("0",), ("a", "b"), ("a", "b")),
        Disturbed("delete", 49.9, 50.0, 54.0, "b", ("1",), ("a", "b"), ("a", "c")),
        Disturbed("storage-away", 60.5, 69.0, 70.0, "storage"),
        Disturbed("operator-away", 71.0, 79.0, 80.0, "a", (), ("a", "c"), ("a", "c")),
        Disturbed("operators", 81.0, 86.0, 87.0, "one", (), ("a", "c"), ("a", "c")),
    ]
    return record


def on_cosmos(record: Record) -> Record:
    """The same of a container; its streams are homes."""
    record.setting = replace(record.setting, source="cosmos")
    record.handled = [row._replace(stream=f"home-{row.stream}") for row in record.handled]
    record.sent = {f"home-{stream}": pair for stream, pair in record.sent.items()}
    return record


def verdict(record: Record, name: str) -> Verdict:
    (found,) = (each for each in verdicts(record) if each.name == name)
    return found
