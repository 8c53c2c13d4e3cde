"""Random groups, random poison, random thefts: every event is done once, or put aside once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidegate.delivery.policy import Backoff, OnFailure, Policy
from tidegate.model import BEGINNING, PartitionEnd, Position
from tidegate.spark.admission import Limit
from tidegate.spark.positions import Batch, TurnRead
from tidegate.spark.searching import Fault
from tidegate.spark.turns import Place, Turns

Event = tuple[str, int]


@dataclass
class World:
    """Partitions that are held, and a pipeline that fails on poison."""

    turns: Turns
    events: int
    poison: frozenset[Event]
    places: dict[str, Place]
    now: float = 0.0
    done: Counter[Event] = field(default_factory=Counter)
    aside: Counter[Event] = field(default_factory=Counter)
    batches: int = 0

    def step(self, limit: Limit, steals: str | None, is_lost: bool) -> bool:
        """One trigger; False where there is nothing left to read, now or later."""
        self.now += 1.0
        end = PartitionEnd(self.events - 1, "e", 1.0, 1.0, 0)
        batch = self.turns.plan(self.places, dict.fromkeys(self.places, end), limit, self.now)
        if batch is None:
            return any(place.position.sequence < end.sequence for place in self.places.values())
        self.batches += 1
        batch = self.turns.begin(batch, self.places)
        still = frozenset(batch.turns) - {steals}
        for partition, turn in batch.turns.items():
            self.turns.report(TurnRead(batch.number, partition, turn.epoch, f"o{turn.to}", turn.to))
        if steals is not None and steals in batch.turns:
            place = self.places[steals]
            self.places[steals] = replace(place, epoch=place.epoch + 1)
        self.end(batch, still, is_lost)
        return True

    def end(self, batch: Batch, still: frozenset[str], is_lost: bool) -> None:
        read = [
            (p, number)
            for p, turn in batch.turns.items()
            for number in range(turn.after.sequence + 1, turn.to + 1)
        ]
        if is_lost or self.poison.intersection(read):
            fault = Fault("no", self.now, 0.5, blames_events=not is_lost)
            self.turns.failed(batch.number, still, fault)
        else:
            for each in self.turns.done(batch.number, still):
                place = self.places[each.partition]
                self.places[each.partition] = replace(place, position=each.position)
            self.done.update(event for event in read if event[0] in still)
        for suspect in self.turns.asides(self.now)[0]:
            turn = suspect.turns[0]
            self.aside[(turn.partition, turn.to)] += 1
            place = self.places[turn.partition]
            position = Position(f"o{turn.to}", turn.to)
            self.places[turn.partition] = replace(place, position=position)
            self.turns.put_aside(suspect, position)


def world(policy: Policy, partitions: int, events: int, poison: frozenset[Event]) -> World:
    names = [str(number) for number in range(partitions)]
    places = {name: Place(name, 1, BEGINNING, "m") for name in names}
    return World(Turns(policy), events, poison, places)


@pytest.mark.slow
@settings(
    max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.data())
def test_every_event_is_done_once_or_aside_once(data: st.DataObject) -> None:
    partitions, events = data.draw(st.integers(1, 5)), data.draw(st.integers(0, 40))
    place = st.tuples(st.integers(0, partitions - 1).map(str), st.integers(0, max(events - 1, 0)))
    poison = data.draw(st.frozensets(place, max_size=4)) if events else frozenset()
    attempts = data.draw(st.integers(1, 3))
    policy = Policy(OnFailure.DEAD_LETTER, attempts, backoff=Backoff(0.5, 2.0))
    limit = Limit(data.draw(st.integers(0, 60)))
    made = world(policy, partitions, events, poison)
    for step in range(3_000):
        troubled = step < 20
        steals = data.draw(st.sampled_from([None, *made.places])) if troubled else None
        if not made.step(limit, steals, troubled and data.draw(st.booleans())):
            break
    whole = {(name, number) for name in made.places for number in range(events)}
    assert made.done == Counter(whole - poison)
    assert made.aside == Counter(poison)


def test_one_bad_partition_does_not_hold_up_the_others_where_nothing_is_put_aside() -> None:
    policy = Policy(attempts=3, backoff=Backoff(0.5, 2.0))
    made = world(policy, 8, 100, frozenset({("3", 50)}))
    for _ in range(60):
        made.step(Limit(events=160), None, False)
    counts = Counter(partition for partition, _ in made.done)
    assert all(counts[name] == 100 for name in made.places if name != "3")
    assert counts["3"] <= 50
    assert set(made.done.values()) == {1}


def test_poison_is_found_in_few_batches() -> None:
    policy = Policy(OnFailure.DEAD_LETTER, 5, backoff=Backoff(0.5, 0.5))
    made = world(policy, 16, 1_000, frozenset({("7", 613)}))
    while made.step(Limit(), None, False):
        pass
    assert made.aside == Counter([("7", 613)])
    # All attempts at the beginning and at the end, and halvings of 16 partitions and of 1,000
    # events between them; what is left of a range that passed is not begun anew.
    assert made.batches < 45


def test_a_pipeline_that_always_fails_puts_19_events_aside_and_a_success_goes_on() -> None:
    policy = Policy(OnFailure.DEAD_LETTER, 2, backoff=Backoff(0.5, 2.0))
    broken = frozenset(("0", number) for number in range(100))
    made = world(policy, 2, 100, broken)
    for _ in range(2_000):
        made.step(Limit(events=160), None, False)
    assert made.aside == Counter(("0", number) for number in range(19))
    assert made.done == Counter(("1", number) for number in range(100)), "others go on"
    assert made.places["0"].position.sequence == 18
    before, at = made.batches, made.now
    while made.now < at + 300.0:
        made.step(Limit(events=160), None, False)
    assert 9 <= made.batches - before <= 11, "one probe in 30 s"
    made.poison = frozenset()
    for _ in range(2_000):
        made.step(Limit(events=160), None, False)
    whole = {(name, number) for name in "01" for number in range(100)}
    assert made.done == Counter(whole - set(made.aside))


def test_a_rewind_past_the_events_and_a_partition_that_comes_back_begin_with_a_closed_breaker() -> (
    None
):
    policy = Policy(OnFailure.DEAD_LETTER, 2, backoff=Backoff(0.5, 2.0))
    made = world(policy, 1, 100, frozenset(("0", number) for number in range(100)))
    for _ in range(2_000):
        made.step(Limit(), None, False)
    assert made.turns.breaker("0").is_open
    rewound = replace(made.places["0"], position=Position("o49", 49))
    made.places["0"] = rewound
    made.step(Limit(), None, False)
    assert not made.turns.breaker("0").is_open
    for _ in range(2_000):
        made.step(Limit(), None, False)
    assert made.turns.breaker("0").is_open
    made.places.clear()
    made.step(Limit(), None, False)
    assert not made.turns.breaker("0").is_open
