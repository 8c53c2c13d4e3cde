"""What keeps a tenure alone: its epoch under the lease, and its chain of checkpoint writes. Pure.

Rules (numbers are those of docs/ledger.md):
- 1: an epoch is 1 + the highest seen, and is written under the lease and the blob's ETag.
- 3: before anything is read, the checkpoint is rewritten with that epoch ("touched"), or made where
  there is none. If the stored epoch is not lower than ours and the write is not ours, we raise.
- 4: every checkpoint write carries the ETag of the one before and a nonce of its own. After a
  refused or lost write only the nonce proves that it was ours; a higher epoch ends the tenure;
  for anything else the lease is proved and memory is written again, loudly. Not so the last one of
  a partition that ended: others begin above the epoch that it has, so it is never written again.
- 5: position and state are one write. So no write of ours ever leaves a state behind its position:
  where one is found, before reading or after a write, somebody else has been there, and we halt.
  Where the checkpoint of the last ETag has no state and there is none now, the body is left out.
  A tenure that begins with a rewind to carry out does that instead.
- Storage that is busy, or does not answer, is asked again after a pause, as long as we have the
  lease: that is nobody's doing, and no reason to give up the tenure.
- Epochs only go up while a ledger exists. An ownership that is gone or has a lower epoch than ours,
  and a checkpoint that is gone, has a lower epoch than one that we know or was begun later, are of
  a ledger that was emptied or restored: known contents go before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tidegate.member.heritage import Family
from tidegate.member.messages import Answered, Report
from tidegate.member.steps import (
    LOST,
    RETRY_S,
    FencedError,
    GoneError,
    HaltedError,
    Script,
    Steps,
)
from tidegate.model import BEGINNING, Checkpoint, Owner, Ownership, PartitionId, Position, Rewind
from tidegate.ports import (
    ReadCheckpoint,
    ReadOwnership,
    Refusal,
    Renew,
    WriteCheckpoint,
    WriteOwnership,
)

_MAX_RAISES = 16
# A reading carries no condition of ours: one that is refused all the same has met somebody else's
# doing, such as where a state comes in parts and is written meanwhile. It is done anew, for 5 s.
_MET_A_WRITE = (Refusal.CHANGED, Refusal.HELD)
_READ_AGAIN = 10
_NONCES_KEPT = 4


@dataclass(frozen=True, slots=True)
class Progress:
    """What a checkpoint says: how far, and what goes with it."""

    position: Position = BEGINNING
    enqueued_at: float | None = None
    state: bytes | None = None
    rewound_by: str = ""
    # When the partition was begun at its start position: server time, if it is known.
    begun_at: float | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """A checkpoint as this member knows it: from one of its tenures, or from a listing."""

    epoch: int
    progress: Progress
    is_own: bool = True
    # A listing shows a state but does not say what it is.
    has_state: bool = False


class Fence:
    """Epoch, ETags and nonces of one tenure."""

    def __init__(
        self,
        steps: Steps,
        partition: PartitionId,
        owner: Owner,
        dice: Callable[[], str],
        family: Family,
    ) -> None:
        self._steps = steps
        self._partition = partition
        self.owner = owner
        self._dice = dice
        self._family = family
        self.lease_id = ""
        self.etag = ""
        self.epoch = 0
        self.committed: Progress | None = None
        # What an earlier tenure, or a listing, knows of the checkpoint.
        self.remembered: Remembered | None = None
        # The epochs of the last write of each blob.
        self._owned_epoch = self._committed_epoch = 0
        # When the last checkpoint was sent.
        self.written_at = float("-inf")
        # While the epoch is being written, a refused renewal says nothing.
        self.is_raising = False
        self.proved_at: float | None = None
        # Whether the checkpoint that was touched last was our own: nobody has written between.
        self.was_last_write = False
        # What a tenure begins with in place of a state that is behind, or of what others left.
        self.remedy: Rewind | None = None
        self._floor = family.epoch
        self._nonces: list[str] = []
        # Nonces of the writes since the last one that is known to have succeeded.
        self._sent: list[str] = []
        # What stands: None where there is no checkpoint; and whether a state is in its body.
        self._checkpoint_etag: str | None = None
        self._has_body = False

    def see(self, *epochs: int) -> None:
        """Epochs of others: ours will be above them."""
        self._floor = max(self._floor, *epochs)

    # --- epoch

    def raise_epoch(self) -> Script[None]:
        """Writes an epoch above everything seen."""
        self.is_raising = True
        raises = 0
        while raises < _MAX_RAISES:
            self.epoch = 1 + max(self._floor, self.epoch)
            nonce = self._dice()
            answer = yield from self._steps.send(
                WriteOwnership(
                    self._partition, self.lease_id, self.etag, self.owner, self.epoch, nonce
                )
            )
            etag = yield from self._settled_etag(answer, nonce)
            if etag is not None:
                self.etag, self._owned_epoch = etag, self.epoch
                self.is_raising = False
                return
            if answer.refusal in LOST:
                yield from self._steps.pause_after(answer)
            else:
                raises += 1
        raise FencedError("the ownership blob changed at every try to write it")

    def _settled_etag(self, answer: Answered, nonce: str) -> Script[str | None]:
        """The new ETag where our write stands; None where it is to be tried again."""
        if answer.refusal is None:
            return str(answer.reply)
        if answer.refusal is Refusal.DENIED:
            raise HaltedError(answer.message)
        looked = yield from self._steps.insist(ReadOwnership(self._partition))
        row = looked.reply
        if looked.refusal is not None:
            raise FencedError(f"the ownership blob cannot be read: {looked.refusal}")
        if not isinstance(row, Ownership) or self.is_anew(row):
            raise GoneError
        if row.nonce == nonce:
            return row.etag
        if answer.refusal in (Refusal.CHANGED, Refusal.HELD) and row.etag == self.etag:
            raise FencedError("the lease is gone")
        self.etag = row.etag
        self.see(row.epoch)
        return None

    def is_anew(self, row: Ownership) -> bool:
        """Whether it was created again after ours was deleted."""
        if row.is_foreign or self._owned_epoch == 0:
            return False
        is_of_another = row.epoch == self._owned_epoch and row.owner != self.owner
        return row.epoch < self._owned_epoch or is_of_another

    def look(self, refusal: Refusal) -> Script[None]:
        """Raises GoneError where the ownership was deleted, FencedError if it was not."""
        if (yield from self.is_gone()):
            raise GoneError
        raise FencedError(f"the lease was lost: {refusal}")

    def is_gone(self) -> Script[bool]:
        """Whether the ownership was deleted, or created again since."""
        looked = yield from self._steps.insist(ReadOwnership(self._partition))
        row = looked.reply
        return looked.refusal is None and (not isinstance(row, Ownership) or self.is_anew(row))

    # --- checkpoint

    def touch(self, start: Callable[[], Script[Progress]], ahead: Progress) -> Script[Progress]:
        """Takes the checkpoint over with our epoch; gives where to read on, and the state there.

        `start` resolves where a partition begins that has no checkpoint, or one of an earlier life;
        `ahead` is how far this tenure has come.
        """
        while True:
            found = yield from self._read()
            if found is not None and self._is_above(found):
                self.see(found.epoch)
                yield from self.raise_epoch()
                continue
            known = self._known_beyond(found, ahead)
            if known is not None:
                progress = known
            elif found is None or self._family.is_earlier(found):
                progress = self.committed or (yield from start())
                if found is not None and not progress.rewound_by:
                    # A rewind of an earlier life is not carried out again in this one.
                    progress = replace(progress, rewound_by=found.rewound_by)
            elif self._family.has_ended(found.position):
                raise FencedError("it has ended: others go on from there")
            else:
                progress = self._taken_from(found)
            self._follow(found)
            self.was_last_write = known is not None or found is None or found.nonce in self._nonces
            if (yield from self._write(progress, is_touch=True)):
                if known is not None:
                    self._steps.put(_restored(self._partition, found))
                self.remedy = None
                return progress

    def _known_beyond(self, found: Checkpoint | None, ahead: Progress) -> Progress | None:
        """Known contents of a checkpoint that was deleted, or put back; None if that is not so."""
        known = self.remembered
        if self.committed is not None:
            is_ahead = ahead.position.sequence >= self.committed.position.sequence
            known = Remembered(self._committed_epoch, ahead if is_ahead else self.committed)
        if known is None or known.epoch <= self._family.epoch:
            return None
        if found is not None and not found.is_before(known.epoch, known.progress.begun_at):
            return None
        if self._family.has_ended(known.progress.position):
            return None
        if known.has_state and known.progress.state is None:
            if self.remedy is None:
                raise HaltedError(_state_lost(known.progress))
            return rewound_to(self.remedy, known.progress.begun_at)
        return known.progress

    def _taken_from(self, found: Checkpoint) -> Progress:
        if found.is_state_behind and self.remedy is not None:
            return rewound_to(self.remedy, found.begun_at)
        return _progress_of(found)

    def _read(self) -> Script[Checkpoint | None]:
        """What stands there now; HaltedError where it is not to be gone on from."""
        answer = yield from self._steps.insist(ReadCheckpoint(self._partition))
        for _ in range(_READ_AGAIN):
            if answer.refusal not in _MET_A_WRITE:
                break
            yield from self._steps.pause(answer.now, RETRY_S)
            answer = yield from self._steps.insist(ReadCheckpoint(self._partition))
        if answer.refusal is not None:
            raise HaltedError(answer.message)
        found = answer.reply if isinstance(answer.reply, Checkpoint) else None
        if found is not None and found.is_state_behind:
            if self.remedy is None or self.remedy.id == found.rewound_by:
                raise HaltedError(_behind(found))
        return found

    def _is_above(self, found: Checkpoint) -> bool:
        is_mine = found.nonce in self._nonces
        return found.epoch > self.epoch or (found.epoch == self.epoch and not is_mine)

    def write(self, progress: Progress) -> Script[None]:
        """Checkpoints. Returns once it stands; raises FencedError where it never will."""
        while not (yield from self._write(progress, is_touch=False)):
            pass

    def _write(self, progress: Progress, *, is_touch: bool) -> Script[bool]:
        """One write; False where it is to be tried again from what stands there now."""
        nonce = self._new_nonce()
        answer = yield from self._steps.send(self._next(progress, nonce))
        self.written_at = answer.sent_at
        if answer.refusal is None:
            return self._stands(progress, str(answer.reply))
        if answer.refusal in (Refusal.DENIED, Refusal.INVALID):
            raise HaltedError(answer.message)
        found = yield from self._read()
        if found is not None and (found.nonce == nonce or self._is_our_end(found)):
            return self._stands(progress, found.etag)
        if found is not None and found.epoch > self.epoch:
            raise FencedError(f"epoch {found.epoch} has taken over")
        yield from self.prove_lease()
        is_same = (found.etag if found else None) == self._checkpoint_etag
        # An earlier write without an answer may have arrived late.
        is_ours = found is not None and found.nonce in self._sent
        if not (is_touch or is_same or is_ours):
            self._steps.put(_restored(self._partition, found))
        self._follow(found)
        if answer.refusal in LOST:
            yield from self._steps.pause_after(answer)
        return False

    def _is_our_end(self, found: Checkpoint) -> bool:
        """Whether an earlier write of ours ended the partition: what others began with stays."""
        return found.nonce in self._nonces and self._family.has_ended(found.position)

    def _next(self, progress: Progress, nonce: str) -> WriteCheckpoint:
        is_new, has_state = self._checkpoint_etag is None, progress.state is not None
        return WriteCheckpoint(
            self._partition,
            self._checkpoint_etag,
            progress.position,
            self.epoch,
            nonce,
            progress.enqueued_at,
            progress.rewound_by,
            progress.state,
            begun_at=progress.begun_at,
            keeps_body=not (is_new or has_state or self._has_body),
        )

    def _follow(self, found: Checkpoint | None) -> None:
        """The next write comes after what stands there."""
        self._checkpoint_etag = None if found is None else found.etag
        self._has_body = found is not None and found.state is not None

    def _new_nonce(self) -> str:
        nonce = self._dice()
        self._nonces = [*self._nonces[1 - _NONCES_KEPT :], nonce]
        self._sent = [*self._sent[1 - _NONCES_KEPT :], nonce]
        return nonce

    def _stands(self, progress: Progress, etag: str) -> bool:
        self._checkpoint_etag = etag
        self._has_body = progress.state is not None
        self._sent = []
        self.committed, self._committed_epoch = progress, self.epoch
        return True

    def memory(self, progress: Progress) -> Remembered | None:
        """What is known when the tenure ends, where `progress` is how far it has come."""
        if self.committed is None:
            return self.remembered
        return Remembered(self._committed_epoch, progress)

    def prove_lease(self) -> Script[None]:
        """Makes sure that the lease is still ours. Raises FencedError where it is not."""
        answer = yield from self._steps.insist(Renew(self._partition, self.lease_id, self.etag))
        if answer.refusal is not None:
            yield from self.look(answer.refusal)
        self.proved_at = answer.sent_at


def rewound_to(rewind: Rewind, begun_at: float | None) -> Progress:
    """Its position and its id, with no state: that belonged to another position."""
    return Progress(rewind.position, None, None, rewind.id, begun_at)


def _progress_of(found: Checkpoint) -> Progress:
    return Progress(
        found.position, found.enqueued_at, found.state, found.rewound_by, found.begun_at
    )


def _behind(found: Checkpoint) -> str:
    was = found.state_position
    return (
        f"StateBehind: the checkpoint stands at {found.position.sequence}, its state at "
        f"{was.sequence if was else 'no position'}: an official processor or a hand moved the "
        "position alone. Rewind the partition to a position whose state was saved, or clear the "
        "state to go on without it."
    )


def _state_lost(known: Progress) -> str:
    return (
        "StateLost: the checkpoint was deleted, and its state with it. A member that lives knows "
        f"the position {known.position.sequence} but not the state. Rewind the partition to where "
        "its state can start over."
    )


def _restored(partition: PartitionId, found: Checkpoint | None) -> Report:
    what = "was deleted" if found is None else "was written by somebody else"
    return Report(
        "checkpoint-restored",
        partition,
        f"the checkpoint {what}: it is written again from memory. To move a checkpoint, use a "
        "rewind.",
    )
