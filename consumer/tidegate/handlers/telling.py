"""Reports of a handler that fails: when that is a problem, again every minute, and when it is over.

Rules: `stuck` and `unstuck` are the kinds by which the group says `Stuck`; each attempt is heard by
the observer alone. Where another thing stands in the way than before, that is said at once.
"""

from __future__ import annotations

from collections.abc import Callable

from tidegate.delivery.policy import CircuitBreaker
from tidegate.member.messages import Report
from tidegate.model import PartitionId

STUCK_AFTER = 3
_AGAIN_S = 60.0


def open_text(
    what: str, failed: int, recent: int, settings: CircuitBreaker, sequence: int, error: str
) -> str:
    """The report of a circuit breaker that has opened, with its cause, place and remedy."""
    return (
        f"the circuit breaker is open: the {what} fails on {failed} of the last {recent} events, "
        f"more than {settings.failure_percent} %. Nothing more is put aside, and the partition "
        f"stops before event {sequence}: {error}. Fix the {what}, or what it writes to. It gets "
        f"this event every {settings.probe_every_s:g} s, and the partition continues when it "
        "succeeds; new code needs a rollout, or a restart of the member. To continue at once, "
        "pause and resume the partition; to pass these events, rewind the partition past them."
    )


class Troubles:
    """Of one partition."""

    def __init__(
        self,
        partition: PartitionId,
        report: Callable[[Report], None],
        clock: Callable[[], float],
    ) -> None:
        self._partition = partition
        self._report = report
        self._clock = clock
        self._since: float | None = None
        self._failures = 0
        self._said_at = float("-inf")
        self._said_remedy = ""

    @property
    def is_stuck(self) -> bool:
        return self._failures >= STUCK_AFTER

    def say(self, kind: str, message: str) -> None:
        self._report(Report(kind, self._partition, message))

    def failed(self, what: str, remedy: str) -> None:
        """It failed once more; `what` says on what and how."""
        now = self._clock()
        self._failures += 1
        if self._since is None:
            self._since = now
        # Each thing that may stand in the way has a remedy of its own.
        is_another = remedy != self._said_remedy
        if self.is_stuck and (is_another or now - self._said_at >= _AGAIN_S):
            self._said_at, self._said_remedy = now, remedy
            lasted = f"{self._failures} failures in {now - self._since:.0f} s"
            self.say("stuck", f"{what} ({lasted}). {remedy}")

    def over(self) -> None:
        """It goes on."""
        if self.is_stuck:
            self.say("unstuck", f"continues after {self._failures} failures")
        self._failures, self._since, self._said_at = 0, None, float("-inf")
