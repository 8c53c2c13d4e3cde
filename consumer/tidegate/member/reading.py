"""What a tenure does between touch and end: a reader, checkpoints, rewinds, the drain. Pure.

Rules:
- One reader at a time: the next opens only after the last has said that it is closed.
- A checkpoint never says more than the handler has finished; after a drain it says all of it.
- By time one is due so long after the last was written, or at once where that is longer ago: few
  events come before it, and it is written no more often.
- The first events of a tenure are checkpointed at once: a member that ends again and again sooner
  than the next checkpoint is due makes progress each time.
- If the source cannot be read, it is tried again after growing waits (retrying.py), which a
  rewind and the end of the tenure cut short. A failure is reported when it begins, when its cause
  changes, and when it is over.
- A rewind is one checkpoint write that stores its id, so it is carried out once (rule 5). One to a
  position that has ended is the partition's last checkpoint: others go on from there.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.member.fence import Fence, Progress, rewound_to
from tidegate.member.heritage import Family
from tidegate.member.messages import (
    Checkpointed,
    CloseReader,
    Event,
    Handled,
    OpenReader,
    Perform,
    ReaderClosed,
    ReaderFailed,
    ReaderGaveUp,
    ReaderOpened,
    ReaderRefused,
    Report,
    ResolveStart,
    StartResolved,
)
from tidegate.member.retrying import cause_of, retry_pause_s
from tidegate.member.steps import NEVER, FencedError, HaltedError, LeftError, Script, Steps
from tidegate.model import PartitionId, Position, Rewind
from tidegate.ports import Release
from tidegate.settings import MemberSettings

# A reader that has been open for this time reads, also when no event has come.
_READS_S = 5.0

# How a reader ended; None where we ended it.
End = ReaderRefused | ReaderFailed | ReaderGaveUp | None


class Reading:
    """The reader of one tenure, and how far it has come."""

    def __init__(
        self,
        settings: MemberSettings,
        steps: Steps,
        fence: Fence,
        partition: PartitionId,
        serial: int,
        family: Family,
        begun_at: float | None = None,
    ) -> None:
        self._settings = settings
        self._steps = steps
        self._fence = fence
        self._partition = partition
        self._serial = serial
        self._family = family
        # By the server's clock, where the partition has no checkpoint yet.
        self._begun_at = begun_at
        self.progress = Progress()
        self.checkpoint_at = NEVER
        self.is_leaving = False
        self.is_owning = False
        self.rewind: Rewind | None = None
        # Between two attempts at reading: what the source does not take, a rewind may mend.
        self._is_pausing = False
        self._is_open = False
        self._is_closing = False
        self._is_writing = False
        # Whether anything was handled in this tenure.
        self._has_begun = False
        # Why the handler of this tenure is given up, if it is.
        self._hung: str | None = None
        # Failures to read in a row, since when, and the cause that was reported last.
        self._failures = 0
        self._failing_since = 0.0
        self._cause = ""
        self._opened_at = NEVER

        # The checkpoint was deleted: it is written again also if nothing was handled since.
        self._is_missing = False

    # --- facts, taken in whatever a script waits for

    def take_in(self, event: Event) -> None:
        match event:
            case Handled(position=position):
                if position.sequence >= self.progress.position.sequence:
                    self._note(event)
            case ReaderClosed() | ReaderFailed() | ReaderRefused() | ReaderGaveUp():
                self._is_open = self._is_closing = False
                self._opened_at = NEVER
                if isinstance(event, ReaderGaveUp):
                    self._hung = event.message
        has_read = isinstance(event, Handled) or event.now >= self._opened_at + _READS_S
        if self._failures and has_read:
            self._read_again(event.now)

    def _note(self, event: Handled) -> None:
        was_dirty = self.is_dirty
        position = self._family.marked(event.position)
        self.progress = replace(
            self.progress, position=position, enqueued_at=event.enqueued_at, state=event.state
        )
        if not self.is_dirty:
            return
        if event.is_due or not self._has_begun:
            self.checkpoint_at = event.now
        elif not was_dirty:
            self.checkpoint_at = max(event.now, self._next_at)
        self._has_begun = True

    @property
    def wake_at(self) -> float:
        """When the next checkpoint is due; one that is under way is waited for."""
        return self.checkpoint_at if self.is_owning and not self._is_writing else NEVER

    @property
    def _next_at(self) -> float:
        return self._fence.written_at + self._settings.checkpoint_every_s

    @property
    def takes_rewinds(self) -> bool:
        """Whether it reads, or would if the source let it, and nothing is under way."""
        return self.is_owning or self._is_pausing

    def leave(self) -> None:
        """Take no more events, also while a checkpoint is written: storage may hang."""
        self.is_leaving = True
        if self._is_writing:
            self.ask_to_close(drain=True)

    @property
    def is_dirty(self) -> bool:
        committed = self._fence.committed
        return committed is not None and (self._is_missing or self.progress != committed)

    def restore(self, now: float) -> None:
        """Writes the checkpoint again, which a hand has deleted."""
        self._is_missing, self.checkpoint_at = True, now

    def may_end(self, now: float, into: tuple[PartitionId, ...]) -> bool:
        """Whether the partition can go on as these; where it cannot, its checkpoint says so."""
        if self._family.may_end(into, self.progress.state):
            self._family.into = into
            return True
        kept = self._family.marked(self.progress.position)
        if kept != self.progress.position:
            self.progress = replace(self.progress, position=kept)
            self.checkpoint_at = now
        return False

    # --- scripts

    def take_over(self) -> Script[None]:
        """Touches the checkpoint and settles where to read on."""
        ahead = self.progress
        self._is_missing = False
        found = yield from self._fence.touch(self._begin, ahead)
        self.progress = ahead if self._goes_on_from(found, ahead) else found
        self._family.begin(self.progress.position)
        # What memory has ahead of it is due as if it had been handled now: no later event sets it.
        self.checkpoint_at = self._next_at if self.is_dirty else NEVER

    def _goes_on_from(self, found: Progress, ahead: Progress) -> bool:
        """Whether memory from before a lapse goes on from what was found: nobody wrote between."""
        was_ours = self._fence.was_last_write
        return was_ours and ahead.position.sequence > found.position.sequence

    def _begin(self) -> Script[Progress]:
        if self._fence.remedy is not None:
            begun = rewound_to(self._fence.remedy, self._begun_at)
        elif self._family.has_parents:
            left = yield from self._family.inherited()
            begun = Progress(left.position, left.enqueued_at, left.state)
        else:
            begun = Progress((yield from self._resolve_start()), begun_at=self._begun_at)
        if not (yield from self._family.may_begin()):
            lease_id, etag = self._fence.lease_id, self._fence.etag
            self._steps.put(Perform(None, Release(self._partition, lease_id, etag)))
            raise FencedError("its range is none any more: others read its keys")
        return begun

    def _resolve_start(self, rewind: Rewind | None = None) -> Script[Position]:
        while True:
            self._steps.put(ResolveStart(self._partition, self._serial, rewind))
            while True:
                event = yield
                if isinstance(event, StartResolved):
                    return event.position
                if self.is_leaving:
                    raise LeftError
                if isinstance(event, ReaderFailed):
                    break
            yield from self._retry("start-unknown", event)
            if self.is_leaving:
                raise LeftError

    def read(self) -> Script[None]:
        """Reads until the partition is to be given away, or the epoch has to be raised."""
        while not self.is_leaving:
            if self.rewind is not None:
                yield from self._carry_out(self.rewind)
            if self._family.has_ended(self.progress.position):
                self.is_leaving = True
                return
            end = yield from self._open()
            if self._is_open:
                self.is_owning = True
                end = yield from self._own()
                self.is_owning = False
            if self._hung is not None:
                # What is handled is not handled again by whoever comes next.
                yield from self._checkpoint()
                raise HaltedError(self._hung)
            if isinstance(end, ReaderRefused):
                # If the lease is ours all the same, our epoch shall be the higher one.
                yield from self._fence.prove_lease()
                self._fence.see(end.level or self._fence.epoch)
                return
            if isinstance(end, ReaderFailed):
                self._is_pausing = True
                yield from self._retry("reader-failed", end)
                self._is_pausing = False

    def _retry(self, kind: str, failed: ReaderFailed) -> Script[None]:
        """Reports a failure unless it is the last one again, and waits before the next try."""
        if not self._failures:
            self._failing_since = failed.now
        self._failures += 1
        cause = f"{kind}: {cause_of(failed.message)}"
        if cause != self._cause:
            self._cause = cause
            self._steps.put(Report(kind, self._partition, failed.message))
        name = f"{self._fence.owner.name}/{self._partition}"
        pause_s = retry_pause_s(name, self._failures, is_fatal=failed.is_fatal)
        rewind = self.rewind
        yield from self._steps.pause(
            failed.now, pause_s, lambda: self.is_leaving or self.rewind is not rewind
        )

    def _read_again(self, now: float) -> None:
        lasted = f"{self._failures} failures in {now - self._failing_since:.0f} s"
        self._steps.put(Report("reads-again", self._partition, f"is read again after {lasted}"))
        self._failures, self._cause = 0, ""

    def _open(self) -> Script[End]:
        """Until it reads, has failed, or was closed because the partition is to be given away."""
        while self._is_open:
            yield
        self._is_open = True
        progress = self.progress
        self._steps.put(
            OpenReader(
                self._partition, self._serial, progress.position, self._fence.epoch, progress.state
            )
        )
        while True:
            if self.is_leaving:
                # The source may be away: whoever is to leave does not wait for it.
                self.ask_to_close(drain=True)
            event = yield
            if isinstance(event, ReaderOpened):
                self._opened_at = event.now
                return None
            if isinstance(event, ReaderClosed):
                return None
            if isinstance(event, ReaderRefused | ReaderFailed | ReaderGaveUp):
                return event

    def _own(self) -> Script[End]:
        """Until the reader ends, a rewind was carried out, or the partition is to be given."""
        event: Event | None = None
        while not self.is_leaving:
            if isinstance(event, ReaderRefused | ReaderFailed | ReaderGaveUp):
                return event
            if isinstance(event, ReaderClosed):
                # It was to leave while it opened, and then to stay.
                return None
            if self.rewind is not None:
                yield from self._carry_out(self.rewind)
                return None
            if event is not None and event.now >= self.checkpoint_at and self.is_dirty:
                self.checkpoint_at = NEVER
                yield from self._checkpoint()
                if self.is_dirty:
                    self.checkpoint_at = min(self._next_at, self.checkpoint_at)
                if not self._is_open:
                    return None
                # A stop or a rewind that came during the write had no effect yet.
                event = None
                continue
            event = yield
        return None

    def _carry_out(self, rewind: Rewind) -> Script[None]:
        # What is handled meanwhile is not worth a checkpoint.
        self.is_owning = False
        yield from self.close(drain=False)
        if not rewind.is_resolved:
            rewind = replace(rewind, position=(yield from self._resolve_start(rewind)), at=None)
        self.progress = rewound_to(rewind, self.progress.begun_at)
        self._family.begin(self.progress.position)
        yield from self._fence.write(self.progress)
        self.rewind, self.checkpoint_at = None, NEVER
        self._steps.put(Report("rewound", self._partition, f"rewound to {rewind.place}"))

    def drain(self) -> Script[None]:
        """Lets the handler finish what it has, then writes the last checkpoint."""
        yield from self.close(drain=True)
        position = self._family.last(self.progress.position, self.progress.state)
        self.progress = replace(self.progress, position=position)
        yield from self._checkpoint()

    def _checkpoint(self) -> Script[None]:
        """Writes what is handled, where that is not written yet."""
        if self.is_dirty:
            progress = self.progress
            self._is_writing, self._is_missing = True, False
            try:
                yield from self._fence.write(progress)
            finally:
                self._is_writing = False
            self._steps.put(Checkpointed(self._partition, self._serial, progress.position))

    def close(self, *, drain: bool) -> Script[None]:
        self.ask_to_close(drain=drain)
        while self._is_open:
            yield

    def ask_to_close(self, *, drain: bool) -> None:
        if self._is_open and not (self._is_closing and drain):
            self._is_closing = True
            self._steps.put(CloseReader(self._partition, self._serial, drain))
