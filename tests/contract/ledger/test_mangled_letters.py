"""Writing and reading dead letters ends well or with a DeadLetterError, for any answer, and a
letter that was reported as written is there."""

from __future__ import annotations

import random
import uuid

import pytest

from contract.ledger.cosmos_world import DATABASE
from contract.ledger.worlds import new_names
from support.azurite import connection_string
from support.mangling_proxy import mangling_proxy
from tidegate.dead_letters.blobs import BlobLetters
from tidegate.dead_letters.cosmos import ContainerLetters
from tidegate.delivery.letters import DeadLetter
from tidegate.handling import DeadLetterError
from tidegate.ledger.access import BlobSettings
from tidegate.model import Position
from tidegate_cosmos.testing import RunningCosmos

pytestmark = pytest.mark.slow

TRIES = 120


def a_letter(number: int) -> DeadLetter:
    return DeadLetter(
        partition="0",
        position=Position(str(number), number),
        enqueued_at=1_700_000_000.0,
        partition_key=None,
        body=b"{}" * 50,
        properties={},
        system_properties={},
        error="ValueError: bad",
        trace="",
        attempts=2,
        member="a",
        put_aside_at=1_700_000_000.0,
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["blob", "cosmos"])
async def test_an_answer_that_is_none_fails_its_request_and_loses_no_letter(
    kind: str, seed: int, azurite: str, cosmos_server: RunningCosmos
) -> None:
    letters: BlobLetters | ContainerLetters
    dice = random.Random(seed)
    if kind == "blob":
        port = int(BlobSettings("any", connection_string=azurite).host.rpartition(":")[2])
    else:
        port = int(cosmos_server.endpoint.rstrip("/").rpartition(":")[2])
    with mangling_proxy(port, seed) as proxy:
        if kind == "blob":
            name = f"letters-{uuid.uuid4().hex[:12]}"
            text = connection_string(proxy.port)
            letters = BlobLetters(
                BlobSettings(name, connection_string=text, create=True), new_names(), "dead"
            )
        else:
            name = f"letters{seed}"
            cosmos_server.add_container(DATABASE, name, "/partition")
            endpoint = cosmos_server.endpoint.replace(f":{port}", f":{proxy.port}")
            letters = ContainerLetters(endpoint, cosmos_server.key, DATABASE, name, new_names())
        kept = {TRIES + 1}
        refused = 0
        try:
            proxy.share = 0.0
            await letters.put(a_letter(TRIES + 1))
            for number in range(TRIES):
                proxy.share = 0.7
                try:
                    match dice.randrange(4):
                        case 0 | 1:
                            await letters.put(a_letter(number))
                            kept.add(number)
                        case 2:
                            await letters.list()
                        case _:
                            await letters.read(f"0/{number // 2}")
                except DeadLetterError as error:
                    refused += 1
                    assert cosmos_server.key not in str(error)
            proxy.share = 0.0
            assert refused > TRIES / 8
            assert await letters.put(a_letter(TRIES))
            there = {int(each.id.rpartition("/")[2]) for each in await letters.list()}
            # What reached the service was done, whatever it answered.
            assert TRIES in there and kept <= there
        finally:
            await letters.close()
