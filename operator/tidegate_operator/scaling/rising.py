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

  4.4 in all: the operator then sees three seconds at once, and knows how high the rate is. Where it
  has looked in between it has seen that something rises, and looks again after one second. The
  ledger's and the API server's own time comes in three times, with 0.4 s together here.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.model import PartitionId
from tidegate_operator.scaling.nouns import Sample
from tidegate_operator.scaling.rates import Arrivals, Flow

# Clearly more: than is usual, than can be handled, and than came in any few seconds before.
RISES, ABOVE, STEP = 1.2, 1.3, 1.5
# So much must wait: what can be handled in that time. Fewer events than these come and go.
WAITS_S, _FEW = 1.0, 10.0
# What came in the last seconds is what is looked at, and not what it is compared with.
_NEW_S = 6.0
# A step has been seen for so long, or over so long, before it is known how high it is.
_AGAIN_S, _LONG_S = 0.9, 2.5


def rising(arrivals: Mapping[PartitionId, Arrivals]) -> dict[PartitionId, float]:
    """What arrives in each partition, by the newest figures where these are clearly more."""
    return {partition: _rising(each) for partition, each in arrivals.items()}


def _rising(each: Arrivals) -> float:
    rate = each.rate or 0.0
    if each.newest is None or each.newest <= RISES * rate:
        return rate
    return each.newest


def newest(arrivals: Mapping[PartitionId, Arrivals]) -> dict[PartitionId, float]:
    """What arrives in each partition, by the newest figures."""
    return {
        partition: each.newest if each.newest is not None else each.rate or 0.0
        for partition, each in arrivals.items()
    }


def is_step(flow: Flow, rate: float) -> bool:
    """Whether so much is clearly more than came at any time before, as far as that is known."""
    # The first has nothing before it.
    peaks = [note.peak for note in flow.notes[1:] if flow.at - note.at >= _NEW_S]
    return bool(peaks) and rate >= STEP * max(peaks)


def is_whole(arrivals: Mapping[PartitionId, Arrivals], since: float | None, at: float) -> bool:
    """Whether a step, seen since then, is in the newest figures as high as it is: what is asked for
    is to be asked for in one jump."""
    lengths = [each.newest_s for each in arrivals.values() if each.newest is not None]
    if since is None or not lengths:
        return False
    return at - since >= _AGAIN_S or min(lengths) >= _LONG_S


def is_rising(arrivals: Mapping[PartitionId, Arrivals], before: Sample | None, now: Sample) -> bool:
    """Whether it is worth looking again soon: clearly more waits than at the look before, or comes
    than is handled. The one may be seen before the other."""
    rows = {
        p: seen for p, seen in now.partitions.items() if not seen.is_stuck and not seen.is_paused
    }
    handling = sum(seen.handling or 0.0 for seen in rows.values())
    coming = sum(newest({p: each for p, each in arrivals.items() if p in rows}).values()) - handling
    waiting = _lag(now) - _lag(before) if before is not None else 0
    return waiting > max(handling * WAITS_S, _FEW) or coming > max(handling / 2, _FEW)


def _lag(sample: Sample) -> int:
    """Of the partitions whose lag is known."""
    return sum(seen.lag or 0 for seen in sample.partitions.values())
