"""How a partition begins where others ended, and how it ends itself. Pure.

Rules (see ports/lineage.py):
- Only the owner of a partition ends it: after a drain, by a last checkpoint that says so, under the
  same lease and ETag as any other.
- What begins looks once more, under its lease and epoch, whether it is still to begin there, and
  whether anybody has begun with its keys since it was claimed, or holds what would: it may have
  slept meanwhile, or storage may have stalled. Of two who hold and look, one sees the other.
- What begins reads the last checkpoints of its parents itself, whole. Nobody writes them any more.
- A partition that may not end says so in its checkpoints, so that no other ends for a part that
  does not come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.member.messages import Report
from tidegate.member.steps import HaltedError, Script, Steps
from tidegate.model import Checkpoint, Listing, PartitionId, Position
from tidegate.ports import List, ReadCheckpoint
from tidegate.ports.lineage import FLAT, Heritage, HeritageError, Lineage


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a partition comes from: what ended for it, and the highest epoch of those ends."""

    parents: tuple[PartitionId, ...] = ()
    epoch: int = 0


NO_ORIGIN = Origin()


class Family:
    """What comes before one tenure's partition, and what comes after it."""

    def __init__(
        self,
        steps: Steps,
        partition: PartitionId,
        lineage: Lineage = FLAT,
        origin: Origin = NO_ORIGIN,
    ) -> None:
        self._steps = steps
        self._partition = partition
        self._lineage = lineage
        self._origin = origin
        self._is_kept = False
        # What it is to go on as, once it is drained.
        self.into: tuple[PartitionId, ...] = ()

    # --- the beginning

    @property
    def epoch(self) -> int:
        """Ours is to be above this."""
        return self._origin.epoch

    @property
    def has_parents(self) -> bool:
        return bool(self._origin.parents)

    def is_earlier(self, found: Checkpoint) -> bool:
        """Whether a checkpoint of ours is from before its parents ended: it counts no more."""
        return self.has_parents and found.epoch <= self._origin.epoch

    def has_ended(self, position: Position) -> bool:
        return self._lineage.has_ended(position)

    def inherited(self) -> Script[Heritage]:
        """What the parents left. Raises HaltedError."""
        found: list[Checkpoint] = []
        for parent in self._origin.parents:
            answer = yield from self._steps.insist(ReadCheckpoint(parent))
            if not isinstance(answer.reply, Checkpoint):
                said = answer.message or "it is not there"
                raise HaltedError(
                    f"partition {self._partition} is to begin where {parent} ended, whose "
                    f"checkpoint cannot be read: {said}"
                )
            if answer.reply.is_state_behind:
                raise HaltedError(
                    f"partition {self._partition} is to begin where {parent} ended, whose state "
                    "is behind its position: an official processor or a hand moved that alone. "
                    f"Rewind {self._partition} to begin elsewhere."
                )
            found.append(answer.reply)
        try:
            return self._lineage.heritage(self._partition, found)
        except HeritageError as error:
            raise HaltedError(str(error)) from None

    def may_begin(self) -> Script[bool]:
        """Whether nobody has, or is about to have, any of its keys. Raises HaltedError."""
        if self._lineage is FLAT:
            return True
        answer = yield from self._steps.insist(List())
        if not isinstance(answer.reply, Listing):
            raise HaltedError(answer.message)
        return self._lineage.may_begin(self._partition, self._origin.parents, answer.reply)

    def begin(self, position: Position) -> None:
        """Reading goes on from here."""
        self._is_kept = self._lineage.is_kept(position)

    # --- the end

    def marked(self, position: Position) -> Position:
        """A position as it is to stand in a checkpoint."""
        return self._lineage.kept(self._partition, position) if self._is_kept else position

    def may_end(self, into: Sequence[PartitionId], state: bytes | None) -> bool:
        """Whether it can go on as these; says once where it cannot."""
        refusal = self._lineage.refusal(self._partition, into, state) if state else ""
        if refusal and not self._is_kept:
            self._steps.put(Report("range-kept", self._partition, refusal))
        self._is_kept = bool(refusal)
        return not refusal

    def last(self, position: Position, state: bytes | None) -> Position:
        """The position of the last checkpoint, where it is to be the last."""
        if not self.into or not self.may_end(self.into, state):
            return self.marked(position)
        kind = "split" if len(self.into) > 1 else "merged"
        said = f"its range was {kind}: goes on as {', '.join(self.into)}"
        self._steps.put(Report(f"range-{kind}", self._partition, said))
        return self._lineage.ended(self._partition, position, self.into)
