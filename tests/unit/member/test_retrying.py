"""A source that cannot be read: tried again after growing waits, and reported once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.member_desk import Desk, alone
from tidegate.member import messages as m
from tidegate.member.retrying import (
    MOST_FATAL_S,
    MOST_PASSING_S,
    cause_of,
    retry_pause_s,
)
from tidegate.model import Position, Rewind, Roster
from tidegate.ports import Release, WriteRoster

NOT_FOUND = "hub 'h', group 'alarms', partition 0: amqp:not-found: no such entity"


@given(st.text(), st.integers(1, 10_000), st.booleans())
def test_a_wait_grows_to_its_limit_and_is_spread(name: str, failures: int, is_fatal: bool) -> None:
    most = MOST_FATAL_S if is_fatal else MOST_PASSING_S
    pause = retry_pause_s(name, failures, is_fatal=is_fatal)
    assert 0.75 <= pause <= most
    assert pause >= 0.75 * min(2.0 ** min(failures - 1, 20), most)


def test_partitions_that_failed_together_do_not_come_back_together() -> None:
    pauses = {round(retry_pause_s(f"m/{n}", 9, is_fatal=True), 2) for n in range(32)}
    assert len(pauses) > 24


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("amqp:not-found: gone TrackingId:8a7f_B12 at 12:00", "amqp:not-found: gone "
         "TrackingId:77aa_B3 at 12:01", True),
        ("amqp:not-found: gone", "amqp:unauthorized-access: no claim", False),
    ],
)  # fmt: skip
def test_a_cause_is_what_stays_the_same(one: str, other: str, is_same: bool) -> None:
    assert (cause_of(one) == cause_of(other)) is is_same


class Refusing:
    """A member whose source refuses every reader of its one partition."""

    def __init__(self) -> None:
        self.desk = desk = Desk("0")
        desk.opens = lambda _: False
        self.text = NOT_FOUND
        follow = desk._follow

        def refused(name: str, command: m.Command) -> Iterator[m.Event]:
            for event in follow(name, command):
                if isinstance(event, m.ReaderFailed):
                    yield replace(event, message=self.text, is_fatal=True)
                else:
                    yield event

        desk._follow = refused  # type: ignore[method-assign]
        desk.join("a")

    def live(self, seconds: float) -> None:
        for _ in range(round(seconds * 2)):
            self.desk.now += 0.5
            self.desk.renew("a")
            self.desk.tell("a", m.Woken(self.desk.now))

    @property
    def tries(self) -> int:
        return sum(isinstance(command, m.OpenReader) for command in self.desk.said["a"])

    @property
    def reported(self) -> list[str]:
        return [kind for kind in self.desk.reports("a") if kind in ("reader-failed", "reads-again")]


def test_a_consumer_group_that_does_not_exist_is_reported_once_and_tried_about_every_30_s() -> None:
    world = Refusing()
    world.live(600.0)
    assert world.reported == ["reader-failed"]
    assert 600 / MOST_FATAL_S <= world.tries <= 600 / (0.75 * MOST_FATAL_S) + 6
    tries = world.tries
    world.desk.opens = lambda _: True
    world.live(MOST_FATAL_S)
    assert world.tries == tries + 1, "reading continues within the wait"
    world.live(6.0)
    assert world.reported == ["reader-failed", "reads-again"]
    world.live(600.0)
    assert world.reported == ["reader-failed", "reads-again"]


def test_a_failure_is_reported_again_when_its_cause_changes_and_not_when_its_numbers_do() -> None:
    world = Refusing()
    for number in range(10):
        world.text = f"{NOT_FOUND} TrackingId:{number}-4f at 12:00:{number:02}"
        world.live(31.0)
    assert world.reported == ["reader-failed"]
    world.text = "hub 'h': amqp:unauthorized-access: no claim"
    world.live(31.0)
    assert world.reported == ["reader-failed", "reader-failed"]


def test_a_reader_that_opens_and_fails_at_once_is_one_failure_that_goes_on() -> None:
    world = Refusing()
    world.desk.opens = lambda _: True
    world.live(3.0)
    for _ in range(20):
        tenure = world.desk.members["a"].tenures["0"]
        world.desk.tell(
            "a", m.ReaderFailed(world.desk.now, "0", tenure.serial, NOT_FOUND, is_fatal=True)
        )
        before = world.tries
        while world.tries == before:
            world.live(0.5)
    assert world.reported == ["reader-failed"]
    assert world.desk.now > 100.0 + 15 * 0.75 * MOST_FATAL_S
    world.desk.handled("a", "0", 3)
    assert world.reported == ["reader-failed", "reads-again"]


def test_a_reader_that_was_closed_while_it_opened_is_not_taken_for_one_that_reads() -> None:
    world = Refusing()
    world.live(0.5)
    desk = world.desk
    # The hub is silent from now on: a reader neither opens nor fails.
    desk._follow = lambda name, command: iter(())  # type: ignore[method-assign]
    before = world.tries
    while world.tries == before:
        world.live(0.5)
    tenure = desk.members["a"].tenures["0"]
    tenure.leave(desk.now)
    tenure.stay()
    desk.tell("a", m.ReaderClosed(desk.now, "0", tenure.serial))
    assert world.tries == before + 2, "it is opened again"
    world.live(20.0)
    assert world.reported == ["reader-failed"]


def test_a_rewind_and_a_stop_cut_the_wait_short() -> None:
    world = Refusing()
    world.live(300.0)
    desk = world.desk
    desk.opens = lambda position: position.sequence == 7
    roster = Roster(rewinds=(Rewind("r1", "0", Position("7", 7)),))
    desk.ledger.perform_at(WriteRoster(roster, ""), desk.now)
    world.live(5.0)
    assert desk.listing().checkpoints["0"].position == Position("7", 7)
    assert desk.reading("a") == ["0"]

    world = Refusing()
    world.live(300.0)
    desk = world.desk
    desk.tell("a", m.StopAsked(desk.now))
    world.live(0.5)
    assert desk.operations("a", Release), "a clean stop waits for no source"


def test_a_stop_does_not_wait_until_it_is_known_where_a_partition_starts() -> None:
    desk = Desk("0")
    follow = desk._follow

    def unknown(name: str, command: m.Command) -> Iterator[m.Event]:
        for event in follow(name, command):
            if isinstance(event, m.StartResolved):
                yield m.ReaderFailed(event.now, "0", event.serial, NOT_FOUND, is_fatal=True)
            else:
                yield event

    desk._follow = unknown  # type: ignore[method-assign]
    desk.join("a")
    for _ in range(600):
        desk.now += 0.5
        desk.renew("a")
        desk.tell("a", m.Woken(desk.now))
    asked = sum(isinstance(command, m.ResolveStart) for command in desk.said["a"])
    assert asked <= 300 / (0.75 * MOST_FATAL_S) + 6
    assert desk.reports("a").count("start-unknown") == 1
    desk.tell("a", m.StopAsked(desk.now))
    desk.look()
    assert desk.operations("a", Release)
    assert any(isinstance(command, m.Stopped) for command in desk.said["a"])
    assert "0" not in desk.listing().checkpoints


def test_what_passes_by_itself_is_tried_again_within_5_s() -> None:
    desk = alone()
    desk.opens = lambda _: False
    tenure = desk.members["a"].tenures["0"]
    desk.tell("a", m.ReaderFailed(desk.now, "0", tenure.serial, "no answer within 10 s"))
    before = len([command for command in desk.said["a"] if isinstance(command, m.OpenReader)])
    for _ in range(120):
        desk.now += 0.5
        desk.renew("a")
        desk.tell("a", m.Woken(desk.now))
    tries = len([c for c in desk.said["a"] if isinstance(c, m.OpenReader)]) - before
    assert 60 / MOST_PASSING_S - 1 <= tries <= 60 / (0.75 * MOST_PASSING_S) + 4
