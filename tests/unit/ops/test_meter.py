"""The figures of a member: how far it is, how fast, and how busy."""

from __future__ import annotations

import pytest

from support.ops_facts import WALL, handled
from tidegate.lag import LagKind
from tidegate.member.messages import Report
from tidegate.model import BEGINNING, Figures, Position
from tidegate.ops import observer as facts
from tidegate.ops.board import Board
from tidegate.ops.costs import Work
from tidegate.ops.meter import Meter
from tidegate.ops.observer import Observers

BEGAN = 1_000.0


class World:
    """A member that reads partition 0, at a time that the test moves on."""

    def __init__(self, position: Position | None = None) -> None:
        self.now = BEGAN
        self.board = Board("pod-1")
        self.meter = Meter(self.board, lambda: self.now)
        self.observer = Observers(self.board, self.meter)
        self.observer.hear(facts.ReaderOpened(BEGAN, "0", 7, position))

    def figures(self) -> Figures:
        return self.meter.figures(self.now, WALL + self.now - BEGAN)["0"]

    def end(self, sequence: int, begins_at: int | None = None) -> None:
        self.observer.hear(facts.EndKnown(self.now, "0", sequence, None, begins_at))

    def work(self, sequence: int, events: int, seconds: float, pause_s: float = 0.0) -> None:
        """A call of the handler, and what comes of it; then nothing for a while."""
        with self.observer.handling("0", ()):
            self.now += seconds
        self.observer.hear(handled("0", sequence, at=self.now, events=events, age_s=0.0))
        self.now += pause_s


def test_a_steady_member_has_the_rates_that_it_works_at() -> None:
    world = World()
    for number in range(1, 31):
        world.work(number * 100, 100, 0.25, 0.75)
        world.end(number * 120)
        found = world.figures()
    assert (found.end, found.handled) == (3600, 3000)
    assert found.handling == pytest.approx(100, rel=0.01)
    assert found.arriving == pytest.approx(120, rel=0.01)
    assert found.busy == pytest.approx(0.25, abs=0.01)


def test_a_call_that_has_not_ended_counts_as_busy() -> None:
    world = World()
    with world.observer.handling("0", ()):
        for _ in range(15):
            world.now += 2.0
            found = world.figures()
    assert (found.busy, found.handling) == (1.0, 0.0)
    for _ in range(6):
        world.now += 2.0
        found = world.figures()
    assert found.busy == 0.0


def test_calls_that_run_at_once_share_the_time() -> None:
    """Two calls that wait for each other last twice as long, and their events cost no more."""
    world = World()
    world.observer.hear(facts.ReaderOpened(BEGAN, "1", 7, None))
    for number in range(1, 11):
        with world.observer.handling("0", ()):
            world.now += 0.1
            with world.observer.handling("1", ()):
                world.now += 0.2
            world.now += 0.1
        for partition in ("0", "1"):
            sequence = number * 10
            world.observer.hear(handled(partition, sequence, at=world.now, events=10, age_s=0.0))
        world.now += 0.6
    found = world.meter.figures(world.now, WALL + world.now - BEGAN)
    assert (found["0"].busy, found["1"].busy) == (0.4, 0.2)
    assert (found["0"].utilization, found["1"].utilization) == (0.3, 0.1)


def test_the_parts_of_calls_that_still_run_are_told_and_add_up_to_the_time_that_has_passed() -> (
    None
):
    world = World()
    world.observer.hear(facts.ReaderOpened(BEGAN, "1", 7, None))
    with world.observer.handling("0", ()), world.observer.handling("1", ()):
        world.now += 4.0
        found = world.meter.figures(world.now, WALL + world.now - BEGAN)
    assert [each.busy for each in found.values()] == [1.0, 1.0]
    assert [each.utilization for each in found.values()] == [0.5, 0.5]


def test_a_call_of_an_owner_that_has_lost_the_partition_shares_no_time_once_it_is_over() -> None:
    world = World()
    world.observer.hear(facts.ReaderOpened(BEGAN, "1", 7, None))
    with world.observer.handling("0", ()):
        world.now += 1.0
        world.observer.hear(facts.ReaderClosed(world.now, "0", "stolen"))
    for _ in range(12):
        with world.observer.handling("1", ()):
            world.now += 1.0
        world.meter.figures(world.now, WALL + world.now - BEGAN)
    assert world.meter.figures(world.now, WALL + world.now - BEGAN)["1"].utilization == 1.0


def test_what_is_counted_of_a_partition_goes_on_while_a_call_runs() -> None:
    world = World()
    world.work(100, 100, 0.25, 0.75)
    with world.observer.handling("0", ()):
        world.now += 3.0
        assert world.meter.works(world.now) == {"0": Work(BEGAN, 100, 3.25, None)}
    world.end(100)
    world.now += 5.0
    world.end(600)
    assert world.meter.works(world.now) == {"0": Work(BEGAN, 100, 3.25, 100.0)}


def test_what_a_partition_costs_is_not_known_while_its_batch_fails() -> None:
    world = World()
    for number in (100, 600):
        world.end(number)
        world.now += 5.0
    assert world.meter.works(world.now)["0"].arriving == 100.0
    world.observer.hear(facts.BatchFailed(world.now, "0", 5, 1, "ValueError: bad"))
    assert world.meter.works(world.now)["0"].arriving is None
    world.work(600, 500, 0.1)
    assert world.meter.works(world.now)["0"].arriving == 100.0
    world.observer.hear(facts.ReaderClosed(world.now, "0", "closed"))
    assert world.meter.works(world.now) == {}


def test_what_is_not_known_is_not_told() -> None:
    world = World()
    world.now += 2.0
    assert world.figures() == Figures(put_aside=0)
    world.end(99)
    assert world.figures() == Figures(end=99, put_aside=0)


def test_what_was_put_aside_is_counted_as_long_as_the_process_lives() -> None:
    world = World()
    for _ in range(2):
        world.observer.hear(facts.DeadLettered(world.now, "0", 3, "blob"))
    world.observer.hear(facts.ReaderClosed(world.now, "0", "closed"))
    world.observer.hear(facts.ReaderOpened(world.now, "0", 8, None))
    assert world.figures().put_aside == 6


def test_nothing_arrives_until_the_source_has_told_the_end_twice() -> None:
    world = World(Position("9", 9))
    world.end(1_000_000)
    assert world.figures().arriving == 0.0
    world.now += 5.0
    world.end(1_000_100)
    assert world.figures().arriving == 20.0


def test_how_fast_events_come_is_forgotten_in_15_s() -> None:
    world = World()
    for number in range(10):
        world.end(number * 1_000)
        world.now += 5.0
    for _ in range(4):
        world.end(9_000)
        world.now += 5.0
    assert world.figures().arriving == 0.0


def test_a_partition_that_moved_away_has_no_figures_here() -> None:
    world = World()
    world.work(100, 100, 0.1)
    world.observer.hear(facts.ReaderClosed(world.now, "0", "closed"))
    assert world.meter.figures(world.now, WALL) == {}


def test_before_the_first_event_it_is_told_where_reading_began() -> None:
    world = World(Position("50", 50))
    world.end(99)
    assert (world.figures().handled, world.figures().end) == (50, 99)
    assert world.board.places["0"].lag(world.now, WALL).kind is LagKind.EXACT
    assert World(BEGINNING).figures().handled == -1


def test_a_batch_that_fails_again_and_again_is_told_as_stuck_until_it_goes_well() -> None:
    world = World()
    failed = facts.BatchFailed(world.now, "0", 5, 3, "ValueError: bad", is_stuck=True)
    world.observer.hear(failed)
    assert world.meter.stuck() == {"0"}
    world.observer.hear(handled("0", 90))
    assert world.meter.stuck() == frozenset()
    world.observer.hear(failed)
    world.observer.hear(facts.ReaderClosed(world.now, "0", "closed"))
    assert world.meter.stuck() == frozenset(), "its next owner tells"


def test_a_partition_whose_handler_has_halted_is_told_as_stuck_however_few_its_attempts() -> None:
    world = World()
    world.observer.hear(facts.BatchFailed(world.now, "0", 5, 1, "ValueError: bad"))
    assert world.meter.stuck() == frozenset()
    halted = Report("handler-halted", "0", "stands still after 1 attempts")
    world.observer.hear(facts.Reported(world.now, halted))
    assert world.meter.stuck() == {"0"}
    world.observer.hear(facts.ReaderOpened(world.now, "0", 8, None))
    assert world.meter.stuck() == frozenset(), "it is tried again"


def test_a_partition_whose_circuit_breaker_is_open_is_told_until_an_event_is_handled() -> None:
    world = World()
    opened = Report("circuit-open", "0", "the handler fails on 20 of the last 20 events")
    world.observer.hear(facts.Reported(world.now, opened))
    assert world.meter.open_circuits() == world.meter.stuck() == {"0"}
    # A probe that fails.
    failed = facts.BatchFailed(world.now, "0", 1, 3, "ValueError: bad", is_stuck=True)
    world.observer.hear(failed)
    assert world.meter.open_circuits() == {"0"}
    assert world.board.rows(world.now, WALL)[0].note == "Circuit breaker open: ValueError: bad"
    world.observer.hear(handled("0", 90))
    assert world.meter.open_circuits() == world.meter.stuck() == frozenset()
    world.observer.hear(facts.Reported(world.now, opened))
    world.observer.hear(facts.ReaderOpened(world.now, "0", 8, None))
    assert world.meter.open_circuits() == frozenset(), "a resumed partition starts closed"


def test_what_retention_took_is_told_for_ten_minutes() -> None:
    world = World(Position("10", 10))
    world.work(149, 100, 0.1)
    world.end(200, begins_at=50)
    assert world.figures().begins_at == 50
    assert world.board.places["0"].lag(world.now, WALL).kind is LagKind.EXACT, "it reads on"
    world.now += 599.0
    assert world.figures().begins_at == 50
    world.now += 2.0
    assert world.figures().begins_at is None
