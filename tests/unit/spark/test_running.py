"""Batches through a pipeline: states, failures in words, and what a storage that fails means."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support.slice_store import MemoryBlobs
from tidegate.commands.wiring import set_up
from tidegate.model import Position
from tidegate.slices.shape import SliceError, SliceStorageError
from tidegate.spark.pipelines import Pipeline
from tidegate.spark.positions import Turn, batch_of

pa = pytest.importorskip("pyarrow", reason="pyarrow comes with the layer `spark`")

from tidegate.spark import running  # noqa: E402

GROUP = """
apiVersion: tidegate.dev/v1alpha1
kind: ConsumerGroup
metadata: {name: activity}
spec:
  engine: spark
  source: {eventHubs: {hub: telemetry, connectionString: {env: EVENTS}}}
  ledger: {container: ledger, connectionString: {env: STORAGE}}
  handler: {code: "pipeline.py:pipeline"}
  spark: {options: {unit: celsius}, output: {prefix: out}}
"""
SECRETS = {
    "EVENTS": "Endpoint=sb://localhost;SharedAccessKeyName=k;SharedAccessKey=s",
    "STORAGE": "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=c2VjcmV0",
}


class Desk:
    """The office, for one partition."""

    def __init__(self) -> None:
        self.turn = Turn("0", 1, Position("-1", -1), 9)
        self.state: bytes | None = b'{"seen":1}'
        self.stands = 9
        self.is_lost = False
        self._is_at_work = False

    def turns(self) -> dict[str, Turn]:
        self._check()
        return {} if self.is_lost else {"0": self.turn}

    def state_of(self, partition: str) -> bytes | None:
        self._check()
        return self.state

    def checkpointed(self, partition: str, epoch: int) -> int | None:
        self._check()
        return self.stands

    def call(self, work: Coroutine[Any, Any, Any]) -> Any:
        self._check()
        self._is_at_work = True
        try:
            return asyncio.run(work)
        finally:
            self._is_at_work = False

    def _check(self) -> None:
        """It has one loop: what runs there can ask it nothing."""
        assert not self._is_at_work, "the office would wait for itself"


@pytest.fixture
def blobs(monkeypatch: pytest.MonkeyPatch) -> MemoryBlobs:
    made = MemoryBlobs()
    monkeypatch.setattr(running, "SliceBlobs", lambda settings, prefix: made)
    return made


def run_of(tmp_path: Path, desk: Desk, function: Any) -> running.PipelineRun:
    path = tmp_path / "group.yaml"
    path.write_text(GROUP, encoding="utf-8")
    return running.PipelineRun(Pipeline("pipeline", function), desk, set_up(path, SECRETS), "m")


def frame(sequence: int, partitions: tuple[str, ...] = ("0",)) -> Any:
    rows = len(partitions)
    table = pa.table(
        {
            "partition": list(partitions),
            "minute": pa.array([60] * rows, pa.int64()),
            "sequence": pa.array([sequence] * rows, pa.int64()),
            "home": ["a"] * rows,
            "count": pa.array([1] * rows, pa.int64()),
        }
    )
    return SimpleNamespace(toArrow=lambda: table)


def pipeline(df: Any, context: Any) -> None:
    assert (context.options["unit"], context.group, context.member) == ("celsius", "activity", "m")
    context.state["0"]["seen"] += 1
    context.write_slices(df, output="activity", key="home", sums=["count"])


def test_a_batch_gives_the_states_with_the_slices_that_belong_to_them(
    tmp_path: Path, blobs: MemoryBlobs
) -> None:
    desk = Desk()
    run = run_of(tmp_path, desk, pipeline)
    states = run.batch(frame(7), batch_of([desk.turn], 1))
    assert states == {"0": b'{"seen":2,"slices/activity":{"19700101T000100Z":7}}'}
    assert len(blobs.blobs) == 2


def test_old_versions_go_when_the_checkpoint_stands_and_a_storage_that_refuses_is_no_end(
    tmp_path: Path,
    blobs: MemoryBlobs,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    desk = Desk()
    run = run_of(tmp_path, desk, pipeline)
    desk.state = run.batch(frame(7), batch_of([desk.turn], 1))["0"]
    desk.turn = Turn("0", 1, Position("9", 9), 20)
    run.batch(frame(15), batch_of([desk.turn], 2))
    assert len(blobs.blobs) == 4
    run.tidy()
    assert len(blobs.blobs) == 4  # the checkpoint is still the one before
    desk.stands = 20

    async def refuse(*_: Any) -> None:
        raise SliceStorageError("storage is slow")

    with monkeypatch.context() as patched:
        patched.setattr(blobs, "remove", refuse)
        run.tidy()
    assert len(blobs.blobs) == 4

    async def hang(*_: Any) -> None:
        await asyncio.Event().wait()

    # It is the driver's main thread that waits.
    with monkeypatch.context() as patched:
        patched.setattr(blobs, "remove", hang)
        patched.setattr(running, "_TIDY_S", 0.05)
        run.tidy()
    assert "old versions were not removed within" in caplog.text
    assert len(blobs.blobs) == 4
    run.tidy()
    assert {name.rsplit("/", 1)[1].split(".")[0] for name in blobs.blobs} == {f"{15:020}"}


def test_a_batch_that_fails_after_it_wrote_leaves_no_state_and_comes_again(
    tmp_path: Path, blobs: MemoryBlobs
) -> None:
    desk = Desk()
    fails = [True]

    def failing(df: Any, context: Any) -> None:
        pipeline(df, context)
        if fails:
            raise ValueError("after all was written")

    run = run_of(tmp_path, desk, failing)
    with pytest.raises(ValueError, match="after all"):
        run.batch(frame(7), batch_of([desk.turn], 1))
    assert not blobs.blobs, "what was counted of events that may be put aside"
    fails.clear()
    again = run.batch(frame(7), batch_of([desk.turn], 2))
    assert again == {"0": b'{"seen":2,"slices/activity":{"19700101T000100Z":7}}'}


def test_a_partition_that_was_lost_in_mid_batch_fails_neither_the_batch_nor_its_events(
    tmp_path: Path, blobs: MemoryBlobs
) -> None:
    desk = Desk()
    other = Turn("1", 1, Position("-1", -1), 9)
    run = run_of(tmp_path, desk, pipeline)
    states = run.batch(frame(7, ("0", "1")), batch_of([desk.turn, other], 1))
    assert states == {"0": b'{"seen":2,"slices/activity":{"19700101T000100Z":7}}'}
    assert all("/0/" in name for name in blobs.blobs)
    desk.is_lost = True
    assert run.batch(frame(8), batch_of([desk.turn], 2)) == {"0": b'{"seen":2}'}
    with pytest.raises(SliceError, match="partition '2' is none of this batch's"):
        run.batch(frame(8, ("2",)), batch_of([desk.turn], 3))


def test_the_columns_of_an_output_stay_the_same_while_a_pipeline_runs(
    tmp_path: Path, blobs: MemoryBlobs
) -> None:
    desk = Desk()
    columns: list[list[str]] = [[], ["sequence"]]

    def changing(df: Any, context: Any) -> None:
        context.write_slices(df, output="activity", key="home", sums=["count"], last=columns.pop(0))

    run = run_of(tmp_path, desk, changing)
    run.batch(frame(7), batch_of([desk.turn], 1))
    with pytest.raises(SliceError, match="had other columns"):
        run.batch(frame(7), batch_of([desk.turn], 2))
