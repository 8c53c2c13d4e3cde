"""What the planner asks the office: batches, ends, and what Spark's questions mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from tidegate.model import Position
from tidegate.spark.desk_client import DeskClient, Planned
from tidegate.spark.hub_place import HubPlace
from tidegate.spark.planning import Planning, StillAwayError, Terms
from tidegate.spark.positions import Turn, batch_of, offset_of
from tidegate.spark.tasks import DeskPlace, shared_out

HUB = HubPlace("Endpoint=sb://x/;SharedAccessKey=secret", "hub", "$Default")
DESK = DeskPlace("127.0.0.1:1", "token-of-the-desk")


def turn(partition: str, events: int = 10, member: str = "d-x1") -> Turn:
    return Turn(partition, 5, Position("9", 9), 9 + events, member)


class FakeDesk:
    """Answers as an office would, and keeps what it was asked."""

    def __init__(self, *plans: Planned) -> None:
        self.plans = list(plans)
        self.asked: list[Any] = []

    def plan(self, events: int, bytes: int, until: Mapping[str, int] | None) -> Planned:
        self.asked.append(("plan", events, bytes, None if until is None else dict(until)))
        return self.plans.pop(0)

    def begin(self, offset: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append("begin")
        return {**offset, "batch": 70 + offset["batch"]}

    def done(self, batch: int) -> None:
        self.asked.append(("done", batch))

    def ends(self, *, of_all: bool = False) -> dict[str, dict[str, Any]]:
        return {"0": {"sequence": 9}, "1": {"sequence": -1}} if of_all else {"0": {"sequence": 9}}


def planning(desk: FakeDesk, *, says_done: bool = True, tasks_per_member: int = 1) -> Planning:
    terms = Terms(HUB, DESK, tasks_per_member, False, says_done)
    seconds = iter(range(10_000))

    def clock() -> float:
        return float(next(seconds))

    def leave() -> None:
        desk.asked.append("left")

    return Planning(cast(DeskClient, desk), terms, leave, clock, lambda _: None)


def test_where_nothing_is_to_be_read_the_offset_stays() -> None:
    plans = planning(FakeDesk(Planned(None, 0)))
    assert plans.next({"batch": 3}, 0, 0) == {"batch": 3}


def test_what_comes_after_a_batch_says_that_it_is_done() -> None:
    desk = FakeDesk(Planned(None, 0), Planned(None, 0))
    plans = planning(desk)
    end = offset_of(batch_of([turn("0")], 1))
    plans.tasks(end)
    plans.next(end, 5, 7)
    plans.next(end, 5, 7)
    # By the number that the office gave it, once.
    done = ("done", 71)
    assert desk.asked == ["begin", done, ("plan", 5, 7, None), ("plan", 5, 7, None)]


def test_a_batch_that_is_given_again_is_not_done() -> None:
    desk = FakeDesk(Planned(None, 0))
    plans = planning(desk)
    plans.tasks(offset_of(batch_of([turn("0")], 2)))
    plans.next(offset_of(batch_of([turn("0")], 1)), 0, 0)
    assert desk.asked == ["begin", ("plan", 0, 0, None)]


def test_beside_a_driver_of_ours_the_planner_says_nothing() -> None:
    desk = FakeDesk(Planned(None, 0))
    plans = planning(desk, says_done=False)
    end = offset_of(batch_of([turn("0")], 1))
    plans.tasks(end)
    plans.next(end, 0, 0)
    assert desk.asked == ["begin", ("plan", 0, 0, None)]


def test_a_stream_that_ends_waits_for_what_is_on_its_way_and_for_nothing_else() -> None:
    desk = FakeDesk(Planned(None, 2), Planned(None, 1), Planned({"batch": 1}, 1), Planned(None, 0))
    plans = planning(desk)
    plans.end_here()
    assert plans.next({}, 0, 0) == {"batch": 1}
    assert plans.next({"batch": 1}, 0, 0) == {"batch": 1}
    assert {asked[3]["0"] for asked in desk.asked[:-1]} == {9}


def test_a_stream_that_ends_hands_over_before_it_says_so() -> None:
    desk = FakeDesk(Planned(None, 0))
    plans = planning(desk)
    plans.end_here()
    end = offset_of(batch_of([turn("0")], 1))
    plans.tasks(end)
    assert plans.next(end, 0, 0) == end
    assert [asked if isinstance(asked, str) else asked[0] for asked in desk.asked] == [
        *("begin", "done", "plan", "left"),
    ]
    # Whatever Spark asks then, it hears that this is the end.
    assert plans.next(end, 0, 0) == end
    assert plans.ends() == {"0": {"last": 9, "lag": 0}, "1": {"last": -1, "lag": 0}}
    assert desk.asked.count("left") == 1


def test_of_a_batch_of_nothing_nobody_is_asked() -> None:
    desk = FakeDesk(Planned(None, 0))
    plans = planning(desk)
    plans.end_here()
    assert plans.next({}, 0, 0) == {}
    assert plans.tasks({}) == []
    assert "begin" not in desk.asked


def test_a_stream_whose_partitions_never_come_says_so() -> None:
    plans = planning(FakeDesk(*[Planned(None, 2)] * 500))
    plans.end_here()
    with pytest.raises(StillAwayError, match="2 partitions have events to read, and did not come"):
        plans.next({}, 0, 0)


def test_turns_of_a_member_are_put_into_as_many_tasks_as_it_runs() -> None:
    turns = [turn(str(n), 10 * (n + 1), f"d-x{n % 2}") for n in range(8)]
    offset = offset_of(batch_of(turns, 1))
    tasks = planning(FakeDesk(), tasks_per_member=2).tasks(offset)
    assert [task.member for task in tasks] == ["d-x0", "d-x0", "d-x1", "d-x1"]
    assert sorted(t.partition for task in tasks for t in task.turns) == sorted(map(str, range(8)))
    assert all(t.member == task.member for task in tasks for t in task.turns)
    assert [sum(t.events for t in task.turns) for task in tasks] == [80, 80, 100, 100]
    assert {task.batch for task in tasks} == {71}


def test_no_task_is_empty() -> None:
    assert [len(part) for part in shared_out([turn("0"), turn("1")], 8)] == [1, 1]
    assert shared_out([], 3) == []


def test_a_task_shows_no_secret() -> None:
    (task,) = planning(FakeDesk()).tasks(offset_of(batch_of([turn("0")], 1)))
    assert "secret" not in repr(task)
    assert "token-of-the-desk" not in repr(task)
