"""All that a round of a group touches, and what is remembered of a group between two rounds.

Rules: `may_act` is asked before every write. What is remembered is of one time of leading; whoever
leads anew begins with nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tidegate.commands.wiring import Setup
from tidegate.settings import SettingsError
from tidegate_operator.alike import Alike
from tidegate_operator.apply import Applier
from tidegate_operator.behind import Wholes
from tidegate_operator.cache import Cache
from tidegate_operator.claims import Claims
from tidegate_operator.decide import Memory
from tidegate_operator.events import Notice, Passing
from tidegate_operator.executors import KnownSets, Missing
from tidegate_operator.facts import ReplicaSets
from tidegate_operator.hubs import Hubs
from tidegate_operator.kinds import Document
from tidegate_operator.kube_events import Herald
from tidegate_operator.lag import GroupLag
from tidegate_operator.ledgers import Ledgers
from tidegate_operator.model import Failure, Observation, PodFacts, Steps
from tidegate_operator.objects import Api
from tidegate_operator.secrets import SecretReader, Sight
from tidegate_operator.settings import OperatorSettings
from tidegate_operator.spec import OperatorSpec
from tidegate_operator.trying import Tries
from tidegate_operator.turns import Turns
from tidegate_operator.untold import Untold
from tidegate_operator.workload import Workload


class NotLeadingError(Exception):
    """Another operator acts now, or may soon: nothing more is written."""


@dataclass(frozen=True, slots=True)
class Edges:
    """See the module."""

    settings: OperatorSettings
    kube: Api
    cache: Cache
    secrets: SecretReader
    ledgers: Ledgers
    hubs: Hubs
    applier: Applier
    herald: Herald
    is_leading: Callable[[], bool]
    # Seconds since 1970: the clock of Observation.
    now: Callable[[], float]
    dice: Callable[[], float]
    untold: Untold = field(default_factory=Untold)
    claims: Claims = field(default_factory=Claims)
    turns: Turns = field(default_factory=Turns)
    alike: Alike = field(default_factory=Alike)

    def may_act(self) -> None:
        """Raises NotLeadingError."""
        if not self.is_leading():
            raise NotLeadingError("this operator no longer leads")


@dataclass(frozen=True, slots=True)
class Seen:
    """A group as it was seen in one round."""

    observation: Observation
    document: Document
    workload: Workload
    # What the watch had told of all pods.
    told: tuple[PodFacts, ...]
    # None where the ConsumerGroup could never be read.
    spec: OperatorSpec | None
    sight: Sight | None
    # Whether what the ConsumerGroup says now is understood, down to its settings.
    can_be_rendered: bool

    @property
    def uid(self) -> str:
        return str(self.document["metadata"]["uid"])

    @property
    def deployment(self) -> Document | None:
        return self.workload.deployment

    @property
    def version(self) -> str:
        return str(self.document["metadata"]["resourceVersion"])


@dataclass(frozen=True, slots=True)
class Wrote:
    """A status that was written."""

    # The resourceVersion that the watch had told of, and the one that it made.
    over: str
    version: str
    # The status as it stands since, and as it was sent.
    stands: object
    status: Mapping[str, Any]
    at: float


@dataclass(frozen=True, slots=True)
class Unsaid:
    """An Event that is to be told, and since when."""

    event: Notice
    at: float


@dataclass(frozen=True, slots=True)
class Unwritten:
    """A roster that storage refuses, and when the listing was asked for on which it was decided."""

    failure: Failure
    asked_at: float


@dataclass(slots=True)
class Notes:
    """What is remembered of one group."""

    decided: Memory = field(default_factory=Memory)
    lag: GroupLag | None = None
    wholes: Wholes = field(default_factory=Wholes)
    steps: Steps | None = None
    # The uid and generation that were read, and what they say.
    read: tuple[str, int] = ("", -1)
    spec: OperatorSpec | None = None
    spec_problem: SettingsError | None = None
    # The Secrets that it names, and which keys of them.
    secrets: Mapping[str, frozenset[str]] = field(default_factory=dict)
    # How the group is opened, and what that was made of.
    setup: Setup | None = field(default=None, repr=False)
    opened_with: object = None
    # The text of where its ledger is; '' while that is not known.
    ledger: str = ""
    # Those of its Deployment, as they were listed last.
    replica_sets: ReplicaSets | None = None
    # With Spark: the StatefulSets, and those of their pods that are missing.
    sets: KnownSets | None = None
    missing: Missing | None = None
    # What was rendered last, and what decided it: the same manifests cost nothing to apply.
    rendered: tuple[object, tuple[Document, ...]] | None = None
    # The status as it was told last, but for its partitions, and as it was written last.
    told: Mapping[str, Any] | None = None
    wrote: Wrote | None = None
    # A trouble of the group that may pass without help, until it gets an Event.
    passing: Passing | None = None
    # The end of the last silence of storage.
    answered_at: float = float("-inf")
    # Seconds until a status that waits will be written, if that is soon.
    tell_in_s: float | None = None
    # Events that could not be written yet.
    unsaid: tuple[Unsaid, ...] = ()
    # What was refused, and when it may be tried again.
    tries: Tries = field(default_factory=Tries)
    # Why the roster could not be written.
    unwritten: Unwritten | None = None
    # What goes wrong with what is ours, by reason: since when it does.
    troubles: dict[str, float] = field(default_factory=dict)
    # Of them, those that the cluster gave at the last try.
    refused: frozenset[str] = frozenset()
    # The group as it was seen last, for who has to say that looking at it failed.
    seen: Seen | None = None


def failure_since(notes: Notes, reason: str, message: str, now: float) -> Failure:
    """A failure of ours, with the time since which it has been one."""
    return Failure(reason, message, notes.troubles.setdefault(reason, now))
