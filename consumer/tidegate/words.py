"""The words of Tidegate: one for each thing, the same in code, CRD fields, metrics and docs.

Rules: pure. `WORDS` is the one list; `docs/reference.md` repeats it and a test compares the two.
A synonym that a word bans may not appear in an identifier of ours, because a reader would look
for a second thing behind the second word. `snake_name` is the one way from a field of the CRD
(camelCase) to a name of ours (snake_case, with its unit).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


class WordError(ValueError):
    """A name breaks a rule of this module; the message says which and what to write."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word, what it means to a user, and the synonyms that may not stand for it."""

    word: str
    meaning: str
    banned: tuple[str, ...] = ()


WORDS = (
    Word(
        "group",
        "A set of members that share the work on one source, and one place in a ledger. "
        "In Kubernetes it is a `ConsumerGroup`.",
        ("cohort",),
    ),
    Word(
        "source",
        "Where events come from: an event hub, or a Cosmos container.",
        ("topic",),
    ),
    Word(
        "partition",
        "What one member owns or does not own, as a whole: a partition of an event hub, or a feed "
        "range of a Cosmos container.",
        ("shard", "vbucket"),
    ),
    Word(
        "member",
        "One owner of partitions: a consumer pod, or one Spark executor, held by its driver.",
        ("participant", "consumer instance"),
    ),
    Word(
        "lease",
        "A Blob lease on a blob of the ledger, or a document's in Cosmos DB. The clock of the "
        "storage service decides when it ends, and so who is alive.",
        ("leasehold", "lock token"),
    ),
    Word(
        "ledger",
        "All blobs of a group, or documents in Cosmos DB: who owns what, checkpoints, members, and "
        "the roster.",
        ("checkpoint store", "lease store", "bookkeeper"),
    ),
    Word(
        "roster",
        "What the operator tells the members: who is expected, who is leaving, what is paused or "
        "pinned.",
        ("membership list", "member list", "rota"),
    ),
    Word(
        "position",
        "A place in a partition.",
        ("bookmark", "cursor"),
    ),
    Word(
        "checkpoint",
        "The stored position up to which everything has been handled.",
        ("savepoint", "committed offset"),
    ),
    Word(
        "hand-over",
        "An owner finishes what it began, writes a checkpoint, and gives its lease to a named "
        "member.",
        ("handoff", "hand off", "handover"),
    ),
    Word(
        "steal",
        "Taking a partition from an owner that is dead or does not answer.",
        ("hijack", "seize", "preempt"),
    ),
    Word(
        "lag",
        "The events not yet handled, and the age of the oldest of them. It is exact, estimated, "
        "unknown or lost.",
        ("staleness",),
    ),
    Word(
        "move",
        "One partition changing its owner. Balancing makes as few moves as it can.",
        ("rebalance", "reshuffle", "reassign", "reassignment"),
    ),
)

# The last part of a field's name that is a unit, and how our names write that unit.
UNITS = {"seconds": "s", "milliseconds": "ms", "minutes": "min", "bytes": "bytes"}

# Fields whose value is a duration in words ('60s'), which our names hold as seconds.
IRREGULAR = {"within": "within_s", "drainWithin": "drain_within_s"}

_CAMEL = re.compile(r"[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)*")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def parts(identifier: str) -> tuple[str, ...]:
    """The words inside an identifier of any style, in lower case."""
    return tuple(part.lower() for part in _PARTS.findall(identifier))


def snake_name(field: str) -> str:
    """Our name for a field of the CRD: `leaseDurationSeconds` is `lease_duration_s`."""
    if field in IRREGULAR:
        return IRREGULAR[field]
    if not _CAMEL.fullmatch(field):
        raise WordError(f"CRD field '{field}' is not camelCase. Write it like leaseDuration.")
    if re.search(r"[A-Z]{2}", field):
        raise WordError(
            f"CRD field '{field}' has capitals in a row. Write an acronym like a word: leaseId."
        )
    *front, last = re.findall(r"[a-z0-9]+|[A-Z][a-z0-9]*", field)
    return "_".join([*(part.lower() for part in front), UNITS.get(last.lower(), last.lower())])


def snake_names(fields: Iterable[str]) -> dict[str, str]:
    """Our names for the fields of one object; two fields may not become one name."""
    names: dict[str, str] = {}
    taken: dict[str, str] = {}
    for field in fields:
        name = snake_name(field)
        if name in taken and taken[name] != field:
            raise WordError(
                f"CRD fields '{taken[name]}' and '{field}' would both be '{name}' in the code. "
                "Rename one of them."
            )
        names[field] = name
        taken[name] = field
    return names


def banned_in(identifier: str) -> tuple[str, str] | None:
    """The banned synonym inside an identifier and the word to use instead, or None."""
    spoken = f" {' '.join(parts(identifier))} "
    for word in WORDS:
        for synonym in word.banned:
            if f" {synonym} " in spoken or f" {synonym}s " in spoken:
                return synonym, word.word
    return None


def as_markdown() -> str:
    """The table that `docs/reference.md` shows."""
    rows = [f"| {word.word} | {word.meaning} |" for word in WORDS]
    return "\n".join(["| word | meaning |", "| --- | --- |", *rows])
