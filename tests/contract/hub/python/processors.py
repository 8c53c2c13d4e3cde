"""Scenarios of the Python clients: processors with the blob checkpoint store."""

from __future__ import annotations

from azure.eventhub import EventData

from contract.hub.clients import Reader, Reading, events_of, texts
from contract.hub.python.stage import Stage
from contract.hub.python.victim import Victim
from support.wait import wait_until_async

ALL = ("0", "1", "2", "3")
BALANCE_SECONDS = 20.0
EXPIRY_SECONDS = 20.0


async def checkpoint_and_resume(stage: Stage) -> None:
    """The batch in which the checkpoint is written may hold later events: they come again."""
    store = stage.new_container()
    for event in texts(10):
        await stage.client.send([event], partition_id="1")

    def _is_fifth(event: EventData) -> bool:
        return event.body_as_str() == "event-4"

    reading = Reading(partition=None, store=store, checkpoint_when=_is_fifth)
    async with stage.client.read(reading) as first:
        await events_of(first, 10)
        await wait_until_async(lambda: "1" in first.heard.checkpoints, 10, "the checkpoint")
    assert first.heard.checkpoints == {"1": 4}
    assert first.heard.owned == set()
    async with stage.client.read(Reading(partition=None, store=store)) as second:
        await events_of(second, 5)
    assert second.heard.sequences() == {"1": [5, 6, 7, 8, 9]}


async def _send_everywhere(stage: Stage, count: int) -> None:
    for partition in ALL:
        await stage.client.send(texts(count), partition_id=partition)


def _handled_up_to(survivor: Reader, victim: Victim, sequence: int) -> bool:
    """Whether one of the two has written a checkpoint there, for every partition."""
    written = (survivor.heard.checkpoints, victim.heard.checkpoints)
    return all(any(by.get(partition, -1) >= sequence for by in written) for partition in ALL)


async def _share(survivor: Reader, victim: Victim) -> None:
    def _is_even() -> bool:
        ours, theirs = survivor.heard.owned, victim.heard.owned
        return len(ours) == len(theirs) == 2 and ours | theirs == set(ALL)

    await wait_until_async(
        _is_even,
        BALANCE_SECONDS,
        "two partitions each",
        detail=lambda: (survivor.heard.owned, victim.heard.owned, victim.heard.errors),
    )


async def processors_balance_and_one_dies(stage: Stage) -> None:
    store = stage.new_container()
    reading = Reading(partition=None, store=store, checkpoint_when=lambda event: True)
    await _send_everywhere(stage, 25)
    async with (
        stage.client.read(reading) as survivor,
        Victim(stage.client.kind, stage.client.connection_string, stage.hub, store) as victim,
    ):
        await _share(survivor, victim)
        await _send_everywhere(stage, 25)
        await wait_until_async(
            lambda: _handled_up_to(survivor, victim, 49), 20, "checkpoints at 49 everywhere"
        )
        orphans = set(victim.heard.owned)
        await victim.kill()
        before = len(survivor.heard.events)
        await _send_everywhere(stage, 25)
        await wait_until_async(
            lambda: (
                survivor.heard.owned == set(ALL)
                and all(survivor.heard.checkpoints.get(at) == 74 for at in ALL)
            ),
            EXPIRY_SECONDS,
            "the survivor to own and finish everything",
            detail=lambda: (survivor.heard.owned, survivor.heard.checkpoints),
        )
    after = survivor.heard.sequences(since=before)
    assert len(orphans) == 2
    for partition in ALL:
        assert after[partition] == list(range(50, 75)), f"partition {partition}"
