"""What a handler says of its keys is not kept in a dead letter."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from support.planted import Planted, new_key
from tidegate.commands import wiring
from tidegate.dead_letters.blobs import BlobLetters
from tidegate.dead_letters.cosmos import ContainerLetters
from tidegate.dead_letters.hub import HubLetters
from tidegate.delivery.letters import DeadLetter, Failure, encode_letter, letter_of
from unit.delivery.events import MadeEvent

HUB_KEY, STORE_KEY = new_key(), new_key()
ENVIRONMENT = {
    "HUB": f"Endpoint=sb://ns.example/;SharedAccessKeyName=n;SharedAccessKey={HUB_KEY}",
    "STORE": f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={STORE_KEY}",
    "SHOP": f"AccountEndpoint=https://a.example:443/;AccountKey={STORE_KEY};",
}
GROUP = """
apiVersion: tidegate.dev/v1alpha1
kind: ConsumerGroup
metadata: {name: home}
spec:
  source: {eventHubs: {hub: telemetry, connectionString: {env: HUB}}}
  ledger: {container: ledger, connectionString: {env: STORE}}
  handler: {code: "handler.py:handle"}
  delivery: {onFailure: deadLetter, deadLetters: PLACE}
"""
PLACES = {
    "{blob: {container: letters}}": BlobLetters,
    "{eventHub: {hub: letters}}": HubLetters,
    "{cosmos: {database: d, container: c, connectionString: {env: SHOP}}}": ContainerLetters,
}


def failed(message: str) -> DeadLetter:
    try:
        raise ValueError(message)
    except ValueError as error:
        return letter_of("0", MadeEvent(7), Failure.of(error, 5, "pod-1", 1_700_000_000.0))


def written(letter: DeadLetter, place: str, folder: Path, patch: pytest.MonkeyPatch) -> DeadLetter:
    """What comes to the place, by all that a command puts before it."""
    found: list[DeadLetter] = []

    async def put(_: object, letter: DeadLetter) -> str:
        found.append(letter)
        return "here"

    patch.setattr(PLACES[place], "put", put)
    path = folder / "group.yaml"
    path.write_text(GROUP.replace("PLACE", place), encoding="utf-8")

    async def put_aside() -> None:
        letters = wiring.dead_letters(wiring.set_up(path, ENVIRONMENT))
        assert letters is not None
        assert await letters.put(letter) == "here"
        await letters.close()

    asyncio.run(put_aside())
    return found[0]


@pytest.mark.parametrize("place", PLACES)
def test_no_key_of_the_group_is_in_a_dead_letter_wherever_it_is_put(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    letter = failed(f"cannot log in with {HUB_KEY} nor with {STORE_KEY}")
    planted = Planted({"key of the hub": HUB_KEY, "key of the storage": STORE_KEY})
    assert planted.found_in("what was raised", encode_letter(letter))
    stored = written(letter, place, tmp_path, monkeypatch)
    assert not planted.found_in("the letter", encode_letter(stored))
    assert not planted.found_in("its error", stored.error)
    assert stored.error == "ValueError: cannot log in with *** nor with ***"
    assert stored.body == letter.body


@pytest.mark.parametrize("behind", [7_950, 7_960, 7_970, 7_980])
def test_a_trace_is_not_cut_inside_a_key(
    behind: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    letter = replace(failed("long"), trace=f"ValueError: {HUB_KEY}{'.' * behind}\n")
    stored = written(letter, "{blob: {container: letters}}", tmp_path, monkeypatch)
    assert len(stored.trace) <= 8_000
    assert not Planted({"key": HUB_KEY}).found_in("the trace", stored.trace)
    assert stored.trace.endswith("....\n")
