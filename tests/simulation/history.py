"""What a storage service, a hub, users' handlers and people saw. Checkers read this.

Rules: nothing of a member's inside is here. `who` is one life of one member, `name#life`; times are
the world's, which are the storage service's. A history is only ever added to.
"""

from __future__ import annotations

from typing import NamedTuple

from tidegate.model import PartitionId
from tidegate.ports import Operation, Refusal, Reply

Who = str

# What is done by hand.
BROKE = "broke the lease"
DELETED_OWNERSHIP = "deleted the ownership"
DELETED_CHECKPOINT = "deleted the checkpoint"
SET_BACK = "set the checkpoint back"
EMPTIED = "deleted the container"

# What happens to a process.
STARTED, KILLED, STOPPED = "started", "killed", "stopped"
ASKED_TO_STOP = "asked to stop"


class Did(NamedTuple):
    """An operation that reached the storage service, and what came of it there."""

    at: float
    who: Who
    operation: Operation
    refusal: Refusal | None
    reply: Reply


class Attached(NamedTuple):
    """The hub let somebody read a partition behind a sequence number."""

    at: float
    who: Who
    partition: PartitionId
    epoch: int
    behind: int


class Detached(NamedTuple):
    """A link to the hub ended: stolen by a higher epoch, closed, or cut."""

    at: float
    who: Who
    partition: PartitionId
    epoch: int
    why: str


class Handled(NamedTuple):
    """A handler has finished the events from `first` to `last`."""

    at: float
    who: Who
    partition: PartitionId
    epoch: int
    first: int
    last: int


class Lived(NamedTuple):
    """A process started, was killed, was asked to stop, stopped, was paused, went on."""

    at: float
    who: Who
    what: str


class ByHand(NamedTuple):
    """Somebody did something to the ledger that no member does."""

    at: float
    what: str
    partition: PartitionId
    # Where the checkpoint stands now; None where there is none, or where it was left alone.
    sequence: int | None = None


class Noted(NamedTuple):
    """What a member reported, for people; no checker reads it."""

    at: float
    who: Who
    text: str


Record = Did | Attached | Detached | Handled | Lived | ByHand | Noted


def name_of(who: Who) -> str:
    return who.partition("#")[0]


def line(record: Record) -> str:
    """A record as a line of a trace."""
    fields = record._asdict()
    at = fields.pop("at")
    if isinstance(record, Did):
        end = record.refusal or (record.reply if isinstance(record.reply, str) else "ok")
        return f"{at:9.3f} {record.who:8s} {record.operation} -> {end}"
    who = fields.pop("who", "-")
    said = " ".join(f"{key}={value}" for key, value in fields.items())
    return f"{at:9.3f} {who:8s} {type(record).__name__} {said}"
