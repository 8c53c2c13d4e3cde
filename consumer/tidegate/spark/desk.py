"""The office's desk: answers what Spark's Python processes ask (desk_client.py), over TCP.

    {"nonce": "..."}                       -> {"nonce": "..."}, in the open
    {}                                     -> {}, sealed as each line after it (desk_seal.py)
    {"ask": "plan", "events": 20000}       -> {"offset": {...}, "waiting": 0}
    {"ask": "nonsense"}                    -> {"error": "words"}

Rules:
- Who does not prove that he has the token hears nothing but a nonce, is cut off, and may not say
  much before. So is who says a line that is not sealed as it should be.
- What cannot be understood is answered in words; a line that does not end is cut off. Neither harms
  anybody else.
- Every question may be asked twice.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tidegate.handling import DeadLetterError
from tidegate.model import PartitionEnd, PartitionId
from tidegate.ports import SourceError
from tidegate.spark.admission import Limit
from tidegate.spark.desk_seal import NONCE_BYTES, BrokenSealError, Seal, is_nonce
from tidegate.spark.positions import NotAnOffsetError, batch_from, offset_of, read_from
from tidegate.spark.turns import BatchError
from tidegate.spark.work import Work

MOST_CONNECTIONS = 1_000
# The first line; any other, which may carry a dead letter.
_FIRST_LINE, _LONGEST_LINE = 4_096, 8 << 20
_FIRST_LINE_S = 10.0
_PIECE = 1 << 16

Question = Mapping[str, Any]
Answer = dict[str, Any]


class NotAQuestionError(Exception):
    """A line that is no question; the message says why."""


class Desk:
    """See the module. Runs on the office's loop."""

    def __init__(self, work: Work, token: str) -> None:
        self._work = work
        self._token = token
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._answers: Mapping[str, Callable[[Question], Awaitable[Answer]]] = {
            "plan": self._plan,
            "begin": self._begin,
            "done": self._done,
            "failed": self._failed,
            "report": self._report,
            "stolen": self._stolen,
            "aside": self._aside,
            "ends": self._ends,
        }

    async def open(self, host: str, port: int = 0) -> int:
        """Listens; gives the port. Raises OSError."""
        self._server = await asyncio.start_server(self._serve, host, port, limit=_PIECE)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            for writer in self._writers:
                writer.close()
            await self._server.wait_closed()

    # --- a connection

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._writers) >= MOST_CONNECTIONS:
            writer.close()
            return
        self._writers.add(writer)
        try:
            lines = _Lines(reader)
            async with asyncio.timeout(_FIRST_LINE_S):
                theirs, ours = await self._met(lines, writer)
            while line := await lines.next(_LONGEST_LINE):
                await _say(writer, ours.sealed(await self._answer(theirs.opened(line))))
        except (BrokenSealError, ConnectionError, NotAQuestionError, TimeoutError):
            # Whoever that was, the connection is of no more use.
            return
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _met(self, lines: _Lines, writer: asyncio.StreamWriter) -> tuple[Seal, Seal]:
        """The seals of who asks and of the desk. Raises BrokenSealError and NotAQuestionError."""
        nonce = _question(await lines.next(_FIRST_LINE)).get("nonce")
        if not isinstance(nonce, str) or not is_nonce(nonce):
            raise NotAQuestionError("'nonce' is none")
        mine = secrets.token_hex(NONCE_BYTES)
        await _say(writer, json.dumps({"nonce": mine}).encode() + b"\n")
        theirs, ours = (Seal(self._token, each, nonce, mine) for each in ("asker", "desk"))
        theirs.opened(await lines.next(_FIRST_LINE))
        await _say(writer, ours.sealed(b"{}"))
        return theirs, ours

    async def _answer(self, message: bytes) -> bytes:
        return json.dumps(await self._answered(message)).encode()

    async def _answered(self, message: bytes) -> Answer:
        try:
            question = _question(message)
            ask = question.get("ask")
            answer = self._answers.get(ask) if isinstance(ask, str) else None
            if answer is None:
                known = ", ".join(sorted(self._answers))
                raise NotAQuestionError(f"'ask' is {ask!r}; there are: {known}")
            return await answer(question)
        except (
            *(BatchError, DeadLetterError, NotAnOffsetError),
            *(NotAQuestionError, SourceError),
        ) as error:
            return {"error": str(error)}

    # --- answers

    async def _plan(self, question: Question) -> Answer:
        limit = Limit(_count(question, "events"), _count(question, "bytes"))
        until = _until(question)
        batch = await self._work.plan(limit, until)
        waiting = 0 if until is None else self._work.waiting(until)
        return {"offset": None if batch is None else offset_of(batch), "waiting": waiting}

    async def _begin(self, question: Question) -> Answer:
        batch = self._work.begin(batch_from(question.get("offset")))
        return {"offset": offset_of(batch)}

    async def _done(self, question: Question) -> Answer:
        if self._is_under_way(question):
            self._work.done(_count(question, "batch"), {})
        return {}

    async def _failed(self, question: Question) -> Answer:
        error = question.get("error")
        if not isinstance(error, str):
            raise NotAQuestionError("'error' is no text")
        if self._is_under_way(question):
            self._work.failed(_count(question, "batch"), error)
        return {}

    def _is_under_way(self, question: Question) -> bool:
        """What is asked for the second time, or of an earlier life, is over already."""
        under_way = self._work.under_way
        return under_way is not None and under_way.batch.number == _count(question, "batch")

    async def _report(self, question: Question) -> Answer:
        self._work.report(read_from(question))
        return {}

    async def _stolen(self, question: Question) -> Answer:
        partition, level = question.get("partition"), question.get("level")
        if not isinstance(partition, str):
            raise NotAQuestionError("'partition' is no text")
        known = None if level is None else _count(question, "level")
        self._work.stolen(partition, _count(question, "epoch"), known)
        return {}

    async def _aside(self, question: Question) -> Answer:
        letter = question.get("letter")
        if not isinstance(letter, str):
            raise NotAQuestionError("'letter' is no text")
        await self._work.aside(letter)
        return {}

    async def _ends(self, question: Question) -> Answer:
        ends, lags = self._work.watch.held_ends(), self._work.watch.lags()
        if question.get("all") is True:
            ends = await self._work.ends.ask_all()
        return {"ends": {p: _end(end) | {"lag": lags.get(p)} for p, end in ends.items()}}


class _Lines:
    """The lines of a connection. Raises NotAQuestionError where one is too long."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._rest = b""

    async def next(self, longest: int) -> bytes:
        """A line with its end; nothing at the end of the connection."""
        pieces, size = [self._rest], len(self._rest)
        while b"\n" not in pieces[-1]:
            if size > longest:
                raise NotAQuestionError("a line is too long")
            piece = await self._reader.read(_PIECE)
            if not piece:
                return b""
            pieces.append(piece)
            size += len(piece)
        line, end, self._rest = b"".join(pieces).partition(b"\n")
        if len(line) > longest:
            raise NotAQuestionError("a line is too long")
        return line + end


async def _say(writer: asyncio.StreamWriter, line: bytes) -> None:
    writer.write(line)
    await writer.drain()


def _question(line: bytes) -> Question:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise NotAQuestionError("this line is no JSON") from None
    if not isinstance(found, dict):
        raise NotAQuestionError("this line is no JSON object")
    return found


def _count(question: Question, name: str) -> int:
    value = question.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise NotAQuestionError(f"'{name}' is {value!r}: it is a whole number, 0 or more")
    return value


def _until(question: Question) -> dict[PartitionId, int] | None:
    until = question.get("until")
    if until is None:
        return None
    if not isinstance(until, dict) or not all(type(last) is int for last in until.values()):
        raise NotAQuestionError("'until' is no map from partitions to sequence numbers")
    return until


def _end(end: PartitionEnd) -> Answer:
    return {
        "sequence": end.sequence,
        "offset": end.offset,
        "enqueued_at": end.enqueued_at,
        "begins_at": end.begins_at,
    }
