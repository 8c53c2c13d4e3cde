"""The nouns of a group, frozen: what stands in its ledger, and what members say of themselves.

Rules: pure; no defaults that hide a missing fact; times are seconds, and the name of a field says
on whose clock where that matters (`server_time` is the storage service's).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

# A listing's place names are strings of the source: a hub partition's number, a feed range.
PartitionId = str
MemberName = str

NO_OFFSET = "-1"
NO_SEQUENCE = -1


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """A member in one of its lives. `ownerid` in the ledger is `name/incarnation`."""

    name: MemberName
    incarnation: str = ""

    def __str__(self) -> str:
        return f"{self.name}/{self.incarnation}" if self.incarnation else self.name

    @classmethod
    def parse(cls, text: str) -> Owner | None:
        """The owner that an `ownerid` names; None where it is empty, which means released."""
        if not text:
            return None
        name, _, incarnation = text.rpartition("/")
        # A member owns many partitions; its name is kept once.
        return cls(sys.intern(name), sys.intern(incarnation)) if name else cls(sys.intern(text))


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a partition: everything up to and with it has been handled.

    The offset is the source's own text and is never parsed or compared; the sequence number orders
    positions. -1 in both is the beginning.
    """

    offset: str = NO_OFFSET
    sequence: int = NO_SEQUENCE


BEGINNING = Position()


class LeaseState(StrEnum):
    """What the storage service says of a blob's lease."""

    AVAILABLE = "available"
    LEASED = "leased"
    EXPIRED = "expired"
    BREAKING = "breaking"
    BROKEN = "broken"

    @property
    def is_held(self) -> bool:
        """Whether somebody may still believe in it."""
        return self is LeaseState.LEASED or self is LeaseState.BREAKING


@dataclass(frozen=True, slots=True)
class Ownership:
    """The ownership blob of a partition."""

    partition: PartitionId
    etag: str
    lease: LeaseState
    owner: Owner | None
    epoch: int
    nonce: str
    modified_at: float  # server time
    # Written by another processor: it has an owner and none of our keys.
    is_foreign: bool = False


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint blob of a partition. `state` is there only where it was read whole."""

    partition: PartitionId
    etag: str
    position: Position
    epoch: int
    nonce: str
    enqueued_at: float | None = None
    # The id of the last rewind that was carried out on it.
    rewound_by: str = ""
    state: bytes | None = None
    # The position that the state was written with; None where there is no state.
    state_position: Position | None = None
    # Of a listing, which carries no state: whether there is one.
    has_state: bool = False
    # When the partition was begun at its start position, by the server's clock; every later write
    # repeats it. None where an earlier version or another processor wrote it.
    begun_at: float | None = None

    @property
    def is_state_behind(self) -> bool:
        """Whether somebody moved the position and left the state: an official processor, a hand."""
        return self.state is not None and self.state_position != self.position

    def is_before(self, epoch: int, begun_at: float | None) -> bool:
        """Whether a checkpoint that is known with these goes before this one.

        Epochs go up, and a partition is begun once: anything else was deleted and started over, or
        was put back. A checkpoint without an epoch is from another processor or a person: it
        counts.
        """
        if self.epoch <= 0:
            return False
        if self.begun_at is not None and self.begun_at != begun_at:
            return begun_at is None or begun_at < self.begun_at
        return self.epoch < epoch


@dataclass(frozen=True, slots=True)
class Figures:
    """What the owner of a partition says of it: how far it is, and what it costs. None: not known.

    Whoever reads the ledger needs no call to the source for it while the owner lives.
    """

    # The last event that the partition had, and the last that is handled: sequence numbers.
    end: int | None = None
    handled: int | None = None
    # How long the oldest event that waits has waited, at most.
    behind_s: float | None = None
    arriving: float = 0.0  # events a second
    handling: float = 0.0  # events a second
    busy: float = 0.0  # the share of the time that the handler worked
    # The first event that the source still has, where it comes after the next one to handle: what
    # lies between is lost.
    begins_at: int | None = None
    # Events of it that the owner has put aside since its process began.
    put_aside: int | None = None
    # Its part of the share of the time in which any handler of the member worked. Calls that run
    # at once share that time, so that a call that waits for another one does not count twice.
    utilization: float | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """A checkpoint that a member knows, and that is gone from the ledger."""

    epoch: int
    sequence: int
    # The member wrote it, and knows the state that belongs to it; else it has seen it listed.
    is_own: bool
    begun_at: float | None = None


@dataclass(frozen=True, slots=True)
class Presence:
    """The member blob of a member, and whether it lives."""

    name: MemberName
    etag: str
    lease: LeaseState
    incarnation: str
    weight: float = 1.0
    # What each of its partitions costs it: a rounded share of one member's capacity.
    loads: Mapping[PartitionId, float] = field(default_factory=lambda: MappingProxyType({}))
    # Fresh lease ids for the partitions that it should be given.
    wants: Mapping[PartitionId, str] = field(default_factory=lambda: MappingProxyType({}))
    # It is stopping: it gives everything and takes nothing.
    is_leaving: bool = False
    # Partitions that it cannot handle for now: others shall have them.
    declines: frozenset[PartitionId] = frozenset()
    # The pod that it runs in, where it runs in one, and since when by its node's clock on the wall.
    pod_uid: str = ""
    started_at: float = 0.0
    # Partitions whose batch fails again and again, or whose handler hangs.
    stuck: frozenset[PartitionId] = frozenset()
    # Of its partitions; of as many as fit.
    figures: Mapping[PartitionId, Figures] = field(default_factory=lambda: MappingProxyType({}))
    # Server time of the write that brought them: they were measured at most 2 s before
    # (MemberSettings.figures_every_s). 0 where there are none.
    figures_at: float = 0.0
    # Partitions whose source it has not been able to read for a while, and why: for people.
    unread: frozenset[PartitionId] = frozenset()
    trouble: str = ""
    # Those that are stuck because the circuit breaker for dead letters is open.
    open_circuits: frozenset[PartitionId] = frozenset()
    # Checkpoints that it knows, and that are gone from the ledger.
    recalls: Mapping[PartitionId, Recalled] = field(default_factory=lambda: MappingProxyType({}))
    # When it last wrote a checkpoint again that had been deleted or changed by another client, by
    # the server's clock; 0: never.
    restored_at: float = 0.0

    @property
    def is_alive(self) -> bool:
        return self.lease.is_held


@dataclass(frozen=True, slots=True)
class Rewind:
    """A one-shot command: set a checkpoint to a position, and its state to what goes with it.

    The position may be a sequence number without its offset; with `at`, it is what comes before the
    first event from that time on. Then the owner asks the source: nobody else may while it reads.
    """

    id: str
    partition: PartitionId
    position: Position = BEGINNING
    at: float | None = None

    @property
    def is_resolved(self) -> bool:
        """Whether the position is one that the source knows as it is."""
        return self.at is None and (
            self.position.offset != NO_OFFSET or self.position.sequence == NO_SEQUENCE
        )

    @property
    def place(self) -> str:
        """The position in words, for a rewind that is not to a time."""
        if self.position.sequence == NO_SEQUENCE:
            return "the beginning"
        return f"what comes after sequence number {self.position.sequence}"


@dataclass(frozen=True, slots=True)
class Roster:
    """What the operator tells the members. Facts, not orders."""

    etag: str = ""
    generation: int = 0
    expected: tuple[MemberName, ...] = ()
    # In the order in which they end.
    leaving: tuple[MemberName, ...] = ()
    pins: Mapping[PartitionId, MemberName] = field(default_factory=lambda: MappingProxyType({}))
    # Partitions that nobody reads for now.
    paused: frozenset[PartitionId] = frozenset()
    # The whole group is paused.
    is_paused: bool = False
    rewinds: tuple[Rewind, ...] = ()
    written_at: float = 0.0  # server time


NO_ROSTER = Roster()


@dataclass(frozen=True, slots=True)
class PartitionEnd:
    """The last event that a partition had at some moment. -1 and no time where it had none."""

    sequence: int
    offset: str
    enqueued_at: float | None
    # When the source said this: seconds of the clock on the wall.
    known_at: float
    # The first event that it still has, where the source said so.
    begins_at: int | None = None


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """What a source calls itself, as it was read under a host."""

    host: str
    identity: str
    recorded_at: float  # server time

    @property
    def rank(self) -> tuple[float, str]:
        """Who came first has the lowest."""
        return self.recorded_at, self.host


@dataclass(frozen=True, slots=True)
class Flaw:
    """A blob of the ledger that cannot be read. It stays as it is; the others go on."""

    blob: str
    problem: str  # what is wrong with it and what to do, in words
    # The partition of an unreadable ownership or checkpoint.
    partition: PartitionId | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything of a group that one call shows."""

    ownerships: Mapping[PartitionId, Ownership]
    checkpoints: Mapping[PartitionId, Checkpoint]
    members: Mapping[MemberName, Presence]
    roster: Roster | None
    server_time: float
    # What could not be read, by blob name. An unreadable blob is in none of the fields above.
    flaws: tuple[Flaw, ...] = ()
