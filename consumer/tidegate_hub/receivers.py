"""Decides whether a new receiver of a partition may attach, and who has to leave for it.

Rules, for the receivers of one partition in one group:

- A receiver with an epoch wants the partition to itself. It gets it if no other has a higher
  epoch: all others are evicted, whether they have an epoch or not. Among equals the latest wins.
- A receiver with a lower epoch than one that is there is refused.
- A receiver without an epoch is refused while one with an epoch is there. Otherwise it shares
  the partition with others like it, of which there are five at most.
- An epoch counts only while its receiver is attached; the hub remembers none.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from tidegate_hub.conditions import (
    NAMELESS,
    RECEIVERS_PER_PARTITION,
    HubError,
    epoch_needed,
    epoch_too_low,
    stolen_by_epoch,
    too_many_receivers,
)


@dataclass(frozen=True, slots=True)
class Receiver:
    """One attached receiver. The key is the caller's own, such as the link."""

    key: Hashable
    epoch: int | None = None
    name: str = NAMELESS


@dataclass(frozen=True, slots=True)
class Eviction:
    """A receiver that has to leave, and what it is told."""

    receiver: Receiver
    error: HubError


@dataclass(frozen=True, slots=True)
class Admit:
    """The new receiver may attach once these are detached."""

    evict: tuple[Eviction, ...] = ()


@dataclass(frozen=True, slots=True)
class Refuse:
    """The new receiver may not attach."""

    error: HubError


def decide_attach(current: Sequence[Receiver], newcomer: Receiver) -> Admit | Refuse:
    """Whether the newcomer is admitted beside, or in place of, the current receivers."""
    holder = _highest(current)
    if newcomer.epoch is None:
        return _share(current, holder)
    if holder is not None and holder.epoch is not None and holder.epoch > newcomer.epoch:
        return Refuse(epoch_too_low(newcomer.epoch, holder.epoch, newcomer.name, holder.name))
    return Admit(
        tuple(
            Eviction(
                receiver,
                stolen_by_epoch(newcomer.epoch, receiver.epoch, newcomer.name, receiver.name),
            )
            for receiver in current
        )
    )


def _share(current: Sequence[Receiver], holder: Receiver | None) -> Admit | Refuse:
    if holder is not None and holder.epoch is not None:
        return Refuse(epoch_needed(holder.epoch))
    if len(current) >= RECEIVERS_PER_PARTITION:
        return Refuse(too_many_receivers([receiver.name for receiver in current]))
    return Admit()


def _highest(current: Sequence[Receiver]) -> Receiver | None:
    with_epoch = [receiver for receiver in current if receiver.epoch is not None]
    return max(with_epoch, key=lambda receiver: receiver.epoch or 0, default=None)
