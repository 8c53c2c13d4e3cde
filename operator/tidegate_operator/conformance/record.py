"""What was seen of a run from outside: nouns, the record that holds them, and its JSON.

Rules: pure. Times are seconds since 1970 by the clock of the agent's node; what this machine saw is
turned into that clock before it comes here. `who` is one life of one member, `name#begun`. A
record is only ever added to, but for calls that turn out to have failed: these handled nothing. It
says nothing of a member's inside.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple


class Handled(NamedTuple):
    """Events that a handler was given, in one call; a stream is what has an order of its own."""

    at: float
    who: str
    partition: str
    epoch: int
    stream: str
    first: int
    last: int
    # Of the call, among those of its life.
    number: int = 0

    @property
    def member(self) -> str:
        return self.who.partition("#")[0]


class Owned(NamedTuple):
    """The ownership of a partition was seen to be another than at the look before."""

    at: float
    partition: str
    owner: str
    epoch: int


class Stored(NamedTuple):
    """A checkpoint was seen to be another than at the look before."""

    at: float
    partition: str
    sequence: int
    epoch: int


class Told(NamedTuple):
    """What the group's status said, and what was asked of its Deployment."""

    at: float
    state: str
    ready: int
    wanted: int
    # Of the Deployment, or of the executors: how many there are to be. None where not known.
    replicas: int | None
    least: int
    most: int
    lag: int | None
    # Whether the lag of every partition was known.
    is_lag_known: bool
    # Whether the operator decides the size.
    is_auto: bool
    owners: Mapping[str, str]


class PodSeen(NamedTuple):
    """Something became of a pod: came, ready, restarted, leaving, gone."""

    at: float
    pod: str
    what: str


class Led(NamedTuple):
    """The Lease of the operators was seen to have another holder."""

    at: float
    holder: str


class Reached(NamedTuple):
    """Ports of a consumer that a pod got through to, without a NetworkPolicy and in spite of it."""

    at: float
    pod: str
    before: tuple[int, ...]
    still: tuple[int, ...]


class OperatorAct(NamedTuple):
    """An Event of the group, by which operator."""

    at: float
    instance: str
    reason: str


@dataclass(frozen=True, slots=True)
class Disturbed:
    """Something that was done to the group, and when it was well again."""

    kind: str
    began: float
    ended: float
    # When the group was settled again; None where it was not in time.
    settled: float | None
    # What it was done to, and the partitions which that had then.
    target: str = ""
    partitions: tuple[str, ...] = ()
    members_before: tuple[str, ...] = ()
    members_after: tuple[str, ...] = ()
    # Why it could not be done; nothing is judged by it then.
    refused: str = ""
    # What should have come of it in time, and did not; it was not settled then.
    overdue: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """What was run, and by which limits it is judged."""

    name: str
    namespace: str
    seed: int
    engine: str
    source: str
    seconds: float
    replicas: int
    partitions: int
    # Events a second to each stream, and how many batches may be in hand.
    rate: float
    lease_s: float = 15.0
    # How often members look at the ledger, and the operator at a group on which nothing goes on.
    tick_s: float = 2.0
    look_s: float = 5.0
    checkpoint_s: float = 1.0
    batch: int = 50
    settle_s: float = 90.0
    # The one that might be taken away, as NAMESPACE/DEPLOYMENT; '' for none.
    operator: str = ""
    # That names a hub and storage of the user's own; '' where both are embedded.
    group_file: str = ""
    # Kinds of disturbances that were asked for; all without.
    only: str = ""


@dataclass(slots=True)
class Record:
    """See the module."""

    setting: Setting
    began: float = 0.0
    ended: float = 0.0
    # When the last event was sent.
    stopped: float = 0.0
    handled: list[Handled] = field(default_factory=list)
    # Calls whose handler could not write them down, so that their events come again by right.
    failed: list[Handled] = field(default_factory=list)
    owned: list[Owned] = field(default_factory=list)
    stored: list[Stored] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    pods: list[PodSeen] = field(default_factory=list)
    led: list[Led] = field(default_factory=list)
    acts: list[OperatorAct] = field(default_factory=list)
    reached: list[Reached] = field(default_factory=list)
    disturbed: list[Disturbed] = field(default_factory=list)
    # By stream: the first number, and how many the service has accepted.
    sent: dict[str, tuple[int, int]] = field(default_factory=dict)
    # What was not as it should be with the run itself.
    troubles: list[str] = field(default_factory=list)

    def done(self, *kinds: str) -> list[Disturbed]:
        """The disturbances of these kinds that were really done; all without kinds."""
        return [
            each for each in self.disturbed
            if not each.refused and (not kinds or each.kind in kinds)
        ]  # fmt: skip

    def refused(self, *kinds: str) -> str:
        """Why a disturbance of these kinds could not be done; '' where none was refused."""
        return next((each.refused for each in self.disturbed if each.kind in kinds), "")


_ROWS: dict[str, Any] = {
    "handled": Handled, "failed": Handled, "owned": Owned, "stored": Stored, "told": Told,
    "pods": PodSeen, "led": Led, "acts": OperatorAct, "reached": Reached,
}  # fmt: skip


def take(record: Record, rows: Iterable[list[Any]]) -> None:
    """Adds what the agent saw: rows of its kind and fields."""
    for kind, *said in rows:
        # Millions of rows have a few names.
        fields: list[Any] = [sys.intern(each) if isinstance(each, str) else each for each in said]
        if kind == "trouble":
            record.troubles.append(str(fields[0]))
        elif kind == "failed":
            _take_failed(record, Handled(*fields))
        elif kind != "handled" or Handled(*fields) not in record.failed:
            getattr(record, kind).append(_ROWS[kind](*fields))


def _take_failed(record: Record, call: Handled) -> None:
    """Such a call may have been written all the same, before or after this is told."""
    if call in record.handled:
        record.handled.remove(call)
    if call not in record.failed:
        record.failed.append(call)


def as_document(record: Record) -> dict[str, Any]:
    """All of it as JSON takes it."""
    found: dict[str, Any] = {
        "setting": asdict(record.setting),
        "began": record.began,
        "ended": record.ended,
        "stopped": record.stopped,
        "disturbed": [asdict(each) for each in record.disturbed],
        "sent": {stream: list(pair) for stream, pair in record.sent.items()},
        "troubles": record.troubles,
    }
    for name in _ROWS:
        found[name] = [list(row) for row in getattr(record, name)]
    return found


def _kept(field: Any) -> Any:
    return tuple(field) if isinstance(field, list) else field


def of_document(document: Mapping[str, Any]) -> Record:
    """The record that was written so."""
    times = (document[key] for key in ("began", "ended", "stopped"))
    record = Record(Setting(**document["setting"]), *times)
    for name, row in _ROWS.items():
        # What a record of an older version has not was not looked at.
        getattr(record, name).extend(row(*map(_kept, fields)) for fields in document.get(name, ()))
    for each in document["disturbed"]:
        lists = ("partitions", "members_before", "members_after")
        record.disturbed.append(Disturbed(**{**each, **{key: tuple(each[key]) for key in lists}}))
    record.sent = {stream: (pair[0], pair[1]) for stream, pair in document["sent"].items()}
    record.troubles = list(document["troubles"])
    return record
