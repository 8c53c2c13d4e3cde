"""Finds the user's pipeline, and says what is wrong with it before anything is read.

    pipeline = load_pipeline("pipeline.py:pipeline", folder)    # or "package.module:pipeline"

    def pipeline(df, context):
        counted = df.groupBy("partition", "home").agg(...)
        context.write_slices(counted, ...)

Rules: it is called for every batch with a plain DataFrame, so nobody meets Spark's state store. It
gives nothing back: a DataFrame that it returned would be counted and written nowhere.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegate.handlers.loading import Function, HandlerError, function_of


class PipelineAnswerError(Exception):
    """The pipeline gave back what cannot be used; the message says what to write."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The user's function, and how the group file names it."""

    reference: str
    function: Function

    def __call__(self, frame: Any, context: Any) -> None:
        """Lets it handle a batch. Raises PipelineAnswerError and whatever it raises."""
        given = self.function(frame, context)
        if given is None:
            return
        if inspect.iscoroutine(given):
            given.close()
        raise PipelineAnswerError(
            f"pipeline '{self.reference}' returned {_kind(given)}, and nothing is done with that: "
            "write what it has computed, with context.write_slices(frame, ...) or "
            "frame.write..., and return nothing"
        )


def load_pipeline(reference: str, folder: Path) -> Pipeline:
    """The function that a reference names. Raises HandlerError."""
    function = function_of(reference, folder)
    name = reference.rpartition(":")[2]
    if inspect.iscoroutinefunction(function):
        raise HandlerError(f"pipeline '{reference}': '{name}' is async: write it with a plain def")
    try:
        shape = inspect.signature(function)
        shape.bind("df", "context")
    except TypeError:
        raise HandlerError(
            f"pipeline '{reference}': '{name}' is to take (df, context), and takes {shape}"
        ) from None
    first = next(iter(shape.parameters))
    if first in ("event", "events"):
        raise HandlerError(
            f"pipeline '{reference}': '{name}' is a handler of events. With engine: spark write "
            "pipeline(df, context), or leave spec.engine out."
        )
    return Pipeline(reference, function)


def _kind(given: Any) -> str:
    name = type(given).__name__
    return f"a{'n' if name[0] in 'AEIOUaeiou' else ''} {name}"
