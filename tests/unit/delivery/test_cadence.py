"""When a checkpoint is asked for, and when handling waits for one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.delivery.cadence import Pace
from tidegate.delivery.policy import Cadence, Policy
from tidegate.handling import NEVER


def test_without_a_state_what_is_handled_is_told_at_once() -> None:
    pace = Pace(Cadence(), told_at=5.0)
    assert pace.tell_at == NEVER
    pace.handled(1)
    assert pace.tell_at <= 5.0
    assert not pace.is_due


def test_with_a_state_it_is_told_once_a_second() -> None:
    pace = Pace(Cadence(), told_at=5.0, has_state=True)
    pace.handled(1)
    assert pace.tell_at == 6.0
    pace.told(6.0, 1, is_due=False)
    assert pace.tell_at == NEVER


def test_the_first_outcome_is_told_at_once_with_a_state_too() -> None:
    pace = Pace(Cadence(every_s=60.0), has_state=True)
    pace.handled(1)
    assert pace.tell_at <= 0.0


def test_a_checkpoint_is_asked_for_after_so_many_events() -> None:
    pace = Pace(Cadence(every_events=100), told_at=0.0, has_state=True)
    pace.handled(99)
    before = pace.is_due
    pace.handled(1)
    assert (before, pace.is_due) == (False, True)
    assert pace.tell_at <= 0.0
    pace.told(1.0, 99, is_due=True)
    pace.handled(99)
    assert not pace.is_due


@given(
    st.integers(1, 60),
    st.lists(st.tuples(st.booleans(), st.integers(1, 60)), max_size=80),
)
def test_events_at_risk_never_exceed_the_budget_of_duplicates(
    budget: int, acts: list[tuple[bool, int]]
) -> None:
    policy = Policy(checkpoint=Cadence(duplicate_budget=budget))
    pace = Pace(policy.checkpoint, told_at=0.0)
    handled, stands = 0, 0
    asked: list[int] = []
    for is_write_done, count in acts:
        if is_write_done and asked:
            stands = asked.pop(0)
            pace.checkpointed(stands)
        batch = min(count, policy.most_events)
        if pace.must_wait(batch):
            assert asked, "handling waits for a checkpoint that nobody asked for"
            continue
        handled += batch
        pace.handled(batch)
        assert handled - stands <= budget
        is_due = pace.is_due
        pace.told(0.0, handled, is_due=is_due)
        if is_due:
            asked.append(handled)
        assert pace.at_risk == handled - stands
