"""What the source says and does about bad events, bad options and a hub that refuses it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from support.command_group import CommandGroup
from support.letters import letters_of
from support.spark_streams import NewStream, SparkStream, sent
from support.wait import wait_until
from tidegate.model import BEGINNING
from tidegate.sources.eventhubs import NativeSource

pytestmark = pytest.mark.slow

ASIDE = "{onFailure: deadLetter, attempts: 2}"


def send_poison(stream: SparkStream) -> None:
    """Five events of which the third has no number: 0, 1, poison, 3, 4."""
    stream.group.send("0", 0, 2)
    stream.send_bodies([b'{"n": "three"}'])
    stream.group.send("0", 3, 5)


def test_an_event_that_cannot_be_decoded_is_put_aside_and_passed(new_stream: NewStream) -> None:
    stream = new_stream(partitions=1, delivery=ASIDE)
    send_poison(stream)
    stream.run_to_the_end()
    assert [n for _, _, n in stream.rows] == [0, 1, 3, 4]
    stream.wait_until_handled(5, 1)
    (letter,) = letters_of(stream.group)
    assert (letter.id, letter.body) == ("0/2", b'{"n": "three"}')
    assert "column 'n' (bigint) cannot hold \"three\"" in letter.error


def test_otherwise_the_batch_fails_and_says_which_event_it_was(new_stream: NewStream) -> None:
    stream = new_stream(partitions=1)
    send_poison(stream)
    said = stream.error(stream.start())
    assert "partition 0, event 2: column 'n' (bigint) cannot hold \"three\"" in said
    assert "With delivery.onFailure: deadLetter such events are put aside" in said
    assert stream.rows == []


@pytest.mark.parametrize(
    ("schema", "options", "said"),
    [
        ("n bigint NOT NULL", {}, "column 'n' is NOT NULL, and an event may lack it"),
        ("m map<string,int>", {}, "is of type map<string,int>, which is not read from JSON"),
        ("body string", {}, "column 'body' is the event's own, of type binary"),
        ("n no_type", {}, "column 'n': 'no_type' is no type of Spark"),
        ("a bigint, n", {}, "column 'n' has no type"),
        ("n bigint", {"maxEvent": "5"}, "option 'maxevent' is not known to format.*'maxEvents'"),
        ("n bigint", {"members": "none"}, "option 'members' 'none': write a whole number"),
        ("n bigint", {"file": "nowhere.yaml"}, "group file nowhere.yaml cannot be read"),
    ],
)
def test_what_cannot_be_is_said_before_anything_runs(
    new_stream: NewStream, schema: str, options: dict[str, Any], said: str
) -> None:
    stream = new_stream()
    with pytest.raises(Exception, match=said.replace("(", r"\(")):
        _run(stream, schema, options)


def test_what_is_wrong_with_options_is_said_when_the_frame_is_made(new_stream: NewStream) -> None:
    stream = new_stream()
    with pytest.raises(Exception, match="option 'members' 'none': write a whole number"):
        stream.frame(members="none")


def _run(stream: SparkStream, schema: str, options: dict[str, Any]) -> None:
    """Raises what a user sees, at the latest where the query is waited for."""
    query = stream.start(schema=schema, **options)
    query.awaitTermination(60)


def with_source(group: CommandGroup, use: Callable[[NativeSource], Awaitable[None]]) -> None:
    """Something else that reads the hub."""

    async def run() -> None:
        source = NativeSource(group.environment["EVENTS"], group.hub_name, "$Default")
        try:
            await use(source)
        finally:
            await source.close()

    asyncio.run(run())


def test_where_somebody_else_takes_a_partition_the_epoch_is_raised_and_nothing_is_lost(
    new_stream: NewStream,
) -> None:
    stream = new_stream(partitions=2)
    stream.start(maxEvents=40)
    stream.wait_for(sent(stream, 0, 20))

    def epoch() -> int:
        return stream.group.listing().ownerships["0"].epoch

    def send_more() -> None:
        events = sent(stream, 20, 120)
        wait_until(lambda: epoch() > 50, 60, "the epoch to be above the other's", detail=epoch)
        stream.wait_for(20 * stream.group.partitions + events)

    async def take(source: NativeSource) -> None:
        # Far above what the ledger knows, as by a processor that is not in it.
        reader = source.reader("0", BEGINNING, 50)
        await reader.open()
        await asyncio.to_thread(send_more)
        await reader.close()

    with_source(stream.group, take)
    assert all(set(found) == set(range(120)) for found in stream.in_order().values())


def test_columns_of_events_without_a_schema(new_stream: NewStream) -> None:
    stream = new_stream(partitions=1)
    stream.send_bodies([b"\x00\xff"], properties={"kind": "alarm", "n": 5})
    frame = stream.spark.read.format("tidegate").option("file", str(stream.group.file)).load()
    assert frame.columns == [
        *("partition", "sequence", "offset", "enqueued", "partition_key", "properties", "body"),
    ]
    (row,) = frame.collect()
    assert (row.partition, row.sequence, row.partition_key) == ("0", 0, None)
    assert row.properties == {"kind": "alarm", "n": "5"}
    assert bytes(row.body) == b"\x00\xff"
    assert row.enqueued is not None


def test_a_partition_key_is_a_column(new_stream: NewStream) -> None:
    stream = new_stream(partitions=1)
    stream.send_bodies([b"x"], None, "home-7")
    frame = stream.spark.read.format("tidegate").option("file", str(stream.group.file)).load()
    assert [row.partition_key for row in frame.collect()] == ["home-7"]


def numbers(stream: SparkStream, **options: Any) -> dict[str, list[int]]:
    """What a batch reads: partition -> numbers."""
    reader = stream.spark.read.format("tidegate").option("file", str(stream.group.file))
    found: dict[str, list[int]] = {}
    for row in reader.option("schema", "n bigint").options(**options).load().collect():
        found.setdefault(row.partition, []).append(row.n)
    return found


def test_a_batch_reads_the_range_that_was_asked_for(new_stream: NewStream) -> None:
    stream = new_stream(partitions=2)
    assert numbers(stream) == {}
    sent(stream, 0, 100)
    rows = stream.spark.read.format("tidegate").option("file", str(stream.group.file)).load()
    between = max(row.enqueued for row in rows.where("sequence = 99").collect())
    sent(stream, 100, 150)
    later = {name: list(range(100, 150)) for name in ("0", "1")}
    assert numbers(stream) == {name: list(range(150)) for name in ("0", "1")}
    assert numbers(stream, **{"from": "latest"}) == {}
    assert numbers(stream, to="earliest") == {}
    assert numbers(stream, **{"from": '{"0": 10}', "to": '{"0": 19, "1": 5}'}) == {
        "0": list(range(10, 20))
    }
    assert numbers(stream, **{"from": '{"1": 148}'}) == {"1": [148, 149]}
    after = between.timestamp() + 0.001
    text = f"{datetime.fromtimestamp(after, UTC)}"
    assert numbers(stream, **{"from": text}) == later
    assert numbers(stream, to=text) == {name: list(range(100)) for name in ("0", "1")}
    # What retention took is passed by.
    stream.hub.inject(
        "expire_retention", hub=stream.group.hub_name, partition="0", before_sequence=140
    )
    assert numbers(stream, **{"from": '{"0": 10}'}) == {"0": list(range(140, 150))}


def test_a_batch_names_partitions_that_are_not_there(new_stream: NewStream) -> None:
    stream = new_stream(partitions=2)
    with pytest.raises(Exception, match="option 'from': the hub has no partition '7'; it has 0, 1"):
        numbers(stream, **{"from": '{"7": 1}'})


def test_where_a_group_reads_a_batch_says_what_to_do(new_stream: NewStream) -> None:
    stream = new_stream(partitions=1)
    sent(stream, 0, 10)

    async def hold(source: NativeSource) -> None:
        reader = source.reader("0", BEGINNING, 5)
        await reader.open()
        said = await asyncio.to_thread(_refusal, stream)
        assert "a member of a group reads it, and the hub lets nobody else in" in said
        assert "option 'consumerGroup'" in said
        stream.hub.add_hub(stream.group.hub_name, 1, ["replays"])
        found = await asyncio.to_thread(numbers, stream, consumerGroup="replays")
        assert found == {"0": list(range(10))}
        await reader.close()

    with_source(stream.group, hold)


def _refusal(stream: SparkStream) -> str:
    with pytest.raises(Exception) as caught:
        numbers(stream)
    return str(caught.value)
