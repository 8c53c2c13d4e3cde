"""Hostile handlers on a real hub: no event is lost, order is kept, and the member lives."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.eventhub import EventData, EventHubProducerClient

from contract.handlers.hostile import EVERY, POISON, PRELUDE, Hostile
from support.hostile_member import Told, lived
from tidegate.delivery.policy import Backoff, Batch, OnFailure, Policy
from tidegate.handlers.loading import HandlerError, load
from tidegate.handlers.telling import STUCK_AFTER
from tidegate_hub.testing import RunningHub

EVENTS = 40
POLICY = Policy(
    on_failure=OnFailure.DEAD_LETTER,
    attempts=2,
    timeout_s=0.5,
    told_s=0.3,
    backoff=Backoff(first_s=0.01, most_s=0.1),
    batch=Batch(max_events=10),
)


@pytest.fixture(scope="module")
def hub(hub_server: RunningHub) -> Iterator[str]:
    """A hub of two partitions with numbered events, for all of these."""
    hub_server.add_hub("hostile", 2)
    client = EventHubProducerClient.from_connection_string(
        hub_server.connection_string, eventhub_name="hostile"
    )
    with client:
        for partition in ("0", "1"):
            batch = client.create_batch(partition_id=partition)
            for number in range(EVENTS):
                event = EventData(json.dumps({"n": number}))
                event.properties = {"k": "v"}
                batch.add(event)
            client.send_batch(batch)
    yield "hostile"


def _folder(tmp_path: Path, text: str) -> tuple[Path, str]:
    """Each handler has a module of its own, whatever was imported before."""
    name = f"hostile_{zlib.crc32(text.encode()):x}"
    (tmp_path / f"{name}.py").write_text(PRELUDE + text, encoding="utf-8")
    return tmp_path, f"{name}.py:handle"


@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param(each, id=each.name, marks=[pytest.mark.slow] if each.is_slow else [])
        for each in EVERY
    ],
)
async def test_no_event_is_lost_order_is_kept_and_the_member_lives(
    hostile: Hostile,
    hub: str,
    hub_server: RunningHub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tidegate.handlers.partition.ON_TIME_EVERY_S", 0.01)
    folder, handler = _folder(tmp_path, hostile.text)
    monkeypatch.syspath_prepend(str(folder))
    expected = [n for n in range(EVENTS) if not (hostile.aside and n == POISON)]

    def is_done(told: Told) -> bool:
        handled = [len(told.seen(partition)) for partition in ("0", "1")]
        is_aside = bool(told.letters) == hostile.aside
        return handled == [len(expected), EVENTS] and is_aside

    told = await lived(hub_server.connection_string, hub, folder, handler, POLICY, is_done)
    # No event is lost, none comes twice, and the order of both partitions is kept.
    assert told.seen("0") == expected
    assert told.seen("1") == list(range(EVENTS))
    assert told.checkpoints == {"0": EVENTS - 1, "1": EVENTS - 1}
    assert list(told.letters) == ([f"0/{POISON}"] if hostile.aside else [])
    _check_letter(told, hostile)
    _check_log(told, hostile)


def _check_letter(told: Told, hostile: Hostile) -> None:
    for letter in told.letters.values():
        assert json.loads(letter.body) == {"n": POISON}
        assert letter.properties == {"k": b"v"}
        assert hostile.cause in letter.error
        assert len(letter.error) < 10_000


def _check_log(told: Told, hostile: Hostile) -> None:
    """The cause is named once for each call that failed, and once at the end of it."""
    lines = told.lines
    said = [line for line in lines if hostile.cause and hostile.cause in line]
    assert all(len(line) < 2_500 for line in said)
    assert all("\n" not in line for line in lines)
    if hostile.aside:
        assert [line for line in said if "kind=dead-letter" in line] == said[-1:]
        # No failed call is named twice; `stuck` is said of several of them together.
        calls = [line for line in said if "the handler failed with" in line]
        assert 1 <= len(calls) <= told.hits
        assert len(said) <= len(calls) + 1 + told.hits // STUCK_AFTER
    elif hostile.lines is not None:
        assert len(said) == hostile.lines
    elif hostile.cause:
        assert said
    else:
        assert not [line for line in lines if "warning" in line or "error" in line]


def test_there_are_at_least_forty_of_them_and_each_is_another() -> None:
    assert len({each.name for each in EVERY}) == len(EVERY) >= 40
    assert len({each.text for each in EVERY}) == len(EVERY)


REFUSED = {
    "a generator": "def handle(events, context):\n    yield",
    "an async generator": "async def handle(events, context):\n    yield",
    "a partial of a generator": (
        "def take(x, events, context):\n    yield\nhandle = functools.partial(take, 1)"
    ),
    "a context manager": "@contextlib.contextmanager\ndef handle(events, context):\n    yield",
    "a class": "class handle:\n    def __init__(self, events, context): good(events, context)",
    "a hook that is a generator": (
        "def handle(events, context): good(events, context)\ndef on_close(partition, reason):\n"
        "    yield"
    ),
    "an import that exits": "sys.exit(0)",
    "an import that is interrupted": "raise KeyboardInterrupt",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_could_never_run_is_refused_before_anything_is_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, handler = _folder(tmp_path, REFUSED[name])
    monkeypatch.syspath_prepend(str(folder))
    with pytest.raises(HandlerError) as refused:
        load(handler, folder)
    assert handler.partition(":")[0] in str(refused.value)
