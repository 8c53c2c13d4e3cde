"""The query of a driver: what becomes of batches, and of a query that ends by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.model import Position
from tidegate.spark.positions import Batch, Turn, batch_of
from tidegate.spark.query import Query
from tidegate.spark.standing import Standing
from tidegate.spark.turns import UnreadError

BATCH = batch_of([Turn("0", 5, Position("10", 9), 30)], 17)


class Py4JError(Exception):
    """As Spark's line to Java raises it."""

    __module__ = "py4j.protocol"


class PlayedOffice:
    """An office with one batch; it keeps what it is told."""

    def __init__(self, batch: Batch | None = BATCH) -> None:
        self.batch = batch
        self.told: list[tuple[Any, ...]] = []
        self.refuses = False

    def batch_under_way(self) -> Batch | None:
        return self.batch

    def done(self, number: int, states: Mapping[str, bytes | None]) -> None:
        if self.refuses:
            raise UnreadError("partition 0 was not read")
        self.told.append(("done", number, dict(states)))

    def failed(self, number: int, error: str, *, blames_events: bool) -> None:
        self.told.append(("failed", number, error, blames_events))

    def figures(self) -> Any:
        return SimpleNamespace(counted=SimpleNamespace(last_events=21))


class PlayedQuery:
    """A query of Spark's."""

    def __init__(self, on_batch: Callable[[Any, int], None], life: Path) -> None:
        self.on_batch, self.life = on_batch, life
        self.isActive = True  # Spark's name
        self.error = "planner gone"

    def exception(self) -> str:
        return self.error

    def stop(self) -> None:
        self.isActive = False


class World:
    """A query on a played Spark; `work` is the pipeline."""

    def __init__(self, folder: Path, work: Callable[[], Mapping[str, bytes | None]]) -> None:
        self.office = PlayedOffice()
        self.standing = Standing()
        self.lives: list[PlayedQuery] = []
        self.now = 100.0
        self.tidied = self.failed = 0
        run = SimpleNamespace(batch=lambda frame, batch: work(), failed=self._fail, tidy=self._tidy)
        self.query = Query(
            self._begin,
            run,
            self.office,  # type: ignore[arg-type]
            self.standing,
            folder,
            clock=lambda: self.now,
            wall=lambda: 5000.0,
        )

    def _begin(self, on_batch: Callable[[Any, int], None], life: Path) -> PlayedQuery:
        self.lives.append(PlayedQuery(on_batch, life))
        return self.lives[-1]

    def _tidy(self) -> None:
        self.tidied += 1

    def _fail(self) -> None:
        self.failed += 1

    def look(self, after_s: float = 0.0) -> None:
        self.now += after_s
        self.query.look()

    def batch(self) -> None:
        self.lives[-1].on_batch(None, 0)


def raises(error: BaseException) -> Callable[[], Mapping[str, bytes | None]]:
    def work() -> Mapping[str, bytes | None]:
        raise error

    return work


def test_a_batch_that_ends_well_is_told_with_its_states(tmp_path: Path) -> None:
    world = World(tmp_path, lambda: {"0": b"state"})
    world.look()
    world.batch()
    assert world.office.told == [("done", 17, {"0": b"state"})]
    assert world.standing.last_batch is not None
    assert (world.standing.last_batch.number, world.standing.last_batch.events) == (17, 21)


def test_a_batch_that_fails_ends_the_batch_and_not_the_query(tmp_path: Path) -> None:
    world = World(tmp_path, raises(KeyError("home")))
    world.look()
    world.batch()
    ((what, number, said, blames),) = world.office.told
    assert (what, number, blames) == ("failed", 17, True)
    assert said.startswith("KeyError: 'home'")
    assert world.standing.failed == {"PipelineFailed": 1}
    assert len(world.lives) == 1


def test_a_lost_executor_is_no_fault_of_the_events(tmp_path: Path) -> None:
    world = World(tmp_path, raises(Py4JError("ExecutorLostFailure (executor 3 exited)")))
    world.look()
    world.batch()
    assert world.office.told[0][3] is False
    assert world.standing.failed == {"ExecutorLost": 1}


@pytest.mark.parametrize("end", [SystemExit("enough"), KeyboardInterrupt(), GeneratorExit()])
def test_a_pipeline_that_asks_the_process_to_end_has_failed(
    tmp_path: Path, end: BaseException
) -> None:
    world = World(tmp_path, raises(end))
    world.look()
    world.batch()
    assert world.office.told[0][:2] == ("failed", 17)


def test_a_batch_that_was_not_read_whole_is_not_told_as_failed_again(tmp_path: Path) -> None:
    world = World(tmp_path, dict)
    world.office.refuses = True
    world.look()
    world.batch()
    assert world.office.told == []
    assert world.standing.failed == {"BatchRefused": 1}
    assert world.standing.last_batch is None
    assert world.failed == 1, "what the pipeline wrote would count"


def test_a_batch_whose_partitions_went_away_is_passed(tmp_path: Path) -> None:
    world = World(tmp_path, raises(AssertionError("nobody may call the pipeline")))
    world.look()
    for none in (None, Batch(3)):
        world.office.batch = none
        world.batch()
    assert world.office.told == []
    assert world.standing.failure is None


def test_a_query_that_ends_by_itself_is_begun_anew_after_pauses_that_grow(tmp_path: Path) -> None:
    world = World(tmp_path, dict)
    world.look()
    for number, pause in enumerate((1, 2, 4, 8, 16, 30, 30), start=1):
        world.lives[-1].isActive = False
        world.look()
        assert (len(world.lives), world.standing.phase) == (number, "retrying")
        world.look(pause - 0.1)
        assert len(world.lives) == number
        world.look(0.2)
        assert (len(world.lives), world.standing.phase) == (number + 1, "running")
    assert world.standing.restarts == 7


def test_a_batch_that_ends_well_makes_the_pause_short_again(tmp_path: Path) -> None:
    world = World(tmp_path, dict)
    world.look()
    for _ in range(3):
        world.lives[-1].isActive = False
        world.look()
        world.look(30)
    world.batch()
    world.lives[-1].isActive = False
    world.look()
    world.look(1.1)
    assert len(world.lives) == 5


def test_every_life_of_a_query_has_a_folder_of_its_own_that_ends_with_it(tmp_path: Path) -> None:
    world = World(tmp_path, dict)
    world.look()
    world.lives[-1].isActive = False
    world.look()
    world.look(1.1)
    first, second = (life.life for life in world.lives)
    assert first != second
    assert (first.exists(), second.exists()) == (False, True)
    world.query.stop()
    assert list(tmp_path.iterdir()) == []


def test_a_query_whose_jvm_is_gone_is_stopped_without_an_error(tmp_path: Path) -> None:
    world = World(tmp_path, dict)
    world.look()
    world.lives[-1].stop = raises(ConnectionRefusedError(111, "refused"))  # type: ignore[method-assign,assignment]
    world.query.stop()
    world.query.stop()
    assert list(tmp_path.iterdir()) == []


def test_what_is_told_of_a_failure_has_no_secret(tmp_path: Path) -> None:
    world = World(tmp_path, raises(KeyError("the key of the house")))
    world.standing = world.query._standing = Standing(0.0, lambda text: text.replace("key", "***"))
    world.look()
    world.batch()
    assert world.office.told[0][2].startswith("KeyError: 'the *** of the house'")
    assert "the key" not in str(world.standing.as_json()["failure"])
    world.lives[-1].isActive, world.lives[-1].error = False, "the key of the house"
    world.look()
    assert world.standing.as_json()["failure"] == "PipelineFailed: the *** of the house"


def test_what_is_left_over_is_tidied_between_batches_now_and_then(tmp_path: Path) -> None:
    world = World(tmp_path, dict)
    for _ in range(5):
        world.look(3)
    assert world.tidied == 1
