"""The desk of an office: what it answers, and that nobody harms anybody else at it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from contract.spark.conftest import Place
from support.played_spark import PlayedSpark
from support.wait import POLL_SECONDS
from tidegate.delivery.letters import DeadLetter, encode_letter
from tidegate.model import Position
from tidegate.spark.desk_client import DeskClient, DeskError, RefusedError
from tidegate.spark.desk_seal import Seal
from tidegate.spark.positions import TurnRead

NONCE = "0123456789abcdef" * 2


class Line:
    """A connection to the desk, by hand."""

    def __init__(self, office_address: str) -> None:
        host, _, port = office_address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), 30)
        self._answers = self._socket.makefile("rb")

    def say(self, text: bytes) -> None:
        self._socket.sendall(text)

    def say_too_much(self, text: bytes) -> None:
        """The desk may close while this is still on its way to it."""
        with contextlib.suppress(ConnectionError):
            self.say(text)

    def meet(self, token: str) -> Any:
        """What comes of it when it proves that it has the token."""
        self.say(json.dumps({"nonce": NONCE}).encode() + b"\n")
        nonces = NONCE, json.loads(self._answers.readline())["nonce"]
        self.ours, self.desks = (Seal(token, each, *nonces) for each in ("asker", "desk"))
        return self.ask({})

    def ask(self, question: Any) -> Any:
        return self.ask_for(json.dumps(question).encode())

    def ask_for(self, message: bytes) -> Any:
        self.sealed = self.ours.sealed(message)
        self.say(self.sealed)
        line = self.heard()
        return None if line is None else json.loads(self.desks.opened(line))

    def heard(self) -> bytes | None:
        """None where the connection was closed."""
        try:
            return self._answers.readline() or None
        except ConnectionError:
            return None

    def close(self) -> None:
        self._answers.close()
        self._socket.close()


@pytest_asyncio.fixture
async def spark(new_place: Any) -> AsyncIterator[PlayedSpark]:
    place: Place = new_place(partitions=2, delivery="{onFailure: deadLetter}")
    place.send(0, 10)
    async with place.office() as spark:
        spark.office.follow(["1"])
        await spark.until_held(2)
        yield spark


async def test_who_has_not_the_token_is_cut_off_without_a_word(spark: PlayedSpark) -> None:
    for first in (
        b'{"token": "wrong"}\n',
        b'{"nonce": "wrong"}\n',
        b'{"nonce": "\\ud800"}\n',
        b'{"nonce": 7}\n',
        b'{"ask": "plan"}\n',
        b"nonsense\n",
        b"[]\n",
        b"x" * 100_000,
    ):
        line = Line(spark.office.address)
        try:
            line.say(first)
            assert line.heard() is None, first
        finally:
            line.close()
    line = Line(spark.office.address)
    assert line.meet("wrong") is None
    line.close()
    wrong = DeskClient(spark.office.address, "wrong")
    with pytest.raises(DeskError, match="token is not its own"):
        await asyncio.to_thread(wrong.plan)
    assert await spark.batch() is not None


async def test_what_somebody_has_listened_to_can_be_said_neither_again_nor_otherwise(
    spark: PlayedSpark,
) -> None:
    heard = Line(spark.office.address)
    assert heard.meet(spark.office.token) == {}
    hello = heard.sealed
    assert heard.ask({"ask": "plan"})["offset"]
    heard.say(heard.sealed)
    assert heard.heard() is None
    other = Line(spark.office.address)
    other.say(json.dumps({"nonce": NONCE}).encode() + b"\n")
    assert other.heard()
    other.say(hello)
    assert other.heard() is None
    unsealed = Line(spark.office.address)
    assert unsealed.meet(spark.office.token) == {}
    unsealed.say(b'{"ask": "plan"}\n')
    assert unsealed.heard() is None
    for line in (heard, other, unsealed):
        line.close()


async def test_an_office_that_does_not_prove_that_it_has_the_token_is_told_nothing(
    spark: PlayedSpark,
) -> None:
    told: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        told.append(await reader.readline())
        writer.write(json.dumps({"nonce": NONCE}).encode() + b"\n")
        told.append(await reader.readline())
        writer.write(b"0" * 64 + b" {}\n")
        told.append(await reader.read())
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        client = DeskClient(f"127.0.0.1:{port}", spark.office.token)
        with pytest.raises(DeskError, match="does not prove that it has the token"):
            await asyncio.to_thread(client.stolen, 1, "0", 1, None)
    assert spark.office.token.encode() not in b"".join(told)
    assert b"stolen" not in b"".join(told)


async def test_nonsense_is_answered_in_words_and_harms_nobody(spark: PlayedSpark) -> None:
    batch = await spark.next_batch()
    assert batch is not None
    line = Line(spark.office.address)
    assert line.meet(spark.office.token) == {}
    assert "there are: aside, begin" in line.ask({"ask": "rm -rf"})["error"]
    assert "no JSON" in line.ask([])["error"]
    assert "no JSON" in line.ask_for(b"{" * 100_000)["error"]
    for question, words in (
        ({"ask": "plan", "events": -1}, "'events' is -1"),
        ({"ask": "plan", "events": "many"}, "'events' is 'many'"),
        ({"ask": "plan", "until": [1]}, "'until' is no map"),
        ({"ask": "begin", "offset": {"sequence": 7}}, "no offset of a stream of tidegate"),
        ({"ask": "begin", "offset": "7"}, "no offset of a stream of tidegate"),
        ({"ask": "report", "batch": batch.number}, "this report of a turn cannot be used"),
        ({"ask": "stolen", "partition": 7}, "'partition' is no text"),
        ({"ask": "aside", "letter": "{}"}, "this is no dead letter"),
    ):
        assert words in line.ask(question)["error"], question
    report = TurnRead(batch.number, "0", batch.turns["0"].epoch, "x", 10_000).as_dict()
    assert "the turn goes from 0 to 9" in line.ask({"ask": "report", **report})["error"]
    line.say_too_much(b"x" * (9 << 20))
    assert line.heard() is None
    line.close()

    await spark.read_all(batch)
    await spark.done(batch)
    assert set(spark.counts().values()) == {1}
    assert len(spark.counts()) == 20


async def test_every_question_may_be_asked_twice(spark: PlayedSpark) -> None:
    offset = await spark.plan()
    assert offset is not None
    first, again = await spark.begin(offset), await spark.begin(offset)
    assert first == again
    await spark.read_all(again)
    await spark.read_all(again)
    for _ in range(2):
        await spark.call(spark.desk.done, again.number)
        await spark.call(spark.desk.failed, again.number, "too late")
        # What comes after the end of its batch is an old story.
        await spark.read_turn(again, again.turns["0"])
    assert await spark.plan() is None
    assert spark.office.figures().counted.batches == 1
    assert spark.office.figures().counted.failed == 0


async def test_a_connection_that_was_lost_is_made_again(spark: PlayedSpark) -> None:
    assert await spark.plan() is not None
    line = spark.desk._line
    assert line is not None
    line[0].shutdown(socket.SHUT_RDWR)
    assert await spark.plan() is not None


async def lags(spark: PlayedSpark) -> dict[str, int]:
    """What is not handled of each partition."""
    ends = await asyncio.to_thread(spark.desk.ends)
    return {partition: end["lag"] for partition, end in ends.items()}


async def test_a_stream_that_ends_somewhere_waits_for_what_is_on_its_way_to_us(
    spark: PlayedSpark,
) -> None:
    ends = await asyncio.to_thread(lambda: spark.desk.ends(of_all=True))
    until = {partition: end["sequence"] for partition, end in ends.items()}
    assert until == {"0": 9, "1": 9}
    assert (await asyncio.to_thread(spark.desk.ends))["0"]["begins_at"] == 0
    assert await lags(spark) == {"0": 10, "1": 10}
    planned = await asyncio.to_thread(lambda: spark.desk.plan(until=until | {"1": 4}))
    assert planned.waiting == 2
    assert planned.offset is not None
    batch = await spark.begin(planned.offset)
    assert {p: t.to for p, t in batch.turns.items()} == {"0": 9, "1": 4}
    await spark.read_all(batch)
    await spark.done(batch)
    assert await lags(spark) == {"0": 0, "1": 5}
    planned = await asyncio.to_thread(lambda: spark.desk.plan(until=until | {"1": 4}))
    assert planned == (None, 0)
    spark.office.follow(())
    await spark.until_held()
    # Once the members have ended nobody knows who has what: nothing is said to be read.
    async with asyncio.timeout(60):
        while await asyncio.to_thread(lambda: spark.desk.plan(until=until)) != (None, 2):
            await asyncio.sleep(POLL_SECONDS)


async def test_a_worker_puts_an_event_aside_by_way_of_the_desk(spark: PlayedSpark) -> None:
    letter = DeadLetter(
        *("0", Position("x", 3), 1.0, None, b"\xff" * 500_000, {}, {}),
        *("ValueError: no", "", 1, "", 1.0),
    )
    await asyncio.to_thread(spark.desk.aside, encode_letter(letter).decode())
    assert spark.office.figures().aside == 1
    assert "0: 0/3: ValueError: no: is at command-" in spark.heard.reports("dead-letter")[0]
    elsewhere = encode_letter(letter).decode().replace('"partition": "0"', '"partition": "7"')
    with pytest.raises(RefusedError, match="7 is not held here"):
        await asyncio.to_thread(spark.desk.aside, elsewhere)
