"""What deliveries of all partitions of a member share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tidegate.delivery.breaker import Breaker
from tidegate.delivery.policy import Policy
from tidegate.delivery.sizing import Together
from tidegate.handlers.context import About
from tidegate.handlers.loading import UserCode
from tidegate.handlers.threads import Threads
from tidegate.handlers.turns import Turns
from tidegate.handling import DeadLetters
from tidegate.member.messages import Report
from tidegate.model import PartitionId
from tidegate.ops.observer import Observer


@dataclass(slots=True)
class Learned:
    """The cost of the calls of this process so far: a partition that comes begins with that."""

    together: Together = field(default_factory=Together)


@dataclass(frozen=True, slots=True)
class Tools:
    """See the module. `clock` is monotonic, `wall` the time of day; `dice` gives 0 to 1."""

    code: UserCode
    policy: Policy
    about: About
    dead_letters: DeadLetters | None
    report: Callable[[Report], None]
    clock: Callable[[], float]
    wall: Callable[[], float]
    dice: Callable[[], float]
    observer: Observer = field(default_factory=Observer)
    threads: Threads = field(default_factory=Threads)
    learned: Learned = field(default_factory=Learned)
    turns: Turns = field(default_factory=Turns)
    # Of partitions whose reader the source ended: the owner's next reader takes it over.
    breakers: dict[PartitionId, Breaker] = field(default_factory=dict)
