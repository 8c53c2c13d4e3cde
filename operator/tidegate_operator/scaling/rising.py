"""What rises: whether to look again soon, and whether more are needed at once. Pure.

Rules:
- More is clear where much more comes than consumers can handle and than came at any time of the
  last minutes, and events wait already. What wavers, and what came before, is for need.py: there an
  objective levels it out.
- What is clear is asked for within 5 s of its cause. At the worst, in seconds:

      0.5   until the member has heard from its source where its partitions end
      0.5   until it measures
      1.0   until it may tell: it has told just before, and tells at once that more wait
      0.1   until that stands in the ledger
      2.0   until the operator looks: it has looked just before that
      0.3   until the listing is there and the Deployment is written

  4.4 in all. Where it has looked in between it has seen that something rises, and looks again after
  one second. The ledger's and the API server's own time comes in three times, with 0.4 s together
  here.
- It is asked for in one jump: an owner tells a rate that has risen once it knows how high it is,
  which takes it up to 1.8 s, and that is what makes it clear. Until then nothing is asked for, but
  not for long: not every source says often enough where its partitions end.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.model import PartitionId
from tidegate_operator.scaling.nouns import PartitionSample, Sample
from tidegate_operator.scaling.rates import Arrivals, Flow

# Clearly more: than is usual, than can be handled, and than came in any few seconds before.
RISES, ABOVE, STEP = 1.2, 1.3, 1.5
# So much must wait: what can be handled in that time. Fewer events than these come and go.
WAITS_S, _FEW = 1.0, 10.0
# So much of what is seen to come in a partition, and in so many of them, is told once it is known;
# and so long that is waited for.
_NEARLY, _WAITED_S = 0.85, 2.2
# What came in the last seconds is what is looked at, and not what it is compared with.
_NEW_S = 6.0


def told(
    arrivals: Mapping[PartitionId, Arrivals], rows: Mapping[PartitionId, PartitionSample]
) -> dict[PartitionId, float]:
    """What arrives in each partition, by what its owner says."""
    return {
        partition: seen.arriving if seen.arriving is not None else arrivals[partition].rate or 0.0
        for partition, seen in rows.items()
    }


def rising(
    arrivals: Mapping[PartitionId, Arrivals], told: Mapping[PartitionId, float]
) -> dict[PartitionId, float]:
    """What arrives in each partition, by the newest figures where these are clearly more."""
    return {partition: _rising(each, told[partition]) for partition, each in arrivals.items()}


def _rising(each: Arrivals, told: float) -> float:
    rate = each.rate or 0.0
    highest = max(each.newest or 0.0, told)
    return highest if highest > RISES * rate else rate


def is_higher(
    arrivals: Mapping[PartitionId, Arrivals],
    told: Mapping[PartitionId, float],
    flow: Flow,
    since: float | None,
) -> bool:
    """Whether it has risen just now, and it is not known how high. `since`: when it was first seen
    to rise."""
    if since is None or flow.at - since >= _WAITED_S:
        return False
    seen = {partition: each.newest or 0.0 for partition, each in arrivals.items()}
    unsaid = sum(rate for partition, rate in seen.items() if told[partition] < _NEARLY * rate)
    coming = sum(seen.values())
    return is_step(flow, coming) and unsaid > (1 - _NEARLY) * coming


def is_step(flow: Flow, rate: float) -> bool:
    """Whether so much is clearly more than came at any time before, as far as that is known."""
    # The first has nothing before it.
    peaks = [note.peak for note in flow.notes[1:] if flow.at - note.at >= _NEW_S]
    return bool(peaks) and rate >= STEP * max(peaks)


def is_rising(arrivals: Mapping[PartitionId, Arrivals], before: Sample | None, now: Sample) -> bool:
    """Whether it is worth looking again soon: clearly more waits than at the look before, or comes
    than is handled. The one may be seen before the other."""
    rows = {
        p: seen for p, seen in now.partitions.items() if not seen.is_stuck and not seen.is_paused
    }
    handling = sum(seen.handling or 0.0 for seen in rows.values())
    coming = sum(_rising(arrivals[p], 0.0) for p in rows if p in arrivals) - handling
    waiting = _lag(now) - _lag(before) if before is not None else 0
    return waiting > max(handling * WAITS_S, _FEW) or coming > max(handling / 2, _FEW)


def _lag(sample: Sample) -> int:
    """Of the partitions whose lag is known."""
    return sum(seen.lag or 0 for seen in sample.partitions.values())
