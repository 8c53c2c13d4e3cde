"""What a check says of a run: held, broken, or not tried, with its figures and its reason.

Rules: pure. A broken property names each case; one that was not tried says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Outcome(StrEnum):
    """Of a property, in a run."""

    HELD = "held"
    BROKEN = "broken"
    NOT_TRIED = "not tried"


PROPERTIES: dict[str, str] = {
    "P1": "at most one valid epoch can checkpoint a partition",
    "P2": "no event is lost: each is handled",
    "P3": "checkpoints never go back",
    "P4": "duplicates are at most what was not checkpointed; none on a clean stop or hand-over",
    "P5": "order is kept per partition within an epoch",
    "P6": "from a kill to reading on it takes a lease and a tick at most",
    "P7": "no more moves than the change of members needs",
    "P8": "it converges, and then nothing moves",
    "P9": "replicas are within min and max, and never more than there are partitions",
    "P10": "unknown lag never scales in",
    "P11": "without the operator consumption, stealing and the repair of pods go on",
    "P12": "the status agrees with the leases within one tick",
    "P13": "a split or merge of a Cosmos range loses nothing",
    "P14": "two operators never both act",
    # Of the cluster, and no promise of Tidegate's: what its own policies rest on.
    "NP": "the cluster's network does what a NetworkPolicy says",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """On one property."""

    name: str
    outcome: Outcome
    # What was looked at, or why it was not tried.
    said: str
    figures: Mapping[str, float] = field(default_factory=dict)
    cases: tuple[str, ...] = ()


def judged(
    name: str, cases: Iterable[str], said: str, figures: Mapping[str, float] | None = None
) -> Verdict:
    """Broken where there is a case of it, else held."""
    found = tuple(cases)
    outcome = Outcome.BROKEN if found else Outcome.HELD
    return Verdict(name, outcome, said, dict(figures or {}), found)


def not_tried(name: str, why: str) -> Verdict:
    return Verdict(name, Outcome.NOT_TRIED, why)
