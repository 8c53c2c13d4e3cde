"""What Spark says of a failure, in words for people: what happened and what to do. Pure.

Rules:
- Where Python raised something, its kind decides, by its whole name; what people write into a
  message decides nothing. Only of what Java said alone the words are looked at.
- A failure that is no fault of the events (an executor was lost, memory ran out, the hub or the
  driver could not be reached) is told apart, so that no event is put aside for it.
"""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from tidegate.bounded import cut
from tidegate.error_text import class_name, text_of

# With these a JVM ends that has used up its heap: as we tell it to, and as Spark does by itself.
OUT_OF_MEMORY_CODES = (3, 52)

_LONGEST = 700
# So many errors of a chain are looked at for the one that Spark has raised.
_CAUSES = 10
# Ours and Python's own: a folder of the user's may be called tidegate too, as it is in pods.
_NOT_THE_USERS = (f"{Path(__file__).parents[1]}/", f"{sysconfig.get_path('stdlib')}/", "<")
_MEMORY = re.compile(
    r"OutOfMemoryError|OOMKilled"
    r"|\b(?:executor|command)\b[^\n]{0,200}?"
    r"\bexit(?:ed)?(?: with)?(?: exit)? code:? (?:3|52|137)\b",
    re.IGNORECASE,
)
_LOST = re.compile(
    r"ExecutorLostFailure|ExecutorDeadException|worker lost|Python worker exited unexpectedly"
    r"|Could not find CoarseGrainedScheduler|FetchFailed|MetadataFetchFailed"
    r"|executor .{0,40}(?:heartbeat timed out|decommission)"
)
_GONE = re.compile(r"Py4JNetworkError|Answer from Java side is empty|Connection refused")
_CANCELLED = re.compile(
    r"\bJob \d+ (?:was )?cancelled|cancelled job group|SparkContext was shut down"
    r"|InterruptedException"
)
_TRACEBACK = "Traceback (most recent call last)"
# Its last line, which has no blank at its beginning.
_RAISED = re.compile(r"^(?P<kind>[A-Za-z_][\w.<>]*)(?:: (?P<message>.*))?$")
# What stands there where a traceback is written in another way.
_ERROR = re.compile(
    r"^(?P<kind>[\w.]*(?:Error|Exception|Interrupt|Exit|Failure))(?:: (?P<message>.*))?$", re.M
)

MORE_MEMORY = (
    "Raise spec.spark.executor.memory (the heap) or memoryOverhead (its Python workers), or lower "
    "spec.spark.maxEvents"
)
_MORE_FOR_DRIVER = (
    "Raise spec.spark.driver.memoryOverhead, or have the pipeline bring less to the driver"
)
_READ_TWICE = (
    "Where one job uses its frame twice (a join or a union with itself), keep the frame first: "
    "df.persist(); df.count()"
)

# What we raise where it is no fault of the events, by its whole name, and the reason for people.
# Everything else that Python raises may come from what the events say.
OF_NO_EVENT: Mapping[str, str] = MappingProxyType(
    {
        "tidegate.handling.DeadLetterError": "LetterNotWritten",
        "tidegate.ports.ledger.LedgerError": "LedgerNotReached",
        "tidegate.ports.source.NotUnderstoodError": "HubNotRead",
        "tidegate.ports.source.SourceError": "HubNotRead",
        "tidegate.ports.source.StolenError": "HubNotRead",
        "tidegate.slices.shape.SliceStorageError": "SlicesNotWritten",
        "tidegate.sources.cosmos.pages.FeedError": "HubNotRead",
        "tidegate.sources.native.refusals.DroppedError": "HubNotRead",
        "tidegate.spark.desk_client.DeskError": "OfficeNotReached",
        "tidegate.spark.desk_client.RefusedError": "OfficeRefused",
        "tidegate.spark.office.OfficeError": "OfficeNotReached",
        "tidegate.spark.own_office.OwnOfficeError": "OfficeNotReached",
        "tidegate.spark.planning.StillAwayError": "OfficeNotReached",
        "tidegate.spark.reading_tasks.ReadElsewhereError": "ReadTwice",
        "tidegate.spark.turns.BatchError": "BatchRefused",
        "tidegate.spark.turns.UnreadError": "BatchRefused",
    }
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a batch or a query failed."""

    # In one word: of a metric and of a condition.
    reason: str
    message: str
    # Whether what the events say may be the cause.
    blames_events: bool = True


def failure_of(text: str) -> Failure:
    """What a text of Spark's means, with the traceback of a worker in it or without."""
    said = shortened(text)
    raised = _raised(text)
    if raised is not None:
        return _of_kind((raised["kind"],), said, MORE_MEMORY)
    if _MEMORY.search(text):
        return _of_memory(said, MORE_MEMORY)
    if _GONE.search(text):
        return Failure("DriverLost", f"Spark's driver does not answer: {said}", blames_events=False)
    if _LOST.search(text):
        return Failure("ExecutorLost", f"executors were lost: {said}", blames_events=False)
    if _CANCELLED.search(text):
        return Failure("Cancelled", said, blames_events=False)
    return Failure("PipelineFailed", said)


def failure_of_error(error: BaseException, depth: int = _CAUSES) -> Failure:
    """What an error means that was raised in the driver, by the pipeline or below it."""
    # Its class is the user's code.
    text, name = text_of(error), class_name(error)
    if _is_of_spark(error):
        return failure_of(text if _TRACEBACK in text else f"{name}: {text}")
    first = text.partition("\n")[0]
    kinds = tuple(f"{each.__module__}.{each.__qualname__}" for each in type(error).__mro__)
    failure = _of_kind(kinds, _cut(f"{name}: {first}{_place(error)}"), _MORE_FOR_DRIVER)
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if failure.blames_events and before is not None and depth:
        # A pipeline may say in its own words what Spark has told it.
        cause = failure_of_error(before, depth - 1)
        if not cause.blames_events:
            return replace(failure, reason=cause.reason, blames_events=False)
    return failure


def shortened(text: str) -> str:
    """The one line of it that says most."""
    raised = _raised(text)
    if raised is not None:
        kind, message = raised["kind"].rpartition(".")[2], raised["message"]
        return _cut(f"{kind}: {message}" if message else kind)
    return _cut(next((each for each in text.splitlines() if each.strip()), "it says nothing"))


def _of_kind(kinds: tuple[str, ...], said: str, more_memory: str) -> Failure:
    """`kinds`: the name of what was raised, and those of what it is one of."""
    if any(kind.endswith("MemoryError") for kind in kinds):
        return _of_memory(said, more_memory)
    reason = next((OF_NO_EVENT[kind] for kind in kinds if kind in OF_NO_EVENT), None)
    if reason is None:
        return Failure("PipelineFailed", said)
    said = f"{said}. {_READ_TWICE}." if reason == "ReadTwice" else said
    return Failure(reason, said, blames_events=False)


def _of_memory(said: str, more_memory: str) -> Failure:
    whose = "an executor" if more_memory == MORE_MEMORY else "the driver"
    return Failure(
        "OutOfMemory", f"{whose} had too little memory: {said} {more_memory}.", blames_events=False
    )


def _raised(text: str) -> re.Match[str] | None:
    """The line of a traceback that says what was raised. Spark wraps it in errors of its own, which
    come later; of several that came of one another it is the last."""
    begin = text.rfind(_TRACEBACK)
    if begin < 0:
        return None
    lines = text[begin:].splitlines()[1:]
    line = next((each for each in lines if each and not each[0].isspace()), "")
    return _RAISED.match(line) or _ERROR.search(text, begin)


def _is_of_spark(error: BaseException) -> bool:
    """Whether Spark, or the line to it, raised it, and so not the pipeline itself."""
    modules = {each.__module__ for each in type(error).__mro__}
    if any(name.startswith(("py4j.", "pyspark.")) for name in modules):
        return True
    frames, module = error.__traceback__, ""
    while frames is not None:
        module, frames = frames.tb_frame.f_globals.get("__name__", ""), frames.tb_next
    # Where nobody listens any more, it is the system's own error.
    return isinstance(error, OSError) and module.startswith("py4j.")


def _place(error: BaseException) -> str:
    """Where the user's own code raised it."""
    frames, place = error.__traceback__, ""
    while frames is not None:
        file = frames.tb_frame.f_code.co_filename
        if "site-packages" not in file and not file.startswith(_NOT_THE_USERS):
            place = f" ({Path(file).name}, line {frames.tb_lineno})"
        frames = frames.tb_next
    return place


def _cut(line: str) -> str:
    return cut(" ".join(line.split()), _LONGEST)


def end_of_driver(code: int | None) -> Failure:
    """What the exit code of the driver's JVM means; None where it has not ended."""
    if code in OUT_OF_MEMORY_CODES:
        return Failure(
            "DriverOutOfMemory",
            "the driver's JVM had too little memory and ended. Raise spec.spark.driver.memory, or "
            "have the pipeline bring less to the driver.",
            blames_events=False,
        )
    if code in (-9, 137):
        return Failure(
            "DriverKilled",
            "the driver's JVM was killed, probably because the machine or the pod has too little "
            "memory for it. Raise spec.spark.driver.memoryOverhead.",
            blames_events=False,
        )
    ended = "does not answer" if code is None else f"ended with code {code}"
    return Failure(
        "DriverLost", f"the driver's JVM {ended}; see its log above.", blames_events=False
    )
