"""What members do of themselves, and what the hub tells their readers."""

from __future__ import annotations

from functools import partial

from model.explorer import Step
from model.plays import announce, attach, handle, hear, kill, lapse, stop
from model.promises import check_renewed
from model.scene import BEYOND, NAMES, Life, Reader, Scene, State
from model.stage import Stage, Steps
from model.storage import PARTITION
from model.tenures import Facts, Leave
from tidegate.member import messages as m
from tidegate.member.phases import Phase
from tidegate.member.steps import NEVER
from tidegate.ports import CreateOwnership, ReadOwnership, Renew


def steps_of_member(stage: Stage, state: State, who: int) -> Steps:
    scene = stage.scene(state)
    life, facts = scene.lives[who], scene.facts(who)
    if facts is None:
        has_company = who == 0 or scene.lives[0].serial > 0
        yield from _of_the_idle(stage, state, who, life, may_begin=has_company)
        return
    yield from _of_its_keeper(stage, state, who, life, facts)
    yield from _of_an_owner(stage, state, who, facts, scene.lives[1 - who].want)
    if life.reader is not None:
        yield from _of_a_reader(stage, state, who, life.reader)


# --- without a tenure


def _of_the_idle(stage: Stage, state: State, who: int, life: Life, *, may_begin: bool) -> Steps:
    name = NAMES[who]
    owned = stage.storage.at(state.blobs).ownership
    row = stage.storage.ownership(state.blobs)
    if owned is None or row is None:
        yield stage.step(state, (name, "makes the ownership"), partial(_create, stage))
        return
    if life.want and owned.lease_id == life.want and owned.is_leased:
        given = (name, "finds the lease changed to the id that it announced")
        yield stage.step(state, given, partial(_receive, stage, who))
    if not may_begin:
        return  # a begins: the other way round is the same with other names
    if life.serial >= stage.bounds.tenures:
        yield Step((name, "could begin again"), BEYOND)
        return
    if life.remembered and row.owner is not None and row.owner.name == name:
        told = (name, "finds its lease in its old place and takes it up")
        yield stage.step(state, told, lambda scene: scene.begin(who, "adopt", life.remembered))
    why = "the lease ends:" if owned.is_leased else "the partition is free:"
    yield stage.step(state, (why, name, "claims it"), partial(_claim, stage, who))
    if owned.is_leased and state.budget.hand_overs and not life.want:
        told = (name, "announces a lease id for the partition")
        yield stage.step(state, told, partial(announce, who))


def _create(stage: Stage, scene: Scene) -> None:
    stage.perform(scene, CreateOwnership(PARTITION))


def _claim(stage: Stage, who: int, scene: Scene) -> None:
    owned = stage.storage.at(scene.blobs).ownership
    if owned is not None and owned.is_leased:
        stage.end_lease(scene)
    scene.begin(who, "acquire", stage.storage.checkpoint(scene.blobs))


def _receive(stage: Stage, who: int, scene: Scene) -> None:
    want = scene.lives[who].want
    answer = stage.perform(scene, ReadOwnership(PARTITION, want), who)
    assert answer.refusal is None
    scene.change(who, want="")
    scene.begin(who, "receive", want)


# --- with a tenure


def _of_an_owner(stage: Stage, state: State, who: int, facts: Facts, others_want: str) -> Steps:
    name, other = NAMES[who], NAMES[1 - who]
    if facts.wake_at < min(facts.valid_until, NEVER):
        woken = m.Woken(facts.wake_at)
        yield stage.step(state, (name, "has waited"), lambda scene: scene.tell(who, woken))
    if state.budget.lapses and facts.valid_until < NEVER:
        told = (name, "finds its time to be up")
        yield stage.step(state, told, partial(lapse, who, facts), is_mishap=True)
    if state.budget.kills:
        told = (name, "is killed")
        yield stage.step(state, told, partial(kill, who), is_mishap=True)
    if facts.is_leaving or facts.phase is Phase.GIVING:
        return
    if others_want:
        leave = Leave(other, others_want)
        asked = (name, f"is to give the partition to {other}")
        yield stage.step(state, asked, lambda scene: scene.tell(who, leave))
    if state.budget.stops:
        yield stage.step(state, (name, "is asked to stop"), partial(stop, who), is_mishap=True)


def _of_its_keeper(stage: Stage, state: State, who: int, life: Life, facts: Facts) -> Steps:
    if life.keep is None:
        return
    after, _, refusal = stage.storage.perform(state.blobs, Renew(PARTITION, *life.keep))
    event: m.Event = m.Renewed(0.0, 0.0, PARTITION, life.keep[0])
    how = "renews its lease"
    if refusal is not None:
        event = m.RenewalRefused(0.0, PARTITION, *life.keep, refusal)
        how = "is refused to renew its lease"
    elif after == state.blobs and facts.phase is not Phase.LAPSED and stage.bounds.is_conditional:
        return  # nothing changes by it

    def play(scene: Scene) -> None:
        if refusal is None and facts.is_settled:
            check_renewed(stage.storage.at(after), facts.epoch)
        scene.blobs = after
        scene.tell(who, event)

    yield stage.step(state, (NAMES[who], how), play)


def _of_a_reader(stage: Stage, state: State, who: int, reader: Reader) -> Steps:
    name = NAMES[who]
    if reader.is_opening:
        told = (name, f"attaches to the hub with epoch {reader.epoch}")
        yield stage.step(state, told, partial(attach, who, reader))
        return
    if reader.is_stolen:
        told = (name, "hears that the hub has given the partition away")
        yield stage.step(state, told, partial(hear, who))
    if reader.behind + 1 < state.logged:
        told = (name, f"handles event {reader.behind + 1}")
        yield stage.step(state, told, partial(handle, who, reader))
