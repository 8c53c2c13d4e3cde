"""What a member takes its partitions to cost: what comes × what an event takes, once known."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest

from support.ops_facts import listing
from tidegate.model import Figures, Listing
from tidegate.ops.costs import WARM_UP_S, Costs, Work, event_costs

TICK_S = 2.0


class Partition:
    """What is counted of one: each second so much comes, is handled, and keeps the handler busy."""

    def __init__(self, arriving: float, handling: float, busy: float) -> None:
        self.arriving: float | None = arriving
        self.handling = handling
        self.busy = busy
        self.work = Work(0.0, 0, 0.0, arriving)

    def go_on(self, seconds: float) -> Work:
        work = self.work
        self.work = Work(
            work.opened_at,
            work.events + round(self.handling * seconds),
            work.busy_s + self.busy * seconds,
            self.arriving,
        )
        return self.work


class Place:
    """A member at its work; asked every two seconds, as the real one."""

    def __init__(self, listing: Listing | None = None, **partitions: Partition) -> None:
        self.costs = Costs("a")
        self.now = 1000.0
        self.listing = listing
        self.partitions = {name.removeprefix("p"): each for name, each in partitions.items()}
        self.loads: dict[str, float] = {}

    def go_on(self, seconds: float, tick_s: float = TICK_S) -> dict[str, float]:
        """The loads that are known after so long."""
        end = self.now + seconds
        while self.now < end:
            self.now += tick_s
            works = {name: each.go_on(tick_s) for name, each in self.partitions.items()}
            self.loads = dict(self.costs.loads(works, self.listing, self.now))
        return self.loads


def others(loads: dict[str, float], **figures: Figures) -> Listing:
    """A listing in which member b tells figures and loads."""
    shown = listing({}, ("a", "b"))
    told = MappingProxyType({name.removeprefix("p"): each for name, each in figures.items()})
    b = replace(shown.members["b"], figures=told, loads=loads)
    return replace(shown, members=MappingProxyType({**shown.members, "b": b}))


# -- when it is known


def test_nothing_is_said_of_a_partition_before_it_is_measured() -> None:
    place = Place(p0=Partition(100, 100, 0.3))
    assert place.go_on(WARM_UP_S) == {}
    assert place.go_on(2 * TICK_S) == {"0": pytest.approx(0.3)}


def test_nothing_is_said_while_nobody_knows_what_arrives() -> None:
    partition = Partition(100, 100, 0.3)
    partition.arriving = None
    place = Place(p0=partition)
    assert place.go_on(3 * WARM_UP_S) == {}
    partition.arriving = 100.0
    assert place.go_on(WARM_UP_S - TICK_S) == {}
    assert place.go_on(2 * TICK_S) == {"0": pytest.approx(0.3)}


def test_a_partition_that_is_idle_has_no_load() -> None:
    assert Place(p0=Partition(0, 0, 0)).go_on(WARM_UP_S + 4.0) == {"0": 0.0}


def test_a_first_call_that_does_not_end_says_nothing() -> None:
    assert Place(p0=Partition(1, 0, 1.0)).go_on(3 * WARM_UP_S) == {}


def test_a_partition_that_left_and_came_again_is_measured_anew() -> None:
    place = Place(p0=Partition(100, 100, 0.3), p1=Partition(100, 100, 0.3))
    place.go_on(2 * WARM_UP_S)
    gone = place.partitions.pop("1")
    assert place.go_on(TICK_S) == {"0": pytest.approx(0.3)}
    place.partitions["1"] = gone
    assert place.go_on(WARM_UP_S).keys() == {"0"}
    assert place.go_on(2 * TICK_S).keys() == {"0", "1"}


def test_what_came_with_a_load_follows_a_change_as_what_stayed_where_it_was() -> None:
    place = Place(p0=Partition(20, 20, 0.06))
    place.go_on(3 * WARM_UP_S)
    place.listing = others({"1": place.loads["0"]})
    place.partitions["1"] = Partition(20, 20, 0.06)
    place.go_on(10 * TICK_S)
    for partition in place.partitions.values():
        partition.arriving, partition.handling, partition.busy = 200.0, 200.0, 0.6
    seen: list[tuple[float, float]] = []
    while len(seen) < 100:
        place.go_on(TICK_S)
        seen.append((place.loads["0"], place.loads["1"]))
    assert seen[-1][0] > 0.5
    assert max(abs(stayed - came) / stayed for stayed, came in seen) < 0.15, "within the band"


def test_a_reader_that_was_opened_again_goes_on_being_measured() -> None:
    partition = Partition(100, 100, 0.3)
    place = Place(p0=partition)
    place.go_on(2 * WARM_UP_S)
    partition.work = Work(place.now, 0, 0.0, None)
    assert place.go_on(10 * TICK_S) == {"0": pytest.approx(0.3)}


def test_a_process_that_stood_still_does_not_forget_what_was_before() -> None:
    partition = Partition(100, 100, 0.3)
    place = Place(p0=partition)
    place.go_on(2 * WARM_UP_S)
    partition.handling = partition.busy = 0.0
    assert place.go_on(600.0, tick_s=600.0)["0"] == pytest.approx(0.3, rel=0.01)


# -- what it is


@pytest.mark.parametrize(("handling", "busy"), [(100, 0.2), (500, 1.0)])
def test_it_is_what_arrives_that_counts_not_what_is_handled(handling: float, busy: float) -> None:
    place = Place(p0=Partition(100, handling, busy))
    assert place.go_on(2 * WARM_UP_S) == {"0": pytest.approx(0.2)}


def test_while_a_batch_fails_the_load_stays_as_it_is() -> None:
    partition = Partition(100, 100, 0.2)
    place = Place(p0=partition)
    place.go_on(2 * WARM_UP_S)
    partition.arriving, partition.handling, partition.busy = None, 0.0, 1.0
    assert place.go_on(5 * WARM_UP_S) == {"0": pytest.approx(0.2)}


def test_a_change_is_followed_within_minutes() -> None:
    partition = Partition(100, 100, 0.1)
    place = Place(p0=partition)
    place.go_on(5 * WARM_UP_S)
    partition.arriving, partition.handling, partition.busy = 500.0, 500.0, 0.5
    assert 0.25 < place.go_on(60.0)["0"] < 0.3
    assert place.go_on(540.0)["0"] == pytest.approx(0.5, rel=0.02)


# -- whose doing it is


def test_a_member_that_is_slow_says_what_others_would() -> None:
    fast = {f"p{number}": Figures(1, 1, 0.0, 100, 100, 0.1) for number in range(2, 7)}
    slow = {"p0": Partition(100, 100, 0.3), "p1": Partition(50, 50, 0.15)}
    loads = Place(others({}, **fast), **slow).go_on(2 * WARM_UP_S)
    assert loads == {"0": pytest.approx(0.1), "1": pytest.approx(0.05)}


def test_figures_that_are_too_small_to_tell_are_not_counted() -> None:
    idle = {f"p{number}": Figures(1, 1, 0.0, 0.1, 0.1, 0.001) for number in range(2, 7)}
    loads = Place(others({}, **idle), p0=Partition(100, 100, 0.3)).go_on(2 * WARM_UP_S)
    assert loads == {"0": pytest.approx(0.3)}


def test_events_that_cost_as_much_elsewhere_are_dear_and_not_slowly_handled() -> None:
    usual = {f"p{number}": Figures(1, 1, 0.0, 100, 100, 0.05) for number in range(2, 8)}
    dear = {"p0": Partition(100, 100, 0.4), "p1": Partition(100, 100, 0.4)}
    loads = Place(others({}, **usual), **dear).go_on(2 * WARM_UP_S)
    assert loads == {"0": pytest.approx(0.05), "1": pytest.approx(0.05)}, "it seems to be slow"
    dear = {"p0": Partition(100, 100, 0.4), "p1": Partition(100, 100, 0.4)}
    loads = Place(others({"1": 0.4}, **usual), **dear).go_on(2 * WARM_UP_S)
    assert loads == {"0": pytest.approx(0.4), "1": pytest.approx(0.4)}


@pytest.mark.parametrize(
    ("factor", "taken"),
    [(0.1, 0.1), (0.3, 0.36), (0.6, 1), (1, 1), (1.9, 1), (3, 2.25), (4, 4), (10, 10)],
)
def test_what_an_event_costs_more_or_less_counts_where_it_is_plain(
    factor: float, taken: float
) -> None:
    costs = event_costs({"0": 0.01, "1": 0.01, "2": 0.01 * factor}, {}, usual=0.01)
    assert costs == {"0": 0.01, "1": 0.01, "2": pytest.approx(0.01 * taken)}
