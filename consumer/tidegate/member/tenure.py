"""One member's tenure of one partition, from the lease to the last checkpoint. Pure.

The order is that of rule 3: lease, epoch, touch, attach, read. A tenure begins by acquiring a free
lease, by receiving one that was handed over, or by taking up one that this very process held before
it was restarted; whatever the way, fence.py comes before reading.

Rules of this module:
- Once the lease is changed or released the tenure is over: nothing is read or written after that.
- When the time is up by our own clock, reading stops; if nobody took the lease, the keeper's next
  renewal brings the tenure back, with a new epoch (rules 1 and 2).
- A drained hand-over leaves nothing handled that is not in the checkpoint.
- Where the ownership blob is deleted, its owner makes it again and continues from memory, also when
  it is to leave: the checkpoint may be gone as well.
"""

from __future__ import annotations

from collections.abc import Callable

from tidegate.member.beginning import Hold, claimed, made_again, received, taken_up
from tidegate.member.fence import Fence, Remembered
from tidegate.member.heritage import NO_ORIGIN, Family, Origin
from tidegate.member.lapse import until_renewed
from tidegate.member.messages import (
    Command,
    Event,
    Keep,
    LetGo,
    Perform,
    RenewalRefused,
    Renewed,
    Report,
    Woken,
)
from tidegate.member.phases import UNPROVEN, Phase
from tidegate.member.reading import Reading
from tidegate.member.steps import (
    NEVER,
    DoubtError,
    FencedError,
    GoneError,
    HaltedError,
    LapsedError,
    LeftError,
    Script,
    Steps,
)
from tidegate.model import Checkpoint, Owner, Ownership, PartitionId, Rewind
from tidegate.ports import Change, Operation, ReadCheckpoint, Refusal, Release
from tidegate.ports.lineage import FLAT, Lineage
from tidegate.settings import MemberSettings

EMPTIED = "ledger-emptied"
_EMPTIED = (
    "blobs of this group were deleted from the ledger while members run: each member writes those "
    "of its partitions again, with the positions that it knows. Find out who deleted them. To "
    "start over, use a rewind, or stop all members first."
)

# In these phases an ownership blob that is not listed was deleted.
_HOLDING = (Phase.READING, Phase.DRAINING, Phase.LAPSED)


class Tenure:
    """See the module. member.py makes it and tells it what happens."""

    def __init__(
        self,
        settings: MemberSettings,
        owner: Owner,
        partition: PartitionId,
        serial: int,
        dice: Callable[[], str],
        epoch_floor: int = 0,
        lineage: Lineage = FLAT,
        origin: Origin = NO_ORIGIN,
        remembered: Remembered | None = None,
        server_time: float | None = None,
    ) -> None:
        self._settings = settings
        self.partition = partition
        self.serial = serial
        self.phase = Phase.LEASING
        self.valid_until = NEVER
        # When the last renewal that was good was sent.
        self._proved_at = float("-inf")
        self.give_to: str | None = None
        self._give_lease_id: str | None = None
        self._dice = dice
        self._steps = Steps((partition, serial))
        self._family = Family(self._steps, partition, lineage, origin)
        self._fence = Fence(self._steps, partition, owner, dice, self._family)
        self._fence.see(epoch_floor)
        self._fence.remembered = remembered
        self._reading = Reading(
            settings, self._steps, self._fence, partition, serial, self._family, server_time
        )
        self._script: Script[None] | None = None
        # To whom it was given, and the ETag of the ownership blob then.
        self.given: tuple[str, str] | None = None
        self.was_halted = False
        # Made again after its ownership blob was deleted, and the checkpoint is not written yet.
        self._is_made_again = False
        self._doubted: Refusal | None = None
        self._is_given_away = False

    # --- how it begins

    def acquire(
        self, row: Ownership, checkpoint: Checkpoint | None, rewind: Rewind | None = None
    ) -> list[Command]:
        """Claims a free lease; a rewind that is asked for can remedy what it finds."""
        if rewind is not None and rewind.is_resolved:
            is_done = checkpoint is not None and checkpoint.rewound_by == rewind.id
            self._fence.remedy = None if is_done else rewind
        how = claimed(self._steps, self.partition, row.etag, self._dice())
        return self._begin(row, checkpoint, self._begun(how))

    def adopt(self, row: Ownership, old_lease_id: str) -> list[Command]:
        """Takes up a lease that this process held in its last life, under a new id."""
        how = taken_up(self._steps, self.partition, row.etag, old_lease_id, self._dice())
        return self._begin(row, None, self._begun(how))

    def receive(
        self, row: Ownership, lease_id: str, checkpoint: Checkpoint | None
    ) -> list[Command]:
        """Begins with a lease that was changed to an id of ours."""
        how = received(self._steps, self.partition, row.etag, lease_id)
        return self._begin(row, checkpoint, self._begun(how))

    def _begin(
        self, row: Ownership, checkpoint: Checkpoint | None, first: Script[None]
    ) -> list[Command]:
        self._fence.etag = row.etag
        self._fence.see(row.epoch, checkpoint.epoch if checkpoint else 0)
        self._script = self._life(first)
        return self._run(None)

    # --- what member.py asks and tells

    @property
    def is_over(self) -> bool:
        return self.phase is Phase.ENDED

    @property
    def lease_id(self) -> str:
        return self._fence.lease_id

    @property
    def epoch(self) -> int:
        return self._fence.epoch

    @property
    def memory(self) -> Remembered | None:
        """How far the partition has come, as far as this tenure knows."""
        return self._fence.memory(self._reading.progress)

    @property
    def is_given(self) -> bool:
        """Whether the lease is on its way to somebody else: it is not ours any more."""
        return self.phase in (Phase.GIVING, Phase.ENDED)

    @property
    def is_leaving(self) -> bool:
        return self._reading.is_leaving

    @property
    def is_settled(self) -> bool:
        """Whether it reads and nothing is under way."""
        return self._reading.is_owning and not self.is_leaving

    @property
    def wake_at(self) -> float:
        return min(
            NEVER if self.phase is Phase.LAPSED else self.valid_until,
            self._steps.retry_at,
            self._reading.wake_at,
        )

    def leave(
        self, now: float, name: str | None = None, lease_id: str | None = None
    ) -> list[Command]:
        """Drain, checkpoint, then give the lease to an id that a member announced, or let it go."""
        if self.phase is Phase.GIVING or self.is_over or self._family.into:
            return []
        if lease_id is not None or not self.is_leaving:
            self.give_to, self._give_lease_id = name, lease_id
        if self.is_leaving:
            return []
        self._reading.leave()
        return self.handle(Woken(now))

    def end(self, now: float, into: tuple[PartitionId, ...]) -> list[Command]:
        """The last checkpoint says what the partition goes on as; then nobody reads it again."""
        if not self.is_settled or self._family.into:
            return []
        self._reading.is_leaving = self._reading.may_end(now, into)
        return self.handle(Woken(now))

    def stay(self) -> None:
        """The hand-over is no longer wanted; too late once draining has begun."""
        if self.phase not in (Phase.DRAINING, Phase.GIVING) and not self._family.into:
            self._reading.is_leaving = False
            self.give_to = self._give_lease_id = None

    def see_missing(
        self, *, ownership: bool, checkpoint: bool, sent_at: float, now: float
    ) -> list[Command]:
        """A listing that was asked for at `sent_at` does not have these blobs of ours."""
        if ownership and self.phase in _HOLDING and sent_at > self._proved_at:
            assert self._script is not None
            self._doubted = Refusal.MISSING
            return self._run(None, DoubtError())
        if checkpoint and self.phase is Phase.READING and sent_at > self._fence.written_at:
            self._reading.restore(now)
            return self.handle(Woken(now))
        return []

    def has_carried_out(self, rewind: Rewind) -> bool:
        return rewind.id == self._reading.progress.rewound_by

    def rewind(self, now: float, rewind: Rewind) -> list[Command]:
        """Carries out a rewind once; the reader starts anew at its position."""
        reading = self._reading
        is_free = reading.takes_rewinds and not self.is_leaving
        if self.has_carried_out(rewind) or reading.rewind is not None or not is_free:
            return []
        reading.rewind = rewind
        return self.handle(Woken(now))

    def handle(self, event: Event) -> list[Command]:
        """Takes in what happened and goes on as far as it can."""
        if self._script is None:
            return []
        error = self._take_in(event)
        return self._run(event, error)

    def _take_in(self, event: Event) -> Exception | None:
        """Facts that hold whatever the script waits for; an error is thrown into it."""
        fence = self._fence
        self._reading.take_in(event)
        match event:
            case Renewed(lease_id=lease_id) if lease_id == fence.lease_id:
                self._extend(event.sent_at)
            case RenewalRefused(lease_id=lease_id, etag=etag) if self.phase not in UNPROVEN:
                if lease_id == fence.lease_id and etag == fence.etag and not fence.is_raising:
                    self._doubted = event.refusal
                    return DoubtError()
        if fence.proved_at is not None:
            self._extend(fence.proved_at)
            fence.proved_at = None
        if event.now >= self.valid_until and self.phase is not Phase.LAPSED:
            return LapsedError("the lease could not be renewed in time")
        return None

    def _extend(self, sent_at: float) -> None:
        self._proved_at = max(sent_at, self._proved_at)
        until = sent_at + self._settings.valid_s
        self.valid_until = until if self.valid_until == NEVER else max(until, self.valid_until)

    def _run(self, event: Event | None, error: Exception | None = None) -> list[Command]:
        assert self._script is not None
        try:
            if error is not None:
                self._script.throw(error)
            elif event is None:
                next(self._script)
            else:
                self._script.send(event)
        except StopIteration:
            self._script = None
        commands, self._steps.out = self._steps.out, []
        return commands

    # --- the life

    def _life(self, first: Script[None]) -> Script[None]:
        put = self._steps.put
        try:
            yield from first
            while not self._is_given_away:
                yield from self._go_on()
        except (FencedError, LapsedError) as over:
            if str(over):
                put(Report("fenced", self.partition, str(over)))
        except HaltedError as halted:
            self.was_halted = True
            put(Report("halted", self.partition, str(halted)))
            put(Perform(None, Release(self.partition, self._fence.lease_id, self._fence.etag)))
        self._reading.ask_to_close(drain=False)
        put(LetGo(self.partition))
        self.phase, self.valid_until = Phase.ENDED, NEVER

    def _go_on(self) -> Script[None]:
        """Until the partition is given, the lease must be proved, or the blob is made again."""
        try:
            if self._doubted is not None:
                yield from self._fence.look(self._doubted)
            elif self.phase is Phase.LAPSED:
                yield from self._come_back()
            yield from self._tenure()
            if self.phase is Phase.GIVING:
                yield from self._give()
                self._is_given_away = True
        except DoubtError:
            self._stop_reading(Phase.LAPSED)
        except LapsedError as lapsed:
            self._steps.put(Report("lapsed", self.partition, str(lapsed)))
            self._stop_reading(Phase.LAPSED)
        except GoneError:
            self._doubted = self.given = None
            self._steps.put(Report(EMPTIED, None, _EMPTIED))
            self._stop_reading(Phase.LEASING)
            self._is_made_again = True
            yield from self._make_again()

    def _begun(self, how: Script[Hold]) -> Script[None]:
        self._fence.lease_id, sent_at = yield from how
        self._extend(sent_at)
        self._keep()

    def _keep(self) -> None:
        fence = self._fence
        self._steps.put(Keep(self.partition, fence.lease_id, fence.etag, self._proved_at))

    def _tenure(self) -> Script[None]:
        """Fences and reads until it is time to give the partition away; the lease is ours."""
        self.phase = Phase.FENCING
        yield from self._fence.raise_epoch()
        self._keep()
        if not self.is_leaving or self._is_made_again:
            try:
                yield from self._reading.take_over()
                self._is_made_again = False
                self._keep()
                self.phase = Phase.READING
                yield from self._reading.read()
            except LeftError:
                # The start was never known: there is nothing to drain.
                assert self.is_leaving
        if self.is_leaving:
            self.phase = Phase.DRAINING
            yield from self._reading.drain()
            self.phase = Phase.GIVING

    # --- the end

    def _come_back(self) -> Script[None]:
        """Waits until the lease has proved to be ours still."""
        yield from until_renewed(
            self._steps, self._fence, self.partition, self._keep, lambda: self.valid_until
        )

    def _stop_reading(self, phase: Phase) -> None:
        self._reading.ask_to_close(drain=False)
        self._reading.is_owning = False
        self.phase, self.valid_until = phase, NEVER
        self._steps.retry_at = NEVER

    def _make_again(self) -> Script[None]:
        """Makes the ownership blob that was deleted, under a new lease."""
        self._steps.put(LetGo(self.partition))
        fence, lease_id = self._fence, self._dice()
        hold, row = yield from made_again(self._steps, self.partition, lease_id)
        (fence.lease_id, sent_at), fence.etag = hold, row.etag
        fence.is_raising = False
        self._proved_at = sent_at
        self._extend(sent_at)
        self._keep()
        # The deleted blob had the epochs of others. The checkpoint still has one of them.
        found = (yield from self._steps.insist(ReadCheckpoint(self.partition))).reply
        fence.see(row.epoch, found.epoch if isinstance(found, Checkpoint) else 0)

    def _give(self) -> Script[None]:
        """Changes or releases the lease. From here on it is not ours, whatever the answer."""
        self.valid_until = NEVER
        self._steps.put(LetGo(self.partition))
        lease_id, etag = self._fence.lease_id, self._fence.etag
        if self._give_lease_id is None:
            how: Operation = Release(self.partition, lease_id, etag)
        else:
            self.given = (self.give_to or "", etag)
            how = Change(self.partition, lease_id, self._give_lease_id, etag)
        answer = yield from self._steps.insist(how)
        if answer.refusal is not None and (yield from self._fence.is_gone()):
            raise GoneError
