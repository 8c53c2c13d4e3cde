"""Mutants of one tenure: its epoch, its touch, its checkpoints, its end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tidegate.member import fence
from tidegate.member.fence import Fence, Progress
from tidegate.member.messages import Handled
from tidegate.member.reading import Reading
from tidegate.member.tenure import Tenure
from tidegate.model import Checkpoint, Ownership, Position
from tidegate.ports import ReadCheckpoint, ReadOwnership, WriteCheckpoint, WriteOwnership

Patches = list[tuple[object, str, Any]]


def touch_blindly() -> Patches:
    return [(Fence, "_is_above", lambda *_: False)]


def touch_nothing() -> Patches:
    """Where there is no checkpoint the tenure begins to read without making one."""
    real = Fence._write

    def write(self: Fence, progress: Progress, *, is_touch: bool) -> Any:
        if is_touch and self._checkpoint_etag is None:
            self.committed = progress
            return True
        return (yield from real(self, progress, is_touch=is_touch))

    return [(Fence, "_write", write)]


def epoch_unfenced() -> Patches:
    """The epoch is one more than the listing said, and is written by the way, unconditionally.

    The touch would still tell equal epochs apart, so it lets them pass as well.
    """

    def raise_epoch(self: Fence) -> Any:
        self.epoch = 1 + max(self._floor, self.epoch)
        nonce = self._dice()
        looked = yield from self._steps.insist(ReadOwnership(self._partition))
        if isinstance(looked.reply, Ownership):
            self.etag = looked.reply.etag
        write = WriteOwnership(
            self._partition, self.lease_id, self.etag, self.owner, self.epoch, nonce
        )
        answer = yield from self._steps.send(write)
        if answer.refusal is None:
            self.etag = str(answer.reply)

    def is_above(self: Fence, found: Checkpoint) -> bool:
        return found.epoch > self.epoch

    return [(Fence, "raise_epoch", raise_epoch), (Fence, "_is_above", is_above)]


def adopt_as_it_was() -> Patches:
    """A restart in place goes on with the epoch that it had, from the checkpoint that it reads."""
    real_adopt, real_raise, real_touch = Tenure.adopt, Fence.raise_epoch, Fence.touch

    def adopt(self: Tenure, row: Ownership, old_lease_id: str) -> Any:
        self._fence.__dict__["adopted"] = row.epoch
        return real_adopt(self, row, old_lease_id)

    def raise_epoch(self: Fence) -> Any:
        epoch = self.__dict__.get("adopted")
        if epoch is None:
            yield from real_raise(self)
        else:
            self.epoch = epoch

    def touch(self: Fence, start: Any, ahead: Progress) -> Any:
        if self.__dict__.pop("adopted", None) is not None:
            answer = yield from self._steps.insist(ReadCheckpoint(self._partition))
            if isinstance(answer.reply, Checkpoint):
                found = answer.reply
                self._checkpoint_etag = found.etag
                self.committed = Progress(
                    found.position, found.enqueued_at, found.state, found.rewound_by
                )
                return self.committed
        return (yield from real_touch(self, start, ahead))

    return [(Tenure, "adopt", adopt), (Fence, "raise_epoch", raise_epoch), (Fence, "touch", touch)]


def epoch_proves() -> Patches:
    """After a refused write, a checkpoint with our epoch is taken for our own write."""
    real = Fence._write

    def write(self: Fence, progress: Progress, *, is_touch: bool) -> Any:
        nonce = self._new_nonce()
        operation = WriteCheckpoint(
            self._partition, self._checkpoint_etag, progress.position, self.epoch, nonce,
            progress.enqueued_at, progress.rewound_by, progress.state,
        )  # fmt: skip
        answer = yield from self._steps.send(operation)
        if answer.refusal is None:
            return self._stands(progress, str(answer.reply))
        looked = yield from self._steps.insist(ReadCheckpoint(self._partition))
        found = looked.reply
        if isinstance(found, Checkpoint) and found.epoch == self.epoch:
            return self._stands(progress, found.etag)
        return (yield from real(self, progress, is_touch=is_touch))

    return [(Fence, "_write", write)]


def trusts_for_ever() -> Patches:
    def extend(self: Tenure, sent_at: float) -> None:
        self._proved_at = max(sent_at, self._proved_at)
        self.valid_until = sent_at + 1e9

    return [(Tenure, "_extend", extend)]


def forgets_state() -> Patches:
    real = Fence.touch

    def touch(self: Fence, start: Any, ahead: Progress) -> Any:
        found = yield from real(self, start, ahead)
        return replace(found, state=None)

    return [(Fence, "touch", touch)]


def rewind_keeps_state() -> Patches:
    def carry_out(self: Reading, rewind: Any) -> Any:
        self.is_owning = False
        yield from self.close(drain=False)
        self.progress = Progress(rewind.position, None, self.progress.state, rewind.id)
        yield from self._fence.write(self.progress)
        self.rewind = None

    return [(Reading, "_carry_out", carry_out)]


def goes_on_behind() -> Patches:
    """A state that belongs to another position than the one that stands there is taken over."""
    return [(Checkpoint, "is_state_behind", False)]


def gives_undrained() -> Patches:
    def drain(self: Reading) -> Any:
        yield from ()

    return [(Reading, "drain", drain)]


def rewinds_again() -> Patches:
    def rewind(self: Tenure, now: float, rewind: Any) -> Any:
        if self._reading.rewind is not None or not self.is_settled:
            return []
        self._reading.rewind = rewind
        return self.handle(Handled(now, self.partition, self.serial, Position("", -2)))

    return [(Tenure, "rewind", rewind)]


def checkpoints_ahead() -> Patches:
    """The position is that of the next event, which nobody has handled."""
    real = Fence.write

    def write(self: Fence, progress: Progress) -> Any:
        ahead = progress.position.sequence + 1
        yield from real(self, replace(progress, position=Position(str(ahead * 8), ahead)))
        self.committed = progress

    return [(Fence, "write", write)]


def reads_again() -> Patches:
    """A reader that failed is opened where the checkpoint is, not where the handler was."""
    real = Reading._open

    def open_(self: Reading) -> Any:
        if self._fence.committed is not None:
            self.progress = self._fence.committed
        return (yield from real(self))

    return [(Reading, "_open", open_)]


def begins_anew() -> Patches:
    """Take-over begins where a partition without a checkpoint does."""
    return [(fence, "_progress_of", lambda _: Progress())]


def never_due() -> Patches:
    """What was handled before the epoch was raised is checkpointed when a drain comes, or never."""
    real = Reading.take_over

    def take_over(self: Reading) -> Any:
        yield from real(self)
        self.checkpoint_at = float("inf")

    return [(Reading, "take_over", take_over)]
