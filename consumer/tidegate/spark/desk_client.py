"""How Spark's Python processes ask the office: one JSON object a line, one answer a line, over TCP.

    desk = DeskClient("127.0.0.1:7071", token)
    planned = desk.plan(events=20_000)       # its offset is None where there is nothing to read
    accepted = desk.begin(planned.offset)
    desk.report(TurnRead(batch=17, partition="0", ...))

Rules:
- Plain blocking sockets: the planner and the workers have no loop of ours.
- The connection is made at the first question, begins with a proof of both sides that they have the
  token (desk_seal.py), and is kept. One that was lost is made again and the question is asked once
  more: every question may be asked twice.
- An answer may take a while, where the office asks the hub; it is not waited for without end.
- Used by one thread at a time.
"""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Mapping
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple

from tidegate.model import PartitionId
from tidegate.spark.desk_seal import NONCE_BYTES, BrokenSealError, Seal, is_nonce
from tidegate.spark.positions import TurnRead

TIMEOUT_S = 60.0
# No answer is longer: an offset of a thousand partitions is a tenth of it.
LONGEST_LINE = 1 << 20

Offset = dict[str, Any]


class Planned(NamedTuple):
    """The next batch; `offset` is None where there is nothing to read now.

    `waiting`: of the partitions that were asked for by `until`, how many have events left and are
    not somebody else's. Where it is 0 and there is no batch, all is read.
    """

    offset: Offset | None
    waiting: int


class _Line(NamedTuple):
    """A connection, and the seals of both sides."""

    socket: socket.socket
    answers: BinaryIO
    ours: Seal
    theirs: Seal


class DeskError(Exception):
    """The office could not be asked, or says no; the message says why."""


class RefusedError(DeskError):
    """The office was asked and says no."""


class DeskClient:
    """See the module. `address` is HOST:PORT."""

    def __init__(self, address: str, token: str, timeout_s: float = TIMEOUT_S) -> None:
        host, _, port = address.rpartition(":")
        self._host, self._port = host.strip("[]"), int(port)
        self._token = token
        self._timeout_s = timeout_s
        self._line: _Line | None = None

    def __enter__(self) -> DeskClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # --- the planner's questions

    def plan(
        self,
        events: int = 0,
        bytes: int = 0,
        until: Mapping[PartitionId, int] | None = None,
    ) -> Planned:
        """The next batch; it binds nobody before `begin`.

        0 is no limit of the reader's own. `until` caps partitions, and those that it lacks are left
        out: for a stream that ends where the partitions ended when it began.
        """
        ask: dict[str, Any] = {"ask": "plan", "events": events, "bytes": bytes}
        if until is not None:
            ask["until"] = dict(until)
        answer = self._ask(ask)
        return Planned(answer["offset"], int(answer["waiting"]))

    def begin(self, offset: Mapping[str, Any]) -> Offset:
        """The turns of an offset that may be read now, with the number to report them by."""
        return dict(self._ask({"ask": "begin", "offset": dict(offset)})["offset"])

    def done(self, batch: int) -> None:
        """All of a batch is handled; only where no driver of ours says so."""
        self._ask({"ask": "done", "batch": batch})

    def failed(self, batch: int, error: str) -> None:
        """A batch failed; only where no driver of ours says so."""
        self._ask({"ask": "failed", "batch": batch, "error": error})

    def ends(self, *, of_all: bool = False) -> dict[PartitionId, dict[str, Any]]:
        """How far the partitions that we hold have come, as was heard last, and the lag of each; or
        all of the hub, who is asked for it now."""
        return dict(self._ask({"ask": "ends", "all": of_all})["ends"])

    # --- the workers' reports

    def report(self, read: TurnRead) -> None:
        """How far a turn was read; the last report of a turn counts."""
        self._ask({"ask": "report", **read.as_dict()})

    def stolen(self, batch: int, partition: PartitionId, epoch: int, level: int | None) -> None:
        """The hub gave a partition to a higher epoch: `level`, where it said so."""
        told = {"batch": batch, "partition": partition, "epoch": epoch, "level": level}
        self._ask({"ask": "stolen", **told})

    def aside(self, letter: str) -> None:
        """Stores a dead letter (delivery.letters.encode_letter) where the group's go."""
        self._ask({"ask": "aside", "letter": letter})

    def close(self) -> None:
        """Closes the connection; the next question makes another."""
        line, self._line = self._line, None
        if line is not None:
            line.answers.close()
            line.socket.close()

    # --- the line

    def _ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        is_kept = self._line is not None
        try:
            answer = self._answer(question)
        except ConnectionError as error:
            self.close()
            if not is_kept:
                raise self._unreachable(_said(error)) from None
            # It may have been closed since the last question.
            answer = self._answer_anew(question)
        if "error" in answer:
            raise RefusedError(str(answer["error"]))
        return answer

    def _answer_anew(self, question: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self._answer(question)
        except ConnectionError as error:
            self.close()
            raise self._unreachable(_said(error)) from None

    def _answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Raises ConnectionError where the connection ends, DeskError for anything else."""
        try:
            line = self._line = self._line or self._connected()
            line.socket.sendall(line.ours.sealed(json.dumps(question).encode()))
            said = line.answers.readline(LONGEST_LINE)
        except ConnectionError:
            raise
        except OSError as error:
            self.close()
            raise self._unreachable(_said(error)) from None
        if not said.endswith(b"\n"):
            raise ConnectionResetError
        try:
            answer = json.loads(line.theirs.opened(said))
        except (ValueError, RecursionError):  # a broken seal is one
            answer = None
        if not isinstance(answer, dict):
            self.close()
            raise self._unreachable("what it says is no answer of an office")
        return answer

    def _connected(self) -> _Line:
        made = socket.create_connection((self._host, self._port), self._timeout_s)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answers = made.makefile("rb")
        try:
            return self._met(made, answers)
        except BaseException:
            answers.close()
            made.close()
            raise

    def _met(self, made: socket.socket, answers: BinaryIO) -> _Line:
        """Each side proves that it has the token. Raises ConnectionError and DeskError."""
        nonce = secrets.token_hex(NONCE_BYTES)
        made.sendall(json.dumps({"nonce": nonce}).encode() + b"\n")
        try:
            theirs = json.loads(_heard(answers))["nonce"]
        except (ValueError, TypeError, KeyError, RecursionError):
            theirs = None
        if not is_nonce(theirs):
            raise self._unreachable("what it says is no answer of an office")
        ours, desks = (Seal(self._token, each, nonce, theirs) for each in ("asker", "desk"))
        made.sendall(ours.sealed(b"{}"))
        try:
            desks.opened(_heard(answers))
        except BrokenSealError:
            raise self._unreachable("it does not prove that it has the token") from None
        return _Line(made, answers, ours, desks)

    def _unreachable(self, why: str) -> DeskError:
        return DeskError(
            f"the office of the group at {self._host}:{self._port} could not be asked: {why}. It "
            "runs in the driver: look whether that lives, and whether its address can be reached."
        )


def _heard(answers: BinaryIO) -> bytes:
    """A line. Raises ConnectionResetError where there is none."""
    line = answers.readline(LONGEST_LINE)
    if not line.endswith(b"\n"):
        raise ConnectionResetError
    return line


def _said(error: OSError) -> str:
    return str(error) or "it closed the connection, as it does where the token is not its own"
