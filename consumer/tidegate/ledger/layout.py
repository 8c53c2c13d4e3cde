"""The layout of a group's ledger: blob names, metadata, and the checkpoint's body.

Rules:
- Pure. Names, lower-cased as a whole, and the keys `ownerid`, `offset` and `sequencenumber` are
  those of Microsoft's checkpoint stores, byte for byte, so that each reads the other's.
- Reading is tolerant: what another processor wrote is read as far as it goes, and what cannot be
  read becomes a `Flaw` that names its blob, while the rest is read.
- A state stands in the checkpoint's body under a line that repeats the position it belongs to.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote

from tidegate.ledger import members, packing
from tidegate.ledger.packing import Unfit, Unreadable
from tidegate.model import (
    Checkpoint,
    Flaw,
    LeaseState,
    Listing,
    MemberName,
    Owner,
    Ownership,
    PartitionId,
    Position,
    Presence,
    Roster,
    SourceRecord,
)
from tidegate.settings import check_name

# Of the storage service. Azure Stack Hub wants an older one, such as 2017-11-09, and nothing newer
# is relied on.
API_VERSION = "2021-12-02"

BODY_LINE = b"tidegate-state 1 "

# No host has this name.
_SOURCES = "tidegate.sources"

# What a URL leaves alone. A percent sign comes from encoding a member's name.
_SEGMENT = re.compile(r"[a-z0-9._~%-]+")

_REMEDY = (
    "Nothing was overwritten. Correct it, or delete it: a member that knows it writes it again"
)


class Kind(StrEnum):
    """What a blob of the ledger is."""

    OWNERSHIP = "ownership"
    CHECKPOINT = "checkpoint"
    MEMBER = "member"
    ROSTER = "roster"


@dataclass(frozen=True, slots=True)
class Place:
    """A blob of the ledger: its kind, and the partition or member that it is of."""

    kind: Kind
    key: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A blob as the service shows it, in a listing or alone."""

    name: str
    etag: str
    lease: LeaseState
    metadata: Mapping[str, str]
    modified_at: float
    # Bytes of the body.
    size: int = 0


def exact_name(name: str, but: str = "") -> str:
    """A name that no other name becomes, although names here are lower case.

    Percent-encodes upper-case characters, the percent sign, and the characters of `but`.
    """
    return "".join(_encoded(c) if c in f"%{but}" or c != c.lower() else c for c in name)


def _encoded(character: str) -> str:
    return "".join(f"%{byte:02x}" for byte in character.encode())


@dataclass(frozen=True, slots=True)
class GroupNames:
    """The blob names of one group. The host carries its port where it has one."""

    host: str
    hub: str
    group: str

    def __post_init__(self) -> None:
        for what in ("host", "hub", "group"):
            check_name(what, getattr(self, what))

    @property
    def prefix(self) -> str:
        return f"{self.host}/{self.hub}/{self.group}/".lower()

    @property
    def source_prefix(self) -> str:
        """What the records of sources begin with: all that have this name and group."""
        return f"{_SOURCES}/{self.hub}/{self.group}/".lower()

    @property
    def source_name(self) -> str:
        """The record of the source under this host."""
        return f"{self.source_prefix}{self.host}".lower()

    def of(self, place: Place) -> str:
        """The name of a blob."""
        if place.kind is Kind.ROSTER:
            return f"{self.prefix}{place.kind}"
        key = place.key
        if place.kind is Kind.MEMBER:
            key = quote(key, safe="").lower()
        # A partition is read back from its blob's name, so it has to come back as it was.
        if not _SEGMENT.fullmatch(key) or not key.strip("."):
            raise Unfit(
                f"{place.kind} {place.key!r}: write lower-case letters, digits and . _ ~ - alone"
            )
        return f"{self.prefix}{place.kind}/{key}"

    def place(self, name: str) -> Place | None:
        """Which blob of the ledger a name is; None for one that is not ours to know."""
        if not name.startswith(self.prefix):
            return None
        kind, slash, key = name[len(self.prefix) :].partition("/")
        if kind == Kind.ROSTER:
            return None if slash else Place(Kind.ROSTER)
        if kind not in (Kind.OWNERSHIP, Kind.CHECKPOINT, Kind.MEMBER) or not key or "/" in key:
            return None
        # Names come again in every blob and at every look, and are kept once.
        return Place(Kind(kind), sys.intern(packing.unescape(key) if kind == Kind.MEMBER else key))


def ownership_metadata(owner: Owner | None, epoch: int, nonce: str) -> dict[str, str]:
    metadata = {"ownerid": packing.escape(str(owner)) if owner else "", "epoch": str(epoch)}
    return metadata | ({"nonce": packing.escape(nonce)} if nonce else {})


def read_ownership(partition: PartitionId, row: Row) -> Ownership:
    """An ownership, ours or another processor's. One without metadata has no owner."""
    owner_text = row.metadata.get("ownerid", "")
    is_ours = "epoch" in row.metadata
    epoch = packing.read_integer(row.metadata, "epoch") if is_ours else 0
    if epoch < 0:
        raise Unreadable(f"its epoch is {epoch}, which is below 0")
    return Ownership(
        partition=partition,
        etag=row.etag,
        lease=row.lease,
        owner=Owner.parse(packing.unescape(owner_text) if is_ours else owner_text),
        epoch=epoch,
        nonce=packing.unescape(row.metadata.get("nonce", "")),
        modified_at=row.modified_at,
        is_foreign=bool(owner_text) and not is_ours,
    )


def checkpoint_metadata(
    position: Position,
    epoch: int,
    nonce: str,
    enqueued_at: float | None,
    rewound_by: str,
    begun_at: float | None = None,
) -> dict[str, str]:
    if position.offset and not packing.is_plain(position.offset):
        raise Unfit(f"offset {position.offset!r} cannot stand in a blob's metadata")
    metadata = {
        "offset": position.offset,
        "sequencenumber": str(position.sequence),
        "epoch": str(epoch),
    }
    if nonce:
        metadata["nonce"] = packing.escape(nonce)
    if enqueued_at is not None:
        metadata["enqueuedtime"] = repr(float(enqueued_at))
    if rewound_by:
        metadata["rewoundby"] = packing.escape(rewound_by)
    if begun_at is not None:
        metadata["begunat"] = repr(float(begun_at))
    return metadata


def read_checkpoint(partition: PartitionId, row: Row, body: bytes | None = None) -> Checkpoint:
    """A checkpoint, ours or another processor's; with its state where the body was read too."""
    metadata = row.metadata
    if "offset" not in metadata and "sequencenumber" not in metadata:
        raise Unreadable(
            "it has neither offset nor sequencenumber in its metadata, so no current Event Hubs "
            "library wrote it"
        )
    enqueued, begun = metadata.get("enqueuedtime"), metadata.get("begunat")
    state_position, state = read_body(body) if body else (None, None)
    return Checkpoint(
        partition=partition,
        etag=row.etag,
        # Some libraries store the number alone, and the offset empty.
        position=Position(
            metadata.get("offset", ""), packing.read_integer(metadata, "sequencenumber")
        ),
        epoch=packing.read_integer(metadata, "epoch") if "epoch" in metadata else 0,
        nonce=packing.unescape(metadata.get("nonce", "")),
        enqueued_at=packing.read_number(enqueued, "enqueuedtime") if enqueued else None,
        rewound_by=packing.unescape(metadata.get("rewoundby", "")),
        state=state,
        state_position=state_position,
        has_state=body is None and row.size > 0,
        begun_at=packing.read_number(begun, "begunat") if begun else None,
    )


def body_of(position: Position, state: bytes | None) -> bytes:
    """The body of a checkpoint: empty without a state, else the position's line and the state."""
    if state is None:
        return b""
    return BODY_LINE + f"{position.sequence} {position.offset}\n".encode("ascii") + state


def read_body(body: bytes) -> tuple[Position, bytes]:
    """The position that a state was written with, and the state."""
    line, newline, state = body.partition(b"\n")
    try:
        if not newline or not line.startswith(BODY_LINE):
            raise ValueError
        sequence, _, offset = line[len(BODY_LINE) :].decode("ascii").partition(" ")
        return Position(offset, int(sequence)), state
    except ValueError:
        raise Unreadable("its body is not a state that this group wrote") from None


def flaw(place: Place, name: str, problem: Unreadable) -> Flaw:
    """What to say of a blob that cannot be read."""
    is_of_partition = place.kind in (Kind.OWNERSHIP, Kind.CHECKPOINT)
    return Flaw(
        blob=name,
        problem=f"blob '{name}' cannot be read: {problem}. {_REMEDY}.",
        partition=place.key if is_of_partition else None,
    )


def source_metadata(names: GroupNames, identity: str) -> dict[str, str]:
    return {"host": packing.escape(names.host.lower()), "identity": packing.escape(identity)}


def read_source(row: Row) -> SourceRecord:
    """The record of a source. A damaged record matches no source."""
    host = packing.unescape(row.metadata.get("host", ""))
    identity = packing.unescape(row.metadata.get("identity", ""))
    return SourceRecord(host or row.name.rpartition("/")[2], identity, row.modified_at)


# One blob of a ledger, as it was read.
Entry = Ownership | Checkpoint | Presence | Roster | Flaw


def read_row(names: GroupNames, row: Row) -> Entry | None:
    """What a blob is; None for one that is no part of a ledger."""
    place = names.place(row.name)
    if place is None:
        return None
    try:
        if place.kind is Kind.OWNERSHIP:
            return read_ownership(place.key, row)
        if place.kind is Kind.CHECKPOINT:
            return read_checkpoint(place.key, row)
        if place.kind is Kind.MEMBER:
            return members.read_presence(
                place.key, row.etag, row.lease, row.metadata, row.modified_at
            )
        return members.read_roster(row.etag, row.modified_at, row.metadata)
    except Unreadable as problem:
        return flaw(place, row.name, problem)


def listing_of(entries: Iterable[Entry | None], server_time: float) -> Listing:
    """Everything of a group, from its blobs."""
    ownerships: dict[PartitionId, Ownership] = {}
    checkpoints: dict[PartitionId, Checkpoint] = {}
    presences: dict[MemberName, Presence] = {}
    roster: Roster | None = None
    flaws: list[Flaw] = []
    for entry in entries:
        match entry:
            case Ownership():
                ownerships[entry.partition] = entry
            case Checkpoint():
                checkpoints[entry.partition] = entry
            case Presence():
                presences[entry.name] = entry
            case Roster():
                roster = entry
            case Flaw():
                flaws.append(entry)
    return Listing(ownerships, checkpoints, presences, roster, server_time, tuple(flaws))


def read_listing(names: GroupNames, rows: Iterable[Row], server_time: float) -> Listing:
    """Everything of a group; blobs that are no part of a ledger are passed over."""
    return listing_of((read_row(names, row) for row in rows), server_time)
