"""What an operator observes, made by hand: pods, a ledger, a wish.

`Seen` is changed step by step, and `look` makes the observation of what it then is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tidegate.model import (
    Checkpoint,
    Flaw,
    LeaseState,
    Listing,
    Owner,
    Ownership,
    Position,
    Presence,
    Roster,
)
from tidegate_operator.decide import Memory, steps
from tidegate_operator.model import (
    ContainerFacts,
    Ended,
    GroupKey,
    LedgerView,
    Observation,
    PodFacts,
    Running,
    Steps,
    Wish,
    WorkloadFacts,
)

NOW = 1_000_000.0
# The storage service's clock: another one.
SERVER_NOW = 2_000_000.0
LIFE = "life"


def pod(name: str, *, revision: str = "r1", age_s: float = 300.0, **facts: object) -> PodFacts:
    """A pod that runs and has joined, unless said otherwise."""
    usual = PodFacts(
        name,
        f"uid-{name}",
        NOW - age_s,
        revision,
        phase="Running",
        is_ready=True,
        is_scheduled=True,
        container=ContainerFacts(running=Running(NOW - age_s)),
    )
    return replace(usual, **facts)  # type: ignore[arg-type]


def starting(name: str, *, revision: str = "r1") -> PodFacts:
    """A pod that has only just been made."""
    container = ContainerFacts(waiting="ContainerCreating")
    made = pod(name, revision=revision, age_s=0.0, phase="Pending", is_ready=False)
    return replace(made, container=container)


def ended(name: str, **facts: object) -> PodFacts:
    """A pod whose container ran from 200 s to 10 s ago, and does not run."""
    end = Ended(NOW - 200.0, NOW - 10.0, "Error", 137)
    made = pod(name, is_ready=False, container=ContainerFacts(last_end=end))
    return replace(made, **facts)  # type: ignore[arg-type]


@dataclass
class Seen:
    """A group that is to be observed."""

    pods: dict[str, PodFacts] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    members: dict[str, Presence] = field(default_factory=dict)
    # The life that an owner of a partition is in, where it is not the usual one.
    lives: dict[str, str] = field(default_factory=dict)
    # Partitions whose lease has expired.
    expired: set[str] = field(default_factory=set)
    roster: Roster | None = None
    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)
    wish: Wish = field(default_factory=lambda: Wish(max_replicas=16))
    workload: WorkloadFacts | None = None
    flaws: tuple[Flaw, ...] = ()
    now: float = NOW
    asked_before_s: float = 0.1
    # For how long storage has left a request without an answer.
    unanswered_for_s: float | None = None
    has_ledger: bool = True
    is_deleting: bool = False
    memory: Memory = field(default_factory=Memory)

    def look(self) -> Observation:
        listing = Listing(
            {p: self._ownership(p, owner) for p, owner in self.owners.items()},
            self.checkpoints,
            self.members,
            self.roster,
            self.now - NOW + SERVER_NOW,
            self.flaws,
        )
        since = None if self.unanswered_for_s is None else self.now - self.unanswered_for_s
        asked_at = self.now - self.asked_before_s
        view = LedgerView(listing, asked_at, since) if self.has_ledger else None
        return Observation(
            GroupKey("default", "home"),
            1,
            self.wish,
            self.workload,
            tuple(self.pods.values()),
            view,
            self.now,
            is_deleting=self.is_deleting,
        )

    def _ownership(self, partition: str, owner: str) -> Ownership:
        found = _ownership(partition, owner, self.lives.get(partition, LIFE))
        return replace(found, lease=LeaseState.EXPIRED) if partition in self.expired else found

    def decide(self, after_s: float = 1.0) -> Steps:
        """The steps of the next look, a second later."""
        self.now += after_s
        found, self.memory = steps(self.look(), self.memory)
        return found

    def write(self, roster: Roster) -> None:
        """The storage service takes a roster."""
        seen = self.roster.etag if self.roster is not None else ""
        assert roster.etag == seen, "the write would be refused"
        etag = f"etag-{roster.generation}"
        self.roster = replace(roster, etag=etag, written_at=self.now - NOW + SERVER_NOW)

    def follow(self, found: Steps) -> None:
        """What was decided is done, but for leases and partitions."""
        if found.roster is not None:
            self.write(found.roster)
        for name, cost in found.deletion_costs.items():
            self.pods[name] = replace(self.pods[name], deletion_cost=cost)
        if found.replicas is not None and self.workload is not None:
            self.workload = replace(self.workload, replicas=found.replicas)

    def settle(self, rounds: int = 4) -> None:
        """Until nothing more is written; replicas are not."""
        for _ in range(rounds):
            self.follow(replace(self.decide(), replicas=None))

    def give_away(self, names: Iterable[str], to: str) -> None:
        self.owners = {p: to if owner in names else owner for p, owner in self.owners.items()}

    def change(self, name: str, **facts: object) -> None:
        self.pods[name] = replace(self.pods[name], **facts)  # type: ignore[arg-type]

    def join(self, name: str) -> None:
        self.change(name, is_ready=True, phase="Running")
        self.members[name] = presence(name)

    def go(self, name: str) -> None:
        """The pod and its member are gone."""
        del self.pods[name]
        self.members.pop(name, None)


def group(count: int, partitions: int = 8, **seen: object) -> Seen:
    """So many pods, m0 the oldest, that own an equal share each and have long been there."""
    names = [f"m{number}" for number in range(count)]
    made = Seen(
        pods={name: pod(name, age_s=1000.0 - place) for place, name in enumerate(names)},
        owners={str(number): names[number % count] for number in range(partitions if count else 0)},
        members={name: presence(name) for name in names},
        workload=WorkloadFacts("rv-1", count, "r1"),
    )
    return replace(made, **seen)  # type: ignore[arg-type]


def settled(count: int, partitions: int = 8, **seen: object) -> Seen:
    """The same, under an operator that has nothing left to do."""
    made = group(count, partitions, **seen)
    made.settle()
    return made


def presence(name: str, **facts: object) -> Presence:
    usual = Presence(
        name, f"etag-{name}", LeaseState.LEASED, LIFE, pod_uid=f"uid-{name}", started_at=NOW - 199
    )
    return replace(usual, **facts)  # type: ignore[arg-type]


def _ownership(partition: str, owner: str, life: str) -> Ownership:
    return Ownership(
        partition,
        f"etag-of-{partition}-{owner}",
        LeaseState.LEASED if owner else LeaseState.AVAILABLE,
        Owner(owner, life) if owner else None,
        3,
        "nonce",
        SERVER_NOW - 500.0,
    )


def checkpoint(partition: str, rewound_by: str = "") -> Checkpoint:
    return Checkpoint(partition, "etag", Position("8", 1), 3, "nonce", rewound_by=rewound_by)
