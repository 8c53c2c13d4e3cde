"""What a task does: reads its turns into batches of Arrow, and reports how far it came.

Rules:
- All turns of a task are begun at once and given out one after the other.
- A turn is reported when all of it was given out; the last report counts, so that a task that is
  tried again says the same again.
- Where the hub gave a partition to a higher epoch, its turn ends there and the office is told: the
  batch goes on with the other partitions. Where it was this epoch, another attempt reads it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tidegate.delivery.letters import Failure, WholeEvent, encode_letter, letter_of
from tidegate.ports import SourceError, StolenError
from tidegate.sources.native.event import Event
from tidegate.spark.batches_of_arrow import AnyPiece, BatchMaker, Made
from tidegate.spark.columns import Columns
from tidegate.spark.feed_batches import ChangePiece, maker_of
from tidegate.spark.feed_fetching import FeedFetch
from tidegate.spark.fetching import AnyFetch, Fetch, Fetcher, fetcher
from tidegate.spark.json_bodies import Faulty
from tidegate.spark.payloads import Piece, piece_of
from tidegate.spark.positions import Turn, TurnRead
from tidegate.spark.reading_turns import Progress
from tidegate.spark.tasks import ReadTask
from tidegate_amqp import AmqpError

# Events that the hub says are there, and that do not come.
_PATIENCE_S = 60.0


class UndecodableError(Exception):
    """An event that the schema cannot be read from; the message says which, and what to do."""


class ReadElsewhereError(Exception):
    """Another attempt of the same task reads the partition."""


def read_task(
    task: ReadTask, columns: Columns, reading: Fetcher | None = None
) -> Iterator[pa.RecordBatch]:
    """The events of a task. Raises what makes Spark try it again."""
    reading = reading or fetcher()
    maker = maker_of(columns)
    fetches = reading.begin(task.source, ((turn, turn.epoch) for turn in task.turns))
    try:
        while fetches:
            yield from _Turn(task, maker, reading, fetches[0]).read()
            fetches.pop(0)
    finally:
        for fetch in fetches:
            reading.run(fetch.end(None))


class _Turn:
    """One turn of a task."""

    def __init__(
        self, task: ReadTask, maker: BatchMaker, reading: Fetcher, fetch: AnyFetch
    ) -> None:
        self._task = task
        self._maker = maker
        self._reading = reading
        self._fetch = fetch
        self._turn = fetch.turn
        self._progress = Progress.of(fetch.turn)
        self._aside = 0
        self._units = 0.0

    def _pieces(self) -> Iterator[AnyPiece]:
        if isinstance(self._fetch, FeedFetch):
            yield from change_pieces(self._reading, self._fetch, self._progress)
            self._units = self._fetch.units
        else:
            yield from pieces(self._reading, self._fetch, self._progress)

    def read(self) -> Iterator[pa.RecordBatch]:
        begun = time.monotonic()
        try:
            for piece in self._pieces():
                batch = self._made(piece)
                if batch.num_rows:
                    yield batch
        except StolenError as error:
            self._stolen(error)
            return
        self._reading.run(self._fetch.end(self._progress.at.sequence))
        self._report(time.monotonic() - begun)

    def _made(self, piece: AnyPiece) -> pa.RecordBatch:
        turn, puts_aside = self._turn, self._task.puts_aside
        made = made_of(self._maker, turn.partition, piece, stops=not puts_aside)
        for faulty in made.faulty:
            if not puts_aside:
                raise undecodable(turn.partition, piece, faulty)
            self._put_aside(piece.event(faulty.index), faulty)
        return made.batch

    def _put_aside(self, event: WholeEvent, faulty: Faulty) -> None:
        failure = Failure.of(faulty.error, 1, self._task.member, time.time())
        letter = letter_of(self._turn.partition, event, failure)
        self._reading.desk(self._task.desk).aside(encode_letter(letter).decode())
        self._aside += 1

    def _report(self, seconds: float) -> None:
        progress = self._progress
        self._reading.desk(self._task.desk).report(
            TurnRead(
                batch=self._task.batch,
                partition=self._turn.partition,
                epoch=self._turn.epoch,
                offset=progress.at.offset,
                sequence=progress.at.sequence,
                enqueued_at=progress.enqueued_at,
                events=progress.events,
                bytes=progress.bytes,
                seconds=seconds,
                lost=progress.lost,
                aside=self._aside,
                units=self._units,
            )
        )

    def _stolen(self, error: StolenError) -> None:
        """Raises ReadElsewhereError where it was no other member."""
        turn = self._turn
        self._reading.run(self._fetch.end(None))
        if error.level == turn.epoch:
            raise ReadElsewhereError(
                f"partition {turn.partition}: another attempt of this task reads it, under the "
                f"same epoch {turn.epoch}"
            ) from error
        desk = self._reading.desk(self._task.desk)
        desk.stolen(self._task.batch, turn.partition, turn.epoch, error.level)


def pieces(reading: Fetcher, fetch: Fetch, progress: Progress) -> Iterator[Piece]:
    """The events of a turn, piece by piece, until it is over. Raises StolenError, SourceError."""
    turn = progress.turn
    last_at = time.monotonic()
    while not progress.is_over:
        payloads = reading.run(fetch.next())
        if not payloads:
            facts = reading.run(fetch.facts())
            progress.heard(facts.first_sequence, facts.end)
            if time.monotonic() - last_at > _PATIENCE_S:
                raise SourceError(_silent(turn, progress))
            continue
        last_at = time.monotonic()
        piece = piece_of(payloads)
        progress.check(int(piece.sequences[0]))
        count = int(np.searchsorted(piece.sequences, turn.to, side="right"))
        if count < len(piece):
            fetch.put_back(payloads[count:])
            piece = piece.cut(count)
        if not count:
            progress.passed()
            return
        last = Event(piece.payloads[-1])
        size = sum(map(len, piece.payloads))
        first = int(piece.sequences[0])
        progress.took(first, last.position, last.enqueued_at, len(piece), size)
        yield piece


def change_pieces(reading: Fetcher, fetch: FeedFetch, progress: Progress) -> Iterator[ChangePiece]:
    """The changes of a turn, page by page, until it is over. Raises SourceError."""
    while not fetch.is_over:
        changes = reading.run(fetch.next())
        if changes:
            piece = ChangePiece(changes)
            yield piece
            progress.took_some(changes[-1].enqueued_at, len(piece), sum(c.size for c in changes))
    progress.ended(fetch.at)


def _silent(turn: Turn, progress: Progress) -> str:
    return (
        f"partition {turn.partition}: nothing comes after {progress.at.sequence}, and the hub says "
        f"that there are events up to {turn.to}; it was waited for {_PATIENCE_S:g} s"
    )


def made_of(maker: BatchMaker, partition: str, piece: AnyPiece, *, stops: bool) -> Made:
    """A batch of a piece. Raises UndecodableError where a message is none."""
    try:
        return maker.make(partition, piece, stops=stops)
    except AmqpError as error:
        first, last = int(piece.sequences[0]), int(piece.sequences[-1])
        raise UndecodableError(
            f"partition {partition}: a message between {first} and {last} cannot be decoded: "
            f"{error}"
        ) from error


def undecodable(partition: str, piece: AnyPiece, faulty: Faulty) -> UndecodableError:
    return UndecodableError(
        f"partition {partition}, event {int(piece.sequences[faulty.index])}: {faulty.error}. "
        "With delivery.onFailure: deadLetter such events are put aside and passed; or leave the "
        "schema out and take the column `body`."
    )
