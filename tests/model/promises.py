"""What must never happen, said of what stands in storage before and after a write.

These know nothing of how a member works. A nonce begins with the name of the tenure that wrote it.

- P1: epochs rise, in the ownership as in the checkpoint, and each belongs to one tenure; once an
  epoch has read, no lower one checkpoints.
- P2: a checkpoint passes over no event that nobody has handled.
- P3: checkpoints never go back, and what a tenure takes for stored is stored.
- P4: who gives a partition in order has handled nothing that is not in the checkpoint, and no
  reader renews a lease on what another has written.
- P5: a state goes with its own position.
"""

from __future__ import annotations

from model.explorer import Broken
from model.storage import Blobs
from tidegate.ledger.memory_view import Owned
from tidegate.model import Checkpoint, Position


def state_at(sequence: int) -> bytes:
    """The state of a handler that has come to a position: in this model, the position's number."""
    return str(sequence).encode()


def at(sequence: int) -> Position:
    return Position(str(sequence), sequence)


def tenure_of(nonce: str) -> str:
    return nonce.rpartition("-")[0]


def check_write(
    before: Blobs, after: Blobs, handled: frozenset[int], since: int, read_with: int
) -> None:
    """Raises Broken where a write that was accepted should not have been.

    `since`: the first event that the group has to handle; `read_with`: the highest epoch that has
    read.
    """
    if after.ownership != before.ownership:
        _check_ownership(_owned(before), _owned(after))
    if after.checkpoint != before.checkpoint:
        stood, stands = _checkpoint(before), _checkpoint(after)
        assert stands is not None
        if stands.epoch < read_with:
            raise Broken(f"P1: epoch {stands.epoch} checkpoints while epoch {read_with} reads")
        _check_checkpoint(stood, stands)
        _check_state(stands.position, stands.state, since)
        _check_passed(stands.position, handled, since)


def check_stored(blobs: Blobs, committed: int | None, since: int | None) -> None:
    """What holds of the position that a tenure takes for stored, once something was handled."""
    stands = _checkpoint(blobs)
    if committed is None or since is None or committed < since:
        return
    if stands is None or stands.position.sequence < committed:
        where = "nothing is" if stands is None else f"{stands.position.sequence} is"
        raise Broken(f"P3: {committed} is taken for stored, and {where}")


def check_renewed(blobs: Blobs, epoch: int) -> None:
    """What holds when a reader with this epoch has renewed its lease."""
    owned = _owned(blobs)
    if owned is None or owned.epoch != epoch:
        raise Broken(f"P4: a reader with epoch {epoch} renews the lease of {owned}")


def check_given(blobs: Blobs, handled: int | None) -> None:
    """What holds when a lease changes hands in order; `handled` is how far the giver came."""
    if handled is None:
        return
    stands = _checkpoint(blobs)
    if stands is None or stands.position.sequence < handled:
        raise Broken(f"P4: given while event {handled} is handled and not in the checkpoint")


def check_begun(
    position: Position, state: bytes | None, handled: frozenset[int], since: int
) -> None:
    """What holds when a reader begins."""
    _check_passed(position, handled, since)
    _check_state(position, state, since)


def _check_passed(position: Position, handled: frozenset[int], since: int) -> None:
    passed = set(range(since, position.sequence + 1)) - handled
    if passed:
        raise Broken(f"P2: {sorted(passed)} were handled by nobody and are passed over")


def _check_state(position: Position, state: bytes | None, since: int) -> None:
    """A state goes with its own position; before the first event there is none."""
    is_right = state == (state_at(position.sequence) if position.sequence >= since else None)
    if not is_right:
        raise Broken(f"P5: position {position.sequence} goes with the state {state!r}")


def _check_ownership(stood: Owned | None, stands: Owned | None) -> None:
    if stood is None or stands is None or stood == stands:
        return
    if stands.epoch <= stood.epoch:
        raise Broken(f"P1: epoch {stands.epoch} was written over epoch {stood.epoch}")


def _check_checkpoint(stood: Checkpoint | None, stands: Checkpoint) -> None:
    if stood is None:
        return
    if stands.epoch < stood.epoch:
        raise Broken(f"P1: epoch {stands.epoch} checkpoints after epoch {stood.epoch} has")
    if stands.epoch == stood.epoch and tenure_of(stands.nonce) != tenure_of(stood.nonce):
        raise Broken(
            f"P1: epoch {stands.epoch} is of {tenure_of(stood.nonce)} and {tenure_of(stands.nonce)}"
        )
    if stands.position.sequence < stood.position.sequence:
        raise Broken(
            f"P3: the checkpoint goes back from {stood.position.sequence} to "
            f"{stands.position.sequence}"
        )


def _owned(blobs: Blobs) -> Owned | None:
    content = blobs.ownership.content if blobs.ownership is not None else None
    assert content is None or isinstance(content, Owned)
    return content


def _checkpoint(blobs: Blobs) -> Checkpoint | None:
    content = blobs.checkpoint.content if blobs.checkpoint is not None else None
    assert content is None or isinstance(content, Checkpoint)
    return content
