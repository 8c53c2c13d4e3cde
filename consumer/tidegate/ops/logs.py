"""The log: JSON lines for machines, or lines for people where a terminal reads them.

Rules:
- One line a record, also where the message or a traceback has several.
- A line costs no more than a bounded text does, whatever is logged: arguments, messages and
  tracebacks are cut before they are put together and searched for secrets.
- Everything that leaves goes through `secrets.Secrets` when it is finished, tracebacks included.
- `Logged` tells what happens to the group: openings and reports, at levels that let people sleep;
  what comes with every batch is a metric and not a line.
- The libraries below us speak from WARNING on; at DEBUG they speak as well.
- A log that cannot be written, for its disk is full, stops nothing. How many lines were lost is
  said when it can be written again.
- Of our own lines, and those of the libraries below us, that repeat each other, five a minute are
  written, and then how many more there were. Lines of a partition repeat each other if they differ
  in numbers alone; the error of a line counts as its words do. Lines of other code, such as a
  handler's own, are left alone, and so is DEBUG.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
import sys
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

from tidegate.bounded import LONGEST, bounded
from tidegate.error_text import said, trace_of
from tidegate.ops import observer as facts
from tidegate.ops.observer import Observer
from tidegate.ops.repeats import PERIOD_S, Left, Repeats
from tidegate.ops.secrets import Secrets

ROOT = "tidegate"
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")

# Kinds of reports that say that all is as it should be.
_CALM = frozenset(
    {
        "circuit-closed",
        *("ledger-readable", "reads-again", "rewound", "scratch-written", "source-readable"),
        *("stopping", "taken", "unstuck"),
    }
)
# Kinds after which something does not go on by itself, or is gone.
_GRAVE = frozenset(
    {
        "circuit-open",
        "events-lost",
        *("dead-letter", "halted", "handler-halted", "ledger-unreadable", "name-taken", "stuck"),
        "unreadable",
    }
)
# How readers end that says little by itself: why one failed is told by the member's report.
_CLOSED = {"closed": "INFO", "failed": "DEBUG"}
# What else is said of an end whose cause is outside of the group.
_WHY = {
    "stolen": ": the source gave the partition to a reader of a higher epoch. Where that is said "
    "again and again, another group reads here with another ledger: give each a consumer group "
    "of its own"
}
_FIELDS = "tidegate"


# Whose lines are limited, by the first word of the logger's name.
_LIMITED = frozenset(("asyncio", "azure", "tidegate"))
# Numbers in lines of a partition that repeat each other: places, counts, attempts, addresses.
_NUMBER = re.compile("0x[0-9a-f]+|[0-9]+")
_COMPARED = 400


def repeat_key(record: logging.LogRecord) -> Hashable:
    """Which records repeat each other; None for those that are always written."""
    top = record.name.split(".", 1)[0].split("_", 1)[0]
    if record.levelno <= logging.DEBUG or top not in _LIMITED:
        return None
    fields: Mapping[str, Any] = getattr(record, _FIELDS, {})
    text, partition = _message(record)[:_COMPARED], fields.get("partition")
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        text = f"{text}: {said(error, _COMPARED)}"
    if partition is not None:
        text = _NUMBER.sub("#", text)
    return record.name, record.levelno, fields.get("kind"), partition, text


def _like(record: logging.LogRecord, message: str, **fields: Any) -> logging.LogRecord:
    """A record of the same place with other words: it keeps no traceback, and so no frames."""
    place = record.name, record.levelno, record.pathname, record.lineno
    made = logging.LogRecord(*place, "%s", (message,), None)
    setattr(made, _FIELDS, {**getattr(record, _FIELDS, {}), **fields})
    return made


class Lines(logging.Formatter):
    """A record as one line, without secrets."""

    def __init__(self, secrets: Secrets, *, as_json: bool) -> None:
        super().__init__()
        self._secrets = secrets
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        message = _message(record)
        error = record.exc_info[1] if record.exc_info else None
        problem = "" if error is None else trace_of(error).rstrip("\n")
        if record.stack_info:
            problem = f"{problem}\n{bounded(record.stack_info)}".strip()
        fields: Mapping[str, Any] = getattr(record, _FIELDS, {})
        if not self._as_json:
            return self._secrets.hide(_readable(record, message, fields, problem))
        content: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            **fields,
            "message": message,
        }
        if problem:
            content["error"] = problem
        # Hidden before it becomes JSON, whose escapes might stand inside a secret.
        return json.dumps(hidden(content, self._secrets), ensure_ascii=False, default=str)


def _message(record: logging.LogRecord) -> str:
    """The message, put together from bounded arguments and bounded itself."""
    args: Any = record.args
    if isinstance(args, Mapping):
        if any(_is_long(each) for each in args.values()):
            args = {key: _argument(each) for key, each in args.items()}
    elif args:
        args = tuple(_argument(each) for each in args)
    return bounded(str(record.msg) % args if args else str(record.msg))


def _is_long(value: object) -> bool:
    return isinstance(value, str | bytes | bytearray) and len(value) > LONGEST


def _argument(value: Any) -> Any:
    if not _is_long(value):
        return value
    return bounded(value) if isinstance(value, str) else value[:LONGEST]


def hidden(value: Any, secrets: Secrets) -> Any:
    """A value of JSON with the secrets taken out of all its texts."""
    if isinstance(value, Mapping):
        return {secrets.hide(str(key)): hidden(each, secrets) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [hidden(each, secrets) for each in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return secrets.hide(str(value))


def _readable(
    record: logging.LogRecord, message: str, fields: Mapping[str, Any], problem: str
) -> str:
    # The datetime's own strftime imports a module, which no longer works while Python ends.
    at = time.strftime("%H:%M:%S", time.localtime(record.created))
    level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
    named = " ".join(f"{key}={value}" for key, value in fields.items() if value not in (None, ""))
    line = f"{at} {level}{message}" + (f"  [{named}]" if named else "")
    return line + (f"\n{problem}" if problem else "")


class Output(logging.StreamHandler[TextIO | io.TextIOBase]):
    """Writes lines to a stream, as far as it takes them, and counts those that only repeat."""

    def __init__(
        self,
        stream: TextIO | io.TextIOBase,
        secrets: Secrets,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(stream)
        self._secrets = secrets
        self._clock = clock
        self._lost = 0
        # None once the handler is closed: from then on everything is written.
        self._repeats: Repeats[logging.LogRecord] | None = Repeats()
        self._timer: threading.Timer | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Writes a record, unless it only repeats what was just written."""
        repeats, now = self._repeats, self._clock()
        if repeats is None:
            self._write(record)
            return
        for left in repeats.due(now):
            self._write(self._counted(left))
        try:
            key = repeat_key(record)
            line = record if key is None else _like(record, _message(record))
        except Exception:
            self.handleError(record)
            return
        if key is None or repeats.take(key, line, now):
            self._write(record)
        elif self._timer is None:
            # If no other line comes, the count must not wait for the end of the process.
            self._start_timer(PERIOD_S)

    def _start_timer(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self._on_timer)
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError:
            # The process may start no more threads: the count comes with the next line.
            return
        self._timer = timer

    def _on_timer(self) -> None:
        with self.lock or contextlib.nullcontext():
            self._timer = None
            if self._repeats is None:
                return
            for left in self._repeats.due(self._clock()):
                self._write(self._counted(left))
            if self._repeats.has_left_out:
                self._start_timer(PERIOD_S / 4)

    def _counted(self, left: Left[logging.LogRecord]) -> logging.LogRecord:
        """The line with the number of records that were left out."""
        # Hidden before it is cut: half of a secret is not recognised as one.
        words = self._secrets.hide(_message(left.line))[:_COMPARED]
        text = f"repeated {left.count} times in {left.seconds:.0f} s: {words}"
        return _like(left.line, text, repeated=left.count)

    def rest(self) -> list[logging.LogRecord]:
        """The counts of what was left out until now, for whoever writes on; limits nothing more."""
        repeats, self._repeats = self._repeats, None
        if self._timer is not None:
            self._timer.cancel()
        if repeats is None:
            return []
        return [self._counted(each) for each in repeats.rest(self._clock())]

    def close(self) -> None:
        """Write the counts at the end of the process."""
        with self.lock or contextlib.nullcontext():
            for record in self.rest():
                self._write(record)
        super().close()

    def _write(self, record: logging.LogRecord) -> None:
        before = self._lost
        super().emit(record)
        if before and self._lost == before:
            self._lost = 0
            words = f"{before} lines of the log are lost: it could not be written"
            level = logging.WARNING
            super().emit(logging.LogRecord(f"{ROOT}.ops", level, __file__, 0, words, None, None))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (the name is logging's)
        """Python's own would write the record's arguments out, secrets and all."""
        problem = sys.exc_info()[1]
        self._lost += 1
        # User code may have closed the stream.
        if not (problem is None or isinstance(problem, OSError) or self.stream.closed):
            words = f"a line of the log from {record.pathname}:{record.lineno} cannot be made: "
            with contextlib.suppress(OSError):
                self.stream.write(self._secrets.hide(words + said(problem)) + self.terminator)


def set_up(
    secrets: Secrets,
    *,
    level: str = "INFO",
    as_json: bool | None = None,
    stream: TextIO | io.TextIOBase | None = None,
) -> logging.Handler:
    """Sends all logging of the process to a stream; JSON unless a terminal reads it."""
    stream = stream or sys.stderr
    handler = Output(stream, secrets)
    if as_json is None:
        as_json = not stream.isatty()
    handler.setFormatter(Lines(secrets, as_json=as_json))
    top = logging.getLogger()
    counted: list[logging.LogRecord] = []
    for old in list(top.handlers):
        top.removeHandler(old)
        if isinstance(old, Output):
            counted += old.rest()
            old.close()
    top.addHandler(handler)
    for record in counted:
        handler.handle(record)
    top.setLevel("DEBUG" if level == "DEBUG" else "WARNING")
    logging.getLogger(ROOT).setLevel(level)
    return handler


class Logged(Observer):
    """Writes what happens to the log."""

    def __init__(self, group: str, member: str, log: logging.Logger | None = None) -> None:
        self._log = log or logging.getLogger(f"{ROOT}.group")
        self._always = {"group": group, "member": member}

    def hear(self, fact: facts.Fact) -> None:
        match fact:
            case facts.ReaderOpened():
                self._say("INFO", "reading", partition=fact.partition, epoch=fact.epoch)
            case facts.ReaderClosed():
                level = _CLOSED.get(fact.reason, "WARNING")
                text = f"reader {fact.reason}{_WHY.get(fact.reason, '')}"
                self._say(level, text, partition=fact.partition)
            case facts.BatchFailed():
                self._on_failed(fact)
            case facts.Reported(report=report):
                level = "INFO" if report.kind in _CALM else "WARNING"
                level = "ERROR" if report.kind in _GRAVE else level
                self._say(level, report.message, kind=report.kind, partition=report.partition)
            case facts.CheckpointWritten():
                sequence = fact.position.sequence
                self._say("DEBUG", "checkpoint", partition=fact.partition, sequence=sequence)

    def _on_failed(self, fact: facts.BatchFailed) -> None:
        level = "ERROR" if fact.is_stuck or fact.is_hung else "WARNING"
        what = "the handler did not come back" if fact.is_hung else "the handler failed"
        stuck = "Stuck: " if fact.is_stuck else ""
        text = f"{stuck}{what} with {fact.events} events, attempt {fact.attempt}: {fact.error}"
        self._say(level, text, partition=fact.partition, attempt=fact.attempt)

    def _say(self, level: str, message: str, **fields: Any) -> None:
        number = logging.getLevelName(level)
        if self._log.isEnabledFor(number):
            shown = {key: value for key, value in fields.items() if value is not None}
            self._log.log(number, "%s", message, extra={_FIELDS: {**self._always, **shown}})
