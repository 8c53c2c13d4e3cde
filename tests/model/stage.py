"""The bounds of the model, and the stage that its steps are played on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from model.explorer import Broken, Step
from model.promises import check_given, check_write
from model.scene import BEYOND, NAMES, Budget, Life, Scene, State, Tables
from model.storage import NOBODYS, PARTITION, ended
from tidegate.member import messages as m
from tidegate.ports import (
    Change,
    CreateOwnership,
    Operation,
    ReadCheckpoint,
    ReadOwnership,
    WriteCheckpoint,
    WriteOwnership,
)

Play = Callable[[Scene], None]
Steps = Iterator[Step[State]]


@dataclass(frozen=True)
class Bounds:
    """How far the model goes, and what may go wrong in it."""

    budget: Budget = field(default_factory=Budget)
    events: int = 1
    # The highest epoch, and the tenures of each member.
    epochs: int = 2
    tenures: int = 2
    # The group starts at the latest event: events come while it is there, and the first reader says
    # from which on they have to be handled.
    is_latest: bool = False
    # What was sent with an ETag that has passed can do nothing any more, and is forgotten. Off
    # where a weaker rule leaves the ETag out.
    is_conditional: bool = True


class Stage:
    """See the module."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.tables = Tables(bounds.is_latest)
        self.storage = self.tables.storage

    def first(self) -> State:
        """Nobody owns the partition, and nobody ever has."""
        is_latest = self.bounds.is_latest
        return State(
            self.storage.number(NOBODYS),
            tuple(self.tables.lives.number(Life()) for _ in NAMES),
            (),
            self.bounds.budget,
            handled=0,
            logged=0 if is_latest else self.bounds.events,
            since=None if is_latest else 0,
        )

    def scene(self, state: State) -> Scene:
        return Scene(self.tables, state)

    def step(
        self, state: State, told: tuple[str, ...], play: Play, *, is_mishap: bool = False
    ) -> Step[State]:
        """What comes of a play in this state."""
        scene = self.scene(state)
        try:
            play(scene)
        except Broken as broken:
            raise Broken(str(broken), told) from None
        if scene.highest_epoch > self.bounds.epochs:
            return Step(told, BEYOND, is_mishap)
        self._tidy(scene)
        return Step(told, scene.state(), is_mishap)

    def perform(self, scene: Scene, operation: Operation, who: int = 0) -> m.Answered:
        """Carries out an operation, and checks what is promised of it."""
        number, reply, refusal = self.storage.perform(scene.blobs, operation)
        if number != scene.blobs:
            before, after = self.storage.at(scene.blobs), self.storage.at(number)
            if isinstance(operation, WriteOwnership | WriteCheckpoint):
                since = scene.logged if scene.since is None else scene.since
                check_write(before, after, scene.all_handled(), since, scene.read_with)
            if isinstance(operation, Change):
                if operation.new_lease_id == scene.lives[1 - who].want:
                    check_given(after, scene.lives[who].done)
            scene.blobs = number
        return m.Answered(0.0, 0.0, (PARTITION, 0), operation, reply, refusal)

    def end_lease(self, scene: Scene) -> None:
        scene.blobs = self.storage.number(ended(self.storage.at(scene.blobs)))

    def _tidy(self, scene: Scene) -> None:
        """Forgets what can do nothing any more: a read, or a write whose ETag has passed."""
        blobs = self.storage.at(scene.blobs)
        for number in list(scene.sent):
            sent = self.tables.sent.values[number]
            if sent.is_awaited:
                continue
            operation = sent.operation
            if isinstance(operation, ReadCheckpoint | ReadOwnership):
                scene.sent.remove(number)
            elif self.bounds.is_conditional and not isinstance(operation, CreateOwnership):
                is_of_checkpoint = isinstance(operation, WriteCheckpoint)
                blob = blobs.checkpoint if is_of_checkpoint else blobs.ownership
                stands = None if blob is None else blob.etag
                if operation.etag != stands:  # type: ignore[union-attr]
                    scene.sent.remove(number)
