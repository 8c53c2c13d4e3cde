"""What a member and the hub do in a step, whatever storage says."""

from __future__ import annotations

from model.explorer import Broken
from model.promises import at, state_at
from model.scene import NAMES, Life, Reader, Scene, Sent
from model.storage import PARTITION
from model.tenures import Facts, Leave
from tidegate.member import messages as m
from tidegate.ports import Refusal


def unknown(sent: Sent) -> m.Answered:
    """The answer that says nothing."""
    return m.Answered(0.0, 0.0, (PARTITION, 0), sent.operation, None, Refusal.UNKNOWN)


def add_event(scene: Scene) -> None:
    scene.logged += 1


# --- the process


def kill(who: int, scene: Scene) -> None:
    """A new life follows at once: one that does nothing yet cannot be told from none."""
    scene.spend(kills=1)
    facts = scene.facts(who)
    scene.abandon(who)
    life = scene.lives[who]
    remembered = facts.lease_id if facts is not None else ""
    scene.lives[who] = Life(life.life + 1, remembered, serial=life.serial)


def lapse(who: int, facts: Facts, scene: Scene) -> None:
    scene.spend(lapses=1)
    scene.abandon(who)
    scene.tell(who, m.Woken(facts.valid_until))


def stop(who: int, scene: Scene) -> None:
    scene.spend(stops=1)
    scene.tell(who, Leave(None, None))


def announce(who: int, scene: Scene) -> None:
    scene.spend(hand_overs=1)
    want = f"{NAMES[who]}{scene.lives[who].life}.wants-{scene.budget.hand_overs}"
    scene.change(who, want=want)


# --- the reader and the hub


def attach(who: int, reader: Reader, scene: Scene) -> None:
    """The hub lets the higher epoch in, and of equals the latest."""
    other = scene.lives[1 - who].reader
    serial = scene.lives[who].serial
    if other is not None and not other.is_opening and not other.is_stolen:
        if other.epoch == reader.epoch:
            raise Broken(f"P1: two read with epoch {reader.epoch}")
        if other.epoch > reader.epoch:
            scene.change(who, reader=None)
            scene.tell(who, m.ReaderRefused(0.0, PARTITION, serial, other.epoch))
            return
        scene.change(1 - who, reader=other._replace(is_stolen=True))
    if scene.since is None:
        scene.since = reader.behind + 1
    scene.read_with = max(scene.read_with, reader.epoch)
    scene.change(who, reader=reader._replace(is_opening=False), done=reader.behind)
    scene.tell(who, m.ReaderOpened(0.0, PARTITION, serial))


def hear(who: int, scene: Scene) -> None:
    """A reader finds that the hub has given the partition to a higher epoch."""
    scene.change(who, reader=None)
    scene.tell(who, m.ReaderRefused(0.0, PARTITION, scene.lives[who].serial))


def handle(who: int, reader: Reader, scene: Scene) -> None:
    """The handler is done with the next event; it may have had it before the reader was stolen."""
    number = reader.behind + 1
    scene.handled |= 1 << number
    scene.change(who, reader=reader._replace(behind=number), done=number)
    serial = scene.lives[who].serial
    handled = m.Handled(0.0, PARTITION, serial, at(number), None, state_at(number))
    scene.tell(who, handled)
