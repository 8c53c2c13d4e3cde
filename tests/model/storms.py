"""What happens at storage, and to what was sent to it: it is done, lost, or late."""

from __future__ import annotations

from functools import partial

from model.explorer import Broken
from model.plays import add_event, unknown
from model.scene import NAMES, Scene, Sent, State
from model.stage import Stage, Steps
from model.storage import PARTITION, deleted
from tidegate.ledger.memory_view import Owned
from tidegate.ports import (
    Acquire,
    Break,
    Change,
    ReadCheckpoint,
    ReadOwnership,
    Release,
    Renew,
    WriteCheckpoint,
    WriteOwnership,
)

# What is answered differently when the lease has ended. Nothing else shows that it has, so it ends
# just before one of these, or when somebody claims the partition.
_ASKS_FOR_LEASE = (Acquire, Change, WriteOwnership)


def steps_of_storage(stage: Stage, state: State) -> Steps:
    owned = stage.storage.at(state.blobs).ownership
    if stage.bounds.is_latest and state.logged < stage.bounds.events:
        yield stage.step(state, (f"event {state.logged} comes",), add_event)
    if owned is None:
        return
    assert isinstance(owned.content, Owned)
    if owned.is_leased and owned.content.owner is not None and state.budget.breaks:
        told = (f"somebody decides to break the lease of epoch {owned.content.epoch}",)
        yield stage.step(state, told, partial(_decide_to_break, stage), is_mishap=True)
    if state.budget.deletions:
        told = ("a hand deletes the ownership",)
        yield stage.step(state, told, partial(_delete, stage), is_mishap=True)


def _decide_to_break(stage: Stage, scene: Scene) -> None:
    scene.spend(breaks=1)
    owned = stage.storage.at(scene.blobs).ownership
    assert owned is not None
    assert isinstance(owned.content, Owned)
    operation = Break(PARTITION, owned.etag)
    scene.send(0, operation, is_awaited=False, meant_for=owned.content.epoch)


def _delete(stage: Stage, scene: Scene) -> None:
    scene.spend(deletions=1)
    scene.blobs = stage.storage.number(deleted(stage.storage.at(scene.blobs)))


def steps_of_sent(stage: Stage, state: State, number: int) -> Steps:
    sent = stage.tables.sent.values[number]
    what = _words(sent)
    arrive = partial(_answer if sent.is_awaited else _arrive, stage, sent)
    owned = stage.storage.at(state.blobs).ownership
    if owned is not None and owned.is_leased and isinstance(sent.operation, _ASKS_FOR_LEASE):

        def too_late(scene: Scene) -> None:
            stage.end_lease(scene)
            arrive(scene)

        yield stage.step(state, ("the lease ends; then", *what), too_late)
    if not sent.is_awaited:
        yield stage.step(state, (*what, "(late)"), arrive)
        return
    yield stage.step(state, what, arrive)
    if state.budget.lost:
        told = (*what, "and the reply is lost")
        yield stage.step(state, told, partial(_lose, stage, sent), is_mishap=True)
    if state.budget.late:
        told = (*what, "(it is delayed on its way, and not waited for)")
        yield stage.step(state, told, partial(_delay, sent), is_mishap=True)


def _answer(stage: Stage, sent: Sent, scene: Scene) -> None:
    scene.take(sent)
    scene.tell(sent.who, stage.perform(scene, sent.operation, sent.who))


def _lose(stage: Stage, sent: Sent, scene: Scene) -> None:
    scene.spend(lost=1)
    scene.take(sent)
    stage.perform(scene, sent.operation, sent.who)
    scene.tell(sent.who, unknown(sent))


def _delay(sent: Sent, scene: Scene) -> None:
    scene.spend(late=1)
    scene.abandon(sent.who)
    scene.tell(sent.who, unknown(sent))


def _arrive(stage: Stage, sent: Sent, scene: Scene) -> None:
    scene.take(sent)
    owned = stage.storage.at(scene.blobs).ownership
    answer = stage.perform(scene, sent.operation, sent.who)
    if isinstance(sent.operation, Break) and answer.refusal is None and owned is not None:
        assert isinstance(owned.content, Owned)
        if owned.is_leased and owned.content.epoch != sent.meant_for:
            raise Broken(
                f"P7: what was to break the lease of epoch {sent.meant_for} ends that of epoch "
                f"{owned.content.epoch}"
            )


def _words(sent: Sent) -> tuple[str, ...]:
    """What was sent, for the story."""
    operation = sent.operation
    match operation:
        case Acquire(lease_id=lease_id):
            what = f"acquires the lease as {lease_id}"
        case Renew(lease_id=lease_id):
            what = f"proves its lease {lease_id}"
        case Change(lease_id=old, new_lease_id=new):
            what = f"changes its lease {old} to {new}"
        case Release(lease_id=lease_id):
            what = f"lets its lease {lease_id} go"
        case Break():
            return (f"the lease is broken, as was decided of epoch {sent.meant_for}",)
        case WriteOwnership(epoch=epoch):
            what = f"writes epoch {epoch} into the ownership"
        case ReadOwnership():
            what = "reads the ownership"
        case ReadCheckpoint():
            what = "reads the checkpoint"
        case WriteCheckpoint(position=position, epoch=epoch, etag=etag):
            how = "creates" if etag is None else "writes"
            what = f"{how} the checkpoint at {position.sequence} with epoch {epoch}"
        case _:
            what = type(operation).__name__
    return (NAMES[sent.who], f"(tenure {sent.serial[1]})", what)
