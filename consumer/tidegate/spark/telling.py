"""What the office tells of batches: facts to who listens to a member, and reports for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidegate.delivery.breaker import Breaker
from tidegate.delivery.policy import OnFailure, Policy
from tidegate.handlers.telling import Troubles, open_text
from tidegate.member.messages import Report
from tidegate.model import NO_SEQUENCE, PartitionId
from tidegate.ops import observer as facts
from tidegate.ops.failing import CIRCUIT_CLOSED, CIRCUIT_OPEN
from tidegate.spark.held import HeldPartition
from tidegate.spark.positions import Turn, TurnRead


class Telling:
    """See the module. `clock` is monotonic."""

    def __init__(self, policy: Policy, clock: Callable[[], float]) -> None:
        self._policy = policy
        self._clock = clock
        self._troubles: dict[PartitionId, Troubles] = {}
        self._holders: dict[PartitionId, HeldPartition] = {}
        # Those whose circuit breaker was told to be open, and to whom.
        self._stopped: dict[PartitionId, HeldPartition] = {}

    def stuck(self, held: Mapping[PartitionId, HeldPartition]) -> tuple[PartitionId, ...]:
        """Partitions whose batches fail again and again, or whose circuit breaker is open."""
        failing = {p for p, troubles in self._troubles.items() if troubles.is_stuck}
        stopped = {p for p, each in self._stopped.items() if held.get(p) is each}
        return tuple(sorted(failing | stopped))

    def report(self, held: HeldPartition, kind: str, message: str) -> None:
        report = Report(kind, held.partition, message)
        held.holder.observer.hear(facts.Reported(self._clock(), report))

    # --- batches

    def handled(
        self,
        held: HeldPartition,
        read: TurnRead,
        turn: Turn,
        seconds: float,
        worked_s: float,
    ) -> None:
        """A turn of it is handled: in a batch that took so long, of which so much was for it."""
        self._of(held).over()
        self._troubles.pop(held.partition, None)
        if read.events and self._stopped.pop(held.partition, None) is not None:
            said = "the circuit breaker is closed: the pipeline has taken an event"
            self.report(held, CIRCUIT_CLOSED, said)
        if read.events:
            held.holder.observer.hear(
                facts.BatchHandled(
                    self._clock(),
                    held.partition,
                    read.events,
                    read.bytes,
                    seconds,
                    read.position,
                    read.enqueued_at,
                    worked_s,
                )
            )
        # Before the beginning there is nothing to be lost.
        if read.lost and turn.after.sequence > NO_SEQUENCE:
            self.report(
                held,
                "events-lost",
                f"{read.lost} events after {turn.after.sequence} are gone: retention has passed "
                "them before they were handled. Reading goes on behind them. Add executors, give "
                "batches more events, or keep events longer.",
            )

    def failed(
        self, held: Mapping[PartitionId, HeldPartition], turns: Mapping[PartitionId, Turn],
        error: str, tries: int, *, blames_events: bool = True,
    ) -> None:  # fmt: skip
        """The batch of these turns failed."""
        remedy = "They are read again until it succeeds."
        if blames_events and self._policy.on_failure is not OnFailure.RETRY:
            remedy = f"After {self._policy.attempts} attempts: {self._policy.on_failure}."
        short = " ".join(error.split())[:500]
        for partition, each in held.items():
            turn = turns[partition]
            troubles = self._of(each)
            what = f"the pipeline fails on events from {turn.after.sequence + 1}: {short}"
            troubles.failed(what, remedy)
            each.holder.observer.hear(
                facts.BatchFailed(
                    self._clock(),
                    partition,
                    turn.events,
                    tries,
                    short,
                    troubles.is_stuck or partition in self._stopped,
                )
            )

    def halted(self, held: HeldPartition, turn: Turn, failures: int, error: str) -> None:
        """Nothing more is read of it."""
        self.report(
            held,
            "handler-halted",
            f"stands still after {failures} attempts at events from {turn.after.sequence + 1}: "
            f"{error}. Restart the driver to try again, or rewind the partition past these events.",
        )

    def stopped(self, held: HeldPartition, turn: Turn, breaker: Breaker, error: str) -> None:
        """Its circuit breaker is open: nothing more of it is put aside. Reports it once."""
        if self._stopped.get(held.partition) is held:
            return
        self._stopped[held.partition] = held
        failed, recent = breaker.share()
        self.report(
            held,
            CIRCUIT_OPEN,
            open_text("pipeline", failed, recent, self._policy.circuit_breaker, turn.to, error),
        )

    def put_aside(self, held: HeldPartition, events: int, where: str, why: str) -> None:
        """Events of it are dead letters."""
        held.holder.observer.hear(facts.DeadLettered(self._clock(), held.partition, events, where))
        self.report(held, "dead-letter", f"{why}: is at {where}")

    def over(self, held: HeldPartition) -> None:
        """What was wrong with it is over."""
        self._of(held).over()

    def _of(self, held: HeldPartition) -> Troubles:
        """Reports go to who holds it now, whoever held it when it began to fail."""
        self._holders[held.partition] = held
        found = self._troubles.get(held.partition)
        if found is None:
            found = self._troubles[held.partition] = Troubles(
                held.partition, self._pass_on, self._clock
            )
        return found

    def _pass_on(self, report: Report) -> None:
        assert report.partition is not None
        held = self._holders[report.partition]
        held.holder.observer.hear(facts.Reported(self._clock(), report))
