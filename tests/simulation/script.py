"""What one seed decides before a world begins: who takes part, what befalls them, and when. Frozen.

A script can be printed, and taken apart: the shrinker leaves troubles out one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from simulation.weather import Rates
from tidegate.model import MemberName, PartitionId


class Kind(StrEnum):
    """What a world is about. The last digits of a seed say its kind."""

    CALM = "calm"  # members come and go cleanly, nothing fails
    KILLS = "kills"
    PAUSES = "pauses"
    STORAGE = "storage"
    HANDS = "hands"
    HUB = "hub"
    ROSTER = "roster"
    RELEASES = "releases"  # surge rollouts and scale-ins by the roster, nothing fails
    ALONE = "alone"  # the operator is absent, has died, or is wrong; members are killed
    EVERYTHING = "everything"
    CROWD = "crowd"
    STALL = "stall"  # storage fails everybody for a while, and nothing else happens


class What(StrEnum):
    """A trouble, or a change."""

    JOIN = "join"
    STOP = "stop"
    KILL = "kill"  # `then` says what comes back: nothing, same-place, new-name
    PAUSE = "pause"
    SLEEP = "sleep"  # paused, and its clock stood still
    BLOCK = "block"
    STORAGE_DOWN = "storage-down"
    HUB_DOWN = "hub-down"
    SLOW_STORAGE = "slow-storage"
    SLOW_HANDLER = "slow-handler"
    HUNG_HANDLER = "hung-handler"  # calls for a partition come back only when it is over
    BREAK_LEASE = "break-lease"
    DELETE_OWNERSHIP = "delete-ownership"
    DELETE_CHECKPOINT = "delete-checkpoint"
    SET_CHECKPOINT_BACK = "set-checkpoint-back"
    # The container is deleted; for `length_s` it is refused as in `then`: being deleted (busy),
    # or not there (absent).
    EMPTY_LEDGER = "empty-ledger"
    # An official processor sets a position and leaves the state; `length_s` later it is rewound.
    OFFICIAL_CHECKPOINT = "official-checkpoint"
    MORE_PARTITIONS = "more-partitions"
    ROSTER = "roster"  # the operator writes this from now on
    OPERATOR_DIES = "operator-dies"


@dataclass(frozen=True, slots=True)
class RosterFacts:
    """What the operator of the world says, right or wrong."""

    expected: tuple[MemberName, ...] = ()
    leaving: tuple[MemberName, ...] = ()
    pins: tuple[tuple[PartitionId, MemberName], ...] = ()
    paused: tuple[PartitionId, ...] = ()
    is_paused: bool = False
    # Partitions to rewind by so many events, once.
    rewinds: tuple[tuple[str, PartitionId, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that befalls the world."""

    at: float
    what: What
    member: MemberName = ""
    partition: PartitionId = ""
    length_s: float = 0.0
    then: str = ""
    roster: RosterFacts | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """See the module."""

    seed: int
    kind: Kind
    partitions: int
    troubles: tuple[Trouble, ...]
    quiet_from: float
    rates: Rates = field(default_factory=Rates)
    weights: tuple[tuple[MemberName, float], ...] = ()
    starts_latest: bool = False
    has_state: bool = False
    hub_says_level: bool = True
    latency_s: float = 0.01
    # Storage renews a lease that has ended for whoever asks, as Azurite does.
    renews_any_id: bool = False
    drift: float = 0.0
    handler_s: float = 0.01
    # After this a reader gives a call up that has not come back.
    handler_limit_s: float = 5.0
    # Mean time between two events of a partition.
    event_every_s: float = 3.0
    lease_s: float = 15.0
    fast_tick_s: float = 0.5
    settled_tick_s: float = 2.0
    hand_over_limit_s: float = 60.0
    roster_stale_s: float = 120.0
    reader_silence_s: float = 30.0
    checkpoint_every_s: float = 5.0
    # The longest that the world is watched after it has become quiet.
    patience_s: float = 240.0
    # How long nothing may move before it is taken for settled.
    calm_s: float = 20.0

    @property
    def is_without_faults(self) -> bool:
        """Whether members only come and go cleanly."""
        return self.kind in (Kind.CALM, Kind.RELEASES)

    def partition_ids(self) -> tuple[PartitionId, ...]:
        return tuple(str(number) for number in range(self.partitions))
