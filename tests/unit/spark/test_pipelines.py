"""A pipeline that cannot be used is refused before anything is read, in the words of a handler."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidegate.delivery.state import State
from tidegate.handlers.loading import HandlerError
from tidegate.slices.shape import SliceError
from tidegate.spark.pipeline_context import About, PipelineContext, States
from tidegate.spark.pipelines import PipelineAnswerError, load_pipeline


@pytest.fixture(autouse=True)
def imports_as_before() -> Iterator[None]:
    paths, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = paths
    for name in set(sys.modules) - modules:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def other(df, context): ...", "has no function 'pipeline'; there are: other"),
        ("pipeline = 1", "'pipeline' in user_pipeline.py is no function"),
        ("import nothing_like_it", "line 1: import nothing_like_it: ModuleNotFoundError"),
        ("def pipeline(df): ...", "is to take (df, context), and takes (df)"),
        ("async def pipeline(df, context): ...", "is async: write it with a plain def"),
        ("def pipeline(events, context): ...", "leave spec.engine out"),
    ],
)
def test_a_pipeline_that_cannot_be_used_is_refused(tmp_path: Path, code: str, said: str) -> None:
    (tmp_path / "user_pipeline.py").write_text(code, encoding="utf-8")
    with pytest.raises(HandlerError) as error:
        load_pipeline("user_pipeline.py:pipeline", tmp_path)
    assert said in str(error.value)


def test_a_pipeline_that_gives_something_back_is_told_what_to_write(tmp_path: Path) -> None:
    (tmp_path / "user_pipeline.py").write_text("def pipeline(df, context): return df")
    pipeline = load_pipeline("user_pipeline.py:pipeline", tmp_path)
    pipeline(None, None)
    with pytest.raises(PipelineAnswerError, match=r"returned a list.*context\.write_slices"):
        pipeline([], None)


def context(written: list[tuple[object, ...]]) -> PipelineContext:
    states = States(("0",), lambda partition: State(partition, b'{"a":1}', 1000))

    def write(*given: object) -> None:
        written.append(given)

    return PipelineContext(About("g", "m", {"x": "y"}), 7, {}, states, 12.0, write)


def test_states_that_were_looked_at_are_stored_and_no_others() -> None:
    states = States(("0", "1"), lambda partition: State(partition, None, 1000))
    states["1"]["counted"] = 5
    assert states._encoded() == {"1": b'{"counted":5}'}
    with pytest.raises(KeyError):
        states["2"]


def test_an_output_is_written_once_in_a_batch_and_has_a_name() -> None:
    written: list[tuple[object, ...]] = []
    given = context(written)
    given.write_slices("frame", output="activity", key="home", sums=["count"])
    assert written[0][0:2] == ("frame", "activity")
    assert written[0][3:] == ("minute", 60)
    with pytest.raises(SliceError, match="twice in a batch"):
        given.write_slices("frame", output="activity", key="home", sums=["count"])
    with pytest.raises(SliceError, match="write a name"):
        given.write_slices("frame", output="a/", key="home", sums=["count"])
    with pytest.raises(SliceError, match="at least one of"):
        given.write_slices("frame", output="other", key="home")
