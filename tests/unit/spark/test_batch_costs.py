"""What a member is said to handle is what it would of full batches, however small they are."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from support.ops_facts import WALL
from tidegate.model import Position
from tidegate.ops import observer as facts
from tidegate.ops.board import Board
from tidegate.ops.meter import Meter
from tidegate.ops.observer import Observers
from tidegate.spark.admission import Limit
from tidegate.spark.batch_costs import BatchCosts, Cost, Full, cost_of
from tidegate.spark.positions import TurnRead

FIXED_S, EVENT_S, MOST = 0.5, 0.0002, 20_000
# Of one member with one partition: events/s of one full batch after the other.
FULL_RATE = MOST / (FIXED_S + EVENT_S * MOST)


class Driver:
    """One member with two partitions, whose batches take what they take."""

    def __init__(self, seed: int = 1, *, event_s: float = EVENT_S, wavers: float = 0.2) -> None:
        self.dice = random.Random(seed)
        self.now, self.event_s, self.wavers = 1_000.0, event_s, wavers
        self.costs = BatchCosts()
        self.sequence = 0
        self.board = Board("m-x1")
        self.meter = Meter(self.board, lambda: self.now)
        self.observer = Observers(self.board, self.meter)
        for partition in "01":
            self.observer.hear(facts.ReaderOpened(self.now, partition, 7, Position("", -1)))

    def batch(self, events: int, *, slower: float = 1.0) -> None:
        """Of both partitions, with a half each."""
        took = (FIXED_S + self.event_s * events) * slower
        took *= self.dice.uniform(1.0, 1.0 + self.wavers)
        self.now += took
        self.sequence += events
        half = events // 2
        reads = [
            TurnRead(1, "0", 7, "", self.sequence, None, events - half, 100 * (events - half)),
            TurnRead(1, "1", 7, "", self.sequence, None, half, 100 * half),
        ]
        members = dict.fromkeys("01", "m-x1")
        worked = self.costs.worked(Full(Limit(MOST)), members, reads, took)
        for read in reads:
            self.observer.hear(
                facts.BatchHandled(
                    self.now, read.partition, read.events, read.bytes, took, read.position,
                    WALL, worked[read.partition],
                )
            )  # fmt: skip

    def batches(self, sizes: Iterable[int]) -> None:
        for events in sizes:
            self.batch(events)

    def lives(self, rate: float, seconds: float, trigger_s: float = 2.0) -> None:
        """So many events come in a second, and a batch begins so often."""
        until, since = self.now + seconds, self.now
        while self.now < until:
            events = min(int((self.now - since) * rate * self.dice.uniform(0.5, 1.5)), MOST)
            since, began = self.now, self.now
            if events:
                self.batch(events)
            self.now = max(self.now, began + trigger_s)
            self.told()

    def told(self) -> tuple[float, float]:
        """Events a second, and the busy time: of the member, as the operator adds them up."""
        rows = self.meter.figures(self.now, WALL).values()
        return sum(row.handling for row in rows), sum(row.busy for row in rows)

    @property
    def true_rate(self) -> float:
        """As the operator works it out."""
        handling, busy = self.told()
        return handling / busy


def test_under_a_calm_load_of_small_batches_the_rate_is_near_what_full_batches_reach() -> None:
    driver = Driver()
    driver.batches([8, 900, MOST, MOST, 4_000, MOST, 300])
    driver.lives(rate=40.0, seconds=600.0)
    assert driver.told()[0] == pytest.approx(40.0, rel=0.5)
    assert driver.true_rate == pytest.approx(FULL_RATE, rel=0.35)


def test_full_batches_one_after_the_other_are_all_of_the_time() -> None:
    driver = Driver()
    driver.batches([500] * 5)
    for _ in range(20):
        driver.batch(MOST)
        handling, busy = driver.told()
    assert busy == pytest.approx(1.0, abs=0.2)
    assert handling / busy == pytest.approx(FULL_RATE, rel=0.2)


def test_a_batch_that_takes_longer_than_rates_are_of_is_no_faster_for_it() -> None:
    driver = Driver(event_s=0.002, wavers=0.0)
    driver.batches([10, 10, 10, 1_000, 100])
    for _ in range(5):
        driver.batch(MOST)
        handling, busy = driver.told()
    assert handling / busy == pytest.approx(MOST / (FIXED_S + 0.002 * MOST), rel=0.1)


def test_a_driver_that_never_saw_a_large_batch_says_some_of_it_and_never_too_little() -> None:
    driver = Driver()
    driver.lives(rate=8.6, seconds=300.0)
    assert 8.6 * 5 < driver.true_rate < FULL_RATE * 1.5


@pytest.mark.parametrize("seed", range(20))
def test_heavy_events_are_told_from_slow_batches(seed: int) -> None:
    driver = Driver(seed, event_s=0.05)
    driver.lives(rate=8.0, seconds=300.0)
    assert driver.true_rate == pytest.approx(20.0, rel=0.5)


def test_a_slow_batch_now_and_then_changes_little() -> None:
    driver = Driver()
    driver.batches([10, 10, 10])
    for _ in range(9):
        driver.batches([5, 80, 1_000, MOST])
    driver.batch(MOST, slower=5.0)
    driver.batch(5, slower=10.0)
    driver.lives(rate=40.0, seconds=60.0)
    assert driver.true_rate == pytest.approx(FULL_RATE, rel=0.4)


def test_the_first_batches_of_a_life_do_not_count() -> None:
    driver = Driver()
    driver.batch(2_000, slower=20.0)
    assert driver.told()[1] == 0.0
    driver.batches([1, 1])
    assert driver.told()[1] == 0.0
    driver.batches([MOST, 10])
    assert driver.costs.event_s(MOST) == pytest.approx(1 / FULL_RATE, rel=0.4)


def test_of_batches_of_one_size_all_of_the_time_counts() -> None:
    assert cost_of([(100.0, 0.5)]) == Cost(0.0, 0.005)


def test_the_cost_of_an_event_stays_within_bounds_whatever_is_seen() -> None:
    faster = cost_of([(10.0, 1.0), (20.0, 0.5)])
    assert faster.event_s == pytest.approx(0.0025), "a tenth of what it took at least"
    dear = cost_of([(10.0, 0.1), (20.0, 2.0)])
    assert dear.event_s == pytest.approx(0.01), "no more than in the batch where it took least"
    plain = cost_of([(10.0, 0.6), (110.0, 1.6)])
    assert plain.fixed_s == pytest.approx(0.5)
    assert plain.event_s == pytest.approx(0.01)


def test_a_full_batch_has_the_events_that_its_narrowest_limit_allows() -> None:
    members = {"0": "a", "1": "a", "2": "b", "3": "b"}
    reads = [TurnRead(1, "0", 7, "", 9, None, 10, 10_000)]
    assert Full(Limit()).of_member(members, reads) is None
    assert Full(Limit(5_000)).of_member(members, reads) == 2_500
    assert Full(Limit(5_000, 1_000_000)).of_member(members, reads) == 500
    assert Full(Limit(5_000, 1_000_000), 100).of_member(members, reads) == 200
    assert Full(Limit(1)).of_member(members, []) == 1


def test_who_is_given_less_than_another_member_worked_less() -> None:
    costs = BatchCosts()
    for events in (1, 1, 1, 100, 1_000):
        costs.learn(events, FIXED_S + 0.001 * events)
    reads = [TurnRead(1, "0", 7, "", 9, None, 900), TurnRead(1, "1", 7, "", 9, None, 300)]
    worked = costs.worked(Full(Limit(2_000)), {"0": "a", "1": "b"}, reads, 1.4)
    assert worked["0"] == pytest.approx(3 * worked["1"])
    assert worked["0"] == pytest.approx(900 * (0.001 + FIXED_S / 1_000), rel=0.01)
